# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The cheapest executor there is for a node with single-argument callbacks in one thread."""

from __future__ import annotations

from io import UnsupportedOperation
import time
from typing import Any

from rclpy.context import Context
from rclpy.task import Future

from soro_node.executor.single_executor import SingleExecutor

SLICE = 0.25  # s, how late the end of a future is noticed


def cheap_executor(context: Context) -> Any:
    """Return an events executor where rclpy has one (newer than Jazzy), else the ordinary one.

    It needs about a third of the processor time. It fails with callbacks of two arguments and
    ignores callback groups, so it is only for nodes that use neither.
    """
    try:
        from rclpy.experimental import EventsExecutor

        return PatientExecutor(EventsExecutor(context=context))
    except (ImportError, UnsupportedOperation):  # it tells stderr of crashes, which must be a file
        return SingleExecutor(context=context)


class PatientExecutor:
    """An events executor that looks at a future from time to time instead of being woken by it.

    In rclpy 9.1.2 a future that another thread completes while the executor waits without a
    limit deadlocks both. Everything else is passed on: the real one is no class to derive from.
    """

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Spin until a future is done, a time [s] has passed or the context has ended."""
        end = None if timeout_sec is None else time.monotonic() + timeout_sec
        while not future.done() and self._executor.context.ok():
            left = SLICE if end is None else end - time.monotonic()
            if left <= 0.0:
                return
            self._executor.spin_until_future_complete(Future(), timeout_sec=min(SLICE, left))
