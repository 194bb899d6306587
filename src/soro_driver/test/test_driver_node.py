# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The node around a loop whose device takes its time or does not come back."""

from __future__ import annotations

import time

import pytest
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from soro_driver.device import DeviceLost, DeviceState
from soro_driver.driver_report import HUNG
from soro_driver.node import DriverNode
from soro_driver.safety.latches import UNKNOWN
from soro_msgs.msg import ActuatorState
from soro_node.diagnostics import Level
from soro_node.executor.single_executor import SingleExecutor
from soro_node.qos import LATCHED
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import wait_until

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class SteadyClock:
    """The steady clock, as a device in memory reads it."""

    @property
    def now(self) -> float:
        return time.monotonic()


class Driver(DriverNode):
    """A driver of one device in memory, which every connection finds again."""

    kind = memory = None

    def make_device(self, settings, robot, endpoint):
        self.memory = self.memory or self.kind(SteadyClock(), len(robot.actuators))
        return self.memory


@pytest.fixture
def driver(fake_device, request):
    context = Context()
    context.init(args=[], domain_id=own_domain())
    parameters = [Parameter('robot', value='spatial_cc'), *getattr(request, 'param', ())]
    node = Driver(context=context, parameter_overrides=parameters)
    node.kind = fake_device
    assert node.trigger_configure() is SUCCESS
    yield node
    for hold in node.memory.holds.values():
        hold.leave.set()
    node.make_safe()
    node.destroy_node()
    context.try_shutdown()


def lose(driver):
    """Lose the device, whose outputs stay as they were."""
    driver.memory.fail = dict.fromkeys(('read', 'make_safe', 'open'), DeviceLost('cable'))
    wait_until(lambda: not driver._loop.safety.connected)


def said(driver):
    """Return level and message of the diagnostics of the device."""
    diagnostics = driver._diagnostics
    status = diagnostics.status('device')
    return Level(status.level[0]), status.message


@pytest.mark.parametrize('cleaned_up', [False, True])
def test_an_end_after_a_loss_that_left_the_outputs_as_they_were_is_an_error(driver, cleaned_up):
    lose(driver)
    if cleaned_up:
        driver.trigger_cleanup()
    driver.make_safe()
    assert said(driver) == (Level.ERROR, 'ended; outputs not made safe from here: fake 1')
    assert driver.exit_code == 1


def fail_inside(driver):
    """Have the driver fall back to unconfigured by an error of its own."""
    driver.activate = lambda: 1 / 0
    assert driver.trigger_activate() is TransitionCallbackReturn.ERROR


@pytest.mark.parametrize('end', [Driver.trigger_cleanup, fail_inside])
def test_what_is_left_unsafe_is_told_until_it_is_opened_again(driver, end):
    lose(driver)
    assert not stop(driver).success
    end(driver)
    unsafe = 'outputs not made safe from here: fake 1'
    assert said(driver) == (Level.ERROR, f'not configured; {unsafe}')
    driver._on_change()
    assert said(driver) == (Level.ERROR, f'not configured; {unsafe}')
    answer = stop(driver)
    assert not answer.success and answer.message == f'not configured: {unsafe}'
    driver.memory.fail.clear()
    assert driver.trigger_configure() is SUCCESS
    assert stop(driver).success
    assert driver.trigger_cleanup() is SUCCESS
    assert said(driver) == (Level.WARN, 'not configured')
    answer = stop(driver)
    assert answer.success and answer.message == 'not configured: nothing moves'


def test_a_shutdown_does_not_hide_what_it_left_unsafe(driver, capfd):
    lose(driver)
    driver.trigger_shutdown()
    wanted = (Level.ERROR, 'ended; outputs not made safe from here: fake 1')
    assert said(driver) == wanted
    capfd.readouterr()
    driver.make_safe()  # the end of the process
    assert said(driver) == wanted
    assert wanted[1] in ''.join(capfd.readouterr())


def test_a_stop_that_reaches_no_device_is_no_success(driver):
    lose(driver)
    answer = stop(driver)
    assert not answer.success
    assert answer.message == 'device lost, outputs not confirmed safe'


def test_an_end_with_safe_outputs_is_none(driver):
    driver.make_safe()
    assert driver._diagnostics.status('device').level == b'\x00'
    assert driver.exit_code == 0


@pytest.mark.parametrize(
    ('driver', 'word'),
    [((), 'true'), ([Parameter('use_emulator', value=False)], 'false')],
    indirect=['driver'],
)
def test_the_diagnostics_say_whether_the_device_is_an_emulated_one(driver, word):
    driver._on_change()
    values = {v.key: v.value for v in driver._diagnostics.status('device').values}
    assert values['emulated'] == word


def clear_fault(node):
    return node._on_clear_fault(Trigger.Request(), Trigger.Response())


def stop(node):
    return node._on_stop(Trigger.Request(), Trigger.Response())


@pytest.mark.parametrize(
    ('part', 'broken', 'reason'),
    [
        ('memory.ready', lambda: False, 'it is still starting; try again'),
        ('activate', lambda: 1 / 0, 'activate failed unexpectedly: ZeroDivisionError'),
    ],
)
def test_what_keeps_a_cleared_driver_from_being_armed_is_in_the_answer(
    driver, monkeypatch, part, broken, reason
):
    assert driver.trigger_activate() is SUCCESS
    assert stop(driver).success
    wait_until(lambda: driver._on_change() or not driver.active)
    holder, _, method = part.rpartition('.')
    monkeypatch.setattr(getattr(driver, holder) if holder else driver, method, broken)
    answer = clear_fault(driver)
    assert not answer.success
    assert answer.message.startswith(f'cleared, but not armed: {reason}')


def test_a_device_that_outlasts_the_clean_up_is_given_back_later(driver):
    loop, held = driver._loop, driver.memory.hold('read')
    assert held.entered.wait(5.0)
    start = time.monotonic()
    driver.emergency_stop.receive(True, 'button')
    assert time.monotonic() - start < 1.0  # the loop has not answered
    assert driver.trigger_cleanup() is SUCCESS
    assert driver.trigger_configure() is FAILURE  # the device is not free yet
    assert not stop(driver).success and said(driver)[0] is Level.ERROR
    held.leave.set()
    assert loop.shutdown(5.0)
    driver._on_change()
    assert stop(driver).success and said(driver) == (Level.WARN, 'not configured')
    assert driver.memory.calls[-2:] == ['make_safe', 'close']
    assert driver.trigger_configure() is SUCCESS
    assert driver._loop.safety.state is DeviceState.ESTOP  # as it was pressed
    assert 'still pressed' in clear_fault(driver).message


def test_a_stop_that_a_hung_loop_does_not_hear_holds_for_the_next_one(driver):
    loop, held = driver._loop, driver.memory.hold('read')
    assert held.entered.wait(5.0)
    assert not stop(driver).success
    assert driver.trigger_cleanup() is SUCCESS
    held.leave.set()
    assert loop.shutdown(5.0)
    driver._on_change()
    assert driver.trigger_configure() is SUCCESS
    assert driver.trigger_activate() is FAILURE
    assert clear_fault(driver).success and driver.trigger_activate() is SUCCESS


def test_an_end_waits_for_a_device_that_outlasted_the_clean_up(driver):
    held = driver.memory.hold('read')
    assert held.entered.wait(5.0)
    assert driver.trigger_cleanup() is SUCCESS
    held.leave.set()
    driver.make_safe()
    assert driver.memory.calls[-2:] == ['make_safe', 'close']


def test_configured_by_hand_while_it_waits_for_the_device_it_keeps_its_commands(driver):
    assert driver.trigger_cleanup() is SUCCESS
    assert not driver.autostart()  # it looks at the device for a while
    assert driver.trigger_configure() is SUCCESS
    assert not driver._starting.pending
    assert driver._inlet is driver._loop.law
    driver.memory.fail['open'] = DeviceLost('in use by process 1')
    driver._starting.look()
    with pytest.raises(DeviceLost):
        driver.connect()
    assert driver._inlet is driver._loop.law and driver._gate is driver._loop.gate


def test_a_press_that_is_released_while_nobody_listens_is_heard(driver):
    button = Node('button', context=driver.context)
    publisher = button.create_publisher(Bool, 'estop', LATCHED)
    wait_until(publisher.get_subscription_count)
    for pressed in (True, False):
        publisher.publish(Bool(data=pressed))
        assert publisher.wait_for_all_acked(Duration(seconds=5.0))
    executor = SingleExecutor(context=driver.context)
    executor.add_node(driver)
    try:
        wait_until(lambda: executor.spin_once(timeout_sec=0.1) or driver._latches.estop)
        if driver._latches.pressed_by() == [UNKNOWN]:  # rclpy of Jazzy: nobody's `false` releases
            released = driver.emergency_stop.release(Trigger.Request(), Trigger.Response())
            assert released.success
        wait_until(lambda: executor.spin_once(timeout_sec=0.1) or not driver._latches.pressed_by())
        wait_until(lambda: driver._loop.safety.state is DeviceState.ESTOP)
    finally:
        executor.remove_node(driver)
        executor.shutdown()
        button.destroy_node()


def simulated_time(driver, wanted):
    return driver.set_parameters([Parameter('use_sim_time', value=wanted)])[0]


HARDWARE = [Parameter('use_emulator', value=False)]


@pytest.mark.parametrize('driver', [HARDWARE], indirect=True)
def test_hardware_refuses_simulated_time_while_it_runs(driver):
    for _ in range(2):
        result = simulated_time(driver, True)
        assert not result.successful and 'real hardware runs in real time' in result.reason
    assert not driver.get_clock().ros_time_is_active
    assert driver.get_parameter('use_sim_time').value is False
    assert simulated_time(driver, False).successful


def test_an_emulated_device_may_follow_simulated_time(driver):
    assert simulated_time(driver, True).successful


def test_stamps_of_states_increase_measurement_by_measurement(driver):
    heard, listener = [], Node('listener', context=driver.context)
    listener.create_subscription(ActuatorState, 'actuator_state', heard.append, 1000)
    executor = SingleExecutor(context=driver.context)
    executor.add_node(listener)
    try:
        wait_until(lambda: executor.spin_once(timeout_sec=0.1) or len(heard) > 200)
    finally:
        executor.shutdown()
        listener.destroy_node()
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in heard]
    assert stamps == sorted(stamps) and len(set(stamps)) > 100


@pytest.fixture(params=[False, True])
def loop_reports(request, monkeypatch):
    monkeypatch.setattr(Driver, 'loop_reports', request.param)


def test_a_call_that_hangs_is_said_within_a_second_whoever_reports(loop_reports, driver):
    executor, held = SingleExecutor(context=driver.context), driver.memory.hold('read')
    executor.add_node(driver)

    def soon(condition, *timeout):
        wait_until(lambda: executor.spin_once(timeout_sec=0.05) or condition(), *timeout)

    soon(lambda: driver._loop.hung)
    soon(lambda: said(driver) == (Level.ERROR, HUNG), 1.0)
    held.leave.set()
    if not driver.loop_reports:
        soon(lambda: said(driver)[0] is Level.OK)
    executor.shutdown()
