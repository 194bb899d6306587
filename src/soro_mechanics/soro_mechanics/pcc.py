# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Constant-curvature models LPCC and NPCC (Shi 2023, (5)-(6), (27)-(30))."""

from __future__ import annotations

import numpy as np

from soro_mechanics import pcc_kernels
from soro_mechanics.configuration import Array
from soro_mechanics.cosserat_kernels import EXACT, PUBLISHED, RECORD
from soro_mechanics.segment_grid import Grid
from soro_mechanics.segment_model import Ramp, SegmentModel

TOLERANCE = 1e-11  # of the arc parameters, stretch and scaled curvature


class NonlinearPcc(SegmentModel):
    """NPCC: one arc per segment; the section follows the stretch, increment by increment."""

    name = 'npcc'

    def _ramp(
        self, grid: Grid, actuation: Array, gravity: Array, parameters: int, guess: Ramp | None
    ) -> Ramp:
        parts = self.parts(actuation)
        elements = grid.chain[0].size
        record = np.empty((elements, 3, RECORD))
        d_record = np.zeros((elements, 3, RECORD, parameters))
        starts = np.zeros((len(parts), 3))
        passes, residual = pcc_kernels.pcc_ramp(
            grid.chain, self._push(actuation), self._push_variations(parameters), gravity, parts,
            EXACT if self.compensation.rule == 'exact' else PUBLISHED, self._units[1], TOLERANCE,
            starts, record, d_record,
        )  # fmt: skip
        return Ramp(
            actuation.copy(), gravity.copy(), record, d_record, starts, passes, residual
        )


class LinearPcc(NonlinearPcc):
    """LPCC: one increment, sections as unloaded."""

    name = 'lpcc'
    linear = True
