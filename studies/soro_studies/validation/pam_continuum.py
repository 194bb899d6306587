# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the muscle-driven continuum robot (Chen 2022), model kirchhoff."""

from __future__ import annotations

from functools import partial

import numpy as np

from soro_mechanics.core.configuration import Array, LoadCase, Target, Task
from soro_mechanics.models.kirchhoff.model import Kirchhoff
from soro_mechanics.numerics.lie import so3_log
from soro_mechanics.robot import Robot
from soro_studies.mechanics.kirchhoff_least_squares import LeastSquaresProblem, solve_least_squares
from soro_studies.validation.robots import Group, Loader
from soro_studies.validation.row import boundary, Kind, Row, yardstick
from soro_studies.validation.stored import assumed_order, MUSCLE_TRACKING, span, stored

LOADS = (0.0, 0.2, 0.5)
ATMOSPHERE = 101325.0  # Pa
SIDE = 0.015  # m, of a muscle's airbag
ROBOT, MODEL = 'pam_continuum', 'kirchhoff'
LARGEST = 22.7  # N, printed for one muscle
PAPER = {'circle': '2.457 %', 'square': '2.477 %', 'cardioid': '2.514 %'}


def trajectory(name: str) -> Array:
    """Return twenty points of one of the published curves, (20, 3) [m]; their size is assumed."""
    turn = np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    if name == 'circle':
        return np.column_stack([0.2 * np.cos(turn), 0.2 * np.sin(turn), 0.85 + 0.0 * turn])
    if name == 'square':
        corner = 0.15 / np.maximum(np.abs(np.cos(turn)), np.abs(np.sin(turn)))
        return np.column_stack([corner * np.cos(turn), corner * np.sin(turn), 0.88 + 0.0 * turn])
    reach = 0.12 * (1.0 - np.sin(turn))
    return np.column_stack([reach * np.cos(turn), reach * np.sin(turn), 0.88 + 0.0 * turn])


def _curve(load: Loader, name: str) -> list[Row]:
    """Solve a curve under every load, and play the unloaded lengths under the loads."""
    robot, points = load(ROBOT, MODEL), trajectory(name)
    worst = 0.0
    blind = []
    bare = _lengths(robot, points, 0.0)
    for pull in LOADS:
        wrench = [0.0, 0.0, pull, 0.0, 0.0, 0.0]
        aware = _lengths(robot, points, pull)
        missed = []
        for point, known, unaware in zip(points, aware, bare, strict=True):
            hit = robot.forward(known, wrench).tip[:3, 3]
            worst = max(worst, float(np.linalg.norm(hit - point)))
            off = robot.forward(unaware, wrench).tip[:3, 3]
            missed.append(float(np.linalg.norm(off - point)))
        blind.append(100.0 * float(np.mean(missed)))
    listing = ', '.join(f'{b:.2f} %' for b in blind)
    played = stored(MUSCLE_TRACKING)
    own = [run for run in played['runs'] if run['name'] == name] if played else []
    errors = [100.0 * run['mean'] for run in own]
    return [
        boundary(
            f'{name}: 20 points at 0, 0.2, 0.5 N',
            'solved',
            worst,
            'm',
            0.0,
            1e-6,
            Kind.CHECK,
            shown=f'lengths found, tip within {worst:.0e} m',
        ),
        yardstick(
            f'{name}: error',
            PAPER[name],
            span([float(np.mean(errors))] if errors else [], '%', 3),
            'theirs of the prototype, ours of the emulated robot in parts of its length '
            f'({MUSCLE_TRACKING}); what the paper divides by stands in a formula that its text '
            'lost',
        ),
        assumed_order(
            f'{name}: error against load',
            'grows with the load',
            errors,
            f'emulated robot: {", ".join(f"{e:.3f} %" for e in errors)} at 0, 0.2, 0.5 N',
            bool(np.all(np.diff(errors) > 0.0)),
            'its muscles are tubes of an assumed stiffness, and that decides it '
            f'({MUSCLE_TRACKING}). Lengths computed without the load would miss by {listing} of '
            'the length',
        ),
    ]


def _lengths(robot: Robot, points: Array, load: float) -> list[Array]:
    found = []
    near = None
    for point in points:
        near = robot.inverse(point, [0.0, 0.0, load, 0.0, 0.0, 0.0], guess=near)
        found.append(near.actuation)
    return found


def _gravity_lengths(load: Loader) -> list[Row]:
    description = load(ROBOT, MODEL).description
    weight = 9.81 * description.structure['kirchhoff'].mass
    printed = load(ROBOT, 'kirchhoff_published').description
    values, moduli = [], []
    for chosen, name in ((description, 'niti'), (printed, 'published')):
        material = chosen.structure['kirchhoff'].materials[name]
        bending = material.young * np.pi * chosen.structure['kirchhoff'].rod_diameter ** 4 / 64.0
        moduli.append(material.young)
        values.append(1e3 * float((bending / weight) ** (1.0 / 3.0)))
    return [
        yardstick(
            'gravity length (EI / w)^(1/3)',
            f'{values[1]:.1f} mm with the printed {1e-6 * moduli[1]:g} MPa',
            f'{values[0]:.0f} mm with {1e-9 * moduli[0]:g} GPa',
            'the printed rod would hang like a chain and could not be steered by bending: a '
            f'modulus {moduli[0] / moduli[1]:g} times as large is assumed; the printed set '
            'is `kirchhoff_published`',
        )
    ]


def _largest_load(load: Loader) -> list[Row]:
    """Return what the printed force of a muscle can bend: the model does not apply it."""
    robot = load(ROBOT, MODEL)
    model = Kirchhoff(robot.description)
    body = model.backbone
    lever = LARGEST * body.muscle_radius
    pull = float(np.degrees(lever * body.length / body.modules / body.stiffness[0]))
    largest = []
    for name in PAPER:
        lengths = np.array(_lengths(robot, trajectory(name), 0.0)).reshape(-1, body.modules, 3)
        bends = np.linalg.norm(np.einsum('tci,nti->ntc', model.rod.combine, lengths), axis=2)
        largest.append(float(np.degrees(bends.max() / body.muscle_radius)))
    listing = ', '.join(f'{x:.0f}' for x in largest)
    return [
        yardstick(
            'largest load of a muscle',
            f'{LARGEST:g} N',
            f'{ATMOSPHERE * SIDE**2:.1f} N',
            'one atmosphere on the printed square of 15 mm, evacuated. The model prescribes '
            f'lengths and applies no such limit: {LARGEST:g} N at {1e3 * body.muscle_radius:g} mm '
            f'bend the elastic backbone of a module by {pull:.0f} deg where muscles only pull, by '
            f'{2.0 * pull:.0f} deg where those across push as much; {", ".join(PAPER)} without '
            f'load bend one by up to {listing} deg',
        )
    ]


def _muscle_stiffness(load: Loader) -> list[Row]:
    return [
        yardstick(
            'stiffness of a muscle across itself, Fig. 5',
            'falls as it shortens, a figure',
            '',
            'kirchhoff prescribes lengths, the tubes of network keep one stiffness at every '
            'length',
        )
    ]


def _attitude(load: Loader) -> list[Row]:
    """Follow the circle with the attitude of the end prescribed too, (49)."""
    robot = load(ROBOT, MODEL)
    near, place, turn = None, 0.0, 0.0
    for point in trajectory('circle'):
        target = np.eye(4)
        target[:3, 3] = point
        near = robot.inverse(target, task=Task.POSE, guess=near)
        tip = robot.forward(near.actuation).tip
        place = max(place, float(np.linalg.norm(tip[:3, 3] - point)))
        turn = max(turn, float(np.linalg.norm(so3_log(tip[:3, :3]))))
    return [
        boundary(
            'circle: 20 points with the attitude of the end prescribed, (49)',
            'solved',
            max(place, turn),
            'm, rad',
            0.0,
            1e-6,
            Kind.CHECK,
            'the tip points down all the way round',
            shown=f'lengths found, tip within {place:.0e} m and {turn:.0e} rad',
        )
    ]


def _same_rod(load: Loader) -> list[Row]:
    """Compare the published least squares, reaction added, with the exact equilibrium."""
    description = load(ROBOT, MODEL).description
    model = Kirchhoff(description)
    body = model.backbone
    target = np.eye(4)
    target[:3, 3] = [0.3, 0.05, 0.85]
    exact = model.reach(Target(target, Task.POSITION), LoadCase(gravity=description.gravity))
    arc = np.linspace(0.0, body.length, body.elements + 1)
    force = np.outer(1.0 - arc / body.length, body.mass * description.gravity)
    problem = LeastSquaresProblem(body.stiffness, body.length, force, target[:3, 3], None, True)
    found = solve_least_squares(problem, exact.quaternions)
    gap = float(np.abs(found.quaternions - exact.quaternions).max())
    return [
        boundary(
            'equations (36)-(51) by Levenberg-Marquardt',
            'the robot model',
            gap,
            '',
            0.0,
            1e-4,
            Kind.CHECK,
            shown=f'with the reaction as unknown: same rod as least energy within {gap:.0e}',
        )
    ]


GROUPS: tuple[Group, ...] = (
    *(partial(_curve, name=name) for name in PAPER),
    _gravity_lengths,
    _largest_load,
    _muscle_stiffness,
    _same_rod,
    _attitude,
)
