# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the past of actuators does to the body: creep, then hysteresis; and both undone.

Of a command u the body feels ``rest + P(C(u - rest))``: C the Kelvin chain of `creep`, P the
Prandtl-Ishlinskii operator of `hysteresis`. Both have exact inverses, from the present state on.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.actuator_models.creep import Creep, CreepProperties, read_creep
from soro_mechanics.actuator_models.hysteresis import PrandtlIshlinskii
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True, eq=False)
class HistoryProperties:
    """Of m drives, k play operators of each."""

    thresholds: Array  # (m, k) [SI]
    weights: Array  # (m, k)
    creep: CreepProperties  # parts and time constants, (c, m)


def read_history(root: Section, actuators: tuple[Actuator, ...]) -> HistoryProperties:
    """Read ``hysteresis`` and ``creep`` of every drive; thresholds are parts of its range."""
    plays, creeps = [], []
    for item, drive in zip(root.sections('history'), actuators, strict=True):
        with item:
            creeps.append(read_creep(item))
            plays.append((np.zeros(1), np.ones(1)))
            if 'hysteresis' in item:
                with item.section('hysteresis') as s:
                    s.text('operator')
                    size = len(s.raw('thresholds'))
                    shares, weights = (s.vector(k, '1', size) for k in ('thresholds', 'weights'))
                    plays[-1] = (drive.maximum - drive.minimum) * shares, weights
                    try:
                        PrandtlIshlinskii(shares[None], weights[None], np.zeros((1, size)))
                    except InvalidInput as error:
                        raise s.error(error.field, f'write {error.expected}') from None
    thresholds, weights = (_filled(rows) for rows in zip(*plays, strict=True))
    part = _filled([np.array(c.part) for c in creeps])
    time = _filled([np.array(c.time_constant) for c in creeps])
    # A drive with fewer operators than another has further ones that weigh nothing.
    weights *= np.arange(weights.shape[1]) < [[len(w)] for _, w in plays]
    part *= np.arange(part.shape[1]) < [[len(c.part)] for c in creeps]
    return HistoryProperties(thresholds, weights, CreepProperties(part.T, time.T))


def _filled(rows: list[Array] | tuple[Array, ...]) -> Array:
    """Return rows of one length, each continued by its last number."""
    most = max(map(len, rows))
    return np.array([np.pad(row, (0, most - len(row)), mode='edge') for row in rows])


class ActuatorHistory:
    """Where the operators of m drives are; at first as after a long rest at `rest` (m,) [SI]."""

    def __init__(self, properties: HistoryProperties, rest: Array) -> None:
        p, self._rest = properties, rest
        self._plays = PrandtlIshlinskii(p.thresholds, p.weights, np.zeros_like(p.thresholds))
        self._creep = Creep(len(rest), p.creep, -math.inf)

    def follow(self, values: Array, now: float) -> Array:
        """Go to `values` (m,) at `now` [s]; return what the body feels then."""
        return self._rest + self._plays.apply(self._creep.apply(values - self._rest, now))

    def undo(self, felt: Array, now: float) -> Array:
        """Return the values (m,) that will be felt so at `now` [s]; nothing moves yet."""
        late = self._plays.undo(felt - self._rest)
        return self._rest + self._creep.undo(late, now)
