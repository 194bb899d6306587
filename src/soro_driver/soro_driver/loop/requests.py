# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions that other threads ask a loop, answered between two of its passes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
import queue
from typing import Any

from soro_driver.safety.not_allowed import NotAllowed
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code

TIMEOUT = 2.0  # s; only an attempt to reconnect makes a pass longer, with some devices


class Requests:
    """A queue of actions; the thread that owns the device carries them out."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]]
        self._queue = queue.SimpleQueue()

    def ask(self, action: Callable[[], Any]) -> Any:
        """Have an action carried out; return what it returns, raise the SoroError it raises.

        NotAllowed: BUSY: the loop does not answer, or has ended.
        """
        answer: Future[Any] = Future()
        self._queue.put((action, answer))
        try:
            return answer.result(TIMEOUT)
        except (FutureTimeout, CancelledError):
            if answer.cancel():  # nobody waits for it any more
                raise NotAllowed('the control loop does not answer', Code.BUSY) from None
        try:  # it has begun: a refusal now would be followed by what was asked for
            return answer.result(TIMEOUT)
        except FutureTimeout:
            raise NotAllowed('the control loop is still carrying it out', Code.BUSY) from None

    def answer(self) -> None:
        """Carry out what was asked so far."""
        while not self._queue.empty():
            action, answer = self._queue.get()
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(action())
                except SoroError as error:
                    answer.set_exception(error)

    def refuse(self) -> None:
        """Answer nothing any more: the loop has ended."""
        while not self._queue.empty():
            self._queue.get()[1].cancel()
