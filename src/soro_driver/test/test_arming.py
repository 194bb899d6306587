# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Arming moves nothing and leaves nothing half armed; what is no number reaches no device."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from soro_driver.device import DeviceError, DeviceState, DeviceTimeout, Fault
from soro_driver.loop import control_loop
from soro_driver.loop.law import Command
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.session_device import SessionDevice
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.status import Code

BAR = 1e5
RATE = 2.0  # rad/s
PERIOD = 0.01


def of_quantity(quantity):
    return CommandGate([Actuator(name, quantity, -1.0, 1.0, RATE, 0.0) for name in 'abc'])


@pytest.mark.parametrize('quantity', ['angle', 'length', 'stretch', 'curvature', 'force'])
@pytest.mark.parametrize('here', [-0.15, 0.05, 0.7])
def test_arming_moves_nothing_that_is_held_away_from_rest(make_rig, quantity, here):
    # 0.15 lies within the band for first commands, a tenth of the range of 2.
    rig = make_rig(gate=of_quantity(quantity))
    rig.device.measured = np.array([here, 0.0, 0.0])
    rig.armed().tick(10)
    np.testing.assert_array_equal(rig.device.written, [[here, 0.0, 0.0]] * 11)


def test_a_pressure_that_is_left_near_rest_is_let_out_at_the_slew_limit(rig):
    rig.device.measured = np.array([0.1 * BAR, 0.0, 0.0])
    rig.device.follows = False  # it leaks out slowly
    rig.armed().tick(10)
    first = np.array([w[0] for w in rig.device.written])
    np.testing.assert_allclose(first[:6] / BAR, [0.08, 0.06, 0.04, 0.02, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize('error', [DeviceTimeout('no answer'), DeviceError('one drive refuses')])
def test_a_device_that_is_not_armed_or_only_a_part_of_it_is_made_safe(rig, error):
    rig.device.fail['arm'] = error
    with pytest.raises(type(error)):
        rig.loop.arm()
    assert rig.device.calls[-1] == 'make_safe'
    assert rig.tick().state is DeviceState.INACTIVE


def test_an_old_measurement_is_no_place_to_start_from(rig, monkeypatch):
    monkeypatch.setattr(control_loop, 'READY_TIMEOUT', 0.0)
    rig.tick(3)
    rig.device.frozen_at = rig.clock.now
    rig.tick(15)  # 0.15 s, at rest it may be 0.4 s old
    assert rig.loop.safety.connected
    with pytest.raises(NotAllowed, match='0.15 s old') as error:
        rig.loop.arm()
    assert error.value.code is Code.BUSY
    assert 'arm' not in rig.device.calls
    rig.device.frozen_at = None
    rig.loop.arm()


def test_arming_waits_for_a_measurement(rig):
    rig.tick(3)
    rig.device.frozen_at = rig.clock.now
    rig.tick(15)
    read = rig.device.read

    def then_one_comes():
        result = read()
        rig.device.frozen_at = None
        return result

    rig.device.read = then_one_comes
    rig.loop.arm()
    assert rig.tick().state is DeviceState.ACTIVE


def test_a_measurement_without_a_time_does_not_silence_the_watchdog(rig):
    rig.armed().tick(3)
    rig.device.frozen_at = float('nan')
    rig.tick(50)
    assert not rig.loop.safety.connected


@pytest.mark.parametrize('value', [float('nan'), float('inf'), -float('inf')])
def test_a_law_that_wants_what_is_no_number_is_stopped(rig, value):
    rig.armed()
    rig.stream((0.0, 0.0, 0.0), 2)
    good = rig.inlet.command

    def wrong(reading, accepting, now) -> Command:
        return replace(good(reading, accepting, now), values=np.array([0.0, value, 0.0]))

    rig.inlet.command = wrong
    tick = rig.tick()
    assert tick.state is DeviceState.FAULT and tick.faults == Fault.INTERNAL
    assert 'b' in tick.reason
    assert rig.device.calls[-1] == 'make_safe'
    assert np.isfinite(rig.device.written).all()


class Sent(SessionDevice):
    def read(self):
        raise NotImplementedError


@pytest.mark.parametrize('value', [float('nan'), float('inf')])
def test_no_device_with_a_session_sends_what_is_no_number(value):
    device, sent = Sent(), []
    device.transport = SimpleNamespace(arm=lambda: None, command=lambda *sets: sent.append(sets))
    device._armed = True
    device.write(np.zeros(2), 0.2)
    with pytest.raises(DeviceError, match='not finite'):
        device.write(np.array([0.0, value]), 0.2)
    assert len(sent) == 1


def test_after_a_loss_the_outputs_count_as_at_rest(rig):
    rig.armed()
    rig.stream((0.0, 0.0, 0.0), 2)
    rig.stream((BAR, 0.0, 0.0), 60)
    rig.device.frozen_at = rig.clock.now
    rig.tick(30)
    assert not rig.loop.safety.connected
    rig.device.frozen_at = None
    rig.tick(100)
    assert rig.loop.safety.state is DeviceState.INACTIVE
    rig.device.frozen_at = rig.clock.now
    rig.tick(35)  # 0.35 s of 4 x 0.1 s, as for every robot at rest
    assert rig.loop.safety.connected and rig.loop.reconnections == 1
