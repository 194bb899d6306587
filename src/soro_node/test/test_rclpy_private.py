# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What soro touches of the inside of rclpy is there; else an entry can go, or must change."""

import inspect
from pathlib import Path
import re

import pytest
import rclpy
from rclpy import executors
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl import rcutils_logger
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from std_msgs.msg import Int32

from soro_node.executor import rclpy_private

PACKAGES = Path(__file__).resolve().parents[2]
PRIVATE = re.compile(
    r"'_(guard|tasks|time_source|clock_sub)'|\b_state_machine\b|\.handle\.take_message"
)


@pytest.fixture
def context():
    context = Context()
    rclpy.init(context=context)
    yield context
    context.try_shutdown()


def test_an_executor_wakes_itself_by_a_guard_condition(context):
    executor = SingleThreadedExecutor(context=context)
    assert callable(rclpy_private.waking_guard(executor).trigger)
    executor.shutdown()


def test_tasks_that_wait_are_seen(context):
    executor = SingleThreadedExecutor(context=context)
    assert not rclpy_private.has_suspended_tasks(executor)

    async def waits():
        await rclpy.task.Future()

    executor.create_task(waits)
    assert rclpy_private.has_suspended_tasks(executor)
    executor.spin_once(timeout_sec=1.0)  # begins it; it waits for ever
    assert rclpy_private.has_suspended_tasks(executor)
    executor.shutdown()


def test_the_subscription_to_the_clock_is_found(context):
    sim = [Parameter('use_sim_time', value=True)]
    node = rclpy.create_node('private_clock', context=context, parameter_overrides=sim)
    source, clock = rclpy_private.clock_source(node)
    assert callable(source.clock_callback)
    assert clock in list(node.subscriptions)
    node.destroy_node()


def test_a_lifecycle_node_has_a_state_machine_that_it_does_not_destroy(context):
    node = LifecycleNode('private_states', context=context)
    (machine,) = rclpy_private.state_machines(node)
    node.destroy_node()
    assert machine.initialized  # where rclpy does it itself, the entry can go
    machine.destroy_when_not_in_use()
    assert rclpy_private.state_machines(object()) == []


def test_waiting_messages_are_taken_by_asking(context):
    node = rclpy.create_node('private_take', context=context)
    subscription = node.create_subscription(Int32, 'numbers', print, 10)
    assert list(rclpy_private.take_waiting(subscription, 3)) == []
    node.destroy_node()


@pytest.fixture
def spared(monkeypatch):
    """Let rclpy look at little, and fail where it looks at more."""

    def refuse(*arguments, **options):
        raise AssertionError(arguments)

    for module in (rcutils_logger, executors):
        monkeypatch.setattr(module, 'inspect', inspect)
    rclpy_private.spare_inspection()
    for name in ('findsource', 'signature'):
        monkeypatch.setattr(inspect, name, refuse)


def test_a_log_line_knows_its_caller_without_the_source_text(spared):
    caller = rcutils_logger.CallerId()
    assert caller.function_name == 'test_a_log_line_knows_its_caller_without_the_source_text'
    assert caller.file_path == str(Path(__file__).absolute())


def test_a_timer_tells_its_times_to_the_callbacks_that_want_them(spared, context):
    node = rclpy.create_node('private_times', context=context)
    told = {}
    kind = getattr(rclpy.timer, 'TimerInfo', type(None))  # Jazzy tells them nothing

    def wants(info: kind = None) -> None:
        told['wants'] = info

    timers = [node.create_timer(0.001, wants)]
    timers.append(node.create_timer(0.001, lambda: told.setdefault('plain')))
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while len(told) < len(timers):
        executor.spin_once(timeout_sec=5.0)
    assert isinstance(told['wants'], kind)
    executor.shutdown()
    node.destroy_node()


def test_nothing_else_of_the_packages_touches_them():
    for file in PACKAGES.glob('soro_*/soro_*/**/*.py'):
        if file.name != 'rclpy_private.py':
            assert PRIVATE.search(file.read_text()) is None, file
