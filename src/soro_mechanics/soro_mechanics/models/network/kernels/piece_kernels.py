# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From eight integrated rod pieces to their condensed forces and tangents.

The wrench W0 at A is an unknown of its own. The closure c = log(g_pred^-1 g_b), g_pred = g_a h, is
driven to zero by the same Newton step that moves the frames, so W0 is eliminated here:

    Phi dW0 = Ad_h (c + eta_b) - eta_a - Gamma dq - zeta_p dp,      dq = q x theta_a
    force on the frames:  f_a = -W0,   f_b = F_b = Ad_h^T W(L)

and the condensed tangent follows with dF_b = Ad_h^T dW(L) + B(F_b)(eta_b - Ad_h^-1 eta_a). h is
the actual relative pose g_a^-1 g_b, so a piece is in balance with itself at every iterate. Below
y, load and table are those of `lane_kernels`, lane the piece's, h (4, 4) [m], and force (12,) is
f_a, f_b [N, N m], own axes.

Source: derived here from the variation in `lane_kernels`; checked by differences in
test_network_kernels.py and test_network_variation.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.network.kernels.element_kernels import relative_twist
from soro_mechanics.models.network.kernels.lane_kernels import BASE, COLUMN, rotation_of
from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.lie_kernels import adjoint
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    cross,
    dot,
    dot_six,
    each,
    minus,
    plus,
    plus_cross,
    plus_dot,
    put_vector,
    row_at,
    six_in_column,
    six_in_row,
    times,
    turned,
    vector_at,
)


class Piece(NamedTuple):
    """One integrated piece."""

    # Result of `integrate_lanes` with columns for W0, the weight where heavy, then rest strains;
    # of `differentiate_lanes` where parameter columns are written and `exact`.
    y: NDArray[np.float64]
    load: NDArray[np.float64]  # as there
    lane: int
    h: NDArray[np.float64]  # (4, 4) actual pose of B in A
    heavy: bool
    shifts: int  # rest-strain columns that were carried; -1: write no parameter columns at all
    share: float  # length of this piece per length of its rod
    fade: float  # relative change of the weight per mass with the rod's length
    exact: bool


@kernel
def section_wrench(y, load, lane, h, out):
    """Write the wrench (6,) of the section at h (4, 4), in its own axes, to out [N, N m].

    (R' n, R' (m - p x n)) with n = n0 - Q q, m = m0 - M; y, load, lane: above.
    """
    n = minus(vector_at(load, lane, 8), times(y[120 + lane], vector_at(load, 48 + lane, 8)))
    m = minus(vector_at(load, 24 + lane, 8), vector_at(y, 96 + lane, 8))
    m = plus_cross(m, n, (h[0, 3], h[1, 3], h[2, 3]))
    for i in range(3):
        axis = h[0, i], h[1, i], h[2, i]
        out[i] = dot(axis, n)
        out[3 + i] = dot(axis, m)


@kernel
def bracket(f, out):
    """Write B(f) = [[0, f^], [f^, m^]] (6, 6) to out: ad_xi^T f = B(f) xi; f (6,): f, m."""
    out[:] = 0.0
    add_hat(out, 0, 3, vector_at(f, 0, 1))
    add_hat(out, 3, 0, vector_at(f, 0, 1))
    add_hat(out, 3, 3, vector_at(f, 3, 1))


@kernel
def predicted_pose(y, lane, out):
    """Write h (4, 4) that the integration reached, in lane of y, to out."""
    for i in range(3):
        for j in range(3):
            out[i, j] = y[(3 * i + j) * 8 + lane]
        out[i, 3] = y[(9 + i) * 8 + lane]
        out[3, i] = 0.0
    out[3, 3] = 1.0


@kernel
def closure(y, lane, h, work, c):
    """Write c = log(h_predicted^-1 h) (6,) [m, rad]; work (8, 4): scratch; y, lane, h: above."""
    predicted_pose(y, lane, work[0:4])
    relative_twist(work[0:4], h, work[4:8], c)


@kernel
def end_forces(y, load, lane, h, force):
    """Write f_a, f_b to force (12,) without the closure's correction; y, load, lane, h: above."""
    for i in range(6):
        force[i] = -load[i * 8 + lane]
    section_wrench(y, load, lane, h, force[6:12])


@kernel
def condense_piece(p, table_end, work, c, force, tangent, params):
    """Write the closure, condensed force (12,), tangent (12, 12) and parameter columns.

    Returns the sign of det Phi(L), which changes where the piece, held at both ends, becomes
    critical; 0 where the flexibility is singular. p: Piece; table_end (TABLE LANES,): the section
    at B; work (48, 24): scratch; c (6,), force, tangent: out; params (12, 1 + shifts): out, d
    force / d (rod length, rest strains) at fixed frames.
    """
    y, load, lane, h = p.y, p.load, p.lane, p.h
    heavy, shifts, share, fade = p.heavy, p.shifts, p.share, p.fade
    ad = work[0:6, 0:6]
    phi = work[6:12, 0:6]
    back = work[12:18]
    columns = 13 + 1 + shifts
    q = vector_at(load, 48 + lane, 8)
    closure(y, lane, h, work[31:39, 0:4], c)
    end_forces(y, load, lane, h, force)
    adjoint(h, ad)
    # back: dW0 = back (eta_a, eta_b, 1, length, rest strains)
    for i in range(6):
        for j in range(6):
            phi[i, j] = y[(BASE + COLUMN * j + i) * 8 + lane]
            back[i, j] = 0.0
            back[i, 6 + j] = ad[i, j]
        back[i, i] = -1.0
        back[i, 12] = dot_six(six_in_row(ad, i, 0), c)
        if heavy:
            # dq = q x theta
            moved = cross(vector_at(y, (BASE + COLUMN * 6 + i) * 8 + lane, COLUMN * 8), q)
            put_vector(back[i], 3, 1, minus(vector_at(back[i], 3, 1), moved))
    first = 9 if heavy else 6
    grown = work[40, 0:10]
    if shifts >= 0:
        if p.exact:
            for i in range(10):
                grown[i] = y[(BASE + COLUMN * (first + shifts) + i) * 8 + lane]
        else:
            _growth(y, load, table_end, lane, force, grown)
        for i in range(6):
            back[i, 13] = -share * grown[i]
            if heavy:
                by_weight = vector_at(y, (BASE + COLUMN * 6 + i) * 8 + lane, COLUMN * 8)
                back[i, 13] -= fade * dot(by_weight, q)
            for s in range(shifts):
                back[i, 14 + s] = -y[(BASE + COLUMN * (first + s) + i) * 8 + lane]
    sign = solve_in_place(phi, 6, back, columns)
    if sign == 0:
        return 0
    _condensed(p, work, force, tangent, params)
    return sign


@kernel
def _growth(y, load, table, lane, force, out):
    """Write what grows at B with the length of the piece: twist in space (6), M (3), Q.

    Ad_h (e0 + c F_b), mu p x q, mu; y, load, lane, force: above; table: section at B; out (10,).
    """
    v = each(vector_at(table, 48 + lane, 8), vector_at(force, 6, 1))
    w = each(vector_at(table, 72 + lane, 8), vector_at(force, 9, 1))
    r, p = rotation_of(y, lane), vector_at(y, 72 + lane, 8)
    v = turned(r, plus(vector_at(table, lane, 8), v))
    w = turned(r, plus(vector_at(table, 24 + lane, 8), w))
    put_vector(out, 0, 1, plus_cross(v, p, w))
    put_vector(out, 3, 1, w)
    mu = table[96 + lane]
    put_vector(out, 6, 1, times(mu, cross(p, vector_at(load, 48 + lane, 8))))
    out[9] = mu


@kernel
def _condensed(p, work, force, tangent, params):
    """Put dW0 (work[12:18]) into both ends' forces: df_a = -dW0, df_b by the formula above.

    p: Piece; work: of `condense_piece`; force, tangent, params as there, out.
    """
    ad, back, b_f, end = work[0:6, 0:6], work[12:18], work[24:30, 0:6], work[31:37]
    shifts = p.shifts
    columns = 14 + shifts
    # dW(L) = dW0 - (Q dq, dM)
    for i in range(6):
        for j in range(columns):
            end[i, j] = back[i, j]
    if p.heavy:
        _end_weight(p, back, work[40, 0:10], end)
    for i in range(6):
        for j in range(12):
            tangent[i, j] = -back[i, j]
        force[i] -= back[i, 12]
        for j in range(1 + shifts):
            params[i, j] = -back[i, 13 + j]
    bracket(force[6:12], b_f)
    for i in range(6):
        left = six_in_column(ad, 0, i)
        for j in range(12):
            tangent[6 + i, j] = dot_six(left, six_in_column(end, 0, j))
        force[6 + i] += dot_six(left, six_in_column(end, 0, 12))
        for j in range(1 + shifts):
            params[6 + i, j] = dot_six(left, six_in_column(end, 0, 13 + j))
    # Ad_h^-1 = [[R', -R' p^], [0, R']], read off ad = [[R, p^ R], [0, R]]
    for i in range(6):
        for j in range(6):
            tangent[6 + i, 6 + j] += b_f[i, j]
        push, turn = row_at(b_f, i, 0), row_at(b_f, i, 3)
        for j in range(3):
            axis = row_at(ad, j, 0)
            tangent[6 + i, j] -= dot(push, axis)
            tangent[6 + i, 3 + j] -= plus_dot(dot(push, row_at(ad, j, 3)), turn, axis)


@kernel
def _end_weight(p, back, grown, end):
    """Take the change of the weight's wrench off dW(L): dW(L) = dW0 - (Q dq + dQ q, dM).

    p: Piece; back (6, 14 + shifts): dW0; grown (10,): of `_growth`; end, like back: dW(L), out.
    """
    y, lane, shifts, share, fade = p.y, p.lane, p.shifts, p.share, p.fade
    q, weight = vector_at(p.load, 48 + lane, 8), y[120 + lane]
    for i in range(3):
        at = (BASE + 6 + i) * 8 + lane
        by_wrench = vector_at(y, at, COLUMN * 8) + vector_at(y, at + COLUMN * 24, COLUMN * 8)
        for j in range(14 + shifts):
            end[3 + i, j] -= dot_six(by_wrench, six_in_column(back, 0, j))
        by_weight = vector_at(y, (BASE + COLUMN * 6 + 6 + i) * 8 + lane, COLUMN * 8)
        put_vector(end[3 + i], 3, 1, minus(vector_at(end[3 + i], 3, 1), cross(by_weight, q)))
        for s in range(shifts):
            end[3 + i, 14 + s] -= y[(BASE + COLUMN * (9 + s) + 6 + i) * 8 + lane]
        if shifts >= 0:
            end[i, 13] -= (share * grown[9] + weight * fade) * q[i]
            end[3 + i, 13] -= share * grown[6 + i] + fade * dot(by_weight, q)
    add_hat(end, 0, 3, times(-weight, q))
