# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A device as somebody builds it: not quite the shape of the model, sensors that slide.

The usual bench has the model's own shape and mesh with another modulus, so that calibration and
sensing cannot but succeed. Here legs are bent and held a little elsewhere, motors have their zero
elsewhere, and strips begin and end elsewhere than at a node of the model, on another mesh. Strips
slide with friction, as those of Koehler 2023 do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.schema import HapticSpec
from soro_mechanics.models.network.description.spec import NetworkSpec, RodSpec
from soro_mechanics.robot import Robot

NEAR = 5e-4  # m: a strip that ends this near to a node ends there


@dataclass(frozen=True)
class PlantErrors:
    """How a built device differs from its model; standard deviations, all assumed.

    Attributes
    ----------
    curvature : float
        Of the rest curvature of a leg, relative.
    attachment : float
        Of the place where a leg meets the handle, each direction [m]: 2 % of the 40 mm.
    zero : float
        Of the zero of a motor, at the output [rad].
    strip : float
        Of either end of a strip along its leg [m].
    play : float
        Half the dead band with which a strip slides [m of elongation]. Sized so that the
        calibration has about the published error, 4.6 % on average.
    seed : int
    """

    curvature: float = 0.02
    attachment: float = 8e-4
    zero: float = math.radians(0.5)
    strip: float = 3e-3
    play: float = 2.1e-4
    seed: int = 17


class Play:
    """Strips that follow their leg with a dead band of +-`half` [m]."""

    def __init__(self, half: float) -> None:
        self.half = half
        self._last: Array | None = None

    def follow(self, elongation: Array) -> Array:
        """Return what the strips have of an elongation, shape (ns,) [m]."""
        if self.half == 0.0:
            return elongation
        last = elongation if self._last is None else self._last
        self._last = np.clip(last, elongation - self.half, elongation + self.half)
        return self._last


def as_built(robot: Robot, errors: PlantErrors) -> tuple[Robot, Array]:
    """Return the robot as it was built, and where its motors are when their encoders read zero.

    Returns
    -------
    Robot, ndarray, shape (na,) [rad]
    """
    random = np.random.default_rng(errors.seed)
    structure = robot.description.structure
    network: NetworkSpec = structure['network']
    haptic: HapticSpec = structure['haptic']
    rods = {rod.name: _bent(rod, errors, random) for rod in network.rods}
    strips = []
    for strip in haptic.strips:
        start, end = strip.start + errors.strip * random.normal(size=2) + [0.0, strip.length]
        strips.append(replace(strip, start=float(start), length=float(end - start)))
        rods[strip.rod] = _with_nodes(rods[strip.rod], (start, end))
    zero = errors.zero * random.normal(size=len(robot.actuators))
    changed = {
        'network': replace(network, rods=tuple(rods.values())),
        'haptic': replace(haptic, strips=tuple(strips)),
    }
    other = Robot(replace(robot.description, structure={**structure, **changed}), robot.model)
    other.gravity = robot.gravity
    return other, zero


def _bent(rod: RodSpec, errors: PlantErrors, random: np.random.Generator) -> RodSpec:
    curvature = rod.curvature.copy()
    curvature[:, 1:] *= 1.0 + errors.curvature * random.normal()
    attach = rod.ends[1].attach.copy()
    attach[:3, 3] += errors.attachment * random.normal(size=3)
    held = replace(rod.ends[1], attach=attach)
    return replace(rod, curvature=curvature, ends=(rod.ends[0], held))


def _with_nodes(rod: RodSpec, places: tuple[float, float]) -> RodSpec:
    """Return the rod with nodes where a strip ends [m]."""
    fractions = rod.fractions
    for place in places:
        if np.abs(fractions * rod.length - place).min() > NEAR:
            fractions = np.sort(np.append(fractions, place / rod.length))
    return replace(rod, fractions=fractions)
