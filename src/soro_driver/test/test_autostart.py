# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A driver brings itself up when it can, once, and never past a person or without its launcher."""

from __future__ import annotations

import os

import pytest
from rclpy.context import Context
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from test_driver_node import Driver, SteadyClock

from soro_driver import autostart
from soro_driver.device import DeviceError, DeviceInUse, DeviceLost, DeviceState
from soro_driver.safety.safety_state import NotAllowed
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_node.diagnostics import Level
from soro_node.process.parent_death import LAUNCHER
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import wait_until

ABSENT = DeviceLost('CAN socketcan can0: there is none')


@pytest.fixture
def driver(fake_device, request, monkeypatch):
    monkeypatch.setattr(autostart, 'LATER_PERIOD', 0.0)
    context = Context()
    context.init(args=[], domain_id=own_domain())
    values = {'robot': 'spatial_cc', 'connect_timeout': 0.0, **getattr(request, 'param', {})}
    parameters = [Parameter(name, value=value) for name, value in values.items()]
    node = Driver(context=context, parameter_overrides=parameters)
    node.kind = fake_device
    yield node
    node.make_safe()
    node.destroy_node()
    context.try_shutdown()


def break_device(driver, **errors):
    """Have calls of the device fail, also of the one that the next connection finds."""
    driver.memory = driver.memory or driver.kind(SteadyClock(), 3)
    driver.memory.fail = errors


def look_until(driver, condition):
    """Look again and again, as the timer does."""

    def looked():
        driver._starting.look()
        return condition()

    wait_until(looked)


def clear_fault(driver):
    return driver._on_clear_fault(Trigger.Request(), Trigger.Response())


def stop(driver):
    return driver._on_stop(Trigger.Request(), Trigger.Response())


def said(driver):
    driver._on_change()
    status = driver._diagnostics.status('device')
    return Level(status.level[0]), status.message


@pytest.mark.parametrize('error', [ABSENT, DeviceError('may not be opened (group dialout?)')])
def test_a_missing_device_is_waited_for_without_a_limit_and_named(driver, error):
    break_device(driver, open=error)
    assert not driver.autostart()
    assert driver._starting.overdue
    for _ in range(20):
        driver._starting.look()
    assert said(driver) == (Level.ERROR, f'not configured; waiting for the device: {error}')
    break_device(driver)
    look_until(driver, lambda: driver.active)
    assert not driver._starting.pending
    assert said(driver)[1] == 'active'


@pytest.mark.parametrize('driver', [{'connect_timeout': 0.2}], indirect=True)
def test_it_goes_on_telling_when_waiting_becomes_an_error(driver, monkeypatch, capfd):
    monkeypatch.setattr(autostart, 'SAY_PERIOD', 0.0)
    break_device(driver, open=ABSENT)
    driver.autostart()
    look_until(driver, lambda: driver._starting.overdue)
    driver._starting.look()
    lines = [x for x in ''.join(capfd.readouterr()).splitlines() if 'waiting for the device' in x]
    assert lines[0].startswith('[INFO]') and lines[-1].startswith('[WARN]')


def test_what_takes_long_before_the_device_is_asked_is_waited_for_too(driver, monkeypatch, capfd):
    monkeypatch.setattr(autostart, 'SAY_PERIOD', 0.0)
    monkeypatch.setattr(driver, 'prepare', lambda: 'kernels are compiled')
    driver.autostart()
    driver._starting._since -= 7.0
    driver._starting.look()
    assert 'waiting for the device (7 s): kernels are compiled' in ''.join(capfd.readouterr())


def refuse_arming(driver, error):
    """Have every arming refused; the list of those that were tried."""
    tried = []

    def arm():
        tried.append(error)
        raise error

    driver.memory.arm = arm
    return tried


def test_an_activation_that_was_refused_as_busy_is_tried_again(driver, monkeypatch):
    break_device(driver)
    tried = refuse_arming(driver, DeviceLost('its answer was lost'))
    monkeypatch.setattr(
        'soro_driver.loop.control_loop.ControlLoop.arm',
        lambda loop: loop.device.arm() if tried_less(tried) else loop.between_ticks(loop._arm),
    )
    driver.autostart()
    look_until(driver, lambda: len(tried) >= 2)
    assert not driver.active and driver._starting.pending
    assert said(driver)[0] is Level.WARN and 'its answer was lost' in said(driver)[1]
    del driver.memory.arm
    look_until(driver, lambda: driver.active)


def tried_less(tried):
    return len(tried) < 2


@pytest.mark.parametrize(
    ('error', 'again'),
    [
        (NotAllowed('busy', Code.BUSY), True),
        (NotAllowed('latched', Code.DEVICE_FAULT), False),
        (NotAllowed('sensor of a is faulty'), False),
        (DeviceLost('gone'), True),
        (DeviceError('refused'), False),
    ],
)
def test_what_a_person_has_to_see_to_is_not_tried_again(driver, monkeypatch, error, again):
    def refuse(loop):
        raise error

    monkeypatch.setattr('soro_driver.loop.control_loop.ControlLoop.arm', refuse)
    driver.autostart()
    look_until(driver, lambda: driver._starting.reason.startswith('not armed'))
    assert driver._starting.pending is again
    monkeypatch.undo()
    if again:
        look_until(driver, lambda: driver.active)
    else:
        driver._starting.look()
        assert not driver.active
        assert str(error) in said(driver)[1]
        assert clear_fault(driver).success and driver.active


def test_a_stop_before_the_device_has_come_is_not_forgotten(driver):
    break_device(driver, open=ABSENT)
    driver.autostart()
    assert stop(driver).success
    break_device(driver)
    for _ in range(20):
        driver._starting.look()
    assert driver._loop is None and not driver.active
    assert 'stopped by driver/stop' in said(driver)[1]
    assert clear_fault(driver).success  # a person
    look_until(driver, lambda: driver.active)


def test_an_emergency_stop_before_the_device_has_come_is_not_forgotten(driver):
    break_device(driver, open=ABSENT)
    driver.autostart()
    driver.emergency_stop.receive(True, 'button')
    break_device(driver)
    look_until(driver, lambda: not driver._starting.pending)
    assert driver._loop.safety.state is DeviceState.ESTOP and not driver.active
    assert not clear_fault(driver).success
    driver.emergency_stop.receive(False, 'button')
    assert clear_fault(driver).success and driver.active


def test_clear_fault_configures_and_arms_a_driver_that_starts_by_itself(driver):
    break_device(driver, open=ABSENT)
    answer = clear_fault(driver)
    assert not answer.success and 'there is none' in answer.message
    break_device(driver)
    look_until(driver, lambda: driver.active)


@pytest.mark.parametrize('driver', [{'autostart': False}], indirect=True)
def test_clear_fault_configures_a_driver_that_is_started_by_hand_and_arms_nothing(driver):
    break_device(driver)
    assert clear_fault(driver).success
    look_until(driver, lambda: not driver._starting.pending)
    assert driver._loop is not None and not driver.active


def test_a_transition_by_hand_ends_it(driver):
    break_device(driver, open=ABSENT)
    driver.autostart()
    break_device(driver)
    driver.trigger_configure()
    for _ in range(10):
        driver._starting.look()
    assert driver._loop is not None and not driver.active


WRONG = {'robot': 'nonsense'}, {'use_emulator': False, 'use_sim_time': True}


@pytest.mark.parametrize('driver', WRONG, indirect=True)
def test_what_can_never_start_ends_a_launched_driver_only(driver, monkeypatch):
    assert not driver.autostart() and not driver._starting.pending
    monkeypatch.setenv(LAUNCHER, str(os.getppid()))
    with pytest.raises(SoroError) as error:
        driver.autostart()
    assert error.value.code is Code.DEVICE_FAULT


def test_a_device_in_use_ends_a_launched_driver_after_its_time(driver, monkeypatch):
    break_device(driver, open=DeviceInUse('serial /dev/ttyUSB0 is in use by process 1'))
    assert not driver.autostart()
    driver._starting.cancel()
    monkeypatch.setenv(LAUNCHER, str(os.getppid()))
    with pytest.raises(SoroError, match='process 1'):
        driver.autostart()


def test_without_the_emulator_of_its_launch_a_driver_gives_up(driver, monkeypatch):
    break_device(driver, open=ABSENT)
    monkeypatch.setenv(LAUNCHER, str(os.getppid()))
    there = [True]
    monkeypatch.setattr(autostart, 'emulator_runs', lambda pid, namespace: there[0])
    monkeypatch.setattr(autostart, 'EMULATOR_GONE', 0.0)
    assert not driver.autostart()
    assert 'still starting' in driver._starting.reason
    there[0] = False
    with pytest.raises(SoroError, match='emulator of this launch'):
        look_until(driver, lambda: False)


def test_nothing_is_armed_once_the_launcher_has_gone(driver, monkeypatch):
    break_device(driver)
    monkeypatch.setenv(LAUNCHER, '999999999')
    driver.autostart()
    for _ in range(10):
        driver._starting.look()
    assert driver._loop is None
    driver.trigger_configure()
    driver.trigger_activate()
    assert not driver.active and 'arm' not in driver.memory.calls
