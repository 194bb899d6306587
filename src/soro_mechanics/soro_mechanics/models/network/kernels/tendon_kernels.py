# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tendons along rods: force, tangent and path length of every piece that one runs through.

A tendon keeps its place r = (x, y, 0) in the section. Where the strain of the rod is (v, u) its
path advances by c = v + u x r per length of the rod, so a tension T without friction has the
energy T |c| and adds to the wrench of the rod's own material

    T P' t,   P = [1, -hat(r)],   t = c / |c|,   P' t = (t, r x t)

for a path at constant offset. Between two nodes the strain is taken as constant: with
d = log(g_a^-1 g_b) the path is |P d| long, a helix. That is a two-node element whose stress is
T P' t, with the stiffness T P' (1 - t t') P / |P d|; its error is of second order in the length of
a piece. Force and tangent derive from the energy, so the length of the path by the motion of the
nodes is the force by the tension, to the last digit. Below s: Structure; x: Inputs; state: State;
w: Work; p: piece; tendon (3,): x, y [m], whether it runs.

Source: Rucker and Webster (2011), IEEE T-RO 27(6), compared with their equations by SciPy in
test_network_tension.py; the element is derived here, virtual work is checked there too.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import fused_kernel, kernel, merged_kernel
from soro_mechanics.models.network.kernels.element_kernels import relative_twist
from soro_mechanics.models.network.kernels.element_lane_kernels import (
    compute_elements,
    take_strain,
)
from soro_mechanics.models.network.kernels.element_strain_kernels import fill_element, LANES
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    cross,
    dot,
    dot_six,
    plus_cross,
    put_vector,
    six_in_column,
    six_in_row,
    times,
    vector_at,
)

LIMP = 1e-100  # stiffness of an element that has no stiffness of its own


@fused_kernel
def path_length(d, tendon, wrench):
    """Return |P d| [m] and write P' t to wrench (6,); d (6,): relative twist [m, rad]; tendon."""
    place = tendon[0], tendon[1], 0.0
    c = plus_cross(vector_at(d, 0, 1), vector_at(d, 3, 1), place)
    length = math.sqrt(dot(c, c))
    t = times(1.0 / length, c)
    put_vector(wrench, 0, 1, t)
    put_vector(wrench, 3, 1, cross(place, t))
    return length


@fused_kernel
def _add_law(tendon, size, wrench, law):
    """Add size P' (1 - t t') P to law (6, 6) [N/m]; wrench (6,): P' t; size: T / |P d|; tendon."""
    x = tendon[0]
    y = tendon[1]
    for i in range(6):
        for j in range(6):
            law[i, j] -= size * wrench[i] * wrench[j]
    for i in range(3):
        law[i, i] += size
    add_hat(law, 0, 3, (-size * x, -size * y, 0.0))
    add_hat(law, 3, 0, (size * x, size * y, 0.0))
    law[3, 3] += size * y * y
    law[3, 4] -= size * x * y
    law[4, 3] -= size * x * y
    law[4, 4] += size * x * x
    law[5, 5] += size * (x * x + y * y)


@kernel
def add_tendons(s, x, state, w, lanes):
    """Add the tendons to force, raw force, tangent and parameter columns of every piece.

    s, x, state, w, lanes: above.
    """
    d = w.scratch[4, 0:6]
    stress = w.scratch[5, 0:6]
    wrench = w.scratch[6, 0:6]
    rest = w.scratch[7, 0:6]
    limp = w.scratch[40:46, 0:6]
    rest[:] = 0.0
    limp[:] = 0.0
    for i in range(6):
        limp[i, i] = LIMP
    full = 0
    left = s.counts.pieces
    for r in range(s.counts.rods):
        first = s.rod_node[r] - s.rod_piece[r]
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            a = state.node[first + p]
            b = state.node[first + p + 1]
            relative_twist(a, b, w.scratch[0:4, 0:4], d)
            stress[:] = 0.0
            for k in range(s.tendon.shape[1]):
                if s.tendon[p, k, 2] == 0.0:
                    continue
                path_length(d, s.tendon[p, k], wrench)
                for i in range(6):
                    stress[i] += (x.tension[p, k] + state.tension[p, k]) * wrench[i]
            fill_element(a, b, 1.0, rest, limp, stress, full, w.eight.ends)
            w.filled[full] = p
            full += 1
            left -= 1
            if full == LANES or left == 0:
                compute_elements(w.eight, w.scratch[10:15, 0:6], lanes)
                for k in range(full):
                    _take(s, x, state, w, k, w.filled[k])
                full = 0


@merged_kernel
def _take(s, x, state, w, k, p):
    """Add the k-th of eight computed elements to piece p: B' T P' t, B' law B and geometric part.

    s, x, state, w: above.
    """
    e = w.eight
    strain = w.scratch[20:26, 0:12]
    law = w.scratch[26:32, 0:6]
    part = w.scratch[32:38, 0:12]
    d = w.scratch[38, 0:6]
    wrench = w.scratch[39, 0:6]
    take_strain(e.half, k, strain)
    strain[3:6, 0:3] = 0.0
    strain[3:6, 6:9] = 0.0
    law[:] = 0.0
    for i in range(6):
        d[i] = e.twist[8 * i + k]
    tensions = s.tendon.shape[1]
    first = 1 + s.shift.shape[1]
    for m in range(tensions):
        tendon = s.tendon[p, m]
        if tendon[2] == 0.0:
            continue
        length = path_length(d, tendon, wrench)
        _add_law(tendon, (x.tension[p, m] + state.tension[p, m]) / length, wrench, law)
        for j in range(12):
            w.params[p, j, first + m] = dot_six(six_in_column(strain, 0, j), wrench)
    for i in range(6):
        for j in range(12):
            part[i, j] = dot_six(six_in_row(law, i, 0), six_in_column(strain, 0, j))
    for i in range(12):
        w.force[p, i] += e.force[8 * i + k]
        w.raw[p, i] += e.force[8 * i + k]
        for j in range(12):
            v = dot_six(six_in_column(strain, 0, i), six_in_column(part, 0, j))
            w.tangent[p, i, j] += v + e.tangent[96 * i + 8 * j + k]


@merged_kernel
def by_ends(matrix, i, step, node):
    """Return row i of matrix (6, 12 or more) times step (nodes, 6) of node and the next one."""
    first = dot_six(six_in_row(matrix, i, 0), six_in_row(step, node, 0))
    return first + dot_six(six_in_row(matrix, i, 6), six_in_row(step, node + 1, 0))


@kernel
def path_lengths(s, state, out):
    """Write the length [m] of every tendon in every piece to out (pieces, tensions); s, state."""
    h = np.empty((4, 4))
    d = np.empty(6)
    wrench = np.empty(6)
    for r in range(s.counts.rods):
        first = s.rod_node[r] - s.rod_piece[r]
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            relative_twist(state.node[first + p], state.node[first + p + 1], h, d)
            for k in range(s.tendon.shape[1]):
                out[p, k] = 0.0
                if s.tendon[p, k, 2] != 0.0:
                    out[p, k] = path_length(d, s.tendon[p, k], wrench)
