# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The loop on a device in memory, tick by tick: limits, time-outs, faults, reconnection."""

from __future__ import annotations

import contextlib
from dataclasses import replace
import math

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from soro_driver.device import DeviceError, DeviceLost, DeviceState, DeviceTimeout, Fault, Flag
from soro_driver.driver_messages import stamp_nanoseconds, state_message
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.safety.ownership import NotInControl, OutOfOrder
from soro_driver.settings import RELEASE
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_msgs.msg import ActuatorCommand

BAR = 1e5


def reach(rig, *values, count=100):
    """Arm, and move there by a stream that starts where the robot is."""
    rig.armed()
    rig.stream((0.0, 0.0, 0.0), 2)
    return rig.stream(values, count)


def test_commands_move_the_robot_at_the_slew_limit(rig):
    rig.armed()
    rig.stream((0.0, 0.0, 0.0), 1)
    tick = rig.stream((1.0 * BAR, 0.0, 0.0), 10)
    assert rig.device.written[-1][0] == pytest.approx(0.2 * BAR)  # 10 ticks of 2 bar/s
    assert tick.flags[0] & Flag.RATE_LIMITED
    tick = rig.stream((1.0 * BAR, 0.0, 0.0), 60)
    assert rig.device.written[-1][0] == pytest.approx(BAR)
    assert tick.state is DeviceState.ACTIVE
    assert tick.command.source == '/robot/planner'
    assert tick.commanded.tolist() == [BAR, 0.0, 0.0]


def test_nothing_is_written_before_arming(rig):
    rig.tick(20)
    assert rig.device.written == []
    with pytest.raises(NotAllowed):
        rig.send(0.0, 0.0, 0.0)
    assert rig.inlet.rejected['NOT_ACTIVE'] == 1


def test_armed_without_commands_the_robot_stays_at_rest(rig):
    tick = rig.armed().tick(100)
    assert tick.state is DeviceState.ACTIVE
    assert not np.any(rig.device.written)


def test_armed_away_from_rest_the_robot_stays_where_it_is(rig):
    rig.device.measured = np.array([0.8 * BAR, 0.0, 0.0])
    rig.armed().tick(10)
    assert rig.device.written[-1].tolist() == [0.8 * BAR, 0.0, 0.0]


def test_silence_ramps_to_rest_and_nothing_resumes_by_itself(rig):
    reach(rig, BAR, 0.0, 0.0)
    arrival = rig.clock.now - 0.01  # the stream sends, then ticks
    while rig.tick().state is DeviceState.ACTIVE:
        assert rig.clock.now - arrival < 0.25
    assert rig.clock.now - arrival == pytest.approx(0.2, abs=0.011)
    assert rig.loop.safety.reason.startswith('no command from /robot/planner for 0.2')
    begin = rig.clock.now
    while rig.device.written[-1][0] > 0.0:
        before = rig.device.written[-1][0]
        rig.tick()
        assert before - rig.device.written[-1][0] <= 0.01 * BAR * 1.001  # 1 bar/s
    assert rig.clock.now - begin == pytest.approx(1.0, abs=0.03)
    tick = rig.tick(500)
    assert tick.state is DeviceState.SAFE and not rig.device.written[-1].any()


def test_a_stream_that_returns_is_refused_until_it_starts_at_the_measurement(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.tick(25)  # silence: safe action begins
    for _ in range(200):  # the source returns with its old target
        try:
            rig.send(BAR, 0.0, 0.0)
        except NotAllowed:
            pass
        tick = rig.tick()
    assert tick.state is DeviceState.SAFE
    assert rig.device.written[-1][0] == 0.0
    assert rig.inlet.rejected['NOT_ACTIVE'] == 200
    rig.loop.clear()
    rig.loop.arm()
    for _ in range(200):  # it has not paused, and is too far away besides
        with contextlib.suppress(NotAllowed):
            rig.send(BAR, 0.0, 0.0)
        tick = rig.tick()
    assert not tick.applied.any()
    tick = rig.stream((0.05 * BAR, 0.0, 0.0), 2)
    assert tick.state is DeviceState.ACTIVE
    assert rig.stream((BAR, 0.0, 0.0), 60).applied[0] == pytest.approx(BAR)


def test_stop_ramps_down_against_a_running_stream(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.loop.stop('stopped')
    for _ in range(200):
        try:
            rig.send(BAR, 0.0, 0.0)
        except NotAllowed:
            pass
        tick = rig.tick()
    assert tick.state is DeviceState.SAFE and not rig.device.written[-1].any()


def test_every_stop_is_counted_also_where_the_state_stays_as_it_is(rig):
    reach(rig, BAR, 0.0, 0.0)
    seen = {rig.tick().stops}
    for count in (1, 2, 3):
        rig.loop.stop('stopped')
        tick = rig.tick()
        assert tick.state is DeviceState.SAFE and tick.stops not in seen
        seen.add(tick.stops)
        assert state_message(tick, rig.gate, Time()).stops == tick.stops and len(seen) == count + 1
    rig.loop.disarm()
    rig.loop.stop('stopped')
    assert rig.tick().stops not in seen  # also what nobody can obey yet may be on its way


def test_a_stream_that_shows_that_it_knows_of_a_stop_needs_no_pause(rig):
    rig.inlet.stops = lambda: rig.loop.safety.latches.stops
    before = rig.loop.safety.latches.stops
    reach(rig, 0.05 * BAR, 0.0, 0.0)
    rig.loop.stop('stopped')
    for _ in range(100):
        with pytest.raises(NotAllowed, match='sent before a stop'):
            rig.send(0.05 * BAR, 0.0, 0.0, stops=before)
        rig.tick()
    present = rig.tick().stops
    assert present not in (before, 0)
    with pytest.raises(NotAllowed):  # to know of a stop is not to clear it
        rig.send(0.05 * BAR, 0.0, 0.0, stops=present)
    rig.loop.clear()
    rig.loop.arm()
    rig.tick()
    with pytest.raises(NotAllowed, match='sent before a stop'):
        rig.send(0.05 * BAR, 0.0, 0.0, stops=before)
    with pytest.raises(NotAllowed, match='or carry the present `stops`'):
        rig.send(0.05 * BAR, 0.0, 0.0)
    rig.send(0.05 * BAR, 0.0, 0.0, stops=present)
    assert rig.tick().command is not None


def test_a_stream_that_stop_ended_is_heard_only_after_a_pause(rig):
    reach(
        rig, 0.05 * BAR, 0.0, 0.0
    )  # so near to rest that the same set-point is a valid first one
    rig.loop.stop('stopped')
    for _ in range(100):
        with pytest.raises(NotAllowed):
            rig.send(0.05 * BAR, 0.0, 0.0)
        tick = rig.tick()
    assert tick.state is DeviceState.SAFE and not rig.device.written[-1].any()
    rig.loop.clear()
    rig.loop.arm()
    rig.tick()
    with pytest.raises(NotAllowed, match='pause for 0.2 s'):
        rig.send(0.05 * BAR, 0.0, 0.0)
    rig.tick(30)
    assert rig.stream((0.05 * BAR, 0.0, 0.0), 2).state is DeviceState.ACTIVE


def refused(rig, *values, count, source='/robot/planner'):
    """Send the same command every tick; none may be taken."""
    for _ in range(count):
        with pytest.raises(NotAllowed):
            rig.send(*values, source=source)
        tick = rig.tick()
    return tick


def test_a_stop_ends_a_stream_that_waits_for_the_safe_action(rig):
    reach(rig, 0.3 * BAR, 0.0, 0.0)
    rig.tick(25)  # silence: the safe action begins
    refused(rig, 0.0, 0.0, 0.0, count=5)  # a source takes over, and nobody is obeyed
    rig.loop.stop('stopped')
    tick = refused(rig, 0.0, 0.0, 0.0, count=100)  # long after the outputs are at rest
    assert tick.state is DeviceState.SAFE and not rig.device.written[-1].any()
    rig.tick(25)
    refused(rig, 0.0, 0.0, 0.0, count=5)  # a pause is no person
    rig.loop.clear()
    rig.loop.arm()
    rig.tick(25)
    assert rig.stream((0.0, 0.0, 0.0), 2).state is DeviceState.ACTIVE


def test_arming_does_not_revive_a_stream_that_a_stop_ended(rig):
    reach(rig, 0.3 * BAR, 0.0, 0.0)
    rig.tick(25)
    refused(rig, 0.0, 0.0, 0.0, count=5)
    rig.loop.stop('stopped')
    rig.loop.clear()
    rig.loop.arm()
    tick = refused(rig, 0.0, 0.0, 0.0, count=100)
    assert tick.state is DeviceState.ACTIVE and tick.command is None


@pytest.mark.parametrize('ends', ['estop', 'fault'])
def test_a_stream_that_has_run_on_moves_nothing_after_what_ended_it_is_cleared(rig, ends):
    reach(rig, 0.05 * BAR, 0.0, 0.0)
    if ends == 'estop':
        rig.press()
    else:
        rig.loop._fault(Fault.SENSOR, 'a sensor')
    rig.tick()
    rig.release()
    rig.loop.clear()
    rig.loop.arm()
    rig.device.written.clear()
    for _ in range(5):  # it has run on
        with pytest.raises(NotAllowed, match='pause'):
            rig.send(0.05 * BAR, 0.0, 0.0)
        assert rig.tick().state is DeviceState.ACTIVE
    assert not np.any(rig.device.written)
    rig.clock.now += 1.1 * rig.loop.settings.command_timeout
    assert rig.stream((0.05 * BAR, 0.0, 0.0), 2).state is DeviceState.ACTIVE
    assert rig.device.written[-1].any()


ENDS = {
    'stop': lambda rig: rig.loop.stop('stopped'),
    'estop': lambda rig: (rig.press(), rig.tick(), rig.release()),
    'fault': lambda rig: rig.loop._fault(Fault.SENSOR, 'a sensor'),
}


@pytest.mark.parametrize('ends', ENDS)
def test_what_waits_during_a_long_call_is_ended_with_the_rest(rig, ends):
    """A stream that never paused; the loop hears it only after the call."""
    reach(rig, 0.05 * BAR, 0.0, 0.0)
    rig.clock.now += 10.0 * rig.loop.settings.command_timeout

    def fetch():
        with contextlib.suppress(SoroError):
            rig.send(0.05 * BAR, 0.0, 0.0)

    rig.inlet.fetch = fetch
    ENDS[ends](rig)
    rig.device.written.clear()
    rig.loop.clear()
    rig.loop.arm()
    for _ in range(10):
        assert rig.tick().state is DeviceState.ACTIVE
    assert not np.any(rig.device.written) and 'pause' in rig.inlet.last_rejection


@pytest.mark.parametrize('ends', ENDS)
def test_a_stream_that_waits_for_control_is_ended_too(rig, ends):
    reach(rig, 0.05 * BAR, 0.0, 0.0)
    with pytest.raises(NotInControl):
        rig.send(0.05 * BAR, 0.0, 0.0, source='/script')
    ENDS[ends](rig)
    rig.loop.clear()
    rig.loop.arm()
    with pytest.raises(NotAllowed, match='pause'):
        rig.send(0.05 * BAR, 0.0, 0.0, source='/script')


def test_a_stop_forgets_who_is_silent(rig):
    rig.armed()
    for k in range(100):
        rig.inlet._hear(f'/script_{k}', rig.clock.now)
        rig.tick(2)
    assert len(rig.inlet._heard) < 40
    rig.loop.stop('stopped')
    assert '/script_99' in rig.inlet._ended and '/script_70' not in rig.inlet._ended


def test_control_is_not_taken_over_before_the_loop_has_let_go(rig):
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    rig.tick(18)
    rig.clock.now += 0.025  # the owner is silent for too long, and no tick has noticed
    with pytest.raises(NotInControl):
        rig.send(1.4 * BAR, 0.0, 0.0, source='/script')
    assert rig.tick().state is DeviceState.SAFE
    assert any('no command from /robot/planner' in line for line in rig.log)


def test_a_source_that_is_always_refused_keeps_nobody_out(rig):
    rig.armed()
    for _ in range(5):
        rig.send(1.4 * BAR, 0.0, 0.0, source='/script')
        rig.tick()
    rig.send(1.4 * BAR, 0.0, 0.0, source='/script')
    rig.send(0.0, 0.0, 0.0)
    assert rig.tick().command.source == '/robot/planner'
    rig.send(0.0, 0.0, 0.0)
    with pytest.raises(NotInControl):
        rig.send(1.4 * BAR, 0.0, 0.0, source='/script')


def test_a_source_that_was_refused_once_keeps_the_control_it_gets_later(rig):
    rig.armed()
    rig.stream((1.4 * BAR, 0.0, 0.0), 1)
    rig.stream((0.0, 0.0, 0.0), 2)
    rig.send(0.0, 0.0, 0.0)
    with pytest.raises(NotInControl):
        rig.send(1.4 * BAR, 0.0, 0.0, source='/script')


def test_a_command_that_no_tick_took_in_time_keeps_nobody_out(rig):
    rig.armed()
    rig.send(0.0, 0.0, 0.0)
    rig.clock.now += 0.5  # a stall at rest
    rig.tick()
    assert rig.stream((0.0, 0.0, 0.0), 1, source='/script').command.source == '/script'


def test_another_source_may_begin_at_once_after_a_stop_was_cleared(rig):
    reach(rig, 0.05 * BAR, 0.0, 0.0)
    rig.loop.stop('stopped')
    rig.tick(50)
    rig.loop.clear()
    rig.loop.arm()
    rig.tick()
    assert rig.stream((0.0, 0.0, 0.0), 2, source='/robot/other').state is DeviceState.ACTIVE


def test_release_makes_safe_at_once_and_needs_a_new_arm(make_rig):
    rig = make_rig(safe_action=RELEASE)
    reach(rig, BAR, 0.0, 0.0)
    rig.loop.stop('stopped')
    assert rig.device.calls[-1] == 'make_safe'
    written = len(rig.device.written)
    tick = rig.tick(100)
    assert tick.state is DeviceState.SAFE and len(rig.device.written) == written
    with pytest.raises(NotAllowed):
        rig.send(0.0, 0.0, 0.0)
    rig.loop.disarm()
    with pytest.raises(NotAllowed, match='stopped; call driver/clear_fault'):
        rig.loop.arm()
    rig.loop.clear()
    rig.armed()
    rig.tick(25)
    assert rig.stream((0.0, 0.0, 0.0), 2).state is DeviceState.ACTIVE


def test_a_release_that_fails_loses_the_device_and_is_no_fault(make_rig):
    rig = make_rig(safe_action=RELEASE)
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    rig.device.fail['make_safe'] = DeviceLost('cable')
    tick = rig.tick(25)
    assert not tick.faults & ~(Fault.COMMUNICATION | Fault.STOPPED) and 'cable' in tick.reason
    rig.device.fail.clear()
    assert rig.tick(60).state is DeviceState.INACTIVE


def test_second_source_is_refused_and_the_first_goes_on(rig):
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    with pytest.raises(NotInControl):
        rig.send(0.0, 0.0, 0.0, source='/script')
    tick = rig.tick()
    assert tick.command.source == '/robot/planner'
    assert rig.inlet.rejected['NOT_IN_CONTROL'] == 1
    assert rig.device.written[-1][0] == pytest.approx(0.5 * BAR)


def test_replayed_commands_are_refused(rig):
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    with pytest.raises(OutOfOrder):
        rig.send(BAR, 0.0, 0.0, stamp=rig.stamp - 5_000_000)


@pytest.mark.parametrize('step', [3600.0, -3600.0])
def test_setting_the_wall_clock_trips_nothing(rig, step):
    wall = [1.7e9]
    rig.inlet._wall = lambda: wall[0] + rig.clock.now
    rig.stamp = 1_700_000_000_000_000_000
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    wall[0] += step
    rig.tick()  # one comes before the next command is fetched
    rig.stamp += int(step * 1e9)  # the sender reads the same clock
    tick = rig.stream((0.6 * BAR, 0.0, 0.0), 50)
    assert tick.state is DeviceState.ACTIVE
    assert rig.device.written[-1][0] == pytest.approx(0.6 * BAR)
    assert not rig.inlet.rejected


def test_a_command_on_its_way_while_the_clock_is_set_back_blocks_nobody(rig):
    wall = [1.7e9]
    rig.inlet._wall = lambda: wall[0] + rig.clock.now
    rig.stamp = 1_700_000_000_000_000_000
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    wall[0] -= 3600.0
    rig.stream((0.5 * BAR, 0.0, 0.0), 2)  # stamped before
    rig.stamp -= int(3600e9)
    tick = rig.stream((0.6 * BAR, 0.0, 0.0), 50)
    assert tick.state is DeviceState.ACTIVE and not rig.inlet.rejected
    # Order counts again a while after the step.
    with pytest.raises(OutOfOrder):
        rig.send(BAR, 0.0, 0.0, stamp=rig.stamp - 5_000_000)


def test_commands_that_waited_for_a_late_tick_are_no_step_of_the_clock(rig):
    rig.inlet._wall = lambda: 1.7e9 + rig.clock.now
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    stamp = rig.stamp
    for age in (0.15, 0.0):
        rig.tick()
        with pytest.raises(OutOfOrder):
            rig.send(BAR, 0.0, 0.0, stamp=stamp - 5_000_000, age=age)


@pytest.mark.parametrize('value', [float('nan'), float('inf'), 1e308, -BAR])
def test_a_bad_message_keeps_the_last_good_one(rig, value):
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    with pytest.raises(InvalidInput):
        rig.send(value, 0.1 * BAR, 0.0)
    tick = rig.tick()
    assert tick.state is DeviceState.ACTIVE
    assert rig.device.written[-1].tolist() == [0.5 * BAR, 0.0, 0.0]
    assert sum(rig.inlet.rejected.values()) == 1


@pytest.mark.parametrize(('sec', 'nanosec'), [(-1, 0), (-(2**31), 0), (2**31 - 1, 2**32 - 1)])
def test_a_stamp_that_no_clock_shows_is_refused(rig, sec, nanosec):
    tick = reach(rig, 0.5 * BAR, 0.0, 0.0)
    command = ActuatorCommand()
    command.header.stamp = Time(sec=sec, nanosec=nanosec)
    with pytest.raises(InvalidInput, match=r'stamp = .*: expected ns since 1970') as error:
        rig.send(0.5 * BAR, 0.0, 0.0, stamp=stamp_nanoseconds(command))
    assert error.value.field == 'stamp'
    assert rig.inlet.rejected['OUT_OF_RANGE'] == 1 and 'stamp' in rig.inlet.last_rejection
    assert rig.tick().command is tick.command


@pytest.mark.parametrize(('sec', 'nanosec'), [(0, 0), (-1, 5), (2**31 - 1, 999_999_999)])
def test_the_state_repeats_the_stamp_of_the_command(rig, sec, nanosec):
    tick = reach(rig, 0.5 * BAR, 0.0, 0.0)
    # What a law of another node wants is stamped without being checked.
    command = replace(tick.command, stamp=sec * 1_000_000_000 + nanosec)
    message = state_message(replace(tick, command=command), rig.gate, Time())
    assert message.command_stamp == Time(sec=sec, nanosec=nanosec)


def test_bad_messages_do_not_feed_the_watchdog(rig):
    reach(rig, 0.5 * BAR, 0.0, 0.0)
    for _ in range(30):
        with pytest.raises(InvalidInput):
            rig.send(float('nan'), 0.0, 0.0)
        tick = rig.tick()
    assert tick.state is DeviceState.SAFE


def test_first_command_far_from_the_robot_is_refused(rig):
    rig.armed()
    rig.stream((1.0 * BAR, 0.0, 0.0), 50)
    assert not np.any(rig.device.written)
    assert rig.inlet.rejected['NOT_NEAR'] == 50
    assert 'within' in rig.inlet.last_rejection


def test_a_frozen_measurement_loses_the_device_by_age(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.device.frozen_at = rig.clock.now
    start = rig.clock.now
    while rig.loop.safety.connected:
        rig.stream((BAR, 0.0, 0.0), 1)
        assert rig.clock.now - start < 0.15
    assert rig.clock.now - start > 0.1
    assert 'make_safe' in rig.device.calls and rig.device.calls[-1] == 'close'
    tick = rig.loop.tick()
    assert tick.state is DeviceState.UNCONFIGURED
    assert np.isnan(tick.measured).all() and np.isnan(tick.applied).all()
    assert tick.faults & Fault.COMMUNICATION


def test_at_rest_the_device_has_more_time_to_answer(rig):
    rig.armed()
    rig.device.fail['read'] = DeviceTimeout('slow')
    assert rig.tick(35).state is DeviceState.ACTIVE  # 0.35 s of 4 x 0.1 s
    assert rig.tick(10).state is DeviceState.UNCONFIGURED


def test_writes_that_time_out_for_ever_lose_the_device(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.device.fail['write'] = DeviceTimeout('no answer')
    begin = rig.clock.now
    while rig.loop.safety.connected:
        rig.stream((BAR, 0.0, 0.0), 1)
        assert rig.clock.now - begin < 0.25
    assert rig.clock.now - begin > 0.19
    assert 'no set-point could be written' in rig.loop.safety.reason
    assert 'make_safe' in rig.device.calls and rig.device.calls[-1] == 'close'


def test_a_safe_action_that_cannot_be_written_loses_the_device(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.loop.stop('stopped')
    rig.device.fail['write'] = DeviceTimeout('no answer')
    rig.tick(25)
    assert 'make_safe' in rig.device.calls and rig.device.measured[0] == 0.0


def test_single_timeouts_are_ridden_out(rig):
    reach(rig, BAR, 0.0, 0.0)
    for _ in range(5):
        rig.device.fail['read'] = DeviceTimeout('slow')
        rig.stream((BAR, 0.0, 0.0), 5)  # 50 ms
        del rig.device.fail['read']
        assert rig.stream((BAR, 0.0, 0.0), 3).state is DeviceState.ACTIVE
    assert rig.loop.timeouts == 25
    rig.device.fail['read'] = DeviceTimeout('slow')
    rig.tick(12)
    assert not rig.loop.safety.connected


def test_reconnection_backs_off_and_comes_back_inactive(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.device.fail = {'read': DeviceLost('cable'), 'open': DeviceLost('no answer')}
    rig.tick()
    rig.device.calls.clear()
    rig.tick(1000)  # 10 s
    assert 4 <= rig.device.calls.count('open') <= 6  # 0.25, 0.5, 1, 2, 4 s apart
    rig.device.fail.clear()
    tick = rig.tick(410)
    assert tick.state is DeviceState.INACTIVE
    assert rig.loop.reconnections == 1
    written = len(rig.device.written)
    with pytest.raises(NotAllowed):
        rig.send(0.0, 0.0, 0.0)
    rig.tick(100)
    assert len(rig.device.written) == written


def test_a_device_error_latches_a_fault_and_vents(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.device.fail['write'] = DeviceError('card: error -200279')
    tick = rig.stream((BAR, 0.0, 0.0), 1)
    assert tick.state is DeviceState.FAULT and tick.faults == Fault.DEVICE
    assert tick.reason == 'card: error -200279'
    assert rig.device.calls[-1] == 'make_safe'
    rig.device.fail.clear()
    assert rig.tick(100).state is DeviceState.FAULT
    with pytest.raises(NotAllowed, match='clear_fault'):
        rig.loop.arm()
    rig.loop.clear()
    assert rig.tick().state is DeviceState.INACTIVE
    rig.armed()
    assert rig.stream((0.0, 0.0, 0.0), 2).state is DeviceState.ACTIVE


def test_clearing_an_active_robot_changes_nothing(rig):
    reach(rig, BAR, 0.0, 0.0)
    calls = list(rig.device.calls)
    rig.loop.clear()
    assert rig.stream((BAR, 0.0, 0.0), 1).state is DeviceState.ACTIVE
    assert 'make_safe' not in rig.device.calls[len(calls) :]
    assert rig.device.written[-1][0] == pytest.approx(BAR)


def test_clearing_during_a_safe_action_ends_it_with_safe_outputs(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.loop.stop('stopped')
    assert rig.tick(3).state is DeviceState.SAFE
    rig.loop.clear()
    assert 'make_safe' in rig.device.calls
    assert rig.tick().state is DeviceState.INACTIVE
    rig.armed()
    with pytest.raises(NotAllowed, match='pause'):  # arming sends no target again
        rig.send(0.0, 0.0, 0.0)
    rig.tick(25)
    assert rig.stream((0.0, 0.0, 0.0), 2).state is DeviceState.ACTIVE


def test_a_device_that_cannot_be_reset_is_lost(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.loop.stop('stopped')
    rig.device.fail['reset'] = DeviceTimeout('no device answers HELLO')
    with pytest.raises(DeviceTimeout):
        rig.loop.clear()
    tick = rig.tick()  # nothing was read of what the device has forgotten
    assert tick.state is DeviceState.UNCONFIGURED and 'reset' in tick.reason
    del rig.device.fail['reset']
    assert rig.tick(60).state is DeviceState.INACTIVE


def test_a_device_that_tripped_by_itself_is_a_fault(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.device.tripped = True
    tick = rig.tick()
    assert tick.state is DeviceState.FAULT and tick.faults == Fault.DEVICE_WATCHDOG


def test_what_a_device_reports_without_words_is_named(rig, monkeypatch):
    reach(rig, BAR, 0.0, 0.0)
    read, bits = rig.device.read, int(Fault.STOPPED | Fault.REBOOT)
    monkeypatch.setattr(rig.device, 'read', lambda: replace(read(), faults=bits))
    tick = rig.tick()
    assert tick.state is DeviceState.FAULT and tick.faults == bits
    assert tick.reason == 'the device was restarted, stopped, or commands lost'


def test_over_pressure_faults_in_every_state(rig):
    rig.device.measured[1] = 1.8 * BAR
    assert rig.tick(10).faults == Fault.OVER_LIMIT
    assert rig.loop.safety.state is DeviceState.FAULT


def test_estop_vents_at_once_and_stays(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.press()
    assert rig.device.calls[-1] == 'make_safe'
    assert rig.tick().state is DeviceState.ESTOP
    rig.release()
    assert rig.tick(100).state is DeviceState.ESTOP
    with pytest.raises(NotAllowed, match='emergency stop'):
        rig.loop.arm()
    rig.loop.clear()
    assert rig.tick().state is DeviceState.INACTIVE


def test_arming_with_a_faulty_sensor_is_refused(rig):
    rig.device.flags[1] = Flag.SENSOR_FAULT
    with pytest.raises(NotAllowed, match='b is faulty'):
        rig.loop.arm()
    assert 'arm' not in rig.device.calls


@pytest.mark.parametrize(
    ('lateness', 'state'), [(0.15, DeviceState.ACTIVE), (0.25, DeviceState.FAULT)]
)
def test_a_stall_trips_only_when_longer_than_the_time_to_live(rig, lateness, state):
    reach(rig, BAR, 0.0, 0.0)
    before = rig.device.written[-1].copy()
    rig.clock.now += lateness
    rig.send(0.0, 0.0, 0.0)
    tick = rig.tick(lateness=lateness)
    assert tick.state is state
    if state is DeviceState.ACTIVE:  # no step longer than two ticks' worth, however long it slept
        assert np.max(np.abs(rig.device.written[-1] - before)) <= 2 * 0.02 * BAR * 1.001
    else:
        assert tick.faults == Fault.STALL


@pytest.mark.parametrize('error', [DeviceTimeout('read: deadline'), DeviceLost('reset by peer')])
@pytest.mark.parametrize('call', ['read', 'write'])
def test_a_process_stopped_inside_a_call_has_stalled(rig, monkeypatch, call, error):
    reach(rig, BAR, 0.0, 0.0)

    def stopped(*values):
        rig.clock.now += 0.8
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(rig.device, call, stopped)
        tick = rig.tick()
    assert tick.state is DeviceState.FAULT and tick.faults == Fault.STALL
    assert 'stalled for 0.8' in tick.reason
    assert rig.device.calls[-1] == 'make_safe'
    assert rig.tick(5).state is DeviceState.FAULT  # the device is there, and stays safe


def test_a_stall_at_rest_is_ridden_out(rig):
    rig.armed().tick(10)
    rig.clock.now += 1.0
    assert rig.tick(lateness=1.0).state is DeviceState.ACTIVE


def test_the_device_is_patient_too_while_nothing_could_go_wrong(rig, monkeypatch):
    told, write, ttl = [], rig.device.write, rig.loop.settings.ttl
    monkeypatch.setattr(rig.device, 'write', lambda v, t: (told.append(t), write(v, t)))
    rig.armed().tick(10)
    at_rest = min(told)
    assert at_rest > ttl  # what the driver rides out, the device does too
    told.clear()
    rig.stream((0.0, 0.0, 0.0), 2)
    rig.stream((0.1 * BAR, 0.0, 0.0), 10)
    assert set(told) == {ttl} and len(told) == 12  # from the first command on
    rig.loop.stop('stopped')
    while rig.device.written[-1].any():
        rig.tick()
    assert set(told) == {ttl}
    rig.tick(2)
    assert told[-1] == at_rest


def lose_it(rig):
    rig.device.fail['read'] = DeviceLost('cable')


def break_it(rig):
    rig.device.fail['write'] = DeviceError('card: error')


def press_it(rig):
    rig.press()


def stop_it(rig):
    rig.loop.stop('stopped')


@pytest.mark.parametrize('trouble', [lose_it, break_it, press_it, stop_it])
def test_outputs_are_made_safe_before_the_log_can_keep_the_loop_waiting(make_rig, trouble):
    rig = make_rig(safe_action=RELEASE)
    reach(rig, BAR, 0.0, 0.0)
    calls = rig.device.calls
    calls.clear()
    rig.loop._log = lambda line: calls.append('log')
    trouble(rig)
    rig.tick()
    assert calls.index('make_safe') < calls.index('log')


def test_failing_to_vent_loses_the_device(rig):
    reach(rig, BAR, 0.0, 0.0)
    rig.device.fail['make_safe'] = DeviceLost('cable')
    rig.loop.disarm()
    assert not rig.loop.safety.connected
    assert any('could not be made safe' in line for line in rig.log)


def test_shutdown_vents_and_closes(rig):
    reach(rig, BAR, 0.0, 0.0)
    assert rig.loop.shutdown()
    assert rig.device.calls[-2:] == ['make_safe', 'close']
    assert rig.loop.shutdown()


def lose(rig, serial='1'):
    """Lose a device with a serial number that cannot be made safe either."""
    rig.device.serial = serial
    rig.loop.open()
    rig.armed()
    rig.device.fail = dict.fromkeys(('read', 'make_safe', 'open'), DeviceLost('cable'))
    assert rig.tick(10).state is DeviceState.UNCONFIGURED
    assert any('not made safe from here' in line for line in rig.log)


def test_a_lost_device_that_could_not_be_made_safe_is_told_at_the_end(rig):
    lose(rig)
    rig.tick(100)
    assert not rig.loop.shutdown()
    assert rig.loop.unsafe == ['fake 1']
    assert not rig.loop.shutdown()  # asked again it is no better


def test_a_lost_device_that_came_back_was_made_safe(rig):
    lose(rig)
    rig.device.fail.clear()
    assert rig.tick(100).state is DeviceState.INACTIVE
    assert rig.loop.shutdown() and not rig.loop.unsafe


def test_another_device_does_not_make_the_lost_one_safe(rig):
    lose(rig)
    rig.device.serial = '2'
    rig.device.fail.clear()
    assert rig.tick(100).state is DeviceState.INACTIVE
    assert not rig.loop.shutdown()
    assert rig.loop.unsafe == ['fake 1']


def test_a_lost_device_that_was_made_safe_another_way_is_safe(rig):
    rig.armed()
    rig.device.fail = dict.fromkeys(('read', 'open'), DeviceLost('cable'))
    assert rig.tick(10).state is DeviceState.UNCONFIGURED
    assert rig.loop.shutdown()


def test_an_error_inside_the_driver_while_a_lost_device_is_made_safe_is_told_too(rig):
    rig.device.fail = {'read': DeviceLost('cable'), 'make_safe': ZeroDivisionError()}
    with pytest.raises(ZeroDivisionError):
        rig.tick()
    assert not rig.loop.shutdown()


@pytest.mark.parametrize('error', [DeviceLost('cable'), ZeroDivisionError()])
def test_a_shutdown_that_cannot_make_safe_says_so(rig, error):
    rig.device.fail['make_safe'] = error
    assert not rig.loop.shutdown()
    assert rig.loop.unsafe == ['fake 1'] and rig.device.calls[-1] == 'close'


def test_refusals_carry_a_code():
    assert NotAllowed('x').code is Code.NOT_ACTIVE


def let_go(rig, source):
    """Send the command without actuators that ends a source's control."""
    rig.stamp += 1_000_000
    rig.inlet.submit((), (), (), source, rig.stamp, rig.clock.now)


def test_who_lets_go_itself_is_followed_by_the_next_without_clearing(rig):
    rig.armed()
    rig.stream((0.1 * BAR, 0.0, 0.0), 5)
    let_go(rig, '/robot/planner')
    assert rig.tick().state is DeviceState.SAFE
    assert not rig.loop.safety.latches.stopped
    rig.tick(100)
    assert rig.stream((0.0, 0.0, 0.0), 3, source='/robot/other').state is DeviceState.ACTIVE


def test_nobody_lets_go_for_somebody_else(rig):
    rig.armed()
    rig.stream((0.0, 0.0, 0.0), 5)
    with pytest.raises(NotInControl):
        let_go(rig, '/robot/other')
    assert rig.stream((0.0, 0.0, 0.0), 3).state is DeviceState.ACTIVE
    rig.tick(30)  # the source is gone, and nobody makes a release of that
    with pytest.raises(NotAllowed):
        let_go(rig, '/robot/other')
    with pytest.raises(NotAllowed):
        let_go(rig, '/robot/planner')
    assert rig.loop.safety.latches.stopped


def test_letting_go_of_what_nobody_has_does_not_end_the_next_one(rig):
    rig.armed()
    let_go(rig, '/robot/other')
    rig.tick()
    assert rig.stream((0.0, 0.0, 0.0), 3).state is DeviceState.ACTIVE
    rig.loop.clear()
    assert rig.stream((0.0, 0.0, 0.0), 3).state is DeviceState.ACTIVE


def test_who_follows_in_the_same_tick_does_not_take_over_what_was_let_go(rig):
    rig.armed()
    rig.stream((0.1 * BAR, 0.0, 0.0), 5)
    let_go(rig, '/robot/planner')
    rig.send(1.5 * BAR, 0.0, 0.0, source='/robot/other')
    tick = rig.tick()
    assert tick.state is DeviceState.SAFE and tick.commanded[0] == 0.1 * BAR


@pytest.mark.parametrize('empty', [False, True])
def test_nothing_ends_a_stop_but_clearing(rig, empty):
    rig.armed()
    rig.stream((0.0, 0.0, 0.0), 5)
    rig.loop.stop('stopped')
    for _ in range(50):
        rig.tick(10)
        with pytest.raises(NotAllowed):
            let_go(rig, '/robot/other') if empty else rig.send(0.0, 0.0, 0.0)
    assert rig.tick().state is DeviceState.SAFE
    rig.loop.disarm()
    with pytest.raises(NotAllowed, match='clear_fault'):
        rig.loop.arm()


def test_what_came_while_it_was_being_armed_was_sent_before_that(rig):
    rig.armed()
    rig.stream((0.0, 0.0, 0.0), 5)
    rig.loop.stop('stopped')
    rig.tick(100)
    rig.loop.clear()
    waiting = [lambda: rig.send(0.0, 0.0, 0.0, source='/robot/other')]

    def fetch():
        while waiting:
            with pytest.raises(NotAllowed):
                waiting.pop()()

    rig.inlet.fetch = fetch
    rig.loop.arm()
    rig.tick()
    assert not waiting and rig.inlet.owner(rig.clock.now) == ''


def test_sources_without_number_leave_nothing_behind(rig):
    rig.armed()
    for k in range(200):
        with pytest.raises(SoroError):
            rig.send(math.nan, 0.0, 0.0, source=f'/source_{k}')
        if k % 20 == 0:
            rig.loop.stop('stopped')
        rig.tick(5)
    inlet = rig.inlet
    assert max(len(inlet._heard), len(inlet._ended)) < 60


def test_a_pass_knows_when_the_next_slot_begins(make_rig, monkeypatch):
    rig = make_rig()
    period, begun = rig.loop.settings.period, rig.clock.now
    assert rig.loop.tick().due == pytest.approx(begun + period)
    # Slots that were missed are not made up: the one it is late in ends as it would.
    assert rig.loop.tick(3.4 * period).due == pytest.approx(begun + 0.6 * period)

    def slow():
        rig.clock.now += 0.3 * period

    monkeypatch.setattr(rig.loop._requests, 'answer', slow)
    assert rig.loop.tick().due == pytest.approx(begun + period)
