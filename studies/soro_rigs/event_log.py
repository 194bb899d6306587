# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads what an emulated device did and when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_events(path: str | Path, event: str = '') -> list[dict[str, Any]]:
    """Return the events of a log, all or those of one name, complete lines only."""
    return EventReader(path).read(event)


class EventReader:
    """Reads a log that grows: every line is parsed once, however often somebody looks."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._events: list[dict[str, Any]] = []
        self._taken = 0  # bytes

    def read(self, event: str = '') -> list[dict[str, Any]]:
        """Return the events up to now, all or those of one name, complete lines only."""
        if self._path.exists() and self._path.stat().st_size > self._taken:
            with self._path.open('rb') as file:
                file.seek(self._taken)
                lines = file.read().splitlines(keepends=True)
            complete = [line for line in lines if line.endswith(b'\n')]
            self._taken += sum(map(len, complete))
            self._events += map(json.loads, complete)
        return [e for e in self._events if not event or e['event'] == event]

    def forget(self) -> None:
        """Forget the events up to now."""
        self.read()
        self._events.clear()
