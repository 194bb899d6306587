# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recording from the command line: which robots, progress on the terminal, Ctrl-C ends it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
import signal
import sys
import threading
import time
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from soro_cli.ros_session import RosSession
from soro_cli.tables import note
from soro_node.file_errors import unused
from soro_node.middleware import set_middleware
from soro_node.process.log_files import NO_LOG_FILES
from soro_node.process.signal_handlers import handled
from soro_node.user_errors import UserError
from soro_recording.recorder_node import Recorder

PARAMETERS = ('topics', 'exclude', 'everything', 'reserve')  # as they are typed
GLANCE = 0.5  # s to look for robots when there need not be any
SLICE = 0.2  # s, how late an end or a failure is noticed
CONNECTING = 20.0  # s, then the duration begins without the topics that are still missing


@dataclass(frozen=True)
class RecordResult:
    """What was recorded."""

    folder: str
    seconds: float  #: from the first subscription to the end [s]
    #: or None; of these, until all topics came in; none where it ended before [s]
    connected_after: float | None
    size: int  #: [byte]
    counts: dict[str, int]  #: messages by topic
    #: lost, dropped: by the middleware, by the recorder
    lost: int
    dropped: int
    failure: str  #: why it ended before it was asked to

    @property
    def messages(self) -> int:
        """Number of messages of all topics."""
        return sum(self.counts.values())

    def as_json(self) -> dict[str, Any]:
        """Return everything for --json."""
        return {**asdict(self), 'messages': self.messages}


def record(arguments: argparse.Namespace) -> RecordResult:
    """Record until Ctrl-C, SIGTERM, the end of the duration [s], or a full disk.

    The duration begins when all topics are connected; what comes before is recorded as well.

    UserError: no such robot runs, or the output exists.
    """
    namespaces, duration = arguments.namespace, arguments.duration
    robots = _robots(namespaces, arguments.everything)
    name = '_and_'.join(space.strip('/').replace('/', '_') for space in robots) or 'bag'
    usual = Path('bags') / f'{name}_{datetime.now():%Y-%m-%d_%H-%M-%S}'
    path = unused(arguments.output or usual, '--output')
    set_middleware()
    context = Context()
    # Expressions choose from everything, and from the robots named where some are.
    spaces = [''] if arguments.topics and not namespaces else sorted(robots) or ['']
    values = {name: getattr(arguments, name) for name in PARAMETERS}
    values |= {'output': str(path), 'namespaces': spaces}
    with ExitStack() as heard:
        # Before there is a folder: who sees that may ask for the end at once.
        stop = threading.Event()
        heard.enter_context(handled((signal.SIGINT, signal.SIGTERM), lambda *_: stop.set()))
        given, handlers = list(NO_LOG_FILES), SignalHandlerOptions.NO
        rclpy.init(args=given, context=context, signal_handler_options=handlers)
        node = Recorder(
            context=context,
            namespace='/soro_record',
            use_global_arguments=False,
            parameter_overrides=[Parameter(name, value=value) for name, value in values.items()],
        )
        for namespace, robot in robots.items():
            if robot:
                node.add_robot(namespace, robot)
        begin = time.monotonic()
        connected_after: float | None = None
        executor = node.make_executor()
        progress = _Progress(node)
        executor.add_node(node)
        try:
            while not (stop.is_set() or node.bag.failure):
                now = time.monotonic() - begin
                if connected_after is None and (node.connected or now > CONNECTING):
                    connected_after = now
                    progress.connected(now)
                left = SLICE
                if duration is not None and connected_after is not None:
                    left = connected_after + duration - now
                if left <= 0.0:
                    break
                executor.spin_until_future_complete(Future(), timeout_sec=min(SLICE, left))
                progress.show()
        finally:
            heard.close()  # whoever asks again does not want to wait
            seconds = time.monotonic() - begin
            progress.end()
            node.make_safe()
            executor.shutdown(timeout_sec=1.0)
            node.destroy_node()
            rclpy.try_shutdown(context=context)
    bag = node.bag
    return RecordResult(
        str(bag.folder),
        seconds,
        connected_after,
        bag.size,
        bag.counts,
        node.lost,
        bag.dropped,
        bag.failure,
    )


def _robots(namespaces: Sequence[str], everything: bool) -> dict[str, str]:
    """Return the robot name or file of each namespace that is recorded."""
    wanted = ['/' + name.strip('/') for name in namespaces]
    with RosSession() as session:
        if everything and not wanted:
            session.spin_until(lambda: False, GLANCE)
            found = sorted(session.solvers())
        else:
            found = session.running_robots(wanted[0] if len(wanted) == 1 else '')
        missing = [name for name in wanted if name not in found]
        if missing or not (found or everything):
            listing = ', '.join(found) or 'none'
            raise UserError(
                f'no robot runs{" under " + missing[0] if missing else ""} (running: {listing}); '
                'start one (soro launch stiff_flop), or add --everything to record other topics'
            )
        return {name: session.robot_in(name) for name in wanted or found}


class _Progress:
    """One line on a terminal that is written over; two plain lines otherwise."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._begin = time.monotonic()
        self._terminal = sys.stderr.isatty()
        note(f'recording into {recorder.bag.folder}; Ctrl-C ends it')

    def connected(self, seconds: float) -> None:
        """Say that what is published comes in, and what does not."""
        self.end()
        topics = self._recorder.topics
        missing = [topic for topic in topics if not self._recorder.heard(topic)]
        without = f'; without a publisher: {", ".join(missing)}' if missing else ''
        note(f'{len(topics)} topics are connected after {seconds:.1f} s{without}')

    def show(self) -> None:
        """Say how far the recording is."""
        if self._terminal:
            bag = self._recorder.bag
            seconds = time.monotonic() - self._begin
            missing = self._recorder.lost + bag.dropped
            warning = f', {missing} LOST' if missing else ''
            print(
                f'\r\033[K{seconds:6.1f} s  {len(self._recorder.topics)} topics  '
                f'{sum(bag.counts.values())} messages  {bag.size / 1e6:.2f} MB{warning}',
                end='',
                file=sys.stderr,
                flush=True,
            )

    def end(self) -> None:
        """Leave the line."""
        if self._terminal:
            print(file=sys.stderr)
