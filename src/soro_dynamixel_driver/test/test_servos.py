# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Emulated servos: the vendor's library drives them, and this driver, over the same wire."""

from dataclasses import replace
from pathlib import Path
import time
import uuid

import dynamixel_sdk as sdk
import numpy as np
import pytest
import yaml

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout, Fault
from soro_driver.endpoint import Endpoint
from soro_driver.settings import read_driver_settings
from soro_dynamixel_driver import transport
from soro_dynamixel_driver.device import DynamixelDevice
from soro_dynamixel_driver.emulator import device as emulated
from soro_dynamixel_driver.emulator.device import DynamixelEmulator
from soro_dynamixel_driver.emulator.servo import LAG, Servo
from soro_emulation.device_emulator import EmulatorContext
from soro_emulation.event_log import EventLog
from soro_mechanics.actuator_models.motor import MotorProperties, PositionDrive
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.section import Section
from soro_rigs.ros_session import wait_until

RATIO = 14
COUNT = 2.0 * np.pi / 4096 / RATIO
TTL = 1.0  # s; longer than a busy computer holds a test up
PATIENCE = 20.0  # s


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Read the catalogue's arm, geared: its range is more than a turn of a servo."""
    source = find_robot_file('stiff_flop').with_name('examples') / 'tendon_arm_servos.yaml'
    data = yaml.safe_load(source.read_text())
    data['driver']['dynamixel']['ratio'] = RATIO
    file = tmp_path_factory.mktemp('arm') / source.name
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return read_robot_file(file)


@pytest.fixture
def bench(robot, tmp_path):
    tmp_path.chmod(0o700)
    endpoint = Endpoint(0, tmp_path / f'dxl-{uuid.uuid4().hex[:6]}')
    section = read_driver_settings(robot).section
    context = EmulatorContext(robot, section, Section({}, 'e'), endpoint, 1, EventLog(''))
    emulator = DynamixelEmulator(context, time.monotonic())
    emulator.start()
    yield emulator, endpoint
    emulator.stop()


@pytest.fixture
def device(robot, bench, monkeypatch):
    device = DynamixelDevice.from_section(read_driver_settings(robot).section, robot, bench[1])
    # How long servos may take for an answer must not decide here: this computer may be busy.
    monkeypatch.setattr(transport, 'TRIES', 300)
    device.transport._io_timeout = device.transport._open_timeout = 20.0
    device.open()
    yield device
    device.close()


class Vendor:
    """The vendor's library on one port."""

    def __init__(self, path):
        self.port, self.handler = sdk.PortHandler(path), sdk.PacketHandler(2.0)
        assert self.port.openPort()
        assert self.port.setBaudRate(1_000_000)

    def __getattr__(self, name):
        return lambda *arguments: getattr(self.handler, name)(self.port, *arguments)


@pytest.fixture
def vendor(bench, monkeypatch):
    # Its one setting for slow adapters: how long they keep bytes [ms]; here a busy computer does.
    monkeypatch.setattr(sdk.port_handler, 'LATENCY_TIMER', 400)
    vendor = Vendor(str(bench[1].path))
    yield vendor
    vendor.port.closePort()


def cycle(device, values, seconds, until=lambda reading: False):
    """Do what the control loop does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        reading = device.read()
        if until(reading):
            break
        try:
            device.write(np.array(values), TTL)
        except DeviceTimeout:
            pass  # a busy computer: the loop goes on
        device.transport.link.wait(time.monotonic() + 0.01)
    return reading


def cycle_at_rest(device, until=lambda reading: True):
    """Read until something fresh is as it shall be."""
    since, end = time.monotonic(), time.monotonic() + PATIENCE
    while time.monotonic() < end:
        reading = device.read()
        if reading.time > since and until(reading):
            break
        device.transport.link.wait(time.monotonic() + 0.01)
    return reading


def test_the_vendor_finds_them(bench, vendor):
    assert vendor.ping(3) == (1020, sdk.COMM_SUCCESS, 0)
    found, _ = vendor.broadcastPing()
    assert found == {servo: [1020, 47] for servo in range(1, 7)}
    assert vendor.ping(9)[1] == sdk.COMM_RX_TIMEOUT


def test_the_vendor_moves_them(bench, vendor):
    reader = sdk.GroupSyncRead(vendor.port, vendor.handler, 132, 4)
    writer = sdk.GroupSyncWrite(vendor.port, vendor.handler, 116, 4)
    for servo in range(1, 7):
        assert reader.addParam(servo)
        goal = 20 * servo
        assert writer.addParam(servo, list(goal.to_bytes(4, 'little')))
        assert vendor.write1ByteTxRx(servo, 11, 4) == (sdk.COMM_SUCCESS, 0)
        assert vendor.write1ByteTxRx(servo, 64, 1) == (sdk.COMM_SUCCESS, 0)
    assert writer.txPacket() == sdk.COMM_SUCCESS
    wait_until(lambda: round(bench[0].servos[6].axis.value) == 120)
    assert reader.txRxPacket() == sdk.COMM_SUCCESS
    assert [reader.getData(servo, 132, 4) for servo in range(1, 7)] == list(range(20, 140, 20))


def test_the_vendor_is_refused_what_a_servo_refuses(bench, vendor):
    vendor.write1ByteTxRx(1, 64, 1)
    assert vendor.write1ByteTxRx(1, 11, 3) == (sdk.COMM_SUCCESS, 7)  # torque is on
    assert vendor.write4ByteTxRx(1, 132, 5) == (sdk.COMM_SUCCESS, 7)  # read only
    assert vendor.readTxRx(1, 254, 4)[2] == 5
    bench[0].inject('overload', {})
    data, result, error = vendor.read1ByteTxRx(1, 70)
    assert (data, result, error) == (32, sdk.COMM_SUCCESS, 0x80)
    assert vendor.reboot(1) == (sdk.COMM_SUCCESS, 0)
    assert vendor.read1ByteTxRx(1, 70) == (0, sdk.COMM_SUCCESS, 0)


def test_the_bus_watchdog_of_the_manual(bench, vendor):
    # e-Manual, Bus Watchdog(98): stops, reads -1, refuses goals with a range error until cleared.
    vendor.write1ByteTxRx(2, 64, 1)
    vendor.write1ByteTxRx(2, 98, 5)
    vendor.write4ByteTxRx(2, 116, 5000)
    wait_until(lambda: bench[0].servos[2].table[98] == 255)
    assert vendor.read1ByteTxRx(2, 98)[0] == 255
    here = vendor.read4ByteTxRx(2, 132)[0]
    assert 0 < here < 5000
    assert vendor.write4ByteTxRx(2, 116, 100) == (sdk.COMM_SUCCESS, 4)
    assert vendor.read1ByteTxRx(2, 64)[0] == 1
    vendor.write1ByteTxRx(2, 98, 0)
    assert vendor.write4ByteTxRx(2, 116, here) == (sdk.COMM_SUCCESS, 0)


def test_driver_and_servos_agree_on_angles(device, bench):
    device.arm()
    goal = np.linspace(0.05, 0.3, 6)
    begin = time.monotonic()
    reading = cycle(device, goal, PATIENCE, lambda r: np.allclose(r.measured, goal, atol=COUNT))
    assert np.allclose(reading.measured, goal, atol=COUNT)
    assert np.allclose(reading.applied, goal, atol=COUNT)
    assert np.allclose(bench[0].actuation(time.monotonic()), goal, atol=COUNT)
    assert begin < reading.time <= time.monotonic()
    assert not reading.faults


def test_opening_and_making_safe_switch_torque_off(device, bench):
    servos = bench[0].servos.values()
    device.arm()
    cycle(device, np.full(6, 0.1), 0.3)
    assert all(s.table[64] for s in servos)
    device.make_safe()
    assert not any(s.table[64] for s in servos)
    with pytest.raises(DeviceError):
        device.write(np.full(6, 0.1), TTL)
    device.arm()
    device.close()
    device.open()
    assert not any(s.table[64] for s in servos)


def test_arming_moves_nothing(device, bench):
    servo = bench[0].servos[2]
    servo.table[116:120] = (900).to_bytes(4, 'little')  # an old goal
    device.arm()
    for _ in range(20):
        device.transport.refresh(time.monotonic() + 1.0)
    assert abs(servo.axis.value) < 1.0


def test_silence_stops_them_and_stays(device, bench):
    device.arm()
    cycle(device, np.full(6, 0.1), 0.5)
    device.write(np.full(6, 0.7), TTL)
    servo = bench[0].servos[1]
    since = time.monotonic()
    wait_until(lambda: servo.table[98] == 255)
    assert time.monotonic() - since > 0.5 * TTL
    here = servo.axis.value
    reading = cycle(device, np.full(6, 0.7), PATIENCE, lambda r: r.tripped)
    assert reading.tripped
    cycle(device, np.full(6, 0.7), 0.2)
    assert abs(servo.axis.value - here) < 2.0
    device.make_safe()
    device.arm()
    cycle(device, np.full(6, 0.7), PATIENCE, lambda r: abs(r.measured[0] - 0.7) < 2.0 * COUNT)
    assert abs(servo.axis.value * COUNT - 0.7) < 2.0 * COUNT


def test_an_emulator_that_slept_blames_nobody():
    servo = Servo(1, PositionDrive(0.0, 100.0, LAG), 0.0)
    servo.table[98] = 5  # 100 ms, by the e-Manual
    for now in (0.01, 5.0):  # what was sent in that time waits in its pty
        servo.advance(now)
        assert servo.table[98] == 5
    for k in range(12):
        servo.advance(5.0 + 0.01 * k)
    assert servo.table[98] == 255  # nothing came since it woke


def test_a_hardware_error_names_the_servo_and_a_reset_clears_it(device, bench):
    device.arm()
    bench[0].inject('overload', {'actuator': 'near_2'})
    reading = cycle(device, np.zeros(6), PATIENCE, lambda r: r.faults)
    assert reading.faults & Fault.DEVICE
    assert device.fault_text[reading.faults & ~int(Fault.DEVICE)] == 'overload'
    assert 'near_2' in reading.reason
    device.make_safe()
    device.reset()
    device.arm()
    assert not cycle(device, np.zeros(6), 0.3).faults


def test_a_servo_that_restarted_is_seen_and_keeps_its_turns(device, bench):
    servo, goal = bench[0].servos[4], np.full(6, 0.6)
    device.arm()
    cycle(device, goal, PATIENCE, lambda r: np.allclose(r.measured, goal, atol=COUNT))
    bench[0].inject('reboot', {'actuator': 'far_1'})
    reading = cycle(device, goal, PATIENCE, lambda r: r.faults)
    assert reading.faults == Fault.REBOOT
    assert reading.tripped
    assert reading.reason == 'far_1 (servo 4) has restarted'
    # Its indirect addresses point elsewhere: what is read is no position.
    assert np.isnan(reading.measured).tolist() == [False] * 3 + [True] + [False] * 2
    device.make_safe()
    for again in range(2):
        device.reset()
        assert servo.table[132:136] == (round(servo.axis.value) - 4096).to_bytes(4, 'little')
        assert np.allclose(cycle_at_rest(device).measured, goal, atol=2.0 * COUNT)
        device.arm()
        reading = cycle(device, goal, 0.3)
        assert np.allclose(bench[0].actuation(time.monotonic()), goal, atol=2.0 * COUNT)
        assert np.allclose(reading.applied, goal, atol=COUNT)
        assert not reading.faults
        device.make_safe()
        if not again:  # a hardware error is cleared by a restart, which costs its turn too
            bench[0].inject('overload', {'actuator': 'far_1'})
            assert cycle_at_rest(device, lambda r: r.faults).faults & Fault.DEVICE


@pytest.mark.parametrize(('moved', 'told'), [(900, True), (1500, False)])
def test_whole_turns_are_kept_where_a_servo_hardly_moved_without_power(device, bench, moved, told):
    servo, goal = bench[0].servos[4], np.full(6, 0.6)
    device.arm()
    cycle(device, goal, PATIENCE, lambda r: np.allclose(r.measured, goal, atol=COUNT))
    bench[0].inject('reboot', {'actuator': 'far_1'})
    cycle(device, goal, PATIENCE, lambda r: r.faults)
    device.make_safe()
    servo.axis.value += moved
    if told:
        device.reset()
    else:
        with pytest.raises(DeviceError, match='far_1 was turned without power'):
            device.reset()


def test_registers_that_are_not_shown_are_named(device, bench):
    device.transport.wiring = replace(device.wiring, indirect_data=208)
    with pytest.raises(DeviceError, match='servo 4.*indirect_data'):
        device.open()


@pytest.mark.parametrize('seen', [True, False])
def test_a_servo_that_restarted_at_rest_is_not_switched_on(device, bench, seen):
    servo = bench[0].servos[4]
    device.arm()
    cycle(device, np.full(6, 0.6), PATIENCE, lambda r: np.allclose(r.measured, 0.6, atol=COUNT))
    device.make_safe()
    here = servo.axis.value
    bench[0].inject('reboot', {'actuator': 'far_1'})
    if seen:
        assert cycle_at_rest(device, lambda r: r.faults).faults == Fault.REBOOT
    with pytest.raises(DeviceError, match='far_1 .servo 4. has restarted') as error:
        device.arm()
    assert error.value.fault == Fault.REBOOT
    assert not any(s.table[64] for s in bench[0].servos.values())
    assert servo.axis.value == here


@pytest.mark.parametrize(
    # e-Manual, Goal Current(102): XM430 2.69 mA, XH430-V350 1.34 mA, XL330 and XC330 1 mA
    ('model', 'steps'),
    [(1020, 185), (1040, 373), (1200, 500), (1240, 500)],
)
def test_a_current_is_limited_in_units_of_the_model(device, bench, monkeypatch, model, steps):
    monkeypatch.setattr(emulated, 'MODEL', model)
    device.transport.wiring = replace(device.wiring, current=0.5)
    device.open()
    assert bench[0].servos[6].table[102:104] == steps.to_bytes(2, 'little')
    assert bench[0].servos[6].table[11] == 5


def test_a_damaged_line_moves_nothing_wrong(device, bench):
    device.arm()
    cycle(device, np.full(6, 0.2), PATIENCE, lambda r: np.allclose(r.measured, 0.2, atol=COUNT))
    bench[0].inject('link', {'corruption': 0.3, 'direction': 'both'})
    positions = []
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        cycle(device, np.full(6, 0.2), 0.01)
        positions.append(bench[0].actuation(time.monotonic()))
    assert bench[0].wire.reader.crc_errors > 0
    assert np.abs(np.array(positions) - 0.2).max() < 2.0 * COUNT


def test_a_missing_servo_is_named(bench, robot):
    del bench[0].servos[4]
    device = DynamixelDevice.from_section(read_driver_settings(robot).section, robot, bench[1])
    with pytest.raises(DeviceLost, match='servo 4 .far_1.'):
        device.open()
    device.close()


def test_an_unplugged_line_is_a_lost_device(device, bench):
    bench[0].inject('unplug', {})
    end = time.monotonic() + 5.0
    with pytest.raises(DeviceLost):
        while time.monotonic() < end:
            device.read()


def test_indirect_data_show_what_they_are_told(bench):
    servo = Servo(1, PositionDrive(0.0, 100.0, LAG), 0.0)
    assert servo.write(168, (132).to_bytes(2, 'little')) == 0
    servo.axis.value = 77.0
    servo.advance(1.0)
    assert servo.read(224, 1) == bytes([77])
    assert Path(bench[1].path).is_symlink()


def test_a_servo_at_its_torque_limit_switches_itself_off_after_a_while():
    motor = MotorProperties(1e-3, 4.1, 0.01, 0.01, 20.0, 0.4)
    servo = Servo(1, PositionDrive(0.0, 1e4, LAG, motor, COUNT), 0.0)
    servo.write(64, b'\x01')  # torque
    servo.write(116, (1000).to_bytes(4, 'little'))
    servo.axis.load = 3.0
    now = 0.0
    while now < 2.0:
        now += 0.01
        servo.advance(now)
    # 3 N m of 20 N m/rad, and what friction holds
    assert (1000 - servo.axis.value) * COUNT == pytest.approx(3.0 / 20.0, abs=6e-4)
    assert servo.moves and not servo.alert
    servo.axis.load = 4.2
    begin = now
    while servo.moves and now < begin + 5.0:
        now += 0.01
        servo.advance(now)
    assert 1.0 < now - begin < 1.5
    assert servo.alert and servo.axis.value < 900.0
