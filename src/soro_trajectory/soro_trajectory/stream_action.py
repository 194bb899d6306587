# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What actions that move the robot share: one goal at a time, safe ends, and why there was one.

They run in threads beside the executor and touch the robot through the `CommandStream` only.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import time
from typing import Any

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_node.one_goal import OneGoal
from soro_node.robot_binding import RobotBinding
from soro_trajectory.command_stream import CommandStream, Phase
from soro_trajectory.stream_error import StreamError

LOOK_PERIOD = 0.02  # s, between two looks at the stream
APPROACH_SLACK = 2.0  # s, beyond what ramp and takeover need


class StreamAction(OneGoal):
    """Executes goals of one action by its `_run`.

    `node`: its table, `near` and `go_to`; `name`: of the action.
    """

    name: str

    def __init__(
        self, node: Any, kind: Any, robot: RobotBinding, stream: CommandStream, beside: Any = None
    ) -> None:
        super().__init__(node, kind, beside)
        self._binding, self._stream = robot, stream
        self._generation = self._ends = 0  # of the present goal

    def execute(self, handle: Any, ends: int) -> Any:
        """Execute a goal, `ends` at its arrival; what does not succeed is logged."""
        result = self.carry_out(handle, functools.partial(self._run_or_hold, ends))
        if result.error_code != Code.NONE:
            asked = result.error_code == Code.CANCELED and handle.is_cancel_requested
            log = self._node.get_logger()
            (log.info if asked else log.error)(f'{self.name}: {result.error_message}')
        return result

    def _run_or_hold(self, ends: int, handle: Any, result: Any) -> None:
        self._ends = ends
        try:
            self._run(handle, result)
        except Exception as error:
            if not isinstance(error, SoroError):
                self._stream.hold(time.monotonic())
            raise

    def _run(self, handle: Any, result: Any) -> None:
        raise NotImplementedError

    def _arrive(self, handle: Any, rest: float, tell: Callable[[float], None]) -> None:
        """Wait until the target is held and not `busy`, for `rest` [s]; `tell` of the progress.

        StreamError: TIMED_OUT, or what `_look` finds.
        """
        ramp, start = self._stream.longest_ramp, time.monotonic()
        end, arrived = start + ramp + self._stream.patience + APPROACH_SLACK, None
        while arrived is None or time.monotonic() - arrived < rest:
            now = time.monotonic()
            if now > end and arrived is None:
                self._stream.hold(now)
                raise StreamError(Code.TIMED_OUT, 'the first point was not reached in time')
            self._look(handle)
            held = self._stream.phase is Phase.HOLD
            if held and (arrived is None or self._node.tip_control.busy):
                arrived = now
            tell(min(1.0, (now - start) / max(ramp, LOOK_PERIOD)))
            self.ending.wait(LOOK_PERIOD)

    def _look(self, handle: Any) -> None:
        """Raise when the goal has to end: cancelled, stopped, released, deactivated."""
        check_goes_on(handle, self._stream, self._generation)
        if self.ending.is_set():
            raise StreamError(Code.NOT_ACTIVE, 'the planner was deactivated')


def check_goes_on(handle: Any, stream: CommandStream, generation: int) -> None:
    """Raise when a goal of a generation has to end: cancelled (held then), stopped, released."""
    over = stream.over(generation)
    if handle.is_cancel_requested:
        if over is None:
            stream.hold(time.monotonic())
        raise StreamError(Code.CANCELED, 'cancelled; holding the present set-point')
    if over is not None:
        raise over
