# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Constant-curvature models LPCC and NPCC (Shi 2023, (5)-(6), (27)-(30))."""

from __future__ import annotations

from soro_mechanics.models.segments import pcc_kernels
from soro_mechanics.models.segments.grid import Grid
from soro_mechanics.models.segments.model import SegmentModel
from soro_mechanics.models.segments.rod_state import Increments

TOLERANCE = 1e-11  # of the arc parameters, stretch and scaled curvature


class NonlinearPcc(SegmentModel):
    """NPCC: one arc per segment; the section follows the stretch, increment by increment."""

    name = 'npcc'

    def _increments(self, grid: Grid, steps: Increments) -> tuple[int, float]:
        records = steps.record, steps.d_record
        return pcc_kernels.pcc_ramp(
            grid.chain, *steps.inputs, self._units[1], TOLERANCE, steps.starts, *records
        )


class LinearPcc(NonlinearPcc):
    """LPCC: one increment, sections as unloaded."""

    name = 'lpcc'
    linear = True
