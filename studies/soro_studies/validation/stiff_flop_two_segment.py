# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the STIFF-FLOP robot of two segments (Shi 2023)."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from soro_mechanics.robot import Robot
from soro_studies.mechanics import stiff_flop_studies as studies
from soro_studies.validation.robots import Group, Loader
from soro_studies.validation.row import boundary, Row, statement, yardstick

SAME = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])  # P1=P2=P7=P8
ACROSS = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0])  # P1=P2=P9..P12
ROBOT = 'stiff_flop_two_segment'
LEVERS = (
    'At the tip it depends on where the two bends point: opposite ones keep the lever arms long, '
    'equal ones fold the second segment back'
)


def _growth(load: Loader) -> list[Row]:
    robot = load(ROBOT)
    found = []
    for name, pattern in (('P1=P2=P7=P8', SAME), ('P1=P2=P9..P12', ACROSS)):
        tips = np.array([_greatest(robot, bar * pattern) for bar in (0.0, 0.3, 0.6, 0.9, 1.2)])
        ratios = tips[:, 1] / tips[:, 0]
        spread = ', '.join(f'{r:.1f}' for r in ratios)
        worst = float(ratios[np.argmax(np.abs(ratios - 7.0))])
        found.append(
            boundary(
                f'tip over first segment, greatest compliance, {name}',
                '6 to 8 times',
                worst,
                '',
                6.0,
                8.0,
                note=f'the level farthest off; at 0, 0.3 ... 1.2 bar: {spread}. {LEVERS}',
            )
        )
        for k, place in enumerate(('first segment', 'tip')):
            growth = 100.0 * float(tips[-1, k] / tips[0, k] - 1.0)
            found.append(
                boundary(
                    f'growth of the greatest compliance to 1.2 bar, {place}, {name}',
                    '90 to 100 %',
                    growth,
                    '%',
                    90.0,
                    100.0,
                    note=LEVERS if place == 'tip' else '',
                )
            )
    return found


def _variation(load: Loader) -> list[Row]:
    """Return what section 4.2 says of how the eigenvalues at both tips vary with pressure."""
    robot = load(ROBOT)
    levels = (0.0, 0.3, 0.6, 0.9, 1.2)
    # (patterns, levels, places, eigenvalues)
    values = np.array([[_eigenvalues(robot, bar * p) for bar in levels] for p in (SAME, ACROSS)])
    spread = np.ptp(values, axis=1)
    least = values[:, :, 1, 0]
    listed = ', '.join(f'{at[0]:.2f} to {at[-1]:.2f}' for at in least)
    first, tip = spread[:, 0, -1], spread[:, 1, -1]
    every = bool(np.all(spread[:, 1] > spread[:, 0]))
    less = bool(spread[1, 1, 0] < spread[0, 1, 0])
    q = robot.forward(_configurations()['f'] * studies.BAR)
    x, y, z = studies.CM_PER_N * np.diag(robot.compliance(q, method='integral'))[:3]
    return [
        statement('least compliance at the tip up to 1.2 bar, Fig. 9(a), (b)',
                  'varies less in (b)', f'{listed} cm/N', less,
                  '' if less else 'the other way round here'),
        statement('variation of the eigenvalues, tip and first segment, Fig. 9',
                  'greater at the tip', f'greatest ones by {tip[0]:.1f} and {tip[1]:.1f}, there '
                  f'by {first[0]:.1f} and {first[1]:.1f} cm/N', every,
                  'in cm/N; for its size the greatest one grows less at the tip in (a): see the '
                  'rows of growth'),
        boundary('compliance along z, of the lesser one along x and y, configuration f',
                 'much smaller', z / min(x, y), '', 0.0, 0.1, printed=False,
                 shown=f'{x:.1f}, {y:.1f}, {z:.2f} cm/N',
                 note='a tenth is our reading of "much"'),
    ]  # fmt: skip


def _norms(load: Loader) -> list[Row]:
    robot, single = load(ROBOT), load('stiff_flop')
    found = []
    for labels, levels in distinct(_configurations()).items():
        ratio = studies.frobenius(robot, levels) / studies.frobenius(single, levels[:3])
        same = f'; {labels} are mirror images, one row' if ',' in labels else ''
        found.append(
            boundary(
                f'compliance norm over one segment, configuration {labels}',
                '5 to 10 times',
                ratio,
                '',
                5.0,
                10.0,
                note='one segment under the pressures of the first of the two: those '
                f'of Table 5 are not in the text that we have{same}',
            )
        )
    return found


def distinct(configurations: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Join configurations that are turned or mirrored images of each other, labels joined.

    The pairs of a segment stand symmetrically: any exchange of pairs, the same in both segments,
    turns or mirrors the robot.
    """
    found: dict[tuple[float, ...], list[str]] = {}
    for label, levels in configurations.items():
        both = np.reshape(levels, (2, 3))
        images = [tuple(both[:, order].ravel()) for order in map(list, permutations(range(3)))]
        found.setdefault(min(images), []).append(label)
    return {', '.join(labels): configurations[labels[0]] for labels in found.values()}


def _errors(load: Loader) -> list[Row]:
    robot = load(ROBOT)
    places = []
    for label, levels in _configurations().items():
        tip = 100.0 * robot.forward(levels * studies.BAR).tip[:3, 3]
        places.append(f'{label} ' + ' '.join(f'{x:.2f}' for x in np.round(tip, 2) + 0.0))
    return [
        yardstick(
            'tip position in six configurations',
            'within 0.6 cm',
            f'{"; ".join(places)} cm',
            'the measured positions stand in a figure',
        ),
        yardstick(
            'error of the compliance norm, two segments',
            '10 to 20 %',
            '',
            'Table 6 with the measured matrices is not in the text that we have',
        ),
    ]


def _greatest(robot: Robot, bar: np.ndarray) -> tuple[float, float]:
    first, last = _eigenvalues(robot, bar)
    return float(first[-1]), float(last[-1])


def _eigenvalues(robot: Robot, bar: np.ndarray) -> list[np.ndarray]:
    """Return the principal compliances at the ends of both segments, ascending [cm/N]."""
    q = robot.forward(bar * studies.BAR)
    along = robot.compliance_along(q, method='integral')
    return [np.linalg.eigvalsh(c[-1][:3, :3]) * studies.CM_PER_N for c in along]


def _configurations() -> dict[str, np.ndarray]:
    """Return the six configurations of Experiment 3 [bar], pairs 1 to 6."""
    return {
        'a': 0.9 * np.array([1, 0, 0, 1, 0, 0]),
        'b': 0.9 * np.array([1, 0, 0, 0, 1, 1]),
        'c': 1.2 * np.array([1, 0, 0, 0, 1, 0]),
        'd': 1.2 * np.array([0, 0, 1, 0, 1, 0]),
        'e': 0.9 * np.array([1, 0, 1, 1, 1, 0]),
        'f': 0.6 * np.ones(6),
    }


GROUPS: tuple[Group, ...] = (_growth, _variation, _norms, _errors)
