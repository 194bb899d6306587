# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The full linear system of a muscle-bent backbone, and its compliance at every station."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.kirchhoff.muscle_kernels import bend_constraints
from soro_mechanics.models.kirchhoff.reach_kernels import make_rod_work
from soro_mechanics.models.kirchhoff.rod_kernels import module_vectors, rod_system, station_poses
from soro_mechanics.models.kirchhoff.steps import RodData
from soro_mechanics.numerics import lie


def full_system(
    shape: tuple[Array, Array, Array], rod_data: RodData, dead: Array, moment: Array
) -> Array:
    """Return the tangent, order: increments of nodes 1..n, then (rho, F, mu) per module."""
    q, force, bend = shape
    stiffness, h, radius, give, combine = rod_data
    count, modules = len(q), len(force)
    per = (count - 1) // modules
    work = make_rod_work(count)
    _, diagonal, coupling, lever, _, _ = work
    rod_system(q, stiffness, h, dead, force, work)
    rho = np.empty((modules, 3))
    module_vectors(q, h, modules, rho)
    rotations = all_rotations(q)
    size = 3 * (count - 1) + 8 * modules
    full = np.zeros((size, size))

    def add(row: int, column: int, block: Array) -> None:
        if row >= 0 and column >= 0:
            rows, columns = block.shape
            full[row : row + rows, column : column + columns] += block

    def node(n: int) -> int:
        return 3 * (n - 1)

    for n in range(1, count):
        add(node(n), node(n), diagonal[n])
        if n + 1 < count:
            add(node(n), node(n + 1), coupling[n])
            add(node(n + 1), node(n), coupling[n].T)
    body = rotations[-1].T @ moment
    add(node(count - 1), node(count - 1), -0.5 * lie.hat3(body))
    slope, second = np.empty((2, 9)), np.empty((9, 9))
    for t in range(modules):
        at = 3 * (count - 1) + 8 * t
        for n in range(t * per, (t + 1) * per + 1):
            add(node(n), at + 3, lever[n])
            add(at + 3 if n > 0 else -1, node(n), lever[n].T)
        add(at, at + 3, np.eye(3))
        add(at + 3, at, np.eye(3))
        add(at + 6, at + 6, -give * np.eye(2))
        start, end = rotations[t * per], rotations[(t + 1) * per]
        at_bend = combine[t], radius, bend[t], np.empty(3), (slope, second)
        bend_constraints(rho[t], start, end, *at_bend)
        places = (at, node(t * per), node((t + 1) * per))
        for i, row in enumerate(places):
            add(row, at + 6, slope[:, 3 * i : 3 * i + 3].T)
            add(at + 6 if row >= 0 else -1, row, slope[:, 3 * i : 3 * i + 3])
            for j, column in enumerate(places):
                add(row, column, second[3 * i : 3 * i + 3, 3 * j : 3 * j + 3])
    return full


def compliance_at_stations(
    shape: tuple[Array, Array, Array], rod_data: RodData, dead: Array, moment: Array, every: int
) -> Array:
    """Return (n, 6, 6) at every `every`-th node: twist there per wrench there, base axes."""
    full, rotations = full_system(shape, rod_data, dead, moment), all_rotations(shape[0])
    # nearly banded: a sparse factorisation costs a tenth of a dense one
    factor = splu(csc_matrix(full))
    stations = range(0, len(rotations), every)
    ports = [station_port(n, rotations, rod_data[1], len(full)) for n in stations]
    responses = factor.solve(np.ascontiguousarray(np.vstack(ports).T))
    out = np.zeros((len(ports), 6, 6))
    for i, port in enumerate(ports):
        out[i] = port @ responses[:, 6 * i : 6 * i + 6]
    return out


def station_port(n: int, rotations: Array, h: float, unknowns: int) -> Array:
    """Return the twist (6, unknowns) of node n per unknown of `full_system`."""
    port = np.zeros((6, unknowns))
    if n == 0:
        return port
    for k, weight in enumerate(h * partial_weights(n)[1:], 1):
        # R (eta x e3)
        port[:3, 3 * k - 3] = -weight * rotations[k][:, 1]
        port[:3, 3 * k - 2] = weight * rotations[k][:, 0]
    port[3:, 3 * (n - 1) : 3 * n] = rotations[n]
    return port


def partial_weights(k: int) -> Array:
    """Return the weights, in units of h, of nodes 0, 1, ... in the integral up to node k."""
    even = k - k % 2
    weights = np.zeros(even + 1 + 2 * (k % 2))
    for a in range(0, even, 2):
        weights[a : a + 3] += np.array([1.0, 4.0, 1.0]) / 3.0
    if k % 2:
        weights[even : even + 3] += np.array([5.0, 8.0, -1.0]) / 12.0
    return weights


def all_rotations(q: Array) -> Array:
    """Return the rotations (n, 3, 3) of all nodes."""
    poses = np.empty((len(q), 4, 4))
    station_poses(q, 1.0, 1, poses)
    return poses[:, :3, :3]
