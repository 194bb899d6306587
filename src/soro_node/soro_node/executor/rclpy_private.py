# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Everything of rclpy that is not public and that soro touches; nothing else may.

Each function says why it is needed and what happens with an rclpy that keeps the thing elsewhere:
soro then does without. `test_rclpy_private.py` fails when that comes to pass, so that somebody
looks at whether the entry can go.
"""

from __future__ import annotations

from collections.abc import Iterator
import inspect
from types import FrameType, SimpleNamespace
from typing import Any

from rclpy import executors
from rclpy.executors import Executor
from rclpy.impl import rcutils_logger
from rclpy.node import Node


def waking_guard(executor: Executor) -> Any:
    """Return the guard condition with which an executor wakes itself; None without one.

    rclpy triggers it twice for every callback, which only an executor of several threads needs;
    rclcpp has the same question open in ros2/rclcpp#1162.
    """
    return getattr(executor, '_guard', None)


def has_suspended_tasks(executor: Executor) -> bool:
    """Whether coroutines wait, perhaps for each other: they may need another turn."""
    tasks = getattr(executor, '_tasks', None)
    if tasks is None:  # an rclpy that keeps them elsewhere: another turn is no harm
        return True
    # Not under the lock of the list: whoever adds a task triggers within it. To copy a list is
    # one step of the interpreter.
    return not all(task.done() or task.executing() for task, _, _ in list(tasks))


def clock_source(node: Node) -> tuple[Any, Any]:
    """Return what takes the time from /clock, and its subscription; None where there is none.

    A clock that is negative raises ValueError in it, which ends the node. Requests for parameters
    do the same; of rclcpp that was ros2/rclcpp#3257.
    """
    source = getattr(node, '_time_source', None)
    if not hasattr(source, 'clock_callback'):
        return None, None
    return source, getattr(source, '_clock_sub', None)


def state_machines(node: Node) -> list[Any]:
    """Return what rclpy leaves of a lifecycle node that is destroyed: no public name reaches it.

    None where a Ctrl-C came while the node was made.
    """
    return [node._state_machine] if hasattr(node, '_state_machine') else []


def take_waiting(
    subscription: Any, most: int, packed: bool = False
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Take the messages that wait in a subscription, oldest first, each with its information.

    No more than `most`, so that a flood of messages cannot keep the caller here. As bytes where
    they are to stay `packed`. rclpy takes messages by its executors alone.
    """
    with subscription.handle:
        for _ in range(most):
            taken = subscription.handle.take_message(subscription.msg_type, packed)
            if taken is None:
                return
            yield taken


def spare_inspection() -> None:
    """Let no log line search all modules for its source, no timer read its signature anew."""

    def signature(callback: Any) -> Any:
        known = getattr(callback, '__annotations__', {}).items()
        parameters = {name: SimpleNamespace(name=name, annotation=kind) for name, kind in known}
        return SimpleNamespace(parameters=parameters)

    def getframeinfo(frame: FrameType) -> Any:
        return SimpleNamespace(filename=frame.f_code.co_filename)

    for module, look in (executors, signature), (rcutils_logger, getframeinfo):
        if hasattr(module, 'inspect'):
            module.inspect = SimpleNamespace(**{**vars(inspect), look.__name__: look})
