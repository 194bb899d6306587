# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Constant-curvature models LPCC and NPCC (Shi 2023, (5)-(6), (27)-(30))."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.models.segments import pcc_kernels
from soro_mechanics.models.segments.grid import Grid
from soro_mechanics.models.segments.model import at_point, RodState, SegmentModel
from soro_mechanics.numerics import lie

TOLERANCE = 1e-11  # of the arc parameters, stretch and scaled curvature


class NonlinearPcc(SegmentModel):
    """NPCC: one arc per segment; the section follows the stretch, increment by increment."""

    name = 'npcc'

    def _increments(
        self,
        grid: Grid,
        actuation: Array,
        gravity: Array,
        parts: Array,
        rule: int,
        starts: Array,
        warm: bool,
        record: Array,
        d_record: Array,
    ) -> tuple[int, float]:
        return pcc_kernels.pcc_ramp(
            grid.chain,
            self._push(actuation),
            self._push_variations(d_record.shape[3]),
            gravity,
            parts,
            rule,
            self._units[1],
            TOLERANCE,
            starts,
            record,
            d_record,
        )

    def compliance_sum(self, q: Configuration, rule: str = 'midpoint') -> Array:
        """Return the published sum (5) over the arcs, (6, 6) at the tip, base axes.

        Parameters
        ----------
        q : Configuration
        rule : 'midpoint' or 'trapezoid'
            Second order in the number of arcs; ``compliance(q, method='integral')`` is the
            integral (4) that both approach.
        """
        if rule not in ('midpoint', 'trapezoid'):
            raise InvalidInput('rule', rule, "'midpoint' or 'trapezoid'")
        state: RodState = q.state
        lengths, segments, sections, _, _, _ = state.grid.chain
        held, _ = self._held(state.ramp)
        total = np.zeros((6, 6))
        for e, (length, i) in enumerate(zip(lengths, segments, strict=True)):
            poses = q.backbones[i]
            node = e + i - state.grid.slices[i].start
            ends = poses[node], poses[node + 1]
            half = lie.se3_exp(0.5 * lie.se3_log(lie.compose(lie.inverse(ends[0]), ends[1])))
            middle = lie.compose(ends[0], half)
            points = (
                ((1, 1.0, middle),)
                if rule == 'midpoint'
                else ((0, 0.5, ends[0]), (2, 0.5, ends[1]))
            )
            for point, share, pose in points:
                stretch, a = state.ramp.record[e, point, 0], held[e, point]
                axial, bend, twist, shear = sections[i]
                density = np.array(
                    [shear * a, shear * a, axial * a] + [bend * a * a] * 2 + [twist * a * a]
                )
                spread = lie.adjoint(pose)
                total += share * length * stretch * (spread * density) @ spread.T
        return at_point(total, q.tip[:3, 3])


class LinearPcc(NonlinearPcc):
    """LPCC: one increment, sections as unloaded."""

    name = 'lpcc'
    linear = True
