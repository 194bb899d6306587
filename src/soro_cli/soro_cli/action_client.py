# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Long work: send a goal, show its progress, cancel it on Ctrl-C or when the command is ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import signal
import sys
import threading
from typing import Any

from rclpy.action import ActionClient

from soro_cli.errors import CliError
from soro_cli.ros_session import CANCELED, DISCOVERY, RosSession, TIMED_OUT
from soro_cli.signal_handlers import handled

CANCEL_PATIENCE = 10.0  # s for the server to stop in order
ENDS = (signal.SIGTERM, signal.SIGHUP)
NO_LIMIT = 1e9  # s: long work may take as long as it takes, Ctrl-C ends it

Report = Callable[[float, str], None]  # share done 0..1, what is being done


def run_action(
    session: RosSession, kind: Any, name: str, goal: Any, on_feedback: Callable[[Any], None]
) -> Any:
    """Run an action to its end and return its result.

    On Ctrl-C, SIGTERM and a closed terminal the goal is cancelled, and the server's result is
    returned all the same.

    Raises
    ------
    CliError
        Nobody serves the action, the goal was refused, or the server has gone.
    """
    client = ActionClient(session.node, kind, name)
    try:
        if not session.spin_until(client.server_is_ready, DISCOVERY):
            raise CliError(
                f'nobody serves the action {name}; its node has ended, is still starting or is '
                'not part of this launch',
                TIMED_OUT,
            )
        with _ends_interrupt():
            sent = client.send_goal_async(goal, lambda message: on_feedback(message.feedback))
            try:
                finished = _accepted(session, sent, name).get_result_async()
                session.spin_until(
                    lambda: finished.done() or not client.server_is_ready(), NO_LIMIT
                )
            except KeyboardInterrupt:
                # It may have been accepted although the answer was not waited for.
                handle = _accepted(session, sent, name)
                handle.cancel_goal_async()
                finished = handle.get_result_async()
                if not session.spin_until(finished.done, CANCEL_PATIENCE):
                    raise CliError(f'{name} did not confirm the cancel', CANCELED) from None
        if not finished.done():
            raise CliError(f'the node that served {name} has gone', TIMED_OUT)
        return finished.result().result
    finally:
        client.destroy()


def _accepted(session: RosSession, sent: Any, name: str) -> Any:
    """Wait for the answer to a goal and return its handle."""
    if not session.spin_until(sent.done, DISCOVERY):
        raise CliError(f'{name} did not answer the goal', TIMED_OUT)
    handle = sent.result()
    if not handle.accepted:
        raise CliError(f'{name} refused the goal; another one may be running')
    return handle


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
        TextColumn('{task.description}'), BarColumn(), TextColumn('{task.percentage:3.0f} %'),
        TimeElapsedColumn(), TextColumn('{task.fields[text]}'),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=1.0, text='')
        yield lambda share, text: bar.update(task, completed=share, text=text)
