# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From eight integrated rod pieces to their condensed forces and tangents.

The wrench W0 at A is an unknown of its own. The closure c = log(g_pred^-1 g_b), g_pred = g_a h,
is driven to zero by the same Newton step that moves the frames, so W0 is eliminated here:

    Phi dW0 = Ad_h (c + eta_b) - eta_a - Gamma dq - zeta_p dp,      dq = q x theta_a

    force on the frames:  f_a = -W0,   f_b = F_b = Ad_h^T W(L)

and the condensed tangent follows with dF_b = Ad_h^T dW(L) + B(F_b)(eta_b - Ad_h^-1 eta_a).
h is the actual relative pose g_a^-1 g_b, so a piece is in balance with itself at every iterate.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.models.network.kernels.element_kernels import relative_twist
from soro_mechanics.models.network.kernels.lane_kernels import BASE, COLUMN
from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.kernels import kernel
from soro_mechanics.numerics.lie_kernels import adjoint


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
    """Write the wrench (6,) of the section at h (4, 4), in its own axes."""
    weight = y[(BASE - 1) * 8 + lane]
    n0 = load[lane] - weight * load[48 + lane]
    n1 = load[8 + lane] - weight * load[56 + lane]
    n2 = load[16 + lane] - weight * load[64 + lane]
    m0 = load[24 + lane] - y[96 + lane] - (h[1, 3] * n2 - h[2, 3] * n1)
    m1 = load[32 + lane] - y[104 + lane] - (h[2, 3] * n0 - h[0, 3] * n2)
    m2 = load[40 + lane] - y[112 + lane] - (h[0, 3] * n1 - h[1, 3] * n0)
    for i in range(3):
        out[i] = h[0, i] * n0 + h[1, i] * n1 + h[2, i] * n2
        out[3 + i] = h[0, i] * m0 + h[1, i] * m1 + h[2, i] * m2


@kernel
def bracket(f, out):
    """Write B(f) = [[0, f^], [f^, m^]]: ad_xi^T f = B(f) xi."""
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.0
    for part in range(2):
        x = f[3 * part]
        y = f[3 * part + 1]
        z = f[3 * part + 2]
        out[3, 3 * part] = out[4, 3 * part + 1] = out[5, 3 * part + 2] = 0.0
        out[3, 3 * part + 1] = -z
        out[3, 3 * part + 2] = y
        out[4, 3 * part] = z
        out[4, 3 * part + 2] = -x
        out[5, 3 * part] = -y
        out[5, 3 * part + 1] = x
    for i in range(3):
        for j in range(3):
            out[i, 3 + j] = out[3 + i, j]


@kernel
def predicted_pose(y, lane, out):
    """Write h (4, 4) that the integration reached."""
    for i in range(3):
        for j in range(3):
            out[i, j] = y[(3 * i + j) * 8 + lane]
        out[i, 3] = y[(9 + i) * 8 + lane]
        out[3, i] = 0.0
    out[3, 3] = 1.0


@kernel
def closure(y, lane, h, work, c):
    """Write c = log(h_predicted^-1 h) (6,); work (8, 4)."""
    predicted_pose(y, lane, work[0:4])
    relative_twist(work[0:4], h, work[4:8], c)


@kernel
def end_forces(y, load, lane, h, force):
    """Write f_a, f_b (12,) without the closure's correction."""
    for i in range(6):
        force[i] = -load[i * 8 + lane]
    section_wrench(y, load, lane, h, force[6:12])


@kernel
def condense_piece(p, table_end, work, c, force, tangent, params):
    """Write the closure, condensed force (12,), tangent (12, 12) and parameter columns.

    Parameters
    ----------
    p : Piece
    table_end : ndarray
        The section at B.
    work : ndarray, shape (48, 24)
    params : ndarray, shape (12, 1 + shifts)
        d force / d (rod length, rest strains) at fixed frames.

    Returns
    -------
    int
        Sign of det Phi(L), which changes where the piece, held at both ends, becomes critical;
        0 where the flexibility is singular.
    """
    y, load, lane, h = p.y, p.load, p.lane, p.h
    heavy, shifts, share, fade = p.heavy, p.shifts, p.share, p.fade
    ad = work[0:6, 0:6]
    phi = work[6:12, 0:6]
    back = work[12:18]
    columns = 13 + 1 + shifts
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
        s = 0.0
        for j in range(6):
            s += ad[i, j] * c[j]
        back[i, 12] = s
    if heavy:
        q0 = load[48 + lane]
        q1 = load[56 + lane]
        q2 = load[64 + lane]
        for i in range(6):
            g0 = y[(BASE + COLUMN * 6 + i) * 8 + lane]
            g1 = y[(BASE + COLUMN * 7 + i) * 8 + lane]
            g2 = y[(BASE + COLUMN * 8 + i) * 8 + lane]
            # dq = q x theta
            back[i, 3] -= g1 * q2 - g2 * q1
            back[i, 4] -= g2 * q0 - g0 * q2
            back[i, 5] -= g0 * q1 - g1 * q0
    first = 9 if heavy else 6
    grown = work[40, 0:10]
    if shifts >= 0:
        if p.exact:
            for i in range(10):
                grown[i] = y[(BASE + COLUMN * (first + shifts) + i) * 8 + lane]
        else:
            _growth(y, load, table_end, lane, force, work[39, 0:6], grown)
        for i in range(6):
            back[i, 13] = -share * grown[i]
            if heavy:
                for j in range(3):
                    by_weight = y[(BASE + COLUMN * (6 + j) + i) * 8 + lane]
                    back[i, 13] -= by_weight * fade * load[48 + 8 * j + lane]
            for s in range(shifts):
                back[i, 14 + s] = -y[(BASE + COLUMN * (first + s) + i) * 8 + lane]
    sign = solve_in_place(phi, 6, back, columns)
    if sign == 0:
        return 0
    _condensed(p, work, force, tangent, params)
    return sign


@kernel
def _growth(y, load, table, lane, force, strain, out):
    """Write what grows at B with the length of the piece: twist in space (6), M (3), Q."""
    for i in range(6):
        strain[i] = table[i * 8 + lane] + table[(6 + i) * 8 + lane] * force[6 + i]
    for i in range(3):
        v = w = 0.0
        for j in range(3):
            r = y[(3 * i + j) * 8 + lane]
            v += r * strain[j]
            w += r * strain[3 + j]
        out[i] = v
        out[3 + i] = w
    p0 = y[72 + lane]
    p1 = y[80 + lane]
    p2 = y[88 + lane]
    out[0] += p1 * out[5] - p2 * out[4]
    out[1] += p2 * out[3] - p0 * out[5]
    out[2] += p0 * out[4] - p1 * out[3]
    q0 = load[48 + lane]
    q1 = load[56 + lane]
    q2 = load[64 + lane]
    mu = table[96 + lane]
    out[6] = mu * (p1 * q2 - p2 * q1)
    out[7] = mu * (p2 * q0 - p0 * q2)
    out[8] = mu * (p0 * q1 - p1 * q0)
    out[9] = mu


@kernel
def _condensed(p, work, force, tangent, params):
    """Put dW0 (work[12:18]) into both ends' forces."""
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
        for j in range(12):
            s = 0.0
            for k in range(6):
                s += ad[k, i] * end[k, j]
            tangent[6 + i, j] = s
        for j in range(1 + shifts):
            s = 0.0
            for k in range(6):
                s += ad[k, i] * end[k, 13 + j]
            params[6 + i, j] = s
    # Ad_h^-1 = [[R', -R' p^], [0, R']], read off ad = [[R, p^ R], [0, R]]
    for i in range(6):
        for j in range(6):
            tangent[6 + i, 6 + j] += b_f[i, j]
        for j in range(3):
            s = t = 0.0
            for k in range(3):
                s += b_f[i, k] * ad[j, k]
                t += b_f[i, k] * ad[j, 3 + k] + b_f[i, 3 + k] * ad[j, k]
            tangent[6 + i, j] -= s
            tangent[6 + i, 3 + j] -= t
    for i in range(6):
        s = 0.0
        for k in range(6):
            s += ad[k, i] * end[k, 12]
        force[6 + i] += s


@kernel
def _end_weight(p, back, grown, end):
    """Take the change of the weight's wrench off dW(L)."""
    y, load, lane, shifts, share, fade = p.y, p.load, p.lane, p.shifts, p.share, p.fade
    weight = y[(BASE - 1) * 8 + lane]
    q0 = load[48 + lane]
    q1 = load[56 + lane]
    q2 = load[64 + lane]
    for i in range(3):
        for j in range(14 + shifts):
            s = 0.0
            for k in range(6):
                s += y[(BASE + COLUMN * k + 6 + i) * 8 + lane] * back[k, j]
            end[3 + i, j] -= s
        m0 = y[(BASE + COLUMN * 6 + 6 + i) * 8 + lane]
        m1 = y[(BASE + COLUMN * 7 + 6 + i) * 8 + lane]
        m2 = y[(BASE + COLUMN * 8 + 6 + i) * 8 + lane]
        end[3 + i, 3] -= m1 * q2 - m2 * q1
        end[3 + i, 4] -= m2 * q0 - m0 * q2
        end[3 + i, 5] -= m0 * q1 - m1 * q0
        for s in range(shifts):
            end[3 + i, 14 + s] -= y[(BASE + COLUMN * (9 + s) + 6 + i) * 8 + lane]
    end[0, 4] += weight * q2
    end[0, 5] -= weight * q1
    end[1, 3] -= weight * q2
    end[1, 5] += weight * q0
    end[2, 3] += weight * q1
    end[2, 4] -= weight * q0
    if shifts >= 0:
        by_length = share * grown[9] + weight * fade
        end[0, 13] -= by_length * q0
        end[1, 13] -= by_length * q1
        end[2, 13] -= by_length * q2
        for i in range(3):
            end[3 + i, 13] -= share * grown[6 + i]
            for j in range(3):
                by_weight = y[(BASE + COLUMN * (6 + j) + 6 + i) * 8 + lane]
                end[3 + i, 13] -= by_weight * fade * load[48 + 8 * j + lane]
