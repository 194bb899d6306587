# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the soft parallel robot (Huang 2022), model ancf."""

from __future__ import annotations

import time

import numpy as np

from soro_mechanics import ancf_studies as studies
from soro_mechanics.configuration import Configuration
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.validation.row import boundary, Kind, number, Row, statement, yardstick

RATIOS = (0.5, 0.75, 1.0, 1.25, 1.5)
MACHINE = 'on the machine of this report, one core, interface included; MATLAB in the paper'
PROTOTYPE = 'measured on the prototype'


def rows() -> list[Row]:
    """Return every row of the robot."""
    robot = load_robot('soft_parallel', model='ancf')
    return [
        *_mesh(robot), *_workspace(robot), *_stiffness(robot), _round_trip(robot),
        *_times(robot), *_yardsticks(),
    ]  # fmt: skip


def _mesh(robot: Robot) -> list[Row]:
    changes = studies.element_study(robot, 8) * 1e3
    penalties = np.array([0.5, 2.0, 8.0, 32.0])
    full = np.array([a.maximum for a in robot.actuators]) * [1.0, 0.0, 0.0]
    residuals = studies.penalty_study(robot, penalties, full)
    falls = bool(np.all(np.diff(residuals) < 0.0))
    listing = ', '.join(f'{r:.3f}' for r in residuals)
    return [
        boundary('change of the unactuated tip from 5 to 6 elements, Fig. 8(a)', 'close to zero',
                 float(changes[3]), 'mm', 0.0, 0.02),
        statement('the change falls with the number of elements', 'falls towards zero',
                  ', '.join(f'{c:.4f}' for c in changes) + ' mm for n_e = 2 to 8',
                  bool(np.all(np.diff(changes) < 0.0))),
        statement('constraint residual against alpha, Fig. 8(b)',
                  'falls, close to zero at alpha = 8',
                  f'{listing} for 0.5, 2, 8, 32 N, one leg at 180 kPa',
                  falls and residuals[2] < 0.02),
    ]  # fmt: skip


def _workspace(robot: Robot) -> list[Row]:
    edge = studies.boundary(robot, 19)
    cloud = studies.sample(robot, studies.random_actuations(robot, 5000))
    turn = np.degrees(edge.rotation_range)
    return [
        number('longest extent of the workspace', 23.9, 100.0 * edge.extent, 'cm', 0.01,
               Kind.FITTED, 'the height of lambda(P) was fitted to it; radius and masses assumed'),
        statement('5000 uniform pressures', 'inside the 18 boundary schemes',
                  f'extent {100 * cloud.extent:.1f} cm, {cloud.failed} samples failed',
                  cloud.failed == 0 and cloud.extent <= 1.005 * edge.extent),
        statement('rotation about z', 'very limited',
                  f'{turn[2]:.1f} deg against {turn[0]:.0f} and {turn[1]:.0f} deg about x and y',
                  turn[2] < 0.1 * min(turn[0], turn[1])),
    ]  # fmt: skip


def _stiffness(robot: Robot) -> list[Row]:
    horizontal, vertical, extent, turns, spread, ratio = [], [], [], [], 0.0, np.inf
    for phi in RATIOS:
        design = studies.redesigned(robot, spacing_ratio=phi)
        around = studies.stiffness_map(design, azimuths=12, elevations=3)
        up = float(np.linalg.norm(studies.displacement(design, np.array([0.0, 0.0, -0.1]))))
        horizontal.append(1e3 * float(around[1].mean()))
        vertical.append(1e3 * up)
        spread = max(spread, float(np.ptp(around[1]) / around[1].mean()))
        ratio = min(ratio, float(around[1].mean()) / up)
        edge = studies.boundary(design, 7)
        extent.append(100.0 * edge.extent)
        turns.append(float(np.degrees(edge.rotation_range[:2]).max()))
    at = 'phi = ' + ', '.join(f'{phi:g}' for phi in RATIOS)

    def listing(values: list[float], digits: int) -> str:
        return ', '.join(f'{v:.{digits}f}' for v in values)

    return [
        statement('horizontal stiffness, 0.1 N', 'almost uniform in all directions',
                  f'spread {100 * spread:.1f} %', spread < 0.02),
        statement('horizontal against vertical stiffness', 'horizontal much lower',
                  f'at least {ratio:.1f} times softer over the range of phi', ratio > 1.5,
                  'largest difference at small phi (80 times at 0.5)'),
        statement('horizontal stiffness against phi', 'largely increases',
                  f'{listing(horizontal, 2)} mm under 0.1 N at {at}',
                  bool(np.all(np.diff(horizontal) < 0.0))),
        statement('vertical stiffness against phi', 'decreases',
                  f'{listing(vertical, 3)} mm under 0.1 N', bool(np.all(np.diff(vertical) > 0.0))),
        statement('workspace against phi', 'shrinks with phi',
                  f'extent {listing(extent, 1)} cm, greatest turn {listing(turns, 0)} deg',
                  bool(np.all(np.diff(extent) < 0.0) and np.all(np.diff(turns) < 0.0))),
    ]  # fmt: skip


def _round_trip(robot: Robot) -> Row:
    worst = 0.0
    for pressures in np.random.default_rng(4).uniform(1e3, 179e3, (100, 3)):
        tip = robot.forward(pressures).tip[:3, 3]
        again = robot.forward(robot.inverse(tip).actuation).tip[:3, 3]
        worst = max(worst, float(np.linalg.norm(again - tip)))
    return statement('forward and inverse are one system, eqs (32)-(34)', 'same equations',
                     f'round trip within {worst:.0e} m', worst < 1e-8)  # fmt: skip


def _times(robot: Robot) -> list[Row]:
    near: Configuration = robot.forward([80e3, 60e3, 100e3])
    steps = [80e3 + 1e3 * np.sin(k + np.arange(3)) for k in range(100)]
    start = time.perf_counter()
    for step in steps:
        near = robot.forward(step, guess=near)
    forward = 1e3 * (time.perf_counter() - start) / len(steps)
    centre = near.tip[:3, 3]
    solution = robot.inverse(centre, guess=near)
    start = time.perf_counter()
    for k in range(100):
        solution = robot.inverse(centre + [0.0, 2e-4 * (k % 2), 0.0], guess=solution)
    inverse = 1e3 * (time.perf_counter() - start) / 100
    start = time.perf_counter()
    q = None
    for pressure in np.linspace(0.0, 180e3, 7):
        q = robot.forward([pressure, 0.0, 0.0], guess=q)
    sweep = 1e3 * (time.perf_counter() - start)
    return [
        yardstick('one forward solve', '2.6 ms', f'{forward:.2f} ms', MACHINE),
        yardstick('one inverse point', '3.5 ms', f'{inverse:.2f} ms', MACHINE),
        yardstick('0 to 180 kPa', '15 ms (finite elements 7.3 min)', f'{sweep:.1f} ms', MACHINE),
    ]


def _yardsticks() -> list[Row]:
    return [
        yardstick('position error of the model', '0.98 cm mean, 2.05 cm largest', '', PROTOTYPE),
        yardstick('orientation error of the model', '5.85 deg mean, 12.88 deg largest', '',
                  PROTOTYPE),
        yardstick('tracking at 1, 2, 4 cm/s', '0.62, 0.72, 0.94 cm (2.6-3.9 %)', '',
                  PROTOTYPE + '; the emulated robot is reported on its own page'),
    ]  # fmt: skip
