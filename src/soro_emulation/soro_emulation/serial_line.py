# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One direction of an emulated serial line: as slow as its baud rate, and damaged on demand."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from soro_emulation.injected_fault import choice, finite, whole_number
from soro_mechanics.core.errors import InvalidInput

BITS_PER_BYTE = 10  # start, eight, stop
MAX_LOST = 10**6  # units of a burst
MAX_WAITING = 400  # units that have not left; what comes then is lost, as in a full UART


class SerialLine:
    """Carries units (a frame with its closing zero, or a piece of garbage) in order.

    - `zeros`: whether units end with a zero byte; else each is what is put at once, of any kind.

    Its attribute `counters`: how many units entered while an injected fault could hit them
    (`exposed`), and how many it did hit.
    """

    PARTS: tuple[str, ...] = ('loss', 'corruption', 'repetition')  # faults of so many units

    def __init__(self, baudrate: int, generator: np.random.Generator, zeros: bool = True) -> None:
        self._zeros = zeros
        self._second_per_byte = BITS_PER_BYTE / baudrate
        self._random = generator
        self._waiting: deque[tuple[float, Any]] = deque()
        self._free_at = 0.0
        self._partial = b''
        names = ('exposed', 'lost', 'corrupted', 'repeated', 'delayed')
        self.counters = dict.fromkeys(names, 0)
        self.repair()

    def repair(self) -> None:
        """End every fault; the counters stay."""
        self._parts = dict.fromkeys(self.PARTS, 0.0)
        self._delay, self._burst = 0.0, 0

    def damage(self, values: dict[str, Any]) -> None:
        """Begin faults; what is not named stays as it is.

        ``loss``, ``corruption``, ``repetition``: parts of the units; ``delay`` [s]; ``burst``: so
        many units are lost at once.
        """
        parts = {key: finite(values, key, part) for key, part in self._parts.items()}
        for key, part in parts.items():
            if not 0.0 <= part <= 1.0:
                raise InvalidInput(key, part, 'a part, 0 to 1')
        delay = finite(values, 'delay', self._delay)
        burst = whole_number(values, 'burst', 0, MAX_LOST)
        if delay < 0.0:
            raise InvalidInput('delay', delay, 'seconds, zero or more')
        self._parts, self._delay, self._burst = parts, delay, burst

    def put(self, data: Any, now: float) -> None:
        """Let bytes enter, cut into units at their zeros; a frame of a bus is a unit."""
        if not self._zeros:
            self._enter(data, now)
            return
        *units, rest = (self._partial + data).split(b'\0')
        for unit in units:
            self._enter(unit + b'\0', now)
        if len(rest) > 300:  # no frame is so long
            self._enter(rest, now)
            rest = b''
        self._partial = rest

    def leaving(self, now: float) -> list[Any]:
        """Return the units that have reached the other end by `now`."""
        found = []
        while self._waiting and self._waiting[0][0] <= now:
            found.append(self._waiting.popleft()[1])
        return found

    def clear(self) -> None:
        """Forget what is on its way."""
        self._waiting.clear()
        self._partial = b''

    def _enter(self, unit: Any, now: float) -> None:
        parts, counters = self._parts, self.counters
        counters['exposed'] += any((*parts.values(), self._delay, self._burst))
        if self._burst > 0 or self._random.random() < parts['loss']:
            self._burst = max(0, self._burst - 1)
            counters['lost'] += 1
            return
        if self._random.random() < parts['corruption'] and len(unit) > 1:
            unit = self._flip(unit)
            counters['corrupted'] += 1
        counters['delayed'] += self._delay > 0.0
        again = self._random.random() < parts['repetition']
        counters['repeated'] += again
        for _ in range(1 + again):
            if len(self._waiting) >= MAX_WAITING:
                return
            self._free_at = max(now, self._free_at) + len(unit) * self._second_per_byte
            self._waiting.append((self._free_at + self._delay, unit))

    def _flip(self, unit: bytes) -> bytes:
        """Flip a bit of the frame so that it stays one: no new zero, its closing one kept."""
        broken = bytearray(unit)
        at = int(self._random.integers(0, len(unit) - 1))
        bits = [1 << bit for bit in range(8) if broken[at] != 1 << bit]
        broken[at] ^= bits[int(self._random.integers(0, len(bits)))]
        return bytes(broken)


def damage(to_device: SerialLine, to_host: SerialLine, values: dict[str, Any]) -> None:
    """Damage the lines of `direction` (to_device, to_host, both) as `SerialLine.damage` does."""
    lines = {'to_device': (to_device,), 'to_host': (to_host,), 'both': (to_device, to_host)}
    for line in lines[choice(values, 'direction', 'both', lines)]:
        line.damage(values)


def counters_of(to_device: SerialLine, to_host: SerialLine) -> dict[str, int]:
    """Return the counters of both directions, `to_device_lost` and so on."""
    both = {'to_device': to_device, 'to_host': to_host}
    return {f'{way}_{k}': n for way, line in both.items() for k, n in line.counters.items()}
