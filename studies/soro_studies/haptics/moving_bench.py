# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The haptic device on its bench with inertia: handle, legs and the hand have mass and damping.

The quasi-static bench answers at once and cannot ring. Here the masses of handle and legs are
condensed to the handle (static condensation, as the network's natural frequencies see them), the
legs stay the nonlinear model, and the handle moves by the implicit midpoint rule. On one
linearisation that scheme never creates energy, whatever its step: it conserves
1/2 v M v + 1/2 x K x and takes h v D v away. An instability is the loop's then.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from soro_mechanics.actuator_models.motor import MotorProperties, PositionDrive
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.flex_calibration import FlexCalibration
from soro_mechanics.haptics.flex_signal import FlexSignal
from soro_mechanics.haptics.hand_impedance import HandImpedance, NO_HAND
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.haptics.stable_limits import (
    DAMPING_RATIO,
    handle_mass,
    modal_damping,
    MOTOR_LAG,
)
from soro_mechanics.haptics.virtual_environment import VirtualObject
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import Play
from soro_studies.haptics.virtual_bench import BenchSetup, VirtualBench

LONGEST = 2e-3  # s between two solutions of the nonlinear model
# At the output of the capstan. Published: torque limit, ratio, 22 ms to settle. Assumed: a rotor
# of 70 g cm^2, friction of 5 mN m, the stiffest position loop that settles so without overshoot.
REAL_MOTOR = MotorProperties(
    inertia=7e-6 * 6.42**2,
    torque_limit=0.3,
    viscous=1e-3,
    coulomb=5e-3,
    stiffness=40.0,
    damping=40.0 * MOTOR_LAG,
)


class Motors:
    """Motors of one kind without a fastest rate, in arrays [rad, rad/s, N m]."""

    def __init__(self, properties: MotorProperties, angle: Array) -> None:
        self._limit = properties.torque_limit
        self._axes = [PositionDrive(at, math.inf, 0.0, properties) for at in angle.tolist()]

    def advance(self, command: Array, load: Array, duration: float) -> Array:
        """Let time [s] pass with loads that act back; return the angles."""
        for axis, goal, torque in zip(self._axes, command, load, strict=True):
            axis.load = torque
            axis.follow(goal, duration)
        return self.angle

    @property
    def angle(self) -> Array:
        """Angles, shape (m,)."""
        return np.array([axis.value for axis in self._axes])

    @property
    def torque(self) -> Array:
        """Torques of the loops, shape (m,)."""
        return self._limit * np.array([axis.torque for axis in self._axes])


class MovingBench(VirtualBench):
    """A bench whose handle has inertia.

    Parameters
    ----------
    robot, calibration, signals, objects, setup
        As for `VirtualBench`; `setup.grip` is not used.
    held_by : HandImpedance
    damping_ratio : float
        Of the legs' modes.

    Attributes
    ----------
    mass, damping : ndarray, shape (5, 5)
        Of handle and legs, at rest.
    hand_force : ndarray, shape (5,)
        Of the hand's spring and damper [N, N m].
    """

    inert = True

    def __init__(
        self,
        robot: Robot,
        calibration: FlexCalibration,
        signals: Sequence[FlexSignal],
        objects: Sequence[VirtualObject] = (),
        setup: BenchSetup | None = None,
        held_by: HandImpedance = NO_HAND,
        damping_ratio: float = DAMPING_RATIO,
    ) -> None:
        super().__init__(robot, calibration, signals, objects, setup)
        self.hand = held_by
        self.mass = handle_mass(self.plant)
        self.damping = modal_damping(self.mass, self.stiffness(), damping_ratio)
        self.x, self.v = self.place.copy(), np.zeros(5)
        self._last_hand, self.hand_force = np.zeros(5), np.zeros(5)
        self._gear, self.turned = Play(self.setup.backlash), self.angle.copy()
        motor = self.setup.motor
        self.motor = None if motor is None else Motors(motor, self.angle)

    @property
    def energy(self) -> float:
        """Kinetic energy, and elastic energy of the last linearisation about its rest [J]."""
        stretch = self.x - self._rest()
        return float(0.5 * (self.v @ self.mass @ self.v + stretch @ self.stiffness() @ stretch))

    def step(self, hand: Array, press: Array | None = None) -> None:
        """Advance one tick with a hand that wants to be at `hand`, and presses beside it."""
        target = self._queue.popleft()
        pieces = max(1, round(self.dt / LONGEST))
        steps = max(1, round(self.dt / pieces / self.setup.step))
        push = np.zeros(5) if press is None else press
        way = np.linspace(self._last_hand, hand, pieces + 1)
        for k in range(pieces):
            self._move(way[k], way[k + 1], target, push, steps, self.dt / pieces)
        wanted = (hand - self._last_hand) / self.dt
        grip, self._last_hand = self.hand, hand.copy()
        self.hand_force = grip.stiffness * (hand - self.x) + grip.damping * (wanted - self.v)
        self._sense()

    def _move(
        self, start: Array, end: Array, target: Array, push: Array, steps: int, duration: float
    ) -> None:
        """Integrate over one linearisation of the legs, then solve them anew."""
        p, h, grip = self.plant.ports, duration / steps, self.hand
        jacobian = p.ea @ np.linalg.inv(p.aa)
        k = self.stiffness()
        mass, damping = self.mass + np.diag(grip.mass), self.damping + np.diag(grip.damping)
        matrix = 2.0 / h * mass + damping + 0.5 * h * (k + np.diag(grip.stiffness))
        solve = np.linalg.inv(matrix)
        at, angle0 = self.place, p.angle.copy()
        speed = (end - start) / duration
        # A step takes place and speed (10,) to `step @ them`, and what drives them adds to it.
        middle = solve @ np.hstack([-k - np.diag(grip.stiffness), 2.0 / h * mass])
        step = np.vstack([h * middle, 2.0 * middle])
        step[:5, :5] += np.eye(5)
        step[5:, 5:] -= np.eye(5)
        gain, bend = np.vstack([h * solve, 2.0 * solve]), k @ jacobian
        wanted = start + np.outer((np.arange(steps) + 0.5) * h, speed)
        drive = grip.stiffness * wanted + grip.damping * speed + push - p.force + k @ at
        if self.motor is None:
            fading = np.exp(-0.5 * h / MOTOR_LAG) ** np.arange(1, 2 * steps + 1)
            turns = target + np.outer(fading, self.angle - target)
            self.angle = turns[-1]
            turned = np.array([self._gear.follow(turn) for turn in turns[::2]]) + self.zero
            drive += (turned - angle0) @ bend.T
        state = np.concatenate([self.x, self.v])
        for driven in drive:
            if self.motor is not None:
                bent = self.turned - angle0 - p.ae @ (self.force - p.force)
                load = p.torque + np.linalg.solve(p.aa, bent)
                last = self.motor.advance(target, load, h)
                self.turned = self._gear.follow(0.5 * (self.angle + last)) + self.zero
                lent = bend @ (self.turned - angle0)
                driven = driven + lent
                self.angle, self.force = last, p.force + k @ (state[:5] - at) - lent
            state = step @ state + gain @ driven
        self.x, self.v = state[:5], state[5:]
        self.turned = self._gear.follow(self.angle) + self.zero
        self.force = p.force + k @ (self.x - at - jacobian @ (self.turned - angle0))
        self.plant.update(self.turned, self.force)

    def stiffness(self) -> Array:
        """Return the stiffness of the legs with the motors held, shape (5, 5)."""
        return natural_stiffness(self.plant.ports)

    def _rest(self) -> Array:
        """Where the handle would rest with these motors and nobody there."""
        p = self.plant.ports
        return self.place - np.linalg.solve(self.stiffness(), p.force)
