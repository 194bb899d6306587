# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Random actuations and tip loads of a network robot, each from its own seed."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.description.spec import LENGTHS, NetworkSpec, RodSpec
from soro_mechanics.models.network.rod_sections import section_at
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot

LOAD = 2.0  # standard deviation of tip force and moment, in E I / l^2 and E I / l
MAX_TURN = 2.0  # of a rod that is not driven between driven lengths [rad]; limits stop it earlier


@dataclass(frozen=True)
class Module:
    """Driven lengths beside one rod that is not driven, between the same two bodies."""

    backbone: RodSpec
    actuators: tuple[int, ...]
    first: Array  # (k, 4, 4) where the driven rods begin, in the backbone's first end
    second: Array  # (k, 4, 4) where they end, in its second end
    limits: Array  # (k, 2) [m]

    def draw(self, rng: np.random.Generator) -> Array:
        """Return the straight lengths for a backbone bent to a random constant curvature [m]."""
        length = self.backbone.length
        while True:
            turn, way = rng.uniform(0.0, MAX_TURN), rng.uniform(0.0, 2.0 * np.pi)
            twist = [0.0, 0.0, length, -turn * np.sin(way), turn * np.cos(way), 0.0]
            ends = lie.se3_exp(np.array(twist)) @ self.second
            found = np.linalg.norm((ends - self.first)[:, :3, 3], axis=1)
            if np.all(found >= self.limits[:, 0]) and np.all(found <= self.limits[:, 1]):
                return np.asarray(found)


class RandomProblems:
    """Draws problems of one robot; a problem depends on seed and index only."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        spec: NetworkSpec = robot.model_object.spec  # type: ignore[attr-defined]
        layout = robot.model_object.equilibrium(()).layout  # type: ignore[attr-defined]
        self.rod_length = float(layout.structure.scale[0])
        way = way_to_tip(spec)
        force = softest(spec) / way**2
        self._load = LOAD * force * np.array([1.0] * 3 + [way] * 3)
        self._modules = modules(spec, robot.limits)

    def draw(self, seed: int, index: int) -> tuple[Array, Array]:
        """Return an actuation that keeps every limit, and a wrench (6,) at the tip."""
        rng = np.random.default_rng([seed, index])
        low, high = self.robot.limits.T
        while True:
            values = rng.uniform(low, high)
            for module in self._modules:
                values[list(module.actuators)] = module.draw(rng)
            if self.robot.feasible(values):
                return values, self._load * rng.normal(size=6)


def modules(spec: NetworkSpec, limits: Array) -> list[Module]:
    """Return the driven lengths that stand beside a clamped rod which is not driven."""
    driven = {d.rod for d in spec.drives}
    found = []
    for i, backbone in enumerate(spec.rods):
        if i in driven or any(end.joint != 'clamped' for end in backbone.ends):
            continue
        pair = [end.body for end in backbone.ends]
        beside = [
            d
            for d in spec.drives
            if d.kind in LENGTHS and [end.body for end in spec.rods[d.rod].ends] == pair
        ]
        if not beside:
            continue
        rods = [spec.rods[d.rod] for d in beside]
        back = [np.linalg.inv(end.attach) for end in backbone.ends]
        first, second = (np.array([back[e] @ r.ends[e].attach for r in rods]) for e in range(2))
        actuators = tuple(d.actuator for d in beside)
        found.append(Module(backbone, actuators, first, second, limits[list(actuators)]))
    return found


def softest(spec: NetworkSpec) -> float:
    """Return the least bending stiffness of all rods at their first ends [N m^2]."""
    return min(float(section_at(rod, 0.0).stiffness[3:5].min()) for rod in spec.rods)


def way_to_tip(spec: NetworkSpec) -> float:
    """Return the length of the shortest way along rods from the ground to the tip's body [m]."""
    reached = {b.name: math.inf for b in spec.bodies}
    reached[spec.bodies[0].name] = 0.0
    for _ in spec.bodies:
        for rod in spec.rods:
            a, b = (end.body for end in rod.ends)
            reached[a] = min(reached[a], reached[b] + rod.length)
            reached[b] = min(reached[b], reached[a] + rod.length)
    return reached[spec.tip_body]
