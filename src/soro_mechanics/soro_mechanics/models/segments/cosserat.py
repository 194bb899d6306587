# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Cosserat rod models LCM and NCM (Shi 2023, (8)-(11), (24)-(26), (31)-(38))."""

from __future__ import annotations

from soro_mechanics.models.segments import cosserat_kernels as kernels
from soro_mechanics.models.segments.grid import Grid
from soro_mechanics.models.segments.model import SegmentModel
from soro_mechanics.models.segments.rod_state import Increments

# Scaled residual from which one linear correction of the whole solution leaves its square;
# lower where variations by the parameters are wanted, which are as good as the residual.
LINEAR_BELOW = 1e-5
LINEAR_BELOW_WITH_VARIATIONS = 1e-8


class NonlinearCosserat(SegmentModel):
    """NCM: the section follows the stretch, increment by increment."""

    name = 'ncm'

    def _increments(self, grid: Grid, steps: Increments) -> tuple[int, float]:
        below = LINEAR_BELOW_WITH_VARIATIONS if steps.d_record.shape[3] else LINEAR_BELOW
        records = steps.record, steps.d_record
        return kernels.cosserat_ramp(
            grid.chain, *steps.inputs, self._units[1], below, steps.starts, steps.warm, *records
        )


class LinearCosserat(NonlinearCosserat):
    """LCM: one increment, sections as unloaded."""

    name = 'lcm'
    linear = True
