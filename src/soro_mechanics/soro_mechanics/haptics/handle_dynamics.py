# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inertia of a haptic device, condensed to its handle: mass, structural damping, motion.

The masses of handle and legs move with the handle as they do without inertia (static
condensation, as the natural frequencies of the network see them); the legs stay the nonlinear
model. Between two solutions of it the handle moves by the implicit midpoint rule, which on one
linearisation conserves 1/2 v M v + 1/2 x K x exactly and takes h v D v away, whatever the step
(Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math

import numpy as np

from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.models.network.frequencies import condensed_mass
from soro_mechanics.numerics.lie import so3_log

LONGEST = 2e-3  # s between two solutions of the nonlinear model
STEP = 5e-4  # s, of the integration; midpoint lowers a mode by (omega STEP)^2 / 12 of itself


@dataclass(frozen=True)
class HandleLoad:
    """What holds and presses on a handle, in its five directions."""

    #: place, speed: (5,) [m, rad], [m/s, rad/s]; where the hand wants to be at the end of a step,
    #: and how it moves there
    place: Array = field(default_factory=lambda: np.zeros(5))
    speed: Array = field(default_factory=lambda: np.zeros(5))
    #: stiffness, damping: (5,) [N/m, N m/rad], [N s/m, N m s/rad]
    stiffness: Array = field(default_factory=lambda: np.zeros(5))
    damping: Array = field(default_factory=lambda: np.zeros(5))
    #: (5,) [kg, kg m^2]; moves with the handle
    mass: Array = field(default_factory=lambda: np.zeros(5))
    force: Array = field(default_factory=lambda: np.zeros(5))  #: (5,) [N, N m]; beside the spring


class HandleDynamics:
    """A device whose handle moves with inertia.

    Parameters
    ----------
    device : HapticDevice
        At rest; `advance` solves it, nobody else may.
    damping_ratio : float
        Part of critical damping of every mode of the legs.

    Attributes
    ----------
    mass, damping : ndarray, shape (5, 5)
        Of handle and legs, at rest.
    place, speed : ndarray, shape (5,)
        Of the handle.
    hand_force : ndarray, shape (5,)
        That all loads together put on the handle, in the middle of the last step [N, N m].
    """

    def __init__(self, device: HapticDevice, damping_ratio: float) -> None:
        self.device = device
        self.mass = handle_mass(device)
        self.damping = modal_damping(self.mass, natural_stiffness(device.ports), damping_ratio)
        self.place, self.speed = handle_place(device), np.zeros(5)
        self.hand_force = np.zeros(5)

    @property
    def energy(self) -> float:
        """Kinetic energy, and elastic energy of the last linearisation about its rest [J]."""
        p = self.device.ports
        stiffness = natural_stiffness(p)
        rest = handle_place(self.device) - np.linalg.solve(stiffness, p.force)
        stretch = self.place - rest
        return float(0.5 * (self.speed @ self.mass @ self.speed + stretch @ stiffness @ stretch))

    def advance(self, angle: Array, load: HandleLoad, seconds: float) -> None:
        """Let time pass while the motors turn evenly to new angles.

        Parameters
        ----------
        angle : ndarray, shape (na,) [rad]
            At the end.
        load : HandleLoad
            At the end.
        seconds : float
            Zero or less: nothing happens.
        """
        if seconds <= 0.0:
            return
        pieces = max(1, math.ceil(seconds / LONGEST - 1e-9))
        start = self.device.ports.angle.copy()
        for k in range(pieces):
            left = seconds * (1.0 - (k + 1) / pieces)
            end = start + (angle - start) * ((k + 1) / pieces)
            self._piece(end, load, load.place - left * load.speed, seconds / pieces)

    def _piece(self, angle: Array, load: HandleLoad, place: Array, seconds: float) -> None:
        """Integrate over one linearisation, then solve the nonlinear model anew."""
        p = self.device.ports
        steps = max(1, math.ceil(seconds / STEP - 1e-9))
        h = seconds / steps
        jacobian = p.ea @ np.linalg.inv(p.aa)
        stiffness = np.linalg.inv(p.ee - jacobian @ p.ae)
        mass, damping = self.mass + np.diag(load.mass), self.damping + np.diag(load.damping)
        solve = np.linalg.inv(
            2.0 / h * mass + damping + 0.5 * h * (stiffness + np.diag(load.stiffness))
        )
        momentum = 2.0 / h * mass
        pull = load.damping * load.speed + load.force
        at, turned = handle_place(self.device), jacobian @ (angle - p.angle)
        x, v = self.place, self.speed
        for i in range(steps):
            ahead = (i + 0.5) / steps
            elastic = p.force + stiffness @ (x - at - ahead * turned)
            wanted = place - (1.0 - ahead) * seconds * load.speed
            push = load.stiffness * (wanted - x) + pull
            middle = solve @ (momentum @ v + push - elastic)
            x, v = x + h * middle, 2.0 * middle - v
        # What moved the device in the last step, taken from its side of the balance.
        elastic += 0.5 * h * stiffness @ middle
        self.hand_force = 2.0 / h * self.mass @ (v - middle) + self.damping @ middle + elastic
        self.place, self.speed = x, v
        self.device.update(angle, p.force + stiffness @ (x - at - turned))


def handle_place(device: HapticDevice) -> Array:
    """Return where the handle is along its five directions, shape (5,) [m, rad]."""
    p = device.ports
    return np.asarray(p.axes.T @ np.concatenate([p.pose[:3, 3], so3_log(p.pose[:3, :3])]))


def handle_mass(device: HapticDevice) -> Array:
    """Return the mass that moves with the handle in its five directions, shape (5, 5)."""
    network, ports = device.network, device.ports
    rest = network.forward(ports.angle, LoadCase(gravity=device.gravity), None)
    linear = network.linearise(rest)
    turn = linear.axes(1)
    mass = ports.axes.T @ turn @ condensed_mass(linear) @ turn.T @ ports.axes
    return np.asarray(0.5 * (mass + mass.T))


def modal_damping(mass: Array, stiffness: Array, ratio: float) -> Array:
    """Return the damping that gives every mode the same part of critical damping, symmetric."""
    root = np.linalg.cholesky(mass)
    inverse = np.linalg.inv(root)
    values, shapes = np.linalg.eigh(inverse @ (0.5 * (stiffness + stiffness.T)) @ inverse.T)
    part = root @ shapes
    return np.asarray(2.0 * ratio * part @ np.diag(np.sqrt(values)) @ part.T)
