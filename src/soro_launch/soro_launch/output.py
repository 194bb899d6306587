# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the output of launched processes goes: the screen, marked with names, and a log file."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
from datetime import datetime
import os
from pathlib import Path
import sys
from typing import TextIO

from soro_launch.errors import LaunchError
from soro_node.process.log_files import log_folder, REMEDY

_COLOURS = (36, 33, 35, 32, 34, 31)  # ANSI foregrounds, one per process in turn


class LaunchOutput:
    """Writes lines to the screen and everything to ``launch.log``.

    A full disk or a terminal that is gone ends only what was written there: the robots go on, and
    have to be stopped in order.
    """

    def __init__(self, folder: Path, screen: TextIO | None = None) -> None:
        self.log_file, coding = folder / 'launch.log', ('utf-8', 'backslashreplace')
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.log_file.open('w', 1, *coding)
        except OSError as error:
            raise LaunchError(f'{error.filename}: {error.strerror}; {REMEDY}') from None
        self._log: TextIO | None = self._file
        self._screen: TextIO | None = sys.stdout if screen is None else screen
        self._coloured = self._screen.isatty()
        self._names: dict[str, int] = {}

    def close(self) -> None:
        """Close the log file."""
        with contextlib.suppress(OSError):  # what did not fit on the disk is tried once more
            self._file.close()

    def line(self, name: str, text: str, on_screen: bool) -> None:
        """Take one line of a process."""
        colour = _COLOURS[self._names.setdefault(name, len(self._names)) % len(_COLOURS)]
        mark = f'\x1b[{colour}m[{name}]\x1b[0m' if self._coloured else f'[{name}]'
        self._record(f'[{name}] {text}')
        if on_screen:
            self._show(f'{mark} {text}')

    def notice(self, text: str) -> None:
        """Take one message of the launcher itself."""
        self._record(f'[launch] {text}')
        self._show(f'[launch] {text}')

    def _record(self, text: str) -> None:
        if self._log is None:
            return
        try:
            self._log.write(text + '\n')
        except (OSError, ValueError) as error:
            self._log = None
            self._show(f'[launch] the log ends here: {self.log_file}: {error}')

    def _show(self, text: str) -> None:
        if self._screen is None:
            return
        known = self._screen.encoding or 'utf-8'  # a terminal need not know every character
        try:
            self._screen.write(text.encode(known, 'backslashreplace').decode(known) + '\n')
            self._screen.flush()
        except (OSError, ValueError) as error:
            self._screen = None
            self._record(f'[launch] nothing more is shown on the screen: {error}')


def launch_log_folder(environment: Mapping[str, str], now: datetime) -> Path:
    """Return the folder of this launch's log, where ROS 2 has its own."""
    return log_folder(environment) / f'{now:%Y-%m-%d-%H-%M-%S}-soro-launch-{os.getpid()}'
