# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the haptic device (Koehler 2023), model network; the loop runs in simulated time."""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_mechanics.analysis.stiffness import stiffness_along
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.device import HapticDevice, softened
from soro_mechanics.haptics.loop import HapticLoop
from soro_mechanics.haptics.rendering import rendering_setup
from soro_mechanics.haptics.sensing import sensing_setup
from soro_mechanics.haptics.virtual_environment import (
    published_environment,
    VirtualEnvironment,
    VirtualObject,
)
from soro_mechanics.numerics.lie import so3_log
from soro_mechanics.robot import Robot
from soro_studies.validation import haptic_5dof_workspace
from soro_studies.validation.robots import Group, Loader
from soro_studies.validation.row import Kind, number, Row, statement, yardstick
from soro_studies.validation.stored import (
    assumed_order,
    HAPTIC_LOOP,
    HAPTIC_STUDIES,
    NOT_MEASURED,
    span,
    stored,
)

PERIOD = 0.002  # s, published
SETTLE = 1.0 - np.exp(-PERIOD / (0.022 / 4.0))  # motors settle in the published 22 ms
STEP = np.radians(0.1) / 6.42  # rad, published encoder and capstan
SOFTER = 0.97  # material of the plant, relative to the model
GRIP = np.diag([400.0, 400.0, 400.0, 1.5, 1.5])  # N/m, N m/rad, of a hand
ROBOT = 'haptic_5dof'
IDEAL = (
    f'simulated device: ideal sensors, no inertia, and not the law of the node ({HAPTIC_STUDIES})'
)


class _Bench:
    """The device with other material, motors that lag, encoder steps, a hand that is a spring."""

    def __init__(self, robot: Robot, objects: tuple[VirtualObject, ...]) -> None:
        self.plant = HapticDevice(softened(robot, SOFTER))
        model = HapticDevice(robot)
        setup = sensing_setup(
            model.ports, 2.7e-4, model.spec.deviation, [10.0, 10.0, 10.0, 0.5, 0.5]
        )
        rate = np.array([a.rate for a in robot.actuators])
        rendering = rendering_setup(PERIOD, model.motor_limits(), rate, energy=0.3)
        self.loop = HapticLoop(model, setup, rendering, VirtualEnvironment(objects))
        self.angle = np.zeros(len(robot.actuators))
        self.command = self.angle.copy()
        self.loop.start(self.angle)

    def place(self) -> Array:
        """Where the handle is, shape (5,)."""
        p = self.plant.ports
        return p.axes.T @ np.concatenate([p.pose[:3, 3], so3_log(p.pose[:3, :3])])

    def step(self, hand: Array) -> Array:
        """Advance one tick; returns where the handle is."""
        p = self.plant.ports
        self.angle = self.angle + SETTLE * (self.command - self.angle)
        jacobian = p.ea @ np.linalg.inv(p.aa)
        held = p.ee - jacobian @ p.ae
        ahead = self.place() + jacobian @ (self.angle - p.angle)
        pull = GRIP @ (hand - ahead + held @ p.force)
        force = np.linalg.solve(np.eye(5) + GRIP @ held, pull)
        self.plant.update(self.angle, np.asarray(force, np.float64))
        self.loop.tick(STEP * np.round(self.angle / STEP), self.plant.ports.sensor)
        self.command = self.loop.law.command.copy()
        self.loop.advance()
        return self.place()


def _structure(load: Loader) -> list[Row]:
    """Return what the paper says of mesh and structure."""
    robot = load(ROBOT)
    rods = robot.description.structure['network'].rods
    elements = [len(rod.fractions) - 1 for rod in rods]
    frames = sum(elements) + 1  # the last of a rod is the handle's
    compliance = robot.compliance(robot.forward(np.zeros(len(robot.actuators))))
    x, y, z = (stiffness_along(compliance, [0.0, 0.0, 0.0, *axis]) for axis in np.eye(3))
    return [
        statement(
            'coordinates of the model',
            '84 nodes and the handle, 510',
            f'{frames - 1} nodes and the handle, {6 * frames}',
            6 * frames == 510,
            'the published mesh, 14 elements per leg, is in the robot file',
            Kind.FITTED,
        ),
        yardstick(
            'stiffness about the axis of the handle, motors held',
            'very stiff',
            f'{z:.2f} N m/rad, {x:.2f} and {y:.2f} N m/rad across it, {z / max(x, y):.1f} times',
            'the paper does not say in numbers what very is',
        ),
    ]


def _rendering(load: Loader) -> list[Row]:
    robot = load(ROBOT)
    wall = _Bench(robot, published_environment('angle', np.eye(4)))
    axis = 3 + int(np.argmax(np.abs(wall.plant.ports.axes[3, 3:])))
    hand = np.zeros(5)
    for turn in np.append(np.linspace(0.0, 0.4, 750), np.full(500, 0.4)):
        hand[axis] = turn
        place = wall.step(hand)
    circle = _Bench(robot, published_environment('circle', np.eye(4)))
    errors = []
    for reach in np.linspace(0.0, 0.03, 400):
        circle.step(np.array([reach, 0.0, 0.0, 0.0, 0.0]))
    for way in np.linspace(0.0, 2.0 * np.pi, 2500):
        x, y = 0.031 * np.cos(way), 0.031 * np.sin(way)
        here = circle.step(np.array([x, y, 0.0, 0.0, 0.0]))
        errors.append(np.hypot(np.hypot(here[0], here[1]) - 0.03, here[2]))
    note = (
        f'simulated device with a {100.0 * (1.0 - SOFTER):.0f} % softer material than the model, '
        'ideal flex sensors'
    )
    return [
        number(
            'virtual wall, rotation at rest',
            0.2,
            abs(float(place[axis])),
            'rad',
            0.02,
            Kind.CHECK,
            f'where the wall is; theirs at rest is not printed; {note}',
        ),
        yardstick(
            'circle of 3 cm radius, mean error',
            'below 1 mm',
            f'{1e3 * float(np.mean(errors)):.3f} mm',
            f'theirs of the prototype as its own sensors have it; ours of a {note}',
        ),
    ]


def _studied(load: Loader) -> list[Row]:
    """Return the rows that the studies in simulated time measured, with the whole sensing."""
    found = stored(HAPTIC_STUDIES)
    shares = [c['felt'] / c['natural'] for c in found.get('stiffness', ())]
    followed = {f['name']: f for f in found.get('followed', ())}
    terms = [1 + len(fit['nodes']) for fit in _as_built('calibration')]
    return [
        assumed_order(
            'stiffness rendered, over that of the device',
            'both below and above',
            shares,
            ', '.join(f'{share:.2f}' for share in shares),
            bool(shares) and min(shares) < 0.9 and max(shares) > 1.1,
            f'motors held first, then springs of rising stiffness; {IDEAL}',
        ),
        *(_three_cases(direction, figure) for direction, figure in (('x', 14), ('turn 1', 15))),
        yardstick(
            'coefficients of a flex sensor',
            '3 or fewer',
            span(terms, '', 0),
            f'a rule of the calibration, the constant included ({HAPTIC_STUDIES})',
        ),
        *(
            yardstick(
                f'{what}, mean error',
                'a figure, no number',
                span([1e3 * followed[label]['mean']] if followed else [], 'mm', 3),
                f'ours in simulated time ({HAPTIC_STUDIES})',
            )
            for what, label in (('line', 'line, admittance'), ('box', 'box of 3 cm'))
        ),
    ]


def _three_cases(direction: str, figure: int) -> Row:
    """Return the row of the stiffness in the three cases of a figure."""
    every = stored(HAPTIC_STUDIES).get('cases', ())
    cases = {c['name']: c for c in every if c['direction'] == direction}
    names = ('free space', 'motors held', 'position control')
    shares = [cases[name]['felt'] / cases[name]['natural'] for name in names] if cases else []
    return assumed_order(
        f'stiffness in free space, motors held, position control, {direction}, Fig. {figure}',
        'lower and higher than with motors held',
        shares,
        f'{", ".join(f"{share:.2f}" for share in shares)} of the natural one',
        bool(shares) and shares[0] < 0.9 * shares[1] and shares[2] > 1.1 * shares[1],
        f'largest force over largest displacement; {IDEAL}',
    )


def _as_built(part: str) -> list[dict[str, Any]]:
    """Return what was found on the simulated device with the errors of a built one."""
    found: list[dict[str, Any]] = stored(HAPTIC_STUDIES).get('as_built', {}).get(part, [])
    return found


def _sensed(state: str, share: str) -> str:
    """Return the errors of the hand in five directions, as shares of what is said there."""
    cells = [100.0 * e[share] for e in _as_built('sensed') if e['name'] == state]
    return span(cells, '%', 1)


def _yardsticks(load: Loader) -> list[Row]:
    ideal = [100.0 * fit['share'] for fit in stored(HAPTIC_STUDIES).get('calibration', ())]
    built = [100.0 * fit['share'] for fit in _as_built('calibration')]
    timing = stored(HAPTIC_LOOP).get('can', {}).get('values', {}).get('timing', {})
    medians = {
        what: f'{float(timing[f"{what}_p50_ms"]):.3f} ms' if timing else NOT_MEASURED
        for what in ('period', 'model')
    }
    places = {
        state: _sensed(f'motors {state}', 'place_share') for state in ('off', 'held', 'held aside')
    }
    forces = {state: _sensed(state, 'force_share') for state in ('motors held', 'free space')}
    return [
        yardstick(
            'calibration of the flex sensors, mean error',
            '4.6 % of the range',
            span(built, '%', 1),
            'their sensors buckle and slide with friction; ours, simulated, have a dead band that '
            'was sized towards their error, and a plant with other shape, zeros and strips than '
            f'the model; {span(ideal, "%", 1)} where noise and the converter are all there is '
            f'({HAPTIC_STUDIES})',
        ),
        yardstick(
            'sensed pose of the hand, mean error',
            '2 to 5.5 % of the workspace',
            f'{places["off"]} motors off, {places["held"]} held',
            'theirs is against motion capture; ours in simulation, on the plant and sensors of '
            f'the row of the calibration ({HAPTIC_STUDIES})',
        ),
        yardstick(
            'sensed pose, motors held in the middle and aside, Fig. 9',
            'more accurate in the middle',
            f'{places["held"]} in the middle, {places["held aside"]} aside, of the workspace',
            'theirs is against motion capture, at an offset that is not printed; ours on the '
            'plant and sensors of the row of the calibration, whose errors are assumed '
            f'({HAPTIC_STUDIES})',
        ),
        yardstick(
            'sensed force of the hand, Fig. 11',
            'a figure, no number',
            f'{forces["motors held"]} of what is pressed, motors held, {forces["free space"]} '
            'in free space',
            'theirs is against a force sensor, along and about one axis; ours in simulation, in '
            f'five directions, on the same plant and sensors ({HAPTIC_STUDIES})',
        ),
        yardstick(
            'forward model against motion capture',
            '0.15 cm, 0.015 rad',
            '',
            'no measured pose is printed, nor the rest shape of the legs',
        ),
        yardstick(
            'rate of the haptic loop',
            '500 Hz',
            f'period {medians["period"]}, median',
            f'a setting; how many ticks were late or left out stands in {HAPTIC_LOOP}',
        ),
        yardstick(
            'rate of the model',
            '20 Hz',
            f'20 to 500 Hz, {medians["model"]}, median',
            f'theirs of SOFA in a loop of its own; ours on the computer of {HAPTIC_LOOP}',
        ),
    ]


GROUPS: tuple[Group, ...] = (
    _structure,
    haptic_5dof_workspace.rows,
    _rendering,
    _studied,
    _yardsticks,
)
