# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Calls of services that may never be answered."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from rclpy.client import Client
from rclpy.task import Future
from std_srvs.srv import Trigger

ANSWER_TIMEOUT = 10.0  # s; a solver that ends while it is asked never answers
TRIGGER_TIMEOUT = 1.0  # s after which a person is told that a button did nothing


class OneAtATime:
    """Asks a service one thing at a time; who does not answer in time can be asked again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._due = 0.0
        self._answer: Future | None = None

    @property
    def ready(self) -> bool:
        """Whether anybody is there to answer."""
        return bool(self._client.service_is_ready())

    @property
    def free(self) -> bool:
        """Whether nothing is under way."""
        answer = self._answer
        if answer is None or answer.done():
            return True
        if time.monotonic() < self._due:
            return False
        self._client.remove_pending_request(answer)
        self._answer = None
        return True

    def ask(self, request: Any, answered: Callable[[Any], None]) -> bool:
        """Ask, and hand the response over when it comes; whether anybody is there to answer."""
        if not self.ready:
            return False
        self._due = time.monotonic() + ANSWER_TIMEOUT
        self._answer = self._client.call_async(request)
        self._answer.add_done_callback(lambda done: answered(done.result()))
        return True


class Buttons:
    """Services without arguments behind buttons; a person hears at once what became of a press.

    `clients`: of std_srvs/Trigger, by name; `say`: ``say(text, good)``; `remedies`: what to do
    where one does not answer, by name.
    """

    def __init__(
        self,
        clients: dict[str, Client],
        say: Callable[[str, bool], None],
        remedies: dict[str, str],
    ) -> None:
        self._clients, self._say, self._remedies = clients, say, remedies
        self._lock = threading.Lock()
        self._due: dict[str, float] = {}  # when an answer must be there, by name

    def press(self, name: str, then: str = '') -> None:
        """Call a service, from any thread; `then` another one, where it is offered."""
        client = self._clients[name]
        if not client.service_is_ready():
            self._say_no_answer(name, 'does not answer')
            return
        self._say(f'{name}: sent', True)
        with self._lock:
            self._due[name] = time.monotonic() + TRIGGER_TIMEOUT

        def answered(future: Any) -> None:
            with self._lock:
                self._due.pop(name, None)
            response = future.result()
            if response is not None:
                words = response.message or ('done' if response.success else 'refused')
                self._say(f'{name}: {words}', response.success)
                if response.success and then and self._clients[then].service_is_ready():
                    self.press(then)

        client.call_async(Trigger.Request()).add_done_callback(answered)

    def look(self) -> None:
        """Say who has not answered in time; to be called several times a second."""
        now = time.monotonic()
        with self._lock:
            late = [name for name, due in self._due.items() if due < now]
            for name in late:
                del self._due[name]
        for name in late:
            urgent = name in self._remedies
            self._say_no_answer(name, 'NO ANSWER' if urgent else 'no answer yet')

    def _say_no_answer(self, name: str, what: str) -> None:
        remedy = self._remedies.get(name, '')
        self._say(f'{name}: {what}{f", {remedy}" if remedy else ""}', False)
