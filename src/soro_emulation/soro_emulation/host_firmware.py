# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Reference firmware of a device package, built by this computer's C compiler, over pipes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
import os
from pathlib import Path
import shutil
import subprocess
import tempfile

from soro_mechanics.core.errors import InvalidInput, MissingPackage

SHARED = 'soro_driver'
FLAGS = ('-std=c99', '-O1', '-ffp-contract=off', '-Wall', '-Wextra', '-Werror')
REMEDY = 'install a C compiler (`sudo apt install gcc`), or write firmware: emulated'


def folder_of(package: str) -> Path:
    """Return the folder `firmware` of a package. MissingPackage: it is not beside the package."""
    here = Path(str(import_module(package).__file__)).resolve().parents
    places = [here[1] / 'firmware']
    if len(here) > 4:  # of an installation that is a copy
        places.append(here[4] / 'share' / package / 'firmware')
    for place in places:
        if place.is_dir():
            return place
    raise MissingPackage(f'no sources of the firmware in {" or ".join(map(str, places))}')


def build(package: str, folder: Path, flags: Sequence[str] = ()) -> Path:
    """Compile a package's firmware with the frames that all share; returns the program.

    MissingPackage: there is no C compiler, or the sources are not beside the package.
    """
    compiler, places = _needed(package)
    sources = [
        *(f'-I{p}' for p in places),
        *(str(f) for p in places for f in sorted(p.glob('*.c'))),
    ]
    program = folder / 'host'
    command = [compiler, *FLAGS, *flags, '-o', str(program), *sources, '-lm']
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120.0, check=False)
    except OSError as error:
        raise MissingPackage(f'{compiler} cannot be run: {error.strerror}; {REMEDY}') from None
    if done.returncode:
        raise MissingPackage(f'{compiler} does not build the firmware: {done.stderr.strip()}')
    return program


def _needed(package: str) -> tuple[str, list[Path]]:
    """Return the C compiler and the folders of sources. MissingPackage: one is not there."""
    compiler = os.environ.get('CC') or 'cc'
    if shutil.which(compiler) is None:
        raise MissingPackage(f'the firmware needs {compiler}, which is not found; {REMEDY}')
    return compiler, [folder_of(p) for p in (SHARED, package)]


class Ticks:
    """Counts those of `tick` [s] since a firmware was `born` [s]."""

    def __init__(self, born: float, tick: float = 1e-3) -> None:
        self._born, self._tick, self.count = born, tick, 0

    def passed(self, now: float) -> int:
        """Return how many have passed since this was asked last."""
        passed = max(0, int((now - self._born) / self._tick + 1e-6) - self.count)
        self.count += passed
        return passed

    def time(self, number: int) -> float:
        """Return when one began [s]."""
        return self._born + number * self._tick


class HostFirmware:
    """One firmware, from `run` on. Time passes only when it is told to.

    - `package`: whose firmware it is.
    - `arguments`: of the program.
    - `program`: from `build`; default: it is built.

    MissingPackage: it cannot be built here.
    """

    def __init__(
        self, package: str, arguments: Sequence[object], program: Path | None = None
    ) -> None:
        self._package, self._arguments, self._program = package, arguments, program
        self._process: subprocess.Popen[str] | None = None
        if program is None:
            _needed(package)

    def run(self) -> None:
        """Start it, unless it runs; building takes a second."""
        if self._process is not None:
            return
        with tempfile.TemporaryDirectory() as folder:
            made = self._program or build(self._package, Path(folder))
            self._process = subprocess.Popen(
                [str(made), *map(str, self._arguments)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            self.say('t 0')  # it runs before its file goes

    def say(self, line: str) -> list[list[str]]:
        """Return the lines that answer one, as words; the last begins with a full stop."""
        self.run()
        assert self._process is not None
        out, into = self._process.stdout, self._process.stdin
        assert out is not None and into is not None
        into.write(line + '\n')
        into.flush()
        found: list[list[str]] = []
        while not found or found[-1][0] != '.':
            found.append(out.readline().split())
            if not found[-1]:
                raise InvalidInput('firmware', f'ended with {self._process.wait()}', 'a firmware')
        return found

    def close(self) -> int:
        """End it; returns its exit code."""
        if self._process is None:
            return 0
        self._process.communicate()
        return self._process.returncode
