# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the STIFF-FLOP robot of one segment (Shi 2023): deflections by compliance, Fig. 7."""

from __future__ import annotations

import numpy as np

from soro_studies.mechanics import stiff_flop_studies as studies
from soro_studies.validation.robots import Loader
from soro_studies.validation.row import boundary, Row
from soro_studies.validation.stiff_flop_stiffness import ONE, ROBOT, THEORIES


def deflection(load: Loader) -> list[Row]:
    """Return how far the compliance predicts deflections (Fig. 7), by every model.

    The paper solves "the conventional Cosserat rod model" and does not say which of its two.
    """
    robot = load(ROBOT)
    forces = np.linspace(0.1, 0.5, 5)
    found = []
    for name, pattern in (
        ('one pair at 1.5 bar', 1.5 * ONE),
        ('two pairs at 1.2 bar', 1.2 * np.array([1.0, 1.0, 0.0])),
    ):
        gaps = {m: studies.deflection_gap(robot.with_model(m), pattern, forces) for m in THEORIES}
        greatest, along = (
            ', '.join(f'{m} {g[k].max():.2f}' for m, g in gaps.items()) for k in (0, 1)
        )
        _, most = studies.compliance_range(robot, pattern)
        for model in ('ncm', 'lcm'):
            own = gaps[model][1]
            held = float(
                max(
                    (f for f, gap in zip(forces, own.max(axis=0), strict=True) if gap <= 0.15),
                    default=0.0,
                )
            )
            found.append(
                boundary(
                    f'tip by compliance against the full solve, along the force, 0.5 N, {name}, '
                    f'{model}',
                    'within 0.15 cm',
                    float(own.max()),
                    'cm',
                    0.0,
                    0.15,
                    note=f'up to {held:.1f} N within 0.15 cm. All models: {along}; largest '
                    f'component: {greatest} cm. A linear answer cannot follow a deflection of '
                    f'{0.5 * most:.1f} cm',
                )
            )
    return found
