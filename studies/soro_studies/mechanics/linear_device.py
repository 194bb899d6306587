# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Linear devices with known answers: a spring network, and random compliance matrices.

Reference for tests and benchmarks of everything that works on condensed ports: on a linear
device the linearisation is exact, so every answer can be checked against a plain solve.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.analysis.condensed_ports import condensed_ports, CondensedPorts
from soro_mechanics.core.configuration import Array

# Typical size of each port's motion under a typical force: rad, m, rad, m of elongation.
ACTUATOR, LINEAR, ANGULAR, SENSOR = 0.5, 0.01, 0.1, 2e-4


def random_ports(seed: int, na: int = 6, ne: int = 5, ns: int = 6) -> CondensedPorts:
    """Return a device with a random symmetric positive definite W of realistic scale."""
    rng = np.random.default_rng(seed)
    n = na + ne + ns
    root = rng.normal(size=(n, 2 * n)) / np.sqrt(2 * n) + 0.3 * np.eye(n, 2 * n)
    size = np.concatenate(
        [
            np.full(na, ACTUATOR / 0.05),
            np.array([LINEAR] * 3 + [ANGULAR / 0.1] * 3)[:ne],
            np.full(ns, SENSOR / 0.05),
        ]
    )
    scale = np.sqrt(size)
    w = (root @ root.T) * np.outer(scale, scale)
    pose = np.eye(4)
    pose[:3, 3] = rng.normal(size=3) * 0.01
    return condensed_ports(
        w,
        rng.normal(size=na) * 0.05,
        rng.normal(size=na) * 0.002,
        pose,
        np.eye(6)[:, :ne],
        np.zeros(ne),
        rng.normal(size=ns) * 1e-4,
    )


class SpringDevice:
    """A linear device: effector on springs to the motors and to ground.

    ``U = 1/2 |S (x - J theta)|^2 + 1/2 x^T G x``, x the five effector coordinates, theta the motor
    angles; the sensors measure ``M (x - J theta)``. Linear, so its ports are exact everywhere.
    """

    def __init__(self, seed: int = 3, na: int = 6, ne: int = 5, ns: int = 6) -> None:
        rng = np.random.default_rng(seed)
        self.na, self.ne, self.ns = na, ne, ns
        self.unit = np.array([1.0, 1.0, 1.0, 0.05, 0.05, 0.05])[:ne]  # m to comparable numbers
        # Levers of about 3 cm, rows near orthogonal: every direction can be reached.
        mix, _ = np.linalg.qr(rng.normal(size=(max(ne, na),) * 2))
        lever = rng.uniform(0.02, 0.04, size=ne) / self.unit
        j = lever[:, None] * mix[:ne, :na]
        root = rng.normal(size=(ne, ne)) * 0.3 + np.eye(ne)
        spring = 200.0 * (root @ root.T) * np.outer(self.unit, self.unit)
        ground = 60.0 * np.diag(self.unit**2)
        self.jacobian, self.spring = j, spring
        # A weak spring on each motor keeps the sixth, redundant direction determinate.
        self.k = np.block(
            [[j.T @ spring @ j + 0.01 * np.eye(na), -j.T @ spring], [-spring @ j, spring + ground]]
        )
        measure = rng.normal(size=(ns, ne)) * self.unit * 0.05
        self.measure = np.hstack([-measure @ j, measure])  # (ns, na + ne)
        self.h = np.vstack([np.eye(na + ne), self.measure])
        self.w = self.h @ np.linalg.solve(self.k, self.h.T)

    def state(self, torque: Array, force: Array) -> CondensedPorts:
        """Return the equilibrium under motor torques and a hand force."""
        q = np.linalg.solve(self.k, np.concatenate([torque, force]))
        return self._at(q, np.asarray(torque, float), np.asarray(force, float))

    def held(
        self, angle: Array, force: Array, guess: CondensedPorts | None = None
    ) -> CondensedPorts:
        """Return the equilibrium with the motors held."""
        na = self.na
        x = np.linalg.solve(self.k[na:, na:], force - self.k[na:, :na] @ angle)
        torque = self.k[:na, :na] @ angle + self.k[:na, na:] @ x
        return self._at(np.concatenate([angle, x]), torque, np.asarray(force, float))

    def moved(self, angle: Array, x: Array) -> CondensedPorts:
        """Return the state with the motors held and the hand at effector coordinates x."""
        q = np.concatenate([angle, x])
        load = self.k @ q
        return self._at(q, load[: self.na], load[self.na :])

    def _at(self, q: Array, torque: Array, force: Array) -> CondensedPorts:
        x = q[self.na :]
        pose = np.eye(4)
        pose[:3, 3] = x[:3]
        rotation = np.zeros(3)
        rotation[: max(self.ne - 3, 0)] = x[3:]
        pose[:3, :3] = rotation_matrix(rotation)
        return condensed_ports(
            self.w, q[: self.na], torque, pose, np.eye(6)[:, : self.ne], force, self.measure @ q
        )


def rotation_matrix(vector: Array) -> Array:
    """Return exp of a rotation vector by Rodrigues' formula."""
    angle = np.linalg.norm(vector)
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k
