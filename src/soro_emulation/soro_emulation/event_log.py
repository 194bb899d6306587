# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What an emulated device did and when: JSON lines, times of CLOCK_MONOTONIC."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
import sys
import threading
import time
from typing import Any


class EventLog:
    """Appends events to a file; every line is written out at once.

    - `path`: file to append to; '' keeps nothing.
    """

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._file = None
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, 'a', encoding='utf-8', buffering=1)  # noqa: SIM115

    def write(self, event: str, time_: float | None = None, /, **values: Any) -> None:
        """Note an event; `time_` [s, CLOCK_MONOTONIC] where it is not now."""
        if self._file is None:
            return
        at = time.monotonic() if time_ is None else time_
        with self._lock:
            if self._file is not None:
                first = {'t': round(at, 6), 'event': event}
                try:
                    self._file.write(json.dumps({**first, **values, **first}) + '\n')
                except OSError as error:  # a full disk ends the log, and no device
                    print(f'{self._file.name}: the log ends here: {error}', file=sys.stderr)
                    self._end()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # what did not fit is tried once more
                file.close()
