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
    interior = 12 * (nodes - 2)
    size = count * interior + 6
    full = np.zeros((size, size))
    force = np.zeros(size)
    by_stretch = np.zeros((size, count))
    full[-6:, -6:] = tangent
    force[-6:] = gradient
    motion = np.empty((12, 6))
    for leg in range(count):
        kernels.end_motion(state.nodes[leg, -1], state.position, motion)
        for n in range(1, nodes - 1):
            at = leg * interior + 12 * (n - 1)
            here = slice(at, at + 12)
            full[here, here] = rows[leg, n, :, :12]
            force[here] = rows[leg, n, :, 24]
            by_stretch[here, leg] = rows[leg, n, :, 25]
            coupling = rows[leg, n, :, 12:24]
            if n < nodes - 2:
                following = slice(at + 12, at + 24)
                full[here, following] = coupling
                full[following, here] = coupling.T
            else:
                full[here, -6:] = coupling @ motion
                full[-6:, here] = full[here, -6:].T
        end = rows[leg, -1]
        full[-6:, -6:] += motion.T @ end[:, :12] @ motion
        by_stretch[-6:, leg] = motion.T @ end[:, 25]
    return force, full, by_stretch


def compliance_at_stations(
    state: AncfState, structure: Structure, loads: AncfLoads, per_element: int
) -> tuple[Array, ...]:
    """Return, per leg, (n, 6, 6): twist of each station per wrench there, base axes."""
    _, full, _ = full_system(state, structure, loads)
    inverse = np.linalg.inv(full)
    count, nodes = state.nodes.shape[:2]
    interior = 12 * (nodes - 2)
    at_end = np.empty((12, 6))
    element = np.empty((6, 24))
    result = []
    for leg in range(count):
        kernels.end_motion(state.nodes[leg, -1], state.position, at_end)
        length = state.stretch[leg] * structure[4]
        stations = np.zeros(((nodes - 1) * per_element + 1, 6, 6))
        for k in range(len(stations)):
            e = min(k // per_element, nodes - 2)
            t = (k - e * per_element) / per_element
            station_motion(state.nodes[leg, e], state.nodes[leg, e + 1], length, t, element)
            port = np.zeros((6, len(inverse)))
            if e > 0:
                at = leg * interior + 12 * (e - 1)
                port[:, at : at + 12] = element[:, :12]
            if e < nodes - 2:
                at = leg * interior + 12 * e
                port[:, at : at + 12] = element[:, 12:]
            else:
                port[:, -6:] = element[:, 12:] @ at_end
            stations[k] = port @ inverse @ port.T
        result.append(stations)
    return tuple(result)
