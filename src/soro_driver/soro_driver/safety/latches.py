# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What only a person ends: stops and the emergency stop. They outlive control loops.

An emergency stop also outlives the process: a driver that is launched again finds it in a file.
"""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import json
import os
from pathlib import Path
import secrets
import threading

from soro_driver.safety.not_allowed import NotAllowed
from soro_mechanics.core.status import Code

COUNTS = 2**32 - 1  # of ActuatorState.stops, from 1 on: zero says nothing
UNKNOWN = ''  # sender of a press, where the middleware does not name it


class Latches:
    """Stops and presses of the emergency stop, kept until they are cleared. Safe from any thread.

    - `file`: where a latched emergency stop is kept; None: in this process only.

    Its attributes:
    - `stops`: changes whenever the outputs were made safe for a reason. It begins at random, so
      that nobody takes the count of an earlier driver for this one's.
    - `stopped`: why nothing may move before a person clears it; empty: nothing of the kind.
    - `estop`: whether the emergency stop is latched.
    - `note`: why the file could not be read or written; empty: it could.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.stops = 1 + secrets.randbelow(COUNTS)
        self.stopped = ''
        self.estop = False
        self.note = ''
        self._file = file
        self._lock = threading.Lock()
        self._pressed: set[str] = set()
        self._load()

    def count(self) -> None:
        """Note that the outputs are made safe."""
        with self._lock:
            self.stops = self.stops % COUNTS + 1

    def stop(self, reason: str) -> None:
        """Let nothing move until a person clears it, armed or not."""
        self.count()
        self.stopped = self.stopped or reason

    def press(self, sender: str) -> bool:
        """Latch the emergency stop; whether that is new of this sender."""
        with self._lock:
            new = not self.estop or sender not in self._pressed
            self.estop = True
            self._pressed.add(sender)
        return new

    def let_go(self, sender: str) -> bool:
        """End the press of one sender; whether there was one. It stays latched until `clear`.

        Who is not known ends nothing: it may be anybody.
        """
        with self._lock:
            if sender == UNKNOWN or sender not in self._pressed:
                return False
            self._pressed.discard(sender)
        return True

    def pressed_by(self) -> list[str]:
        """Return who presses, as far as it is known."""
        with self._lock:
            return sorted(self._pressed)

    def forget(self, alive: Iterable[str]) -> None:
        """End the presses of all senders but those.

        NotAllowed: one of them presses; nothing is ended.
        """
        with self._lock:
            if self._pressed & set(alive):
                raise NotAllowed(
                    'a publisher of `estop` that is still there presses it: release it there '
                    '(publish false), or end that node',
                    Code.DEVICE_FAULT,
                )
            self._pressed.clear()

    def check_may_clear(self) -> None:
        """Raise NotAllowed while the emergency stop is pressed."""
        if self._pressed:
            raise NotAllowed(
                'the emergency stop is still pressed: `soro estop --release`, or call '
                'driver/release_estop',
                Code.DEVICE_FAULT,
            )

    def clear(self) -> None:
        """Forget stops and the emergency stop, unless it is pressed (NotAllowed)."""
        with self._lock:
            self.check_may_clear()
            self.estop, self.stopped = False, ''
        self.save()

    def save(self) -> None:
        """Keep a latched emergency stop in the file, or remove it."""
        if self._file is None:
            return
        with self._lock:
            try:
                self._write()
                self.note = ''
            except OSError as error:
                self.note = f'the next start would not know this emergency stop as it is: {error}'

    def _write(self) -> None:
        assert self._file is not None  # noqa: S101 - for mypy
        if not self.estop:
            self._file.unlink(missing_ok=True)
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({'pressed_by': sorted(self._pressed)})
        part = self._file.with_name(f'{self._file.name}.{os.getpid()}')
        try:
            with part.open('w') as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(self._file)
        finally:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()

    def _load(self) -> None:
        if self._file is None:
            return
        try:
            text = self._file.read_bytes()
            self.estop = True  # whatever stands in it
            senders = json.loads(text)['pressed_by']
            self._pressed = {str(sender) for sender in senders}
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.estop, self._pressed = True, {UNKNOWN}
            self.note = f'{self._file}: {error!r}; taken for a press'
