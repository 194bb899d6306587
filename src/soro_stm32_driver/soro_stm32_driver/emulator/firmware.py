# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The reference firmware, built by this computer's C compiler, as a process over pipes."""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
import subprocess
import tempfile

from soro_mechanics.core.errors import InvalidInput, MissingPackage
from soro_stm32_driver.emulator.properties import BoardProperties

HERE = Path(__file__).resolve()
SHARE = ('share', 'soro_stm32_driver', 'firmware')  # of an installation that is a copy
UNITS = ('valve_frame.c', 'valve_bank.c', 'valve_core.c', 'valve_host.c')
FLAGS = ('-std=c99', '-O1', '-Wall', '-Wextra', '-Werror')


def build(folder: Path, flags: Sequence[str] = ()) -> Path:
    """Compile the firmware for this computer; returns the program.

    Raises
    ------
    MissingPackage
        There is no C compiler, or its sources are not beside this package.
    """
    program = folder / 'valve_host'
    places = [HERE.parents[2] / 'firmware']
    if len(HERE.parents) > 5:
        places.append(HERE.parents[5].joinpath(*SHARE))
    folders = [place for place in places if (place / UNITS[0]).is_file()]
    if not folders:
        raise MissingPackage(f'no sources of the firmware in {" or ".join(map(str, places))}')
    compiler = os.environ.get('CC', 'cc')
    sources = [str(folders[0] / name) for name in UNITS]
    command = [compiler, *FLAGS, *flags, '-o', str(program), *sources, '-lm']
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120.0, check=False)
    except OSError as error:
        remedy = 'install a C compiler (`sudo apt install gcc`), or write firmware: emulated'
        raise MissingPackage(
            f'the firmware needs {compiler}: {error.strerror}; {remedy}'
        ) from None
    if done.returncode:
        raise MissingPackage(f'{compiler} does not build the firmware: {done.stderr.strip()}')
    return program


class Firmware:
    """One running firmware. Time passes only when it is told to.

    Parameters
    ----------
    properties : BoardProperties
    boot_id : int
    supply : float
        Nominal pressure [Pa].
    in_order : bool
        Wired as version 1.0 says.
    program : Path, optional
        From `build`; default: it is built.
    """

    def __init__(
        self,
        properties: BoardProperties,
        boot_id: int,
        supply: float,
        in_order: bool,
        program: Path | None = None,
    ) -> None:
        p = properties
        if p.sensors:
            raise InvalidInput('firmware', 'host', 'emulated, with length_sensors')
        numbers = (
            p.serial, boot_id, p.first_tick, p.vent_time, p.budget, p.watchdog, round(supply),
            p.simultaneous, int(in_order),
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            made = program or build(Path(folder))
            self._process = subprocess.Popen(
                [str(made), *map(str, numbers)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            self.pass_time(0)  # it runs before its file goes
        self.frames: list[bytes] = []
        self.coils: list[tuple[int, int, bool]] = []

    def receive(self, data: bytes) -> None:
        """Let bytes arrive."""
        for start in range(0, len(data), 1000):
            self._say(f'b {data[start : start + 1000].hex()}')

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass."""
        self._say(f't {milliseconds}')

    def supply(self, pressure: float) -> None:
        """Change the supply pressure [Pa]."""
        self._say(f's {round(pressure)}')

    def take(self) -> tuple[list[bytes], list[tuple[int, int, bool]]]:
        """Return the frames, and the coils that changed (tick, valve, on), since the last call."""
        found = self.frames, self.coils
        self.frames, self.coils = [], []
        return found

    def close(self) -> int:
        """End it; returns its exit code."""
        self._process.communicate()
        return self._process.returncode

    def _say(self, line: str) -> None:
        out, into = self._process.stdout, self._process.stdin
        assert out is not None and into is not None
        into.write(line + '\n')
        into.flush()
        for answer in iter(out.readline, '.\n'):
            if not answer:
                raise InvalidInput('firmware', f'ended with {self._process.wait()}', 'a firmware')
            kind, *words = answer.split()
            if kind == 'f':
                self.frames.append(bytes.fromhex(words[0]))
            else:
                tick, valve, on = map(int, words)
                self.coils.append((tick, valve, bool(on)))
