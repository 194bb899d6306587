# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A first shape through an end point: a planar spiral of the right length."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array

# Curvature a + b s of the unit-length spiral: starts from weak to strong bends, both ways.
_STARTS = (
    (0.5, 0.0),
    (1.5, -1.0),
    (3.0, -3.0),
    (2.0, 2.0),
    (4.0, 0.0),
    (6.0, -9.0),
    (-2.0, 6.0),
    (5.0, -5.0),
    (8.0, -8.0),
    (4.0, -6.0),
)
_ITERATIONS = 40


def spiral_shapes(target: Array, length: float, elements: int) -> list[Array]:
    """Return quaternions (elements + 1, 4) of planar rods that end at a target, least bent first.

    The rod starts at the origin along z. The curvature is linear along it, as in a rod bent by a
    force and a moment at its end, to first order. Spirals that miss the target are left out.
    """
    side = float(np.hypot(target[0], target[1])) / length
    up = float(target[2]) / length
    azimuth = float(np.arctan2(target[1], target[0])) if side > 0.0 else 0.0
    s = np.linspace(0.0, 1.0, elements + 1)
    weights = np.ones(elements + 1)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights /= 3.0 * elements
    found: list[tuple[float, Array]] = []
    for start in _STARTS:
        bend = _shoot(np.array(start), np.array([side, up]), s, weights)
        if bend is None:
            continue
        a, b = bend
        energy = a * a + a * b + b * b / 3.0
        if any(abs(energy - other) < 1e-6 * (1.0 + energy) for other, _ in found):
            continue
        angle = a * s + 0.5 * b * s * s
        shape = np.zeros((elements + 1, 4))
        shape[:, 0] = np.cos(0.5 * angle)
        shape[:, 1] = -np.sin(0.5 * angle) * np.sin(azimuth)
        shape[:, 2] = np.sin(0.5 * angle) * np.cos(azimuth)
        found.append((energy, shape))
    return [shape for _, shape in sorted(found, key=lambda item: item[0])]


def _shoot(bend: Array, target: Array, s: Array, weights: Array) -> Array | None:
    """Solve for (a, b) by Levenberg-Marquardt on two equations; None when it does not arrive."""
    damping = 1e-3
    error, jacobian = _end(bend, target, s, weights)
    for _ in range(_ITERATIONS):
        if float(np.linalg.norm(error)) < 1e-9:
            return bend
        normal = jacobian.T @ jacobian + damping * np.eye(2)
        trial = bend - np.linalg.solve(normal, jacobian.T @ error)
        trial_error, trial_jacobian = _end(trial, target, s, weights)
        if np.linalg.norm(trial_error) < np.linalg.norm(error):
            bend, error, jacobian = trial, trial_error, trial_jacobian
            damping = max(0.1 * damping, 1e-14)
        else:
            damping *= 10.0
    return bend if float(np.linalg.norm(error)) < 1e-6 else None


def _end(bend: Array, target: Array, s: Array, weights: Array) -> tuple[Array, Array]:
    """Return the end (side, up) of a unit spiral from a target, and its derivatives by (a, b)."""
    angle = bend[0] * s + 0.5 * bend[1] * s * s
    sine, cosine = weights * np.sin(angle), weights * np.cos(angle)
    end, half = np.array([sine.sum(), cosine.sum()]), 0.5 * s * s
    return end - target, np.array([[cosine @ s, cosine @ half], [-(sine @ s), -(sine @ half)]])
