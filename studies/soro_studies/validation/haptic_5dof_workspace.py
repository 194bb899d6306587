# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the haptic device (Koehler 2023): workspace and isotropic efforts of two materials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from soro_mechanics.analysis.polytope import FORCE, isotropic_effort, TORQUE
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.device import HapticDevice, softened
from soro_mechanics.numerics.lie import so3_exp
from soro_mechanics.robot import Robot
from soro_studies.haptics.holding import disc_grid
from soro_studies.haptics.reach import hold_within, reach
from soro_studies.validation.robots import Loader
from soro_studies.validation.row import boundary, Row, statement, yardstick

MATERIALS = (1.0, 0.2)  # of the published modulus
NONE, SOME, LITTLE = np.inf, 0.04, 0.01  # N m, published torque limits
PLACES = (0.04, 0.01)  # m, radius and spacing of the middle slice
TURNS = (0.6, 0.15)  # rad, the same for the two rotations
NEAR = (1e-3, 2e-4)  # m, where the middle slice leaves nothing to compare


@dataclass(frozen=True)
class _Reach:
    """What one material does.

    Attributes
    ----------
    sag : float
        How far weight moves the handle down, motors at rest [m].
    places, turns, near : dict
        Poses held, by torque limit [N m].
    force, torque : dict
        Isotropic efforts in the middle [N, N m], by torque limit.
    """

    sag: float
    places: dict[float, int]
    turns: dict[float, int]
    near: dict[float, int]
    force: dict[float, float]
    torque: dict[float, float]


def rows(load: Loader) -> list[Row]:
    """Return the rows of Figures 4 and 5, 0.2 E beside E."""
    robot = load('haptic_5dof')
    stiff, soft = (_reach(robot, material) for material in MATERIALS)
    points = f'points held, {1e3 * PLACES[1]:g} mm apart'
    angles = f'pairs of angles held, {TURNS[1]:g} rad apart'

    def forces(reach: _Reach) -> str:
        return ', '.join(f'{reach.force[torque]:.2f}' for torque in (NONE, SOME, LITTLE))

    def shrinks(name: str, one: dict[float, int], two: dict[float, int], unit: str) -> list[Row]:
        counts = f'{one[SOME]} and {two[SOME]} {unit}'
        kept = [100.0 * held[SOME] / held[NONE] for held in (one, two)]
        return [
            boundary(
                f'{name} under 0.04 N m, {what}',
                words,
                share,
                '%',
                low,
                high,
                shown=shown,
                printed=False,
                note='half, and nine tenths, are our reading of the words',
            )
            for what, words, share, low, high, shown in (
                ('E', 'collapses', kept[0], 0.0, 50.0, f'{counts}, {kept[0]:.0f} %'),
                ('0.2 E', 'stays', kept[1], 90.0, np.inf, f'{kept[1]:.0f} %'),
            )
        ]

    return [
        statement('isotropic force, no torque limit', 'more for E than for 0.2 E',
                  f'{stiff.force[NONE]:.2f} and {soft.force[NONE]:.2f} N in the middle',
                  stiff.force[NONE] > soft.force[NONE]),
        statement('isotropic torque, no torque limit', 'more for E than for 0.2 E',
                  f'{1e3 * stiff.torque[NONE]:.0f} and {1e3 * soft.torque[NONE]:.0f} mN m in the '
                  'middle', stiff.torque[NONE] > soft.torque[NONE]),
        statement('isotropic force under torque limits', 'falls for both, more for E',
                  f'E {forces(stiff)}, 0.2 E {forces(soft)} N in the middle, no limit, 0.04 and '
                  '0.01 N m', _left(stiff) < _left(soft) < 1.0,
                  'up to 0.04 N m it is the angles that limit 0.2 E'),
        statement('weight, motors at rest', 'moves E less than 0.2 E',
                  f'handle {1e3 * stiff.sag:.2f} and {1e3 * soft.sag:.2f} mm down',
                  abs(stiff.sag) < abs(soft.sag)),
        yardstick('workspace, no torque limit', 'similar for E and 0.2 E',
                  f'{stiff.places[NONE]} and {soft.places[NONE]} {points}',
                  'the paper does not say in numbers what similar is'),
        statement('rotations, no torque limit', 'larger for E than for 0.2 E',
                  f'{stiff.turns[NONE]} and {soft.turns[NONE]} {angles}',
                  stiff.turns[NONE] > soft.turns[NONE]),
        *shrinks('workspace', stiff.places, soft.places, points),
        *shrinks('rotations', stiff.turns, soft.turns, angles),
        yardstick('workspace under 0.01 N m', 'extremely small for E, a figure for 0.2 E',
                  f'{stiff.places[LITTLE]} and {soft.places[LITTLE]} {points}; '
                  f'{stiff.near[LITTLE]} and {soft.near[LITTLE]} at {1e3 * NEAR[1]:g} mm, up to '
                  f'{1e3 * NEAR[0]:g} mm off the middle',
                  'next to nothing is left of either: the weight of legs of assumed shape takes '
                  'most of what the motors may give'),
    ]  # fmt: skip


def _left(reach: _Reach) -> float:
    """Return the share of the force that the published torque limits leave on average."""
    return 0.5 * (reach.force[SOME] + reach.force[LITTLE]) / reach.force[NONE]


def _reach(robot: Robot, material: float) -> _Reach:
    device = HapticDevice(robot if material == 1.0 else softened(robot, material))
    device.restart(np.zeros(len(robot.actuators)))
    sag = -float(device.ports.pose[2, 3])
    middle = reach(device, np.eye(4), limits=device.motor_limits(NONE))
    if middle is None:
        raise RuntimeError(f'haptic_5dof: the middle is not reached with {material} E')
    turns = device.ports.axes[3:, 3:]
    efforts = {
        directions: {
            torque: isotropic_effort(middle, device.motor_limits(torque), directions).radius
            for torque in (NONE, SOME, LITTLE)
        }
        for directions in (FORCE, TORQUE)
    }
    return _Reach(
        sag,
        _held(device, (_placed(x, y) for x, y in disc_grid(*PLACES))),
        _held(device, (_turned(turns @ pair) for pair in disc_grid(*TURNS))),
        _held(device, (_placed(x, y) for x, y in disc_grid(*NEAR))),
        efforts[FORCE],
        efforts[TORQUE],
    )


def _placed(x: float, y: float) -> Array:
    pose = np.eye(4)
    pose[:2, 3] = x, y
    return pose


def _turned(rotation: Array) -> Array:
    pose = np.eye(4)
    pose[:3, :3] = so3_exp(rotation)
    return pose


def _held(device: HapticDevice, goals: Iterable[Array]) -> dict[float, int]:
    """Count the poses that the motors hold without a hand, by torque limit."""
    free = device.motor_limits(NONE)
    held = dict.fromkeys((NONE, SOME, LITTLE), 0)
    for goal in goals:
        device.restart(np.zeros(len(free.angle_minimum)))
        ports = reach(device, goal, limits=free)
        for torque in held:  # falling: what is not held by more is not held by less
            # The least energy may be beyond a limit where another way to hold the pose is not.
            if ports is not None:
                ports = hold_within(device, goal, ports, device.motor_limits(torque))
            held[torque] += ports is not None
    return held
