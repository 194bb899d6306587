# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The pump emulated behind a pty; cable, noise and silence come with `SerialPty`."""

from lab_pump import KPA, Line, LineReader
import numpy as np

from soro_emulation.serial_pty import LINK_FAULTS, SerialPty
from soro_emulation.wired_emulator import WiredEmulator


class PumpEmulator(WiredEmulator):
    """Pressures that follow with a lag of 50 ms, and vent when the time to live has passed."""

    faults = ('none', *LINK_FAULTS)

    def __init__(self, context, now):
        super().__init__(context, now)
        self._p, self._target = np.zeros((2, len(context.robot.actuators)))
        self._time = self._end = now
        line = context.endpoint.path, 115200, self._receive, self._tick, context.seed
        self.wire = SerialPty(*line, LineReader())

    def actuation(self, now):
        """Return the pressures [Pa]."""
        return self._p.copy()

    def _break(self, fault, values):
        pass  # nothing but the line can break

    def _tick(self, now):
        if self._moves and now > self._end:
            self._target[:] = 0.0
            self._note(False, now)
        self._p += -np.expm1(20.0 * min(0.0, self._time - now)) * (self._target - self._p)
        self._time = now
        return []

    def _receive(self, line, now):
        word, *values = line.words or ('',)
        if word in ('arm', 'off'):
            self._target, self._end = 0.0 * self._target, now + 0.5
            self._note(word == 'arm', now)
        if word == 'set' and self._moves and len(values) == 1 + len(self._target):
            self._end = now + 1e-3 * float(values[0])
            self._target = np.clip(KPA * np.array(values[1:], float), 0.0, 200 * KPA)
        both = (f'{v / KPA:.3f}' for v in (*self._p, *self._target))
        hello = 'pump', '7', str(len(self._p))
        return [Line(hello if word == 'hello' else ('at', str(int(self._moves)), *both))]
