# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the experiments on rendering and sensing found, and the numbers that others read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_mechanics.haptics.flex_calibration import CalibrationReport
from soro_studies.haptics.as_built_section import AsBuilt
from soro_studies.haptics.compliant_wall_section import CompliantWalls
from soro_studies.haptics.rendering_experiments import Contact, Followed, Rendered
from soro_studies.haptics.sensing_experiments import DIRECTIONS, ForceEllipsoid, SensingErrors
from soro_studies.haptics.three_cases import Case, TurnAgainstWall
from soro_studies.haptics.two_rates_section import Rate


@dataclass(frozen=True)
class Findings:
    """Results of all experiments."""

    report: CalibrationReport
    curves: list[Rendered]
    cases: list[Case]
    turn: TurnAgainstWall
    walls: CompliantWalls
    followed: list[Followed]
    sliding: list[list[float]]
    contacts: list[Contact]
    errors: list[SensingErrors]
    ellipsoid: ForceEllipsoid
    rates: list[Rate]
    built: AsBuilt


def lowest_energy(found: Findings) -> float:
    """Return the least balance of the energy monitor in all experiments [J]."""
    every = [c.lowest_energy for c in (*found.curves, *found.cases)]
    every += [f.lowest_energy for f in found.followed] + [c.lowest_energy for c in found.contacts]
    return float(min(every))


def rendering_values(found: Findings) -> dict[str, Any]:
    """Return the numbers that other pages read, in SI units, as JSON takes them."""
    return {
        'calibration': _fits(found.report),
        'stiffness': [
            {
                'name': c.name,
                'asked': None if np.isnan(c.asked) else float(c.asked),
                'felt': float(c.felt),
                'natural': float(c.natural),
            }
            for c in found.curves
        ],
        'cases': [
            {
                'name': c.name,
                'direction': c.direction,
                'felt': float(c.felt),
                'natural': float(c.natural),
            }
            for c in found.cases
        ],
        'followed': [
            {'name': f.name, 'mean': float(f.mean), 'largest': float(f.largest)}
            for f in found.followed
        ],
        'lowest_energy': lowest_energy(found),
        'sensed': _sensed(found.errors),
        'as_built': {
            'calibration': _fits(found.built.report),
            'sensed': _sensed(found.built.sensed),
        },
    }


def _fits(report: CalibrationReport) -> list[dict[str, Any]]:
    return [
        {
            'name': f.name,
            'nodes': [int(n) for n in f.nodes],
            'range': float(f.range),
            'error': float(f.error),
            'share': float(f.error_share),
        }
        for f in report.fits
    ]


def _sensed(errors: list[SensingErrors]) -> list[dict[str, Any]]:
    shown = ('moved', 'place', 'place_share', 'force', 'force_share')
    return [
        {'name': e.name, 'direction': name, **{what: float(getattr(e, what)[i]) for what in shown}}
        for e in errors
        for i, name in enumerate(DIRECTIONS)
    ]
