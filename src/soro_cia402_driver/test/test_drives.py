# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The driver and emulated drives over the same wire."""

from dataclasses import replace
import time
from types import SimpleNamespace

from drives_on_a_bus import bench, EXAMPLE, pass_time, robot, TTL  # noqa: F401
import numpy as np
import pytest
import yaml

from soro_cia402_driver import protocol as co
from soro_cia402_driver.device import Cia402Device
from soro_cia402_driver.emulator.device import Cia402Emulator
from soro_cia402_driver.emulator.drive import Drive, LAG
from soro_cia402_driver.protocol import State
from soro_cia402_driver.transport import BEAT, Cia402Transport
from soro_cia402_driver.wiring import read_wiring
from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout, Fault, Flag
from soro_driver.endpoint import Endpoint
from soro_driver.settings import read_driver_settings
from soro_emulation.device_emulator import EmulatorContext
from soro_emulation.event_log import EventLog
from soro_mechanics.actuator_models.motor import MotorProperties, PositionDrive
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.section import Section
from soro_rigs.held_up import undisturbed
from soro_rigs.ros_session import wait_until

COUNT = 2.0 * np.pi / (4096 * 14)


def made(robot, place):  # noqa: F811
    return Cia402Device.from_section(read_driver_settings(robot).section, robot, place)


@pytest.fixture
def device(robot, bench):  # noqa: F811
    device = made(robot, bench[1])
    device.open()
    yield device
    device.close()


def cycle(device, values, seconds, until=lambda reading: False, ttl=TTL):
    """Do what the control loop does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        reading = device.read()
        if until(reading):
            break
        try:
            device.write(np.array(values), ttl)
        except DeviceTimeout:
            pass  # a busy computer: the loop goes on
        pass_time(0.004)
    return reading


def states(emulator):
    return {drive.state for drive in emulator.drives.values()}


@undisturbed
def test_driver_and_drives_agree_on_angles(device, bench):  # noqa: F811
    device.arm()
    goal = np.linspace(0.05, 0.3, 6)
    reading = cycle(device, goal, 1.0)
    assert np.allclose(reading.measured, goal, atol=COUNT)
    assert np.allclose(reading.applied, goal, atol=COUNT)
    assert np.allclose(bench[0].actuation(time.monotonic()), goal, atol=COUNT)
    # One turn of a drum is 14 turns of 4096 counts (the file says so).
    assert bench[0].drives[6].axis.value == pytest.approx(0.3 / (2.0 * np.pi) * 14 * 4096, abs=1)
    assert time.monotonic() - reading.time < 0.1
    assert not reading.faults


def test_opening_and_making_safe_take_the_power_off(device, bench):  # noqa: F811
    assert states(bench[0]) == {State.SWITCH_ON_DISABLED}
    device.arm()
    cycle(device, np.full(6, 0.1), 0.2)
    assert states(bench[0]) == {State.ENABLED}
    device.make_safe()
    assert states(bench[0]) == {State.SWITCH_ON_DISABLED}
    with pytest.raises(DeviceError):
        device.write(np.full(6, 0.1), TTL)
    device.arm()
    device.close()
    device.open()
    assert states(bench[0]) == {State.SWITCH_ON_DISABLED}


def test_arming_moves_nothing(device, bench):  # noqa: F811
    drive = bench[0].drives[2]
    drive.table[co.GOAL] = 9000  # an old goal
    drive.axis.value = 50.0
    device.arm()
    cycle(device, device.read().measured, 0.2)
    assert abs(drive.axis.value - 50.0) <= 1.0


def test_silence_releases_them_and_nothing_resumes(device, bench):  # noqa: F811
    device.arm()
    cycle(device, np.full(6, 0.1), 0.4)
    device.write(np.full(6, 0.5), TTL)
    since = time.monotonic()
    wait_until(lambda: states(bench[0]) == {State.SWITCH_ON_DISABLED})
    assert time.monotonic() - since > 0.5 * TTL
    here = bench[0].actuation(0.0)
    reading = cycle(device, np.full(6, 0.5), 1.0, lambda r: r.tripped)
    assert reading.tripped
    cycle(device, np.full(6, 0.5), 0.2)
    assert np.allclose(bench[0].actuation(0.0), here)
    device.make_safe()
    device.arm()
    cycle(device, np.full(6, 0.5), 1.0)
    assert np.allclose(bench[0].actuation(0.0), 0.5, atol=2.0 * COUNT)


@pytest.mark.parametrize('loss', [0.0, 0.5])
def test_drives_watch_for_as_long_as_the_loop_says(device, bench, loss):  # noqa: F811
    device.arm()
    bench[0].inject('link', {'loss': loss, 'direction': 'both'})
    for ttl in (4.0 * TTL, TTL):
        cycle(device, np.zeros(6), 20.0, lambda _, ttl=ttl: watched(bench[0]) == {ttl}, ttl)
        assert watched(bench[0]) == {ttl}


def test_an_older_answer_confirms_no_newer_time(device, bench, monkeypatch):  # noqa: F811
    device.arm()
    cycle(device, np.zeros(6), 20.0, lambda _: watched(bench[0]) == {4.0 * TTL}, 4.0 * TTL)
    transport = device.transport
    older = co.whole(co.DOWNLOAD, co.WATCHED, co.HOST << 16 | round(4e3 * TTL))
    transport.bus.put([(co.SDO_REQUEST + n, older) for n in transport.wiring.nodes])
    with monkeypatch.context() as full:  # the newer one gets lost
        full.setattr(transport.bus, 'put', lambda frames: None)
        device.write(np.zeros(6), TTL)
    pass_time(0.02)  # the answers come
    cycle(device, np.zeros(6), 20.0, lambda _: watched(bench[0]) == {TTL})
    assert watched(bench[0]) == {TTL}


def test_a_robot_of_one_drive_tells_it_too_for_how_long_to_watch(device):
    wiring = device.transport.wiring
    each = ('names', 'nodes', 'zero', 'per_count', 'minimum', 'maximum')
    one = {name: getattr(wiring, name)[:1] for name in each}
    transport, sent = Cia402Transport(replace(wiring, **one), 1.0, 1.0), []
    transport.bus = SimpleNamespace(put=sent.extend)
    for _ in range(4):
        transport.command(np.zeros(1), TTL)
    told = co.whole(co.DOWNLOAD, co.WATCHED, co.HOST << 16 | round(1e3 * TTL))
    asked = co.sdo(co.VALUE, co.WATCHED)
    requests = [f for i, f in sent if i == co.SDO_REQUEST + wiring.nodes[0]]
    assert told in requests and asked in requests


def watched(emulator):
    return {1e-3 * (drive.table[co.WATCHED] & 0xFFFF) for drive in emulator.drives.values()}


def test_an_emulator_that_slept_blames_nobody():
    drive = Drive(1, PositionDrive(0.0, 1e4, LAG), 0.0)
    drive.table[co.WATCHED] = co.HOST << 16 | 100
    drive.receive(*BEAT, 0.0)
    assert drive.advance(0.01) == []
    assert drive.advance(5.0) == []  # the heartbeats of that time wait in its socket
    assert any(drive.advance(5.0 + 0.01 * k) for k in range(1, 12))  # none came since it woke


def test_nobody_is_watched_while_nothing_is_armed(device, bench):  # noqa: F811
    device.arm()
    cycle(device, np.full(6, 0.1), 0.2)
    device.make_safe()
    pass_time(2.0 * TTL)
    reading = device.read()
    assert reading.faults == 0
    assert not device.transport.errors.any()


@pytest.mark.parametrize(('code', 'word'), [(0x4310, 'temperature'), (0x2310, 'current')])
def test_an_error_names_the_drive_and_a_reset_clears_it(device, bench, code, word):  # noqa: F811
    device.arm()
    bench[0].inject('error', {'actuator': 'near_2', 'code': code})
    reading = cycle(device, np.zeros(6), 1.0, lambda r: r.faults)
    assert reading.faults & Fault.DEVICE
    assert reading.tripped
    assert device.fault_text[reading.faults & ~int(Fault.DEVICE)] == word
    assert 'near_2' in reading.reason
    assert f'{code:04X}' in reading.reason
    device.make_safe()
    with pytest.raises(DeviceError, match='near_2'):
        device.arm()
    device.reset()
    device.arm()
    assert not cycle(device, np.zeros(6), 0.3).faults


def test_a_drive_that_stalls_finds_it_itself(device, bench):  # noqa: F811
    device.arm()
    bench[0].inject('blocked', {'actuator': 'far_3'})
    reading = cycle(device, np.full(6, 0.3), 2.0, lambda r: r.faults)
    assert reading.faults & Fault.DEVICE
    assert 'far_3' in reading.reason
    assert '8611' in reading.reason
    assert abs(bench[0].actuation(0.0)[5]) < COUNT


def test_a_load_beyond_the_torque_limit_stalls_a_motor_and_its_drive_finds_it():
    """In time of its own: no bus, no clock."""
    axis = PositionDrive(0.0, 1e6, LAG, MotorProperties(1e-3, 2.0, 0.01, 0.01, 20.0, 0.4), COUNT)
    drive, now = Drive(1, axis, 0.0), 0.0
    drive.table[co.MODE], drive.table[co.GOAL] = 8, round(0.2 / COUNT)
    drive.table[co.WINDOW], drive.table[co.WINDOW_TIME] = round(np.radians(6.0) / COUNT), 100
    drive.link, drive.state = co.OPERATIONAL, State.ENABLED

    def wait(seconds):
        nonlocal now
        for _ in range(round(seconds / 0.004)):
            now += 0.004
            drive.advance(now)

    axis.load = 0.3
    wait(1.0)
    assert drive.state is State.ENABLED
    # the loop gives way by the load over its stiffness, less what friction holds
    assert (0.2 - COUNT * axis.value) * 20.0 == pytest.approx(0.3, abs=0.0115)
    assert drive.torque == pytest.approx(150.0, abs=6.0)  # permille of 2 N m
    assert drive._show()[co.PRESENT_TORQUE] == round(drive.torque)
    axis.load = 2.2
    wait(1.0)
    assert drive.state is State.FAULT
    assert drive.torque == 0.0
    here = axis.value
    wait(0.1)
    assert axis.value < here < 0.1 / COUNT  # the load takes it along
    axis.load, axis.speed = 0.0099, 0.0
    here = axis.value
    wait(0.1)
    assert axis.value == here  # friction holds that


def test_a_drive_keeps_to_the_range_of_the_file(device, bench, robot):  # noqa: F811
    device.arm()
    for drive in bench[0].drives.values():
        drive.table[co.WINDOW] = 10**9
    device.transport.goal[:] = 10**6  # past every check of the driver
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        device.transport._cycle([co.ENABLE] * 6)
        pass_time(0.01)
    reading = device.read()
    assert np.allclose(bench[0].actuation(0.0), robot.actuators[0].maximum, atol=2.0 * COUNT)
    assert np.all(reading.flags & Flag.RATE_LIMITED)


def test_a_drive_that_restarted_is_set_up_again_by_a_reset(device, bench):  # noqa: F811
    device.arm()
    cycle(device, np.full(6, 0.1), 0.2)
    bench[0].inject('reboot', {'actuator': 'far_1'})
    reading = cycle(device, np.full(6, 0.1), 1.0, lambda r: r.faults)
    assert reading.faults & Fault.REBOOT
    assert reading.reason == 'drive 4 (far_1) has restarted'
    device.reset()
    device.arm()
    assert np.allclose(cycle(device, np.full(6, 0.2), 0.8).measured, 0.2, atol=COUNT)


def test_frames_that_are_lost_move_nothing_wrong(device, bench):  # noqa: F811
    device.arm()
    cycle(device, np.full(6, 0.2), 0.6)
    bench[0].inject('link', {'loss': 0.2, 'direction': 'both'})
    positions = []
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        cycle(device, np.full(6, 0.2), 0.01)
        positions.append(bench[0].actuation(0.0))
    assert bench[0].counters['to_device_lost'] > 0
    assert np.abs(np.array(positions) - 0.2).max() < 2.0 * COUNT


def test_what_is_not_there_is_named(robot, bench):  # noqa: F811
    device = made(robot, bench[1])
    del bench[0].drives[4]
    with pytest.raises(DeviceLost, match='drive 4 .far_1.'):
        device.open()
    device.close()
    bench[0].drives[4] = bench[0].drives[5]


def test_no_watch_no_driver(robot, bench):  # noqa: F811
    # A drive without this object could not be told what to do when the computer falls silent.
    device = made(robot, bench[1])
    del bench[0].drives[3].table._at[(0x6007, 0)]
    with pytest.raises(DeviceError, match='drive 3 .near_3. refuses 0x6007'):
        device.open()
    device.close()


def test_a_drive_in_another_mode_is_not_armed(device, bench, monkeypatch):  # noqa: F811
    drive = bench[0].drives[3]
    show = drive._show

    def keeps_its_mode():
        show()[co.MODE_SHOWN] = 1
        return drive.table

    monkeypatch.setattr(drive, '_show', keeps_its_mode)
    with pytest.raises(DeviceError, match='drive 3 .near_3. is in mode 1: .* mode of operation 8'):
        device.arm()
    device.make_safe()
    assert states(bench[0]) == {State.SWITCH_ON_DISABLED}


@pytest.mark.parametrize('per_count', [1e-10, -1e-10])
def test_a_range_that_a_drive_cannot_count_is_refused(robot, bench, per_count):  # noqa: F811
    device = made(robot, bench[1])
    device.wiring.per_count[2] = device.transport.per_count[2] = per_count
    with pytest.raises(DeviceError, match='near_3.*do not fit 0x607A:0'):
        device.open()
    device.close()


def test_an_unplugged_bus_is_a_lost_device(device, bench):  # noqa: F811
    bench[0].inject('unplug', {})
    end = time.monotonic() + 5.0
    with pytest.raises(DeviceLost):
        while time.monotonic() < end:
            device.read()


def test_forces_are_torques_of_the_rated_one(tmp_path):
    data = yaml.safe_load(EXAMPLE.with_name('tendon_arm.yaml').read_text())
    bus = yaml.safe_load(EXAMPLE.read_text())['driver'] | {'time_to_live': f'{TTL} s'}
    for key in ('counts', 'tracking_error'):
        del bus['cia402'][key]
    bus['cia402'] |= {'drum': '10 mm', 'ratio': 2, 'direction': '1 1 1 -1 -1 -1'}
    file = tmp_path / 'arm.yaml'
    file.write_text(yaml.safe_dump({**data, 'name': 'arm', 'driver': bus}, sort_keys=False))
    robot = read_robot_file(file)  # noqa: F811
    section, place = read_driver_settings(robot).section, Endpoint(0, tmp_path)
    context = EmulatorContext(robot, section, Section({}, 'e'), place, 1, EventLog(''))
    emulator = Cia402Emulator(context, time.monotonic())
    emulator.start()
    device = made(robot, Endpoint(emulator.wire.server.port, tmp_path))
    try:
        device.open()
        device.arm()
        goal = np.array([1.0, 2.0, 0.0, 3.0, 1.5, 0.5])
        reading = cycle(device, goal, 0.6)
        # 0.5 N m rated, geared by 2 to a drum of 10 mm: a thousandth of it pulls with 0.1 N.
        assert np.allclose(reading.measured, goal, atol=0.06)
        torques = [emulator.drives[n].torque for n in range(1, 7)]
        assert np.allclose(torques, [10, 20, 0, -30, -15, -5], atol=0.6)
        device.make_safe()
        wait_until(lambda: not np.any(emulator.actuation(0.0)))
        emulator.drives[2].table[co.RATED_TORQUE] = 0  # as before it is set up
        with pytest.raises(DeviceError, match='near_2.*0x6076'):
            device.open()
        device.close()
    finally:
        device.close()
        emulator.stop()


@pytest.mark.parametrize(
    ('changes', 'field'),
    [
        ({'nodes': {'near_1': 1, 'near_2': 1, 'near_3': 3, 'far_1': 4, 'far_2': 5, 'far_3': 6}},
         'nodes'),
        ({'nodes': {'near_1': 1}}, 'nodes.near_2'),
        ({'direction': '1 1 1 1 1 2'}, 'direction'),
        ({'bitrate': 250000}, 'bitrate'),
        ({'counts': 0}, 'counts'),
        ({'drum': '10 mm'}, 'drum'),
        ({'speed': 1}, 'speed'),
    ],
)  # fmt: skip
def test_a_wrong_section_names_its_field(robot, changes, field):  # noqa: F811
    data = yaml.safe_load(EXAMPLE.read_text())['driver']['cia402'] | changes
    with pytest.raises(RobotFileError) as error:
        read_wiring(Section(data, 'driver.cia402'), robot)
    assert f'driver.cia402.{field}' in str(error.value)


def test_the_emulator_is_elsewhere_than_the_hardware(robot):  # noqa: F811
    here = made(robot, Endpoint(20001, EXAMPLE.parent)).wiring
    assert (here.port.interface, here.port.port) == ('socketcand', 20001)
    there = made(robot, None).wiring
    assert there.port.interface == 'socketcan'
    assert replace(here, port=there.port).nodes == there.nodes
