# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Compliance of a soft parallel robot at every station of its legs."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.ancf import kernels
from soro_mechanics.models.ancf.shape_kernels import station_motion
from soro_mechanics.models.ancf.solve_kernels import make_work
from soro_mechanics.models.ancf.steps import AncfLoads, AncfState, Structure


def _motion(state: AncfState, leg: int) -> Array:
    """Return how a leg's coordinates (12 nodes,) follow the unknowns of `full_system`."""
    count, nodes = state.nodes.shape[:2]
    interior, end = 12 * (nodes - 2), np.empty((12, 6))
    motion = np.zeros((12 * nodes, count * interior + 6))
    motion[12:-12, leg * interior : (leg + 1) * interior] = np.eye(interior)
    kernels.end_motion(state.nodes[leg, -1], state.position, end)
    motion[-12:, -6:] = end
    return motion


def full_system(
    state: AncfState, structure: Structure, loads: AncfLoads
) -> tuple[Array, Array, Array]:
    """Return gradient (n,), tangent (n, n) and d gradient / d stretch (n, legs), all unknowns.

    Unknowns as in eq (14): the interior nodes leg by leg, then position and rotation increment
    of the platform. The tangent is the analytic Hessian, exact also away from equilibrium.
    """
    count, nodes = state.nodes.shape[:2]
    work = make_work(count, nodes)
    rows, ends, scratch, tangent, gradient = work[:5]
    kernels.linearise(state.nodes, state.stretch, structure, loads.legs, rows, scratch)
    kernels.platform_system(
        state.nodes, state.position, state.rotation, rows, loads.body, tangent, gradient, ends
    )
    rows[:, -1, :, 24] = 0.0  # the platform's gradient has it
    size = 12 * count * (nodes - 2) + 6
    full, force, by_stretch = np.zeros((size, size)), np.zeros(size), np.zeros((size, count))
    full[-6:, -6:], force[-6:] = tangent, gradient
    for leg in range(count):
        motion, own = _motion(state, leg), np.zeros((nodes, 12, nodes, 12))
        for n in range(1, nodes):
            own[n, :, n] = rows[leg, n, :, :12]
            if n + 1 < nodes:
                own[n, :, n + 1] = rows[leg, n, :, 12:24]
                own[n + 1, :, n] = rows[leg, n, :, 12:24].T
        full += motion.T @ own.reshape(12 * nodes, 12 * nodes) @ motion
        force += motion.T @ rows[leg, :, :, 24].ravel()
        by_stretch[:, leg] = motion.T @ rows[leg, :, :, 25].ravel()
    return force, full, by_stretch


def compliance_at_stations(
    state: AncfState, structure: Structure, loads: AncfLoads, per_element: int
) -> tuple[Array, ...]:
    """Return, per leg, (n, 6, 6): twist of each station per wrench there, base axes."""
    inverse = np.linalg.inv(full_system(state, structure, loads)[1])
    elements, twist, result = state.nodes.shape[1] - 1, np.empty((6, 24)), []
    for leg, nodes in enumerate(state.nodes):
        motion, length = _motion(state, leg), state.stretch[leg] * structure[4]
        own = motion @ inverse @ motion.T  # of the leg's coordinates
        stations = np.zeros((elements * per_element + 1, 6, 6))
        for k in range(len(stations)):
            e = min(k // per_element, elements - 1)
            t = (k - e * per_element) / per_element
            station_motion(nodes[e], nodes[e + 1], length, t, twist)
            here = slice(12 * e, 12 * e + 24)
            stations[k] = twist @ own[here, here] @ twist.T
        result.append(stations)
    return tuple(result)
