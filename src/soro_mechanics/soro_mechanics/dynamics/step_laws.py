# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How velocity and acceleration follow from a step's motion: generalised-alpha on a Lie group.

Chung and Hulbert 1993 (J. Appl. Mech. 60(2)), on Lie groups Bruels and Cardona 2010 (J. Comput.
Nonlinear Dyn. 5(3)): second order, and the equations hold at the end of every step.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array


def generalised_alpha(step: float, radius: float) -> Array:
    """Return the law (3, 4): (v, a, v') after a step from (D, v, a, v') before it.

    `step`: [s]; `radius`: spectral radius at infinity: 1 keeps the energy of the fastest modes, 0
    removes it in one step.
    """
    alpha_m = (2.0 * radius - 1.0) / (radius + 1.0)
    alpha_f = radius / (radius + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    a = np.array([1.0 / (beta * step**2), -1.0 / (beta * step), (beta - 0.5) / beta, 0.0])
    v = np.array([0.0, 1.0, step * (1.0 - gamma), 0.0]) + step * gamma * a
    rate = (1.0 - alpha_m) * a + np.array([0.0, 0.0, alpha_m, -alpha_f])
    return np.stack([v, a, rate / (1.0 - alpha_f)])


def fitted_inertia(part: float, radius: float) -> float:
    """Return how much inertia lets an undamped mode keep its frequency.

    part: of its period, a step; more than a tenth is taken as a tenth.
    """
    law, omega = generalised_alpha(1.0, radius), 2.0 * math.pi * min(part, 0.1)
    # D, v, a, v' of q = exp(i omega t) with the law, for D = (1 - 1 / z) q
    z = np.exp(1j * omega)
    state = np.linalg.solve(z * np.eye(3) - law[:, 1:], law[:, 0] * (z - 1.0))
    return float(-(omega**2) / state[2].real)


def backward_euler(step: float) -> Array:
    """Return the law of one step of first order, of which only the end matters."""
    rate = np.array([1.0 / step**2, -1.0 / step, 0.0, 0.0])
    return np.stack([np.array([1.0 / step, 0.0, 0.0, 0.0]), rate, rate])


def branch_law(step: float, relaxation: float) -> tuple[float, float]:
    """Return what a Maxwell branch keeps of its twist over a step, and what a change adds."""
    kept = math.exp(-step / relaxation)
    return kept, relaxation / step * (1.0 - kept)


def error_constant(radius: float) -> float:
    """Return what the change of the acceleration in a step, times step^2, errs by.

    Zienkiewicz and Xie 1991 (Earthquake Eng. Struct. Dyn. 20(9)): abs(beta - 1/6).
    """
    gamma = 0.5 + (1.0 - radius) / (1.0 + radius)
    return abs(0.25 * (gamma + 0.5) ** 2 - 1.0 / 6.0)
