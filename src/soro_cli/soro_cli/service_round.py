# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A service without arguments, called of one robot or of all that are found."""

from __future__ import annotations

import time
from typing import Any

ANSWER = 10.0  # s
AGAIN = 0.5  # s without an answer after which a request is sent again, see RosSession.answered
HARMLESS = ('driver/stop',)  # may arrive twice; a second clearing could clear what came between


class ServiceRound:
    """One service of one robot or of all, each asked as soon as it is found."""

    def __init__(self, session: Any, service: str, wanted: str) -> None:
        self._session, self._service, self._wanted = session, service, wanted
        self._clients: dict[str, Any] = {}
        self._futures: dict[str, list[Any]] = {}
        self._last_sent: dict[str, float] = {}

    def ask(self) -> set[str]:
        """Ask who has not been asked yet and can be reached; return everybody found so far."""
        from std_srvs.srv import Trigger

        for space in self._session.offering(self._service):
            if space not in self._clients and self._wanted in ('', space):
                self._clients[space] = self._session.node.create_client(
                    Trigger, f'{space.rstrip("/")}/{self._service}'
                )
        for space, client in self._clients.items():
            if client.service_is_ready() and self._due(space):
                self._last_sent[space] = time.monotonic()
                self._futures.setdefault(space, []).append(client.call_async(Trigger.Request()))
        return set(self._clients)

    def _due(self, space: str) -> bool:
        if space not in self._futures:
            return True
        waiting = self._answer(space) is None and self._service in HARMLESS
        return waiting and time.monotonic() - self._last_sent[space] > AGAIN

    def _answer(self, space: str) -> Any:
        return next((f.result() for f in self._futures.get(space, ()) if f.done()), None)

    def carry_out(self) -> tuple[list[str], list[str]]:
        """Ask; return what those said who did it in time, and what is wrong with the others."""

        def answered() -> bool:
            return bool(self.ask()) and all(self._answer(s) is not None for s in self._clients)

        self._session.spin_until(answered, ANSWER)
        done, failed = [], []
        for space in sorted(self._clients):
            answer = self._answer(space)
            if answer is None:
                failed.append(f'{space}: {self._service} did not answer within {ANSWER:g} s')
            elif answer.success:
                done.append(f'{space}: {answer.message or "done"}')
            else:
                failed.append(f'{space}: {answer.message or "refused"}')
        return done, failed
