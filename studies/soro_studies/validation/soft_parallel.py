# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the soft parallel robot (Huang 2022), model ancf."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.spatial import ConvexHull

from soro_mechanics.core.configuration import Array
from soro_mechanics.robot import Robot
from soro_studies.mechanics import ancf_studies as studies
from soro_studies.validation.robots import Group, Loader
from soro_studies.validation.row import boundary, Kind, number, Row, statement, yardstick
from soro_studies.validation.stored import (
    benchmarked,
    NOT_MEASURED,
    PARALLEL_BENCHMARK,
    PARALLEL_TRACKING,
    PERFORMANCE,
    stored,
)

RATIOS = (0.5, 0.75, 1.0, 1.25, 1.5)
MACHINE = (
    f'ours warm, median, interface included ({PERFORMANCE}, {PARALLEL_BENCHMARK}, with date and '
    'machine); MATLAB in the paper'
)
PROTOTYPE = 'measured on the prototype'


def _robot(load: Loader) -> Robot:
    return load('soft_parallel', 'ancf')


def _mesh(load: Loader) -> list[Row]:
    robot = _robot(load)
    changes = studies.element_study(robot, 8) * 1e3
    penalties = np.array([0.5, 2.0, 8.0, 32.0])
    full = np.array([a.maximum for a in robot.actuators]) * [1.0, 0.0, 0.0]
    residuals = studies.penalty_study(robot, penalties, full)
    listing = ', '.join(f'{r:.3f}' for r in residuals)
    return [
        boundary('change of the unactuated tip from 5 to 6 elements, Fig. 8(a)', 'close to zero',
                 float(changes[3]), 'mm', 0.0, 0.02,
                 note='0.02 mm, a ten-thousandth of the legs, is our reading of "close to zero"',
                 printed=False),
        statement('the change falls with the number of elements', 'falls towards zero',
                  ', '.join(f'{c:.4f}' for c in changes) + ' mm for n_e = 2 to 8',
                  bool(np.all(np.diff(changes) < 0.0))),
        statement('constraint residual against alpha, Fig. 8(b)', 'falls',
                  f'{listing} for 0.5, 2, 8, 32 N, one leg at 180 kPa',
                  bool(np.all(np.diff(residuals) < 0.0))),
        boundary('constraint residual at alpha = 8, Fig. 8(b)', 'close to zero',
                 float(residuals[2]), '', 0.0, 0.02, printed=False,
                 note='0.02, all nodes together, is our reading of "close to zero"'),
    ]  # fmt: skip


def _workspace(load: Loader) -> list[Row]:
    edge = studies.boundary(_robot(load), 19)
    turn = np.degrees(edge.rotation_range)
    return [
        number('longest extent of the workspace', 23.9, 100.0 * edge.extent, 'cm', 0.01,
               Kind.FITTED, 'follows from an error of 0.98 cm printed as 4.1 %; the height of '
               'lambda(P) was fitted to it. Platform radius and masses are assumed, and a larger '
               'platform would do with less stretch: this number cannot tell them apart'),
        boundary('rotation about z, of the lesser one about x and y', 'very limited',
                 turn[2] / min(turn[0], turn[1]), '', 0.0, 0.1, printed=False,
                 note='a tenth is our reading of "very"',
                 shown=f'{turn[2]:.1f} deg against {turn[0]:.0f} and {turn[1]:.0f} deg'),
    ]  # fmt: skip


def _cloud(load: Loader) -> list[Row]:
    robot = _robot(load)
    edge = studies.boundary(robot, 19)
    cloud = studies.sample(robot, studies.random_actuations(robot, 5000))
    hull = ConvexHull(edge.positions).equations
    beyond = np.max(cloud.positions @ hull[:, :3].T + hull[:, 3], axis=1)
    share = 100.0 * float(np.mean(beyond <= 0.0))
    return [
        yardstick(
            '5000 uniform pressures beside the 18 boundary schemes',
            'Fig. 9, no number',
            f'longest extents {100.0 * cloud.extent:.1f} and {100.0 * edge.extent:.1f} cm, '
            f'{share:.0f} % inside their convex hull, the others within '
            f'{1e3 * float(beyond.max()):.0f} mm of it; {cloud.failed} samples failed',
            'the paper draws both and prints the extent only',
        )
    ]


def _one_leg(load: Loader) -> list[Row]:
    """Return where one leg alone moves the platform (Fig. 10, 11: without numbers)."""
    robot = _robot(load)
    top = robot.limits[0, 1]
    tips = [100.0 * robot.forward([p, 0.0, 0.0]).tip[:3, 3] for p in np.linspace(0.0, top, 4)]
    moved = '; '.join(
        f'{1e-3 * share * top / 3:.0f} kPa ' + ', '.join(f'{x:.1f}' for x in tip - tips[0] + 0.0)
        for share, tip in enumerate(tips)
        if share
    )
    return [
        yardstick(
            'displacement of the platform by one leg, Fig. 11',
            'a figure, no number',
            f'x, y, z at {moved} cm',
            'the paper draws measurement, finite elements and its model; the curves lambda(P) '
            'behind it are drawn too',
        )
    ]


def _design(load: Loader) -> list[Row]:
    """Return what the distance of the legs does to stiffness and workspace."""
    robot = _robot(load)
    horizontal, vertical, extent, places, turns = [], [], [], [], []
    spread = 0.0
    for phi in RATIOS:
        design = studies.redesigned(robot, spacing_ratio=phi)
        around = studies.stiffness_map(design, azimuths=12, elevations=3)[1]
        horizontal.append(1e3 * float(around.mean()))
        down = studies.displacement(design, np.array([0.0, 0.0, -0.1]))
        vertical.append(1e3 * float(np.linalg.norm(down)))
        spread = max(spread, float(np.ptp(around) / around.mean()))
        edge = studies.boundary(design, 7)
        extent.append(100.0 * edge.extent)
        places.append(100.0 * edge.position_range)
        turns.append(np.degrees(edge.rotation_range))
    at = 'phi = ' + ', '.join(f'{phi:g}' for phi in RATIOS)
    softer = np.array(horizontal) / np.array(vertical)
    usual = [r for phi, r in zip(RATIOS, softer, strict=True) if phi <= 1.0]

    def listing(values: Iterable[float], digits: int) -> str:
        return ', '.join(f'{v:.{digits}f}' for v in values)

    def ranges(values: list[Array], digits: int) -> str:
        columns = zip('xyz', np.array(values).T, strict=True)
        return '; '.join(f'{axis}: {listing(column, digits)}' for axis, column in columns)

    return [
        boundary('horizontal stiffness, 0.1 N, spread', 'almost uniform in all directions',
                 100.0 * spread, '%', 0.0, 2.0, printed=False,
                 note='2 % is our reading of "almost"'),
        boundary('horizontal against vertical stiffness, phi up to 1', 'horizontal much lower',
                 float(min(usual)), 'times', 10.0, np.inf, printed=False,
                 shown=f'{listing(usual, 0)} times softer',
                 note=f'ten times is our reading of "much"; {listing(softer, 1)} times at {at}'),
        statement('horizontal stiffness against phi', 'largely increases',
                  f'{listing(horizontal, 2)} mm under 0.1 N at {at}',
                  bool(np.all(np.diff(horizontal) < 0.0))),
        statement('vertical stiffness against phi', 'decreases',
                  f'{listing(vertical, 3)} mm under 0.1 N', bool(np.all(np.diff(vertical) > 0.0))),
        statement('extent of the workspace against phi', 'shrinks with phi',
                  f'{listing(extent, 1)} cm at {at}', bool(np.all(np.diff(extent) < 0.0))),
        yardstick('ranges of position against phi', 'Fig. 12(e), no number',
                  f'{ranges(places, 1)} cm', 'the text says only that workspace may be lost'),
        yardstick('ranges of orientation against phi', 'Fig. 12(e), no number',
                  f'{ranges(turns, 0)} deg', 'the text says only that workspace may be lost'),
    ]  # fmt: skip


def _round_trip(load: Loader) -> list[Row]:
    robot, worst = _robot(load), 0.0
    for pressures in np.random.default_rng(4).uniform(1e3, 179e3, (100, 3)):
        tip = robot.forward(pressures).tip[:3, 3]
        again = robot.forward(robot.inverse(tip).actuation).tip[:3, 3]
        worst = max(worst, float(np.linalg.norm(again - tip)))
    return [
        boundary(
            'forward and inverse are one system, eqs (32)-(34)',
            'same equations',
            worst,
            'm',
            0.0,
            1e-8,
            Kind.CHECK,
            shown=f'round trip within {worst:.0e} m',
        )
    ]


def _times(load: Loader) -> list[Row]:
    found = []
    for what, paper, label in (
        ('one forward solve', '2.6 ms', 'ANCF: forward'),
        ('one inverse point', '3.5 ms', 'ANCF: inverse point'),
        ('0 to 180 kPa', '15 ms (finite elements 7.3 min)', 'ANCF: sweep 0-180 kPa'),
    ):
        seconds = benchmarked(PARALLEL_BENCHMARK, label)
        ours = NOT_MEASURED if seconds is None else f'{1e3 * seconds:.3g} ms'
        found.append(yardstick(what, paper, ours, MACHINE))
    return found


def _errors(load: Loader) -> list[Row]:
    return [
        yardstick(
            'position error of the model',
            '0.98 cm mean, 2.05 cm largest (4.1, 8.6 %)',
            '',
            PROTOTYPE,
        ),
        yardstick(
            'orientation error of the model', '5.85 deg mean, 12.88 deg largest', '', PROTOTYPE
        ),
    ]


def _tracking(load: Loader) -> list[Row]:
    """Return the errors of tracking beside what was assumed of the emulated robot."""
    found = []
    kept = stored(PARALLEL_TRACKING)
    for speed, paper in ((1, '0.62 cm (2.6 %)'), (2, '0.72 cm'), (4, '0.94 cm (3.9 %)')):
        by_assumption = [
            f'{100.0 * assumed["hysteresis"]:g} %: {100.0 * assumed["mean"][f"{speed} cm/s"]:.2f}'
            for assumed in kept.get('hysteresis', ())
        ]
        found.append(
            yardstick(
                f'tracking at {speed} cm/s, mean error',
                paper,
                f'{", ".join(by_assumption)} %' if by_assumption else NOT_MEASURED,
                f'{PROTOTYPE}; ours of the emulated robot by the hysteresis that is assumed of '
                'its legs, which decides it; curves identified and delay compensated, in per '
                f'cent of the workspace ({PARALLEL_TRACKING})',
            )
        )
    return found


GROUPS: tuple[Group, ...] = (
    _mesh,
    _workspace,
    _cloud,
    _one_leg,
    _design,
    _round_trip,
    _times,
    _errors,
    _tracking,
)
