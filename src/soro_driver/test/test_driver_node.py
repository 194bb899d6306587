# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The node around a loop whose device takes its time or does not come back."""

from __future__ import annotations

import time

import pytest
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from soro_driver.device import DeviceLost, DeviceState
from soro_driver.node import DriverNode
from soro_node.diagnostics import Level
from soro_node.testing import own_domain, wait_until
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

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


@pytest.mark.parametrize('cleaned_up', [False, True])
def test_an_end_after_a_loss_that_left_the_outputs_as_they_were_is_an_error(driver, cleaned_up):
    driver.memory.fail = dict.fromkeys(('read', 'make_safe', 'open'), DeviceLost('cable'))
    wait_until(lambda: not driver._loop.safety.connected)
    if cleaned_up:
        driver.trigger_cleanup()
    driver.make_safe()
    status = driver._diagnostics._statuses['device']
    assert driver._diagnostics.level('device') is Level.ERROR
    assert status.message == 'ended; outputs not made safe from here: fake 1'


def test_an_end_with_safe_outputs_is_none(driver):
    driver.make_safe()
    assert driver._diagnostics.level('device') is Level.OK


@pytest.mark.parametrize(
    ('driver', 'said'),
    [((), 'true'), ([Parameter('use_emulator', value=False)], 'false')], indirect=['driver'],
)  # fmt: skip
def test_the_diagnostics_say_whether_the_device_is_an_emulated_one(driver, said):
    driver._on_change()
    values = {v.key: v.value for v in driver._diagnostics._statuses['device'].values}
    assert values['emulated'] == said


def clear_fault(node):
    return node._on_clear_fault(Trigger.Request(), Trigger.Response())


def test_a_device_that_outlasts_the_clean_up_is_given_back_later(driver):
    loop, held = driver._loop, driver.memory.hold('read')
    assert held.entered.wait(5.0)
    start = time.monotonic()
    driver._on_estop(Bool(data=True))
    assert time.monotonic() - start < 1.0  # the loop has not answered
    assert driver.trigger_cleanup() is SUCCESS
    assert driver.trigger_configure() is FAILURE  # the device is not free yet
    held.leave.set()
    assert loop.shutdown(5.0)
    assert driver.memory.calls[-2:] == ['make_safe', 'close']
    assert driver.trigger_configure() is SUCCESS
    assert driver._loop.safety.state is DeviceState.ESTOP  # as it was pressed
    assert 'still pressed' in clear_fault(driver).message


def test_an_end_waits_for_a_device_that_outlasted_the_clean_up(driver):
    held = driver.memory.hold('read')
    assert held.entered.wait(5.0)
    assert driver.trigger_cleanup() is SUCCESS
    held.leave.set()
    driver.make_safe()
    assert driver.memory.calls[-2:] == ['make_safe', 'close']
