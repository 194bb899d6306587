# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Cosserat rod models LCM and NCM (Shi 2023, (8)-(11), (24)-(26), (31)-(38))."""

from __future__ import annotations

import numpy as np

from soro_mechanics import cosserat_kernels as kernels
from soro_mechanics.configuration import Array
from soro_mechanics.segment_grid import Grid
from soro_mechanics.segment_model import LINEAR_BELOW, Ramp, SegmentModel

EXACT_BELOW = 1e-8  # the variations by the parameters are as good as this residual


class NonlinearCosserat(SegmentModel):
    """NCM: the section follows the stretch, increment by increment."""

    name = 'ncm'

    def _ramp(
        self, grid: Grid, actuation: Array, gravity: Array, parameters: int, guess: Ramp | None
    ) -> Ramp:
        parts = self.parts(actuation)
        elements = grid.chain[0].size
        record = np.empty((elements, 3, kernels.RECORD))
        d_record = np.zeros((elements, 3, kernels.RECORD, parameters))
        warm = guess is not None and guess.starts.shape == (len(parts), 3)
        starts = guess.starts.copy() if guess is not None and warm else np.zeros((len(parts), 3))
        rule = kernels.EXACT if self.compensation.rule == 'exact' else kernels.PUBLISHED
        below = LINEAR_BELOW if parameters == 0 else EXACT_BELOW
        passes, residual = kernels.cosserat_ramp(
            grid.chain, self._push(actuation), self._push_variations(parameters), gravity, parts,
            rule, self._units[1], below, starts, warm, record, d_record,
        )  # fmt: skip
        return Ramp(
            actuation.copy(), gravity.copy(), record, d_record, starts, passes, residual
        )


class LinearCosserat(NonlinearCosserat):
    """LCM: one increment, sections as unloaded."""

    name = 'lcm'
    linear = True
