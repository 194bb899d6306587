# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the haptic device (Koehler 2023), model network; the loop runs in simulated time."""

from __future__ import annotations

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
from soro_mechanics.robot import load_robot, Robot
from soro_studies.validation import haptic_5dof_workspace
from soro_studies.validation.measured_page import (
    HAPTIC_LOOP,
    HAPTIC_STUDIES,
    measured,
    measured_statement,
    span,
)
from soro_studies.validation.row import Kind, number, Row, statement, yardstick

PERIOD = 0.002  # s, published
SETTLE = 1.0 - np.exp(-PERIOD / (0.022 / 4.0))  # motors settle in the published 22 ms
STEP = np.radians(0.1) / 6.42  # rad, published encoder and capstan
SOFTER = 0.97  # material of the plant, relative to the model
GRIP = np.diag([400.0, 400.0, 400.0, 1.5, 1.5])  # N/m, N m/rad, of a hand
LOOP = (HAPTIC_LOOP, '500 Hz, classic CAN')


def rows() -> list[Row]:
    """Return every row of the robot."""
    robot = load_robot('haptic_5dof')
    return [
        *_structure(robot),
        *haptic_5dof_workspace.rows(robot),
        *_rendering(robot),
        *_studied(),
        *_yardsticks(),
    ]


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


def _structure(robot: Robot) -> list[Row]:
    """Return what the paper says of mesh and structure."""
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


def _rendering(robot: Robot) -> list[Row]:
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


def _studied() -> list[Row]:
    """Return the rows that the studies in simulated time measured, with the whole sensing."""
    natural = measured(
        HAPTIC_STUDIES, 'Stiffness below and above', '*', 'of the natural stiffness'
    )
    return [
        measured_statement(
            'stiffness rendered, over that of the device',
            'both below and above',
            natural,
            '{}',
            lambda shares: min(shares) < 0.9 and max(shares) > 1.1,
            'simulated device; motors held first, then springs of rising stiffness '
            f'({HAPTIC_STUDIES})',
        ),
        *(_three_cases(direction, figure) for direction, figure in (('x', 14), ('turn 1', 15))),
        yardstick(
            'coefficients of a flex sensor',
            '3 or fewer',
            span([f'{1 + len(cell.split())}' for cell in _calibration('nodes')]),
            f'a rule of the calibration, the constant included ({HAPTIC_STUDIES})',
        ),
        *(
            yardstick(
                f'{what}, mean error',
                'a figure, no number',
                span(measured(HAPTIC_STUDIES, 'Walls and paths', label, 'mean error')),
                f'ours in simulated time ({HAPTIC_STUDIES})',
            )
            for what, label in (('line', 'line, admittance'), ('box', 'box of 3 cm'))
        ),
    ]


def _three_cases(direction: str, figure: int) -> Row:
    """Return the row of the stiffness in the three cases of a figure."""
    felt = [
        cell
        for case in ('free space', 'motors held', 'position control')
        for cell in measured(
            HAPTIC_STUDIES,
            'Motors held, free space',
            f'{case} | {direction}',
            'of the natural stiffness',
        )
    ]
    return measured_statement(
        f'stiffness in free space, motors held, position control, {direction}, Fig. {figure}',
        'lower and higher than with motors held',
        felt,
        '{} of the natural one',
        lambda shares: shares[0] < 0.9 * shares[1] and shares[2] > 1.1 * shares[1],
        f'largest force over largest displacement, simulated device ({HAPTIC_STUDIES})',
    )


def _calibration(column: str) -> list[str]:
    return measured(HAPTIC_STUDIES, 'As built: fit of the sensors', '*', column)


def _force(state: str) -> str:
    return span(measured(HAPTIC_STUDIES, 'As built: the sensed', state, 'of what is pressed'))


def _aside() -> Row:
    """Return how the hand is sensed about the middle and about an offset (Fig. 9)."""
    middle, aside = (
        span(measured(HAPTIC_STUDIES, 'As built: the sensed', state, 'of the workspace'))
        for state in ('motors held', 'motors held aside')
    )
    return yardstick(
        'sensed pose, motors held in the middle and aside, Fig. 9',
        'more accurate in the middle',
        f'{middle} in the middle, {aside} aside, of the workspace',
        'theirs is against motion capture, at an offset that is not printed; ours on the plant '
        f'and sensors of the row above, whose errors are assumed ({HAPTIC_STUDIES})',
    )


def _yardsticks() -> list[Row]:
    off, held = (
        span(
            measured(HAPTIC_STUDIES, 'As built: the sensed', f'motors {state}', 'of the workspace')
        )
        for state in ('off', 'held')
    )
    ideal = span(measured(HAPTIC_STUDIES, 'Calibration', '*', 'of the range'))
    return [
        yardstick(
            'calibration of the flex sensors, mean error',
            '4.6 % of the range',
            span(_calibration('of the range')),
            'their sensors buckle and slide with friction; ours, simulated, have a dead band that '
            'was sized towards their error, and a plant with other shape, zeros and strips than '
            f'the model; {ideal} where noise and the converter are all there is '
            f'({HAPTIC_STUDIES})',
        ),
        yardstick(
            'sensed pose of the hand, mean error',
            '2 to 5.5 % of the workspace',
            f'{off} motors off, {held} held',
            'theirs is against motion capture; ours in simulation, on the plant and sensors of '
            f'the row above ({HAPTIC_STUDIES})',
        ),
        _aside(),
        yardstick(
            'sensed force of the hand, Fig. 11',
            'a figure, no number',
            f'{_force("motors held")} of what is pressed, motors held, {_force("free space")} '
            'in free space',
            'theirs is against a force sensor, along and about one axis; ours in simulation, in '
            f'five directions, on the plant and sensors of the rows above ({HAPTIC_STUDIES})',
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
            f'period {span(measured(*LOOP, "period", "median"))} ms, median',
            f'a setting; how many ticks were late or left out stands in {LOOP[0]}',
        ),
        yardstick(
            'rate of the model',
            '20 Hz',
            f'every tick, {span(measured(*LOOP, "model", "median"))} ms, median',
            f'theirs of SOFA in a loop of its own; ours on the computer of {LOOP[0]}',
        ),
    ]
