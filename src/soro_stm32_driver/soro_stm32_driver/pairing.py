# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which two valves belong to which muscle. Pure.

Valves count from 0 here and on the wire, from 1 in robot files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_VALVES = 64
MAX_MUSCLES = MAX_VALVES // 2
FIRST_MUSCLES = 30  # of version 1.0, paired in order


@dataclass(frozen=True)
class Pairing:
    """The valves of every muscle: the one that inflates, the one that deflates."""

    pairs: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        """Number of muscles."""
        return len(self.pairs)

    @property
    def valid(self) -> bool:
        """Whether every valve exists and serves one muscle in one way."""
        valves = [v for pair in self.pairs for v in pair]
        return len(set(valves)) == len(valves) and all(0 <= v < MAX_VALVES for v in valves)

    @property
    def minor(self) -> int:
        """The oldest minor version that can say this."""
        return 0 if self == FIRST else 1

    def bit(self, muscle: int, kind: int) -> int:
        """Return the bit of a valve; kind 0 inflates, 1 deflates."""
        return 1 << self.pairs[muscle][kind]

    def open(self, valves: int) -> NDArray[np.bool_]:
        """Return which valves of a bitmap are open, shape (m, 2): inflate, deflate."""
        bits = [[bool(valves >> v & 1) for v in pair] for pair in self.pairs]
        return np.array(bits, bool).reshape(self.count, 2)

    def both_open(self, valves: int) -> int | None:
        """Return the first muscle both of whose valves are set, or None."""
        both = np.flatnonzero(self.open(valves).all(axis=1))
        return int(both[0]) if both.size else None

    def muscle_of(self, valve: int) -> tuple[int, int] | None:
        """Return (muscle, kind) of a valve; None: it is not used."""
        for muscle, pair in enumerate(self.pairs):
            if valve in pair:
                return muscle, pair.index(valve)
        return None


def in_order(count: int) -> Pairing:
    """Return the pairing of version 1.0: valve 2 i inflates muscle i, 2 i + 1 deflates it."""
    return Pairing(tuple((2 * i, 2 * i + 1) for i in range(count)))


FIRST = in_order(FIRST_MUSCLES)
