# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of a node: published at 1 Hz, and immediately when a level or message changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
import threading
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from soro_node.executor.clock_watch import steady_timer

PERIOD = 1.0  # s, REP 107


class Level(IntEnum):
    """Levels of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Diagnostics:
    """What a node has to say about itself, under /diagnostics.

    - `node`: messages go out from construction on, whatever the node's lifecycle state.
    - `timed`: False: changes go out at once, and the node calls `publish` once a second.
    """

    def __init__(self, node: Node, timed: bool = True) -> None:
        self._node = node
        self._hardware_id = node.get_namespace().strip('/') or node.get_name()
        self._prefix = node.get_fully_qualified_name()
        self._timed = timed
        self._statuses: dict[str, tuple[Level, str, Any]] = {}
        self._lock = threading.Lock()
        self._publisher = Node.create_publisher(node, DiagnosticArray, '/diagnostics', 10)
        if timed:
            steady_timer(node, PERIOD, self.publish)

    def report(self, name: str, level: Level, message: str, **values: Any) -> None:
        """Set one status; publish at once when its level or its message is new.

        Put numbers that vary into `values`, not into the message. Safe from any thread. With a
        timer most reports are never sent: only what is sent is made a message.
        """
        status = level, message, values if self._timed else _entries(values)
        with self._lock:
            old = self._statuses.get(name)
            self._statuses[name] = status
        if old is None or old[:2] != status[:2]:
            self.publish()

    def status(self, name: str) -> DiagnosticStatus | None:
        """Return what was last reported under a name, as it is published."""
        with self._lock:
            said = self._statuses.get(name)
        return None if said is None else self._message(name, *said)

    def publish(self) -> None:
        """Publish every status now."""
        with self._lock:
            statuses = list(self._statuses.items())
        if not statuses:
            return
        message = DiagnosticArray(status=[self._message(name, *said) for name, said in statuses])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _message(self, name: str, level: Level, text: str, values: Any) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=bytes([int(level)]),
            name=f'{self._prefix}: {name}',
            message=text,
            hardware_id=self._hardware_id,
            values=_entries(values) if self._timed else values,
        )

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """Go on publishing while the caller does what keeps the node's timers waiting."""
        done = threading.Event()

        def repeat() -> None:
            while not done.wait(0.5 * PERIOD):  # who looks has to hear of it within a second
                self.publish()

        thread = threading.Thread(target=repeat, name='diagnostics', daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _entries(values: dict[str, Any]) -> list[KeyValue]:
    texts = {k: f'{v:.6g}' if isinstance(v, float) else str(v) for k, v in values.items()}
    return [KeyValue(key=k, value=text) for k, text in texts.items()]
