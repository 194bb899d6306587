# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the haptic device (Koehler 2023), model network; the loop runs in simulated time."""

from __future__ import annotations

import numpy as np

from soro_mechanics.configuration import Array
from soro_mechanics.haptic_device import HapticDevice, softened
from soro_mechanics.haptic_loop import HapticLoop
from soro_mechanics.lie import so3_log
from soro_mechanics.polytope import disc_grid, FORCE, isotropic_effort, within_limits
from soro_mechanics.rendering import rendering_setup
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.sensing import sensing_setup
from soro_mechanics.validation.row import boundary, number, Row, statement, yardstick
from soro_mechanics.virtual_environment import (
    published_environment,
    VirtualEnvironment,
    VirtualObject,
)

PERIOD = 0.002  # s, published
SETTLE = 1.0 - np.exp(-PERIOD / (0.022 / 4.0))  # motors settle in the published 22 ms
STEP = np.radians(0.1) / 6.42  # rad, published encoder and capstan
SOFTER = 0.97  # material of the plant, relative to the model
GRIP = np.diag([400.0, 400.0, 400.0, 1.5, 1.5])  # N/m, N m/rad, of a hand
TORQUES = (np.inf, 0.04, 0.01)  # N m, published
SPACING, RADIUS = 0.01, 0.04  # m, of the grid in the middle slice


def rows() -> list[Row]:
    """Return every row of the robot."""
    robot = load_robot('haptic_5dof')
    return [*_workspace(robot), *_rendering(robot), *_yardsticks()]


def _workspace(robot: Robot) -> list[Row]:
    held: dict[tuple[float, float], int] = {}
    force: dict[tuple[float, float], float] = {}
    for material in (1.0, 0.2):
        device = HapticDevice(robot if material == 1.0 else softened(robot, material))
        free = device.motor_limits(np.inf)
        states = []
        for x, y in disc_grid(RADIUS, SPACING):
            goal = np.eye(4)
            goal[:2, 3] = x, y
            device.restart(np.zeros(len(robot.actuators)))
            states.append((x == y == 0.0, device.reach(goal, limits=free)))
        for torque in TORQUES:
            limits = device.motor_limits(torque)
            held[material, torque] = 0
            for centre, ports in states:
                if ports is None or not within_limits(ports, limits):
                    continue
                held[material, torque] += 1
                if centre:
                    force[material, torque] = isotropic_effort(ports, limits, FORCE).radius
    none, some, little = TORQUES
    ratio = force[1.0, none] / force[0.2, none]
    return [
        statement(
            'isotropic force, no torque limit', 'more for E than for 0.2 E',
            f'{ratio:.1f} times at the centre', ratio > 1.0,
        ),
        statement(
            'workspace, no torque limit', 'no smaller for E than for 0.2 E',
            f'{held[1.0, none]} and {held[0.2, none]} points held',
            held[1.0, none] >= held[0.2, none],
        ),
        statement(
            'workspace under 0.04 N m', 'collapses for E, stays for 0.2 E',
            f'{held[1.0, some]} and {held[0.2, some]} points held',
            held[1.0, some] < 0.5 * held[1.0, none] and held[0.2, some] > 0.9 * held[0.2, none],
        ),
        statement(
            'workspace under 0.01 N m', 'larger for 0.2 E than for E, if anything is left',
            f'{held[1.0, little]} and {held[0.2, little]} points held',
            held[0.2, little] >= held[1.0, little],
        ),
    ]  # fmt: skip


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
    note = 'device with a 3 % softer material than the model, ideal flex sensors'
    return [
        number('virtual wall, rotation at rest', 0.2, abs(float(place[axis])), 'rad', 0.02,
               note=note),
        boundary('circle of 3 cm radius, mean error', 'below 1 mm', 1e3 * float(np.mean(errors)),
                 'mm', 0.0, 1.0, note=note),
    ]  # fmt: skip


def _yardsticks() -> list[Row]:
    return [
        yardstick(
            'calibration of the flex sensors, mean error', '4.6 % of the range', '0.3 %',
            'their sensors buckle and slide with friction; ours, emulated, have noise, 12 bits '
            'and gains of +-10 % only (docs/robots/haptic_5dof_rendering.md)',
        ),
        yardstick(
            'sensed pose of the hand, mean error', '2 to 5.5 % of the workspace',
            '0.3 to 0.5 % motors free, 0.3 to 1.5 % held',
            'theirs is against motion capture; ours on the emulated sensors above',
        ),
        yardstick(
            'forward model against motion capture', '0.15 cm, 0.015 rad', '-',
            'no measured pose is printed, nor the rest shape of the legs',
        ),
    ]  # fmt: skip
