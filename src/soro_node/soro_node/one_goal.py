# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Goals of an action, one at a time; every end of one has a code and a sentence."""

from __future__ import annotations

from collections.abc import Callable
import threading
import traceback
from typing import Any

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_node.replies import fill_code, fill_error, internal


class OneGoal:
    """Executes the goals of an action of type `kind`.

    `node`: its state and logger. `beside`: another action, of whose goals none runs meanwhile.

    Its attributes:
    - `ending`: of the goal that runs, or ran last: one that outlasts `end` still ends by itself,
      and the next one is not touched.
    """

    def __init__(self, node: Any, kind: Any, beside: OneGoal | None = None) -> None:
        self._node, self._kind = node, kind
        self._running = threading.Lock() if beside is None else beside._running
        self.ending = threading.Event()

    @property
    def busy(self) -> bool:
        """Whether a goal is being executed."""
        return self._running.locked()

    def end(self, timeout: float) -> bool:
        """Have the present goal end; whether it did within `timeout` [s]."""
        self.ending.set()
        ended = self._running.acquire(timeout=timeout)
        if ended:
            self._running.release()
        return ended

    def carry_out(self, handle: Any, run: Callable[[Any, Any], None]) -> Any:
        """Execute a goal by ``run(handle, result)``; returns the result."""
        result = self._kind.Result()
        try:
            self._node.check_active()
            if not self._running.acquire(blocking=False):
                raise SoroError('another goal is being executed; cancel it first', Code.BUSY)
            try:
                self.ending = threading.Event()
                # Again: a deactivation since then has told the goal before this one to end.
                self._node.check_active()
                run(handle, result)
            finally:
                self._running.release()
        except SoroError as error:
            fill_error(result, error)
        except Exception as error:  # noqa: BLE001 - rclpy would abort with an empty result
            name = self._kind.__name__
            self._node.get_logger().error(f'{name}:\n{traceback.format_exc()}')
            fill_code(result, Code.UNKNOWN, internal(error))
        if result.error_code == Code.NONE:
            handle.succeed()
        elif result.error_code == Code.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return result
