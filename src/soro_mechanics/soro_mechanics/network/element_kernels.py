# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The two-node geometrically exact element, second order in its length.

d = log(g_a^-1 g_b), strain e = d / L - e0, energy L/2 e^T K e. With body variations
dd = B (eta_a, eta_b), B = [-J_l^-1(d), J_r^-1(d)]: force B^T K e and tangent
B^T K B / L + (d/dd of B^T s at fixed stress s) B. The tangent is exact, so it is not symmetric
away from equilibrium.

Newton uses the stress as an unknown of its own (the mixed integration point of Magisano, Leonetti
and Garcea 2017): the geometric part, and the residual that guards the steps, take a stress that
follows the linearised law, not K e, whose axial part is huge after any turn of a thin rod.
Solutions are the same; the number of iterations is not (705 became 8 for a steel wire bent by
45 deg).
"""

import math

from soro_mechanics.lie_kernels import (
    kernel,
    se3_left_jacobian_inverse,
    se3_log,
    se3_right_jacobian_inverse,
    SERIES_BELOW,
    stumpff,
)


@kernel
def log_coefficients(x):
    """Return b, db/dx and d2b/dx2 of J_l^-1 = 1 - W/2 + b W^2, x = angle^2."""
    _, _, c2, c3, c4, c5, c6 = stumpff(x)
    if x < SERIES_BELOW:
        c7 = 0.0
        c8 = 0.0
        for k in range(10, -1, -1):
            n = 2.0 * k
            c7 = 1.0 - x * c7 / ((n + 8.0) * (n + 9.0))
            c8 = 1.0 - x * c8 / ((n + 9.0) * (n + 10.0))
        c7 /= 5040.0
        c8 /= 40320.0
    else:
        c7 = (1.0 / 120.0 - c5) / x
        c8 = (1.0 / 720.0 - c6) / x
    # b = top / (2 c2); derivatives by c_n' = (n c_(n+2) - c_(n+1)) / 2
    bottom = 2.0 * c2
    d_bottom = 2.0 * c4 - c3
    dd_bottom = 4.0 * c6 - c5 - 0.5 * (3.0 * c5 - c4)
    d_top = 2.5 * c5 - 0.5 * c4 - 4.0 * c6
    dd_top = 1.25 * (5.0 * c7 - c6) - 0.25 * (4.0 * c6 - c5) - 2.0 * (6.0 * c8 - c7)
    b = (c3 - 2.0 * c4) / bottom
    db = (d_top - b * d_bottom) / bottom
    ddb = (dd_top - 2.0 * db * d_bottom - b * dd_bottom) / bottom
    return b, db, ddb


@kernel
def _cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@kernel
def _first(w, x, s, b, db, out):
    """Write the derivative by w of x + s/2 w x x + b w x (w x x), a (3, 3) block of `out`."""
    c0 = w[1] * x[2] - w[2] * x[1]
    c1 = w[2] * x[0] - w[0] * x[2]
    c2 = w[0] * x[1] - w[1] * x[0]
    e0 = w[1] * c2 - w[2] * c1
    e1 = w[2] * c0 - w[0] * c2
    e2 = w[0] * c1 - w[1] * c0
    dot = w[0] * x[0] + w[1] * x[1] + w[2] * x[2]
    # -(w x x)^ - w^ x^ = -(w x x)^ - x w^T + (w . x) 1
    h0 = -0.5 * s * x[0] - b * c0
    h1 = -0.5 * s * x[1] - b * c1
    h2 = -0.5 * s * x[2] - b * c2
    t = 2.0 * db
    out[0, 0] = b * (dot - x[0] * w[0]) + t * e0 * w[0]
    out[1, 1] = b * (dot - x[1] * w[1]) + t * e1 * w[1]
    out[2, 2] = b * (dot - x[2] * w[2]) + t * e2 * w[2]
    out[0, 1] = -h2 - b * x[0] * w[1] + t * e0 * w[1]
    out[0, 2] = h1 - b * x[0] * w[2] + t * e0 * w[2]
    out[1, 0] = h2 - b * x[1] * w[0] + t * e1 * w[0]
    out[1, 2] = -h0 - b * x[1] * w[2] + t * e1 * w[2]
    out[2, 0] = -h1 - b * x[2] * w[0] + t * e2 * w[0]
    out[2, 1] = h0 - b * x[2] * w[1] + t * e2 * w[1]


@kernel
def _second(v, w, x, b, db, ddb, out, t):
    """Add the derivative by w of _first(...) v, linear in x, to a (3, 3) block of `out`."""
    wx = t[0]
    vx = t[1]
    wwx = t[2]
    mix = t[3]
    y = t[4]
    a = t[5]
    c = t[6]
    _cross(w, x, wx)
    _cross(v, x, vx)
    _cross(w, wx, wwx)
    _cross(v, wx, mix)
    _cross(w, vx, a)
    for i in range(3):
        mix[i] += a[i]
    wv = w[0] * v[0] + w[1] * v[1] + w[2] * v[2]
    for j in range(3):
        y[0] = 0.0
        y[1] = 0.0
        y[2] = 0.0
        y[j] = 1.0
        _cross(y, vx, a)
        _cross(y, x, c)
        # b (y x (v x x) + v x (y x x)) + 2 db wv (y x (w x x) + w x (y x x))
        y0 = y[0]
        y1 = y[1]
        y2 = y[2]
        p0 = v[1] * c[2] - v[2] * c[1]
        p1 = v[2] * c[0] - v[0] * c[2]
        p2 = v[0] * c[1] - v[1] * c[0]
        q0 = w[1] * c[2] - w[2] * c[1] + y1 * wx[2] - y2 * wx[1]
        q1 = w[2] * c[0] - w[0] * c[2] + y2 * wx[0] - y0 * wx[2]
        q2 = w[0] * c[1] - w[1] * c[0] + y0 * wx[1] - y1 * wx[0]
        k0 = 2.0 * db * wv
        k1 = 2.0 * db * v[j] + 4.0 * ddb * wv * w[j]
        k2 = 2.0 * db * w[j]
        out[0, j] += b * (a[0] + p0) + k0 * q0 + k1 * wwx[0] + k2 * mix[0]
        out[1, j] += b * (a[1] + p1) + k0 * q1 + k1 * wwx[1] + k2 * mix[1]
        out[2, j] += b * (a[2] + p2) + k0 * q2 + k1 * wwx[2] + k2 * mix[2]


@kernel
def log_geometry(d, stress, side, out, t):
    """Write the derivative by d of J^-T(d) stress: J_l for side 1, J_r for side -1.

    out (6, 6); t (7, 3) is scratch.
    """
    v = d[0:3]
    w = d[3:6]
    force = stress[0:3]
    moment = stress[3:6]
    b, db, ddb = log_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    _first(w, force, side, b, db, out[0:3, 3:6])
    _first(w, moment, side, b, db, out[3:6, 3:6])
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.0
            out[3 + i, j] = out[i, 3 + j]
    _second(v, w, force, b, db, ddb, out[3:6, 3:6], t)


@kernel
def relative_twist(ga, gb, h, d):
    """Write h = ga^-1 gb (4, 4) and d = log(h) (6,)."""
    for i in range(3):
        for j in range(4):
            s = 0.0
            for k in range(3):
                x = gb[k, j] - ga[k, 3] if j == 3 else gb[k, j]
                s += ga[k, i] * x
            h[i, j] = s
        h[3, i] = 0.0
    h[3, 3] = 1.0
    se3_log(h, d)


@kernel
def element(ga, gb, length, rest, flexibility, given, force, raw, gap, tangent, d, b, work):
    """Write force (12,), tangent (12, 12), d (6,) and B (6, 12) of one element.

    Parameters
    ----------
    ga, gb : ndarray, shape (4, 4)
    length : float
        Rest length [m].
    rest, flexibility : ndarray, shape (6,)
        Rest strain and diagonal of K^-1 (all entries positive).
    given : ndarray, shape (6,) or (0,)
        Stress for the geometric part; empty: K e, which makes the tangent exact.
    gap : ndarray, shape (6,)
        Out: (e - given / K) times the length, what the given stress lacks; zero where empty.
    raw : ndarray, shape (12,)
        Out: B^T of the given stress; `force` is that of K e.
    work : ndarray, shape (40, 6)
    """
    h = work[0:4]
    stress = work[4]
    jacobian = work[5:11]
    t = work[11:18, 0:3]
    relative_twist(ga, gb, h, d)
    for i in range(6):
        stress[i] = (d[i] / length - rest[i]) / flexibility[i]
    se3_left_jacobian_inverse(d, jacobian)
    for i in range(6):
        for j in range(6):
            b[i, j] = -jacobian[i, j]
    se3_right_jacobian_inverse(d, b[:, 6:12])
    right = work[18:24]
    held = given if given.shape[0] > 0 else stress
    log_geometry(d, held, 1.0, jacobian, t)
    log_geometry(d, held, -1.0, right, t)
    for i in range(6):
        scale = 1.0 / (flexibility[i] * length)
        for k in range(6):
            # rows of B^T K / L, then the geometric part: both multiply B from the left
            tangent[k, i] = scale * b[i, k] - jacobian[k, i]
            tangent[6 + k, i] = scale * b[i, 6 + k] + right[k, i]
    for i in range(6):
        gap[i] = (stress[i] - held[i]) * flexibility[i] * length
    row = work[24]
    for k in range(12):
        s = 0.0
        u = 0.0
        for i in range(6):
            s += b[i, k] * stress[i]
            u += b[i, k] * held[i]
            row[i] = tangent[k, i]
        force[k] = s
        raw[k] = u
        for j in range(12):
            s = 0.0
            for i in range(6):
                s += row[i] * b[i, j]
            tangent[k, j] = s


@kernel
def has_log(angle2):
    """Whether an element may still take this rotation: log is singular at pi."""
    return angle2 < (0.9 * math.pi) ** 2
