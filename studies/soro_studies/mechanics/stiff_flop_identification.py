# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fit the STIFF-FLOP sections to published numbers, with sensitivity and covariance.

Only five numbers show in what the paper publishes: EA, EI, the pressure force over EA, the
pressure moment over EI, and the shear factor. Modulus and areas by themselves do not. The rows
used are in `ROWS`; everything else in docs/evidence/validation.md is predicted.

Run ``python -m soro_studies.mechanics.stiff_flop_identification`` to see the fit beside the robot
file; with ``--write FILE`` the same as Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.segments.schema import Segment, SegmentChain
from soro_mechanics.robot import load_robot, Robot
from soro_studies.mechanics import stiff_flop_studies as studies

STEP = 1e-4  # of the logarithms of the parameters, for central differences


@dataclass(frozen=True)
class FitRow:
    """A published number used for the fit, with the uncertainty of its printed form."""

    name: str
    paper: float
    deviation: float
    unit: str
    why: str
    value: Callable[[Robot], float]


ROWS = (
    FitRow('middle, least compliance at rest', 0.06, 0.005, 'cm/N', 'two printed digits',
           lambda r: studies.compliance_range(r, 0.0 * studies.ONE_PAIR, 0.5)[0]),
    FitRow('middle, greatest compliance at rest', 0.40, 0.005, 'cm/N', 'two printed digits',
           lambda r: studies.compliance_range(r, 0.0 * studies.ONE_PAIR, 0.5)[1]),
    FitRow('tip, least compliance at rest', 0.13, 0.005, 'cm/N', 'two printed digits',
           lambda r: studies.compliance_range(r, 0.0 * studies.ONE_PAIR)[0]),
    FitRow('tip, greatest compliance at rest', 1.84, 0.005, 'cm/N', 'two printed digits',
           lambda r: studies.compliance_range(r, 0.0 * studies.ONE_PAIR)[1]),
    FitRow('tip, greatest compliance, six at 0.9 bar', 9.34, 0.3, 'cm/N',
           'the number of increments behind it is not printed',
           lambda r: studies.compliance_range(r, 0.9 * studies.ALL_PAIRS)[1]),
    FitRow('elongation, six at 1.2 bar', 2.7, 0.05, 'cm', 'printed as "up to 2.7"',
           lambda r: studies.elongation(r, 1.2 * studies.ALL_PAIRS)),
    FitRow('bending, one pair at 1.5 bar', 110.0, 5.0, 'deg', 'printed as "around 110"',
           lambda r: studies.bending(r, 1.5 * studies.ONE_PAIR)),
)  # fmt: skip

PARAMETERS = (
    ('EA', 'N'),
    ('EI', 'N m^2'),
    ('6 A_c / EA', '1/Pa'),
    ('A_c d / EI', '1/(Pa m)'),
    ('shear factor', '1'),
)


@dataclass(frozen=True)
class Fit:
    """Result of the fit.

    Attributes
    ----------
    parameters : ndarray, shape (5,)
        In the order and units of `PARAMETERS`.
    deviations : ndarray, shape (5,)
        Relative standard deviations.
    correlation : ndarray, shape (5, 5)
    sensitivity : ndarray, shape (rows, 5)
        Relative change of a row per relative change of a parameter.
    values : ndarray, shape (rows,)
    chi2 : float
        Sum of squared residuals in units of the rows' deviations.
    """

    parameters: Array
    deviations: Array
    correlation: Array
    sensitivity: Array
    values: Array
    chi2: float


def parameters_of(robot: Robot) -> Array:
    """Return the five identifiable numbers of a robot's first segment."""
    structure: SegmentChain = robot.description.structure['segments']
    segment = structure.segments[0]
    area, offset = segment.chambers[0].area, segment.chambers[0].offset
    return np.array(
        [
            segment.axial_stiffness,
            segment.bending_stiffness,
            3.0 * area / segment.axial_stiffness,
            0.5 * area * offset / segment.bending_stiffness,
            segment.shear_factor,
        ]
    )


def robot_with(robot: Robot, parameters: Array) -> Robot:
    """Return the same robot with all segments of other parameters."""
    axial, bending, push, turn, shear = (float(x) for x in parameters)
    area = push * axial / 3.0
    offset = 2.0 * turn * bending / area

    def change(segment: Segment) -> Segment:
        chambers = tuple(replace(c, area=area, offset=offset) for c in segment.chambers)
        return replace(
            segment,
            axial_stiffness=axial,
            bending_stiffness=bending,
            shear_factor=shear,
            chambers=chambers,
        )

    description = robot.description
    chain: SegmentChain = description.structure['segments']
    changed = replace(chain, segments=tuple(change(s) for s in chain.segments))
    structure = {**description.structure, 'segments': changed}
    other = Robot(replace(description, structure=structure), robot.model)
    other.gravity = robot.gravity
    return other


def fit(robot: Robot, start: Array | None = None) -> Fit:
    """Fit the five parameters by weighted least squares in their logarithms."""
    from scipy.optimize import least_squares  # loaded only for the fit

    first = parameters_of(robot) if start is None else np.asarray(start, dtype=float)
    paper = np.array([row.paper for row in ROWS])
    weight = paper / np.array([row.deviation for row in ROWS])

    def residual(log: Array) -> Array:
        return weight * (_values(robot, first * np.exp(log)) / paper - 1.0)

    def slope(log: Array) -> Array:
        columns = [
            (residual(log + STEP * e) - residual(log - STEP * e)) / (2.0 * STEP)
            for e in np.eye(len(PARAMETERS))
        ]
        return np.array(columns).T

    found = least_squares(residual, np.zeros(len(PARAMETERS)), jac=slope, xtol=1e-12, ftol=1e-14)
    covariance = np.linalg.inv(found.jac.T @ found.jac)
    deviations = np.sqrt(np.diag(covariance))
    values = _values(robot, first * np.exp(found.x))
    return Fit(
        first * np.exp(found.x),
        deviations,
        covariance / np.outer(deviations, deviations),
        found.jac / weight[:, None] * (paper / values)[:, None],
        values,
        float(2.0 * found.cost),
    )


def _values(robot: Robot, parameters: Array) -> Array:
    other = robot_with(robot, parameters)
    return np.array([row.value(other) for row in ROWS])


def markdown(result: Fit, robot: Robot) -> str:
    """Return the report: parameters, rows, sensitivity, correlation."""
    frozen = parameters_of(robot)
    lines = [
        '# Identification of the STIFF-FLOP sections',
        '',
        'Written by `python -m soro_studies.mechanics.stiff_flop_identification --write '
        'docs/evidence/stiff_flop_identification.md`.',
        'Weighted least squares in the logarithms of five parameters on seven published rows; the',
        'robot files hold the result (`source: fitted`), frozen before any predicted row of',
        '[validation.md](validation.md) was computed. Standard deviations follow from the',
        f'deviations of the printed numbers alone. chi2 = {result.chi2:.2f} with '
        f'{len(ROWS) - len(PARAMETERS)} degrees of freedom.',
        '',
        '| Parameter | Unit | Fitted | Standard deviation | In the robot file |',
        '|---|---|---|---|---|',
    ]
    for (name, unit), value, deviation, held in zip(
        PARAMETERS, result.parameters, result.deviations, frozen, strict=True
    ):
        lines.append(f'| {name} | {unit} | {value:.4g} | {100 * deviation:.1f} % | {held:.4g} |')
    lines += [
        '',
        '## Rows used for fitting',
        '',
        '| Row | Paper | Ours | Deviation used | Why |',
        '|---|---|---|---|---|',
    ]
    for row, value in zip(ROWS, result.values, strict=True):
        paper = f'{row.paper:g} {row.unit}'
        lines.append(f'| {row.name} | {paper} | {value:.3g} | {row.deviation:g} | {row.why} |')
    names = [name for name, _ in PARAMETERS]
    lines += [
        '',
        '## Sensitivity: per cent of the row per per cent of the parameter',
        '',
        '| Row | ' + ' | '.join(names) + ' |',
        '|---' * (len(names) + 1) + '|',
    ]
    for row, line in zip(ROWS, result.sensitivity, strict=True):
        lines.append(f'| {row.name} | ' + ' | '.join(f'{x:+.2f}' for x in line) + ' |')
    lines += [
        '',
        '## Correlation of the fitted parameters',
        '',
        '| | ' + ' | '.join(names) + ' |',
        '|---' * (len(names) + 1) + '|',
    ]
    for name, line in zip(names, result.correlation, strict=True):
        lines.append(f'| {name} | ' + ' | '.join(f'{x:+.2f}' for x in line) + ' |')
    lines += [
        '',
        'Modulus, chamber area and section areas do not appear: a robot with another modulus and',
        'areas scaled to the same five numbers gives the same rows.',
        '',
    ]
    return '\n'.join(lines)


def main() -> None:
    """Fit and report."""
    parser = argparse.ArgumentParser(description='Fit the STIFF-FLOP sections to the paper.')
    parser.add_argument('--write', type=Path, help='write the report to this Markdown file')
    target = parser.parse_args().write
    robot = load_robot('stiff_flop')
    report = markdown(fit(robot), robot)
    if target is None:
        print(report)
    else:
        target.write_text(report, encoding='utf-8')


if __name__ == '__main__':
    main()
