# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Long work: send a goal, show its progress, cancel it on Ctrl-C or when the command is ended."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
import signal
import sys
import threading
import time
from typing import Any
from uuid import uuid4

from action_msgs.msg import GoalInfo, GoalStatus
from rclpy.action import ActionClient

from soro_cli.motion import MotionWatch
from soro_cli.robot_choice import running_robot, RunningRobot
from soro_cli.ros_session import CANCELED, DISCOVERY, RosSession, TIMED_OUT
from soro_mechanics.core.status import Code
from soro_node.process.signal_handlers import handled
from soro_node.user_errors import UserError

CANCEL_PATIENCE = 10.0  # s for the server to stop in order
ENDS = (signal.SIGTERM, signal.SIGHUP)
ANSWER = 10.0  # s for the server to take a goal or to refuse it
GONE = 2.0  # s without a server, then it does not come back
NO_LIMIT = 1e9  # s: long work may take as long as it takes, Ctrl-C ends it

Report = Callable[[float, str], None]  # share done 0..1, what is being done


def run_action(
    session: RosSession, kind: Any, name: str, goal: Any, on_feedback: Callable[[Any], None]
) -> Any:
    """Run an action to its end and return its result.

    On Ctrl-C, SIGTERM and a closed terminal the goal is cancelled, and the server's result is
    returned all the same.

    UserError: nobody serves the action, the goal was refused, or the server has gone.
    """
    client = ActionClient(session.node, kind, name)
    try:
        if not session.spin_until(client.server_is_ready, DISCOVERY):
            raise UserError(
                f'nobody serves the action {name}; its node has ended, is still starting or is '
                'not part of this launch',
                TIMED_OUT,
            )
        sent = _Goal(session, client, name, goal, on_feedback)
        with _ends_interrupt():
            try:
                finished = sent.result(sent.accepted(), NO_LIMIT)
            except KeyboardInterrupt:
                # It may have been accepted although the answer was not waited for.
                handle = sent.accepted()
                session.answered(handle.cancel_goal_async, CANCEL_PATIENCE)
                finished = sent.result(handle, CANCEL_PATIENCE)
                if finished is None:
                    raise UserError(f'{name} did not confirm the cancel', CANCELED) from None
        if finished is None:
            raise UserError(f'the node that served {name} has gone', TIMED_OUT)
        if finished.result().status == GoalStatus.STATUS_UNKNOWN:
            raise UserError(_refused(name))
        return finished.result().result
    finally:
        client.destroy()


def run_shown(
    arguments: argparse.Namespace,
    kind: Any,
    name: str,
    goal: Callable[[RunningRobot], Any],
    title: str,
    said: Callable[[Any], str] = attrgetter('step'),
) -> Any:
    """Run an action of the running robot beside a progress bar and return its result.

    `goal` makes the goal once the robot is known, `said` tells what a feedback message says.
    """
    with running_robot(arguments) as robot, progress_bar(title) as report:
        result = run_action(
            robot.session,
            kind,
            f'{robot.prefix}/{name}',
            goal(robot),
            lambda feedback: report(feedback.progress, said(feedback)),
        )
        if result.error_code in (Code.NOT_ACTIVE, Code.DEVICE_FAULT):
            result.error_message = MotionWatch(robot, tips=False).explained(result.error_message)
        return result


class _Goal:
    """One goal, sent until its server answers."""

    def __init__(
        self,
        session: RosSession,
        client: ActionClient,
        name: str,
        goal: Any,
        on_feedback: Callable[[Any], None],
    ) -> None:
        self._session, self._client, self._name = session, client, name
        self._goal, self._on_feedback = goal, on_feedback
        # Always the same: a server that had it and could not say so takes it once only.
        self._id = GoalInfo().goal_id
        self._id.uuid = list(uuid4().bytes)
        self._sent: list[Any] = []
        self._last_seen = 0.0  # the server, while the result is waited for

    def _send(self) -> Any:
        return self._client.send_goal_async(
            self._goal, lambda message: self._on_feedback(message.feedback), self._id
        )

    def accepted(self) -> Any:
        """Wait for the answer and return the goal's handle."""
        sent = self._session.answered(self._send, ANSWER, futures=self._sent)
        if sent is None:
            raise UserError(f'{self._name} did not answer the goal', TIMED_OUT)
        handle = sent.result()
        # Refused because it is known already, or for good: then its result is unknown.
        if not handle.accepted and len(self._sent) == 1:
            raise UserError(_refused(self._name))
        return handle

    def result(self, handle: Any, timeout: float) -> Any:
        """Wait for the result and return its future; None where there is none."""
        self._last_seen = time.monotonic()
        return self._session.answered(handle.get_result_async, timeout, alive=self._served)

    def _served(self) -> bool:
        """Whether the server is there; it may be seen in part while others come and go."""
        now = time.monotonic()
        if self._client.server_is_ready():
            self._last_seen = now
        return now - self._last_seen < GONE


def _refused(name: str) -> str:
    return f'{name} refused the goal; another one may be running'


@contextmanager
def _ends_interrupt() -> Iterator[None]:
    """Let other signals that end a command do what Ctrl-C does, so that nothing is left running.

    One that is ignored stays so: after nohup the work goes on without its terminal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in ENDS if signal.getsignal(number) is not signal.SIG_IGN]
    with handled(heard, signal.default_int_handler):
        yield


@contextmanager
def progress_bar(title: str) -> Iterator[Report]:
    """Show progress: a bar on a terminal, nothing into a pipe."""
    if not sys.stderr.isatty():
        yield lambda share, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn('{task.description}'),
        BarColumn(),
        TextColumn('{task.percentage:3.0f} %'),
        TimeElapsedColumn(),
        TextColumn('{task.fields[text]}'),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=1.0, text='')
        yield lambda share, text: bar.update(task, completed=share, text=text)
