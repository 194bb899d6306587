# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What actions that move the robot share: one goal at a time, safe ends, and why there was one.

They run in threads beside the executor and touch the robot through the `CommandStream` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import threading
import time
import traceback
from typing import Any

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_node.replies import fill_code, fill_error
from soro_node.robot_binding import RobotBinding
from soro_trajectory.command_stream import CommandStream, Phase
from soro_trajectory.stream_error import StreamError

LOOK_PERIOD = 0.02  # s, between two looks at the stream
APPROACH_SLACK = 2.0  # s, beyond what ramp and takeover need


class OneGoal:
    """Lets a node execute one goal at a time, of whichever action."""

    def __init__(self) -> None:
        self._busy, self.ending = threading.Lock(), threading.Event()

    @property
    def busy(self) -> bool:
        """Whether a goal is being executed."""
        return self._busy.locked()

    def end(self, timeout: float) -> bool:
        """Have the present goal end; whether it did within `timeout` [s]."""
        self.ending.set()
        ended = self._busy.acquire(timeout=timeout)
        if ended:
            self._busy.release()
        return ended

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Be the one; StreamError: BUSY."""
        if not self._busy.acquire(blocking=False):
            raise StreamError(Code.BUSY, 'another goal is being executed; cancel it first')
        try:
            yield
        finally:
            self._busy.release()


class StreamAction:
    """Executes goals of one action, of which a subclass has `kind`, `name` and `_run`.

    `node`: its table, `near` and `go_to`.
    """

    kind: Any
    name: str

    def __init__(
        self, node: Any, binding: RobotBinding, stream: CommandStream, one: OneGoal
    ) -> None:
        self._node, self._binding, self._stream, self._one = node, binding, stream, one
        self._ending = one.ending
        self._generation = 0  # of the present goal

    def execute(self, handle: Any) -> Any:
        """Execute a goal; every end of it has a code and a sentence."""
        result = self.kind.Result()
        try:
            with self._one.alone():
                self._run(handle, result)
        except SoroError as error:
            fill_error(result, error)
        except Exception as error:  # noqa: BLE001 - rclpy would abort with an empty result
            self._stream.hold(time.monotonic())
            self._node.get_logger().error(f'{self.name}:\n{traceback.format_exc()}')
            fill_code(result, Code.UNKNOWN, f'internal error: {error!r}')
        self._conclude(handle, result)
        return result

    def _conclude(self, handle: Any, result: Any) -> None:
        log = self._node.get_logger()
        if result.error_code == Code.NONE:
            handle.succeed()
        elif result.error_code == Code.CANCELED and handle.is_cancel_requested:
            handle.canceled()
            log.info(f'{self.name}: {result.error_message}')
        else:
            handle.abort()
            log.error(f'{self.name}: {result.error_message}')

    def _run(self, handle: Any, result: Any) -> None:
        raise NotImplementedError

    def _arrive(self, handle: Any, rest: float, tell: Callable[[float], None]) -> None:
        """Wait until the stream holds its target, and has for `rest` [s]; `tell` of the progress.

        StreamError: TIMED_OUT, or what `_look` finds.
        """
        ramp = self._stream.longest_ramp
        start = time.monotonic()
        end, arrived = start + ramp + self._stream.patience + APPROACH_SLACK, None
        while arrived is None or time.monotonic() - arrived < rest:
            now = time.monotonic()
            if now > end and arrived is None:
                self._stream.hold(now)
                raise StreamError(Code.TIMED_OUT, 'the first point was not reached in time')
            self._look(handle)
            if arrived is None and self._stream.phase is Phase.HOLD:
                arrived = now
            tell(min(1.0, (now - start) / max(ramp, LOOK_PERIOD)))
            self._ending.wait(LOOK_PERIOD)

    def _look(self, handle: Any) -> None:
        """Raise when the goal has to end: cancelled, stopped, released, deactivated."""
        if handle.is_cancel_requested:
            self._stream.hold(time.monotonic())
            raise StreamError(Code.CANCELED, 'cancelled; holding the present set-point')
        if self._stream.stopped is not None:
            raise self._stream.stopped
        if self._stream.generation != self._generation:
            raise StreamError(Code.CANCELED, 'released while moving')
        if self._ending.is_set():
            raise StreamError(Code.NOT_ACTIVE, 'the planner was deactivated')
