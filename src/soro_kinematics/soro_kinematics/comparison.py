# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How far the models of one robot are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
import math

import numpy as np

from soro_mechanics.core.configuration import Configuration, rotation_angle
from soro_mechanics.core.status import Code


@dataclass(frozen=True)
class Comparison:
    """Largest differences between any two models that converged."""

    position_spread: float  #: [m]; NaN with fewer than two converged models
    orientation_spread: float  #: [rad]; NaN likewise
    hint: str  #: one sentence for a person


def compare(configurations: Sequence[Configuration]) -> Comparison:
    """Compare the tips of several models under the same actuation and load."""
    good = [q for q in configurations if q.status.code is not Code.NOT_CONVERGED]
    failed = [q.model for q in configurations if q.status.code is Code.NOT_CONVERGED]
    note = f'; not converged: {", ".join(failed)}' if failed else ''
    if len(good) < 2:
        return Comparison(math.nan, math.nan, f'fewer than two models to compare{note}')
    apart = {
        (a.model, b.model): float(np.linalg.norm(a.tip[:3, 3] - b.tip[:3, 3]))
        for a, b in combinations(good, 2)
    }
    turn = max(rotation_angle(a.tip[:3, :3], b.tip[:3, :3]) for a, b in combinations(good, 2))
    first, second = max(apart, key=lambda pair: apart[pair])
    spread = apart[first, second]
    unstable = [q.model for q in good if q.status.code is Code.UNSTABLE]
    if unstable:
        note += f'; unstable: {", ".join(unstable)}'
    hint = f'{first} and {second} are farthest apart, {spread * 1e3:.3g} mm{note}'
    return Comparison(spread, turn, hint)
