# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the output of launched processes goes: the screen, marked with names, and a log file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
import os
from pathlib import Path
import sys
from typing import TextIO

_COLOURS = (36, 33, 35, 32, 34, 31)  # ANSI foregrounds, one per process in turn


class LaunchOutput:
    """Writes lines to the screen and everything to ``launch.log``."""

    def __init__(self, log_folder: Path, screen: TextIO | None = None) -> None:
        log_folder.mkdir(parents=True, exist_ok=True)
        self.log_file = log_folder / 'launch.log'
        self._log = self.log_file.open('w', encoding='utf-8', buffering=1)
        self._screen: TextIO | None = sys.stdout if screen is None else screen
        self._coloured = self._screen.isatty()
        self._names: dict[str, int] = {}

    def close(self) -> None:
        """Close the log file."""
        self._log.close()

    def line(self, name: str, text: str, on_screen: bool) -> None:
        """Take one line of a process."""
        colour = _COLOURS[self._names.setdefault(name, len(self._names)) % len(_COLOURS)]
        mark = f'\x1b[{colour}m[{name}]\x1b[0m' if self._coloured else f'[{name}]'
        self._log.write(f'[{name}] {text}\n')
        if on_screen:
            self._show(f'{mark} {text}')

    def notice(self, text: str) -> None:
        """Take one message of the launcher itself."""
        self._log.write(f'[launch] {text}\n')
        self._show(f'[launch] {text}')

    def _show(self, text: str) -> None:
        if self._screen is None:
            return
        try:
            self._screen.write(text + '\n')
            self._screen.flush()
        except OSError:
            self._screen = None  # the terminal is gone; robots still have to be stopped in order


def log_folder(environment: Mapping[str, str], now: datetime) -> Path:
    """Return the folder of this launch's log, by the rules ROS 2 uses for its own."""
    if environment.get('ROS_LOG_DIR'):
        base = Path(environment['ROS_LOG_DIR'])
    else:
        home = environment.get('ROS_HOME') or str(Path.home() / '.ros')
        base = Path(home).expanduser() / 'log'
    return base / f'{now:%Y-%m-%d-%H-%M-%S}-soro-launch-{os.getpid()}'
