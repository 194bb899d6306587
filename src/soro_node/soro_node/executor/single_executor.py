# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The executor of every node: rclpy's single-threaded one without the turns that find nothing.

rclpy's executors wake themselves twice for every callback, so that another thread of a pool may
take what the callback made possible. In the single-threaded one nobody else waits: before it
waits again it looks at everything anyway, finds nothing, and looks at everything once more. With
the twenty services of a lifecycle node that is a third of a millisecond per callback, in which
the interpreter lock is away from the thread that answers a request.

No request that rclpy answers by itself ends a node here: `soro_node.executor.built_in_requests`.
"""

from __future__ import annotations

import threading
from typing import Any

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from soro_node.executor.built_in_requests import guard_built_in
from soro_node.executor.rclpy_private import has_suspended_tasks, waking_guard


class SingleExecutor(SingleThreadedExecutor):
    """Wakes for what other threads do and for coroutines, not after every callback."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._handling: int | None = None  # thread between two waits: it looks again by itself
        guard = waking_guard(self)
        if guard is not None:
            self._trigger = guard.trigger
            guard.trigger = self._trigger_if_needed

    def add_node(self, node: Node) -> bool:
        """Spin a node, whose built-in services refuse what they do not understand."""
        guard_built_in(node)
        return bool(super().add_node(node))

    def wait_for_ready_callbacks(self, *args: Any, **kwargs: Any) -> Any:
        """Return the next callback, see rclpy; until the next call this thread wakes nobody."""
        self._handling = None
        found = super().wait_for_ready_callbacks(*args, **kwargs)
        self._handling = threading.get_ident()
        return found

    def _trigger_if_needed(self) -> None:
        if self._handling != threading.get_ident() or has_suspended_tasks(self):
            self._trigger()
