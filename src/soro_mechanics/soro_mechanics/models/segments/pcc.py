# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Constant-curvature models LPCC and NPCC (Shi 2023, (5)-(6), (27)-(30))."""

from __future__ import annotations

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.segments import pcc_kernels
from soro_mechanics.models.segments.cosserat_kernels import Increment
from soro_mechanics.models.segments.model import SegmentModel

TOLERANCE = 1e-11  # of the arc parameters, stretch and scaled curvature


class NonlinearPcc(SegmentModel):
    """NPCC: one arc per segment; the section follows the stretch, increment by increment."""

    name = 'npcc'

    def _increments(
        self, whole: Increment, parts: Array, starts: Array, warm: bool
    ) -> tuple[int, float]:
        return pcc_kernels.pcc_ramp(whole, parts, self._units[1], TOLERANCE, starts)


class LinearPcc(NonlinearPcc):
    """LPCC: one increment, sections as unloaded."""

    name = 'lpcc'
    linear = True
