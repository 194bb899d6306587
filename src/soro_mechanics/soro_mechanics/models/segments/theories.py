# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The actuation stages: Cosserat rods (NCM, LCM) and arcs of constant curvature (NPCC, LPCC).

Shi 2023, (8)-(11), (24)-(26), (31)-(38); (5)-(6), (27)-(30).
"""

from __future__ import annotations

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.segments.cosserat_kernels import cosserat_ramp, Increment
from soro_mechanics.models.segments.model import SegmentModel
from soro_mechanics.models.segments.pcc_kernels import pcc_ramp

# Scaled residual from which one linear correction of the whole solution leaves its square;
# lower where variations by the parameters are wanted, which are as good as the residual.
LINEAR_BELOW = 1e-5
LINEAR_BELOW_WITH_VARIATIONS = 1e-8
ARC_TOLERANCE = 1e-11  # of the arc parameters, stretch and scaled curvature


class NonlinearCosserat(SegmentModel):
    """NCM: the section follows the stretch, increment by increment."""

    name = 'ncm'

    def _increments(
        self, whole: Increment, parts: Array, starts: Array, warm: bool
    ) -> tuple[int, float]:
        below = LINEAR_BELOW_WITH_VARIATIONS if whole.d_record.shape[3] else LINEAR_BELOW
        return cosserat_ramp(whole, parts, self._units[1], below, starts, warm)


class LinearCosserat(NonlinearCosserat):
    """LCM: one increment, sections as unloaded."""

    name = 'lcm'
    linear = True


class NonlinearPcc(SegmentModel):
    """NPCC: one arc per segment; the section follows the stretch, increment by increment."""

    name = 'npcc'

    def _increments(
        self, whole: Increment, parts: Array, starts: Array, warm: bool
    ) -> tuple[int, float]:
        return pcc_ramp(whole, parts, self._units[1], ARC_TOLERANCE, starts)


class LinearPcc(NonlinearPcc):
    """LPCC: one increment, sections as unloaded."""

    name = 'lpcc'
    linear = True
