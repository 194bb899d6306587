# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""SO(3) and SE(3) kernels: float64, no allocation, results written into `out`.

Twists are linear first, angular second. `out` must not share memory with an argument. Nothing is
checked here; `soro_mechanics.numerics.lie` holds the checked wrappers with the same names.

Every coefficient is one of Stumpff's functions c_n(x) = sum_k (-x)^k / (2k + n)!, x = angle^2,
which have no singularity at zero. W = [w]x of a rotation vector w (3,) [rad]; g: pose (4, 4).

Source: series of the exponential, summed here; checked by scipy's in test_lie.py.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    column_at,
    cross,
    dot,
    minus,
    out_of_axes,
    plus,
    put_vector,
    row_at,
    times,
    vector_at,
)

# Below this angle^2 the power series is used, where it needs 11 terms for full precision and the
# closed forms lose no more than one digit; below the other one 5 terms are enough.
SERIES_BELOW, FEW_BELOW = 4.0, 0.04
NEXT_5 = tuple(1.0 / ((n + 6.0) * (n + 7.0)) for n in range(0, 22, 2))  # of a term to the next
NEXT_6 = tuple(1.0 / ((n + 7.0) * (n + 8.0)) for n in range(0, 22, 2))


@kernel
def stumpff(x):
    """Return c_0 ... c_6 at x = angle^2 (c_0 = cos, c_1 = sin / angle), also of complex x."""
    if x.real < SERIES_BELOW:
        c5 = c6 = 0.0 * x
        for k in range(4 if x.real < FEW_BELOW else 10, -1, -1):
            c5 = 1.0 - x * NEXT_5[k] * c5
            c6 = 1.0 - x * NEXT_6[k] * c6
        c5 *= 1.0 / 120.0
        c6 *= 1.0 / 720.0
        c4 = 1.0 / 24.0 - x * c6
        c3 = 1.0 / 6.0 - x * c5
        c2 = 0.5 - x * c4
        c1 = 1.0 - x * c3
        c0 = 1.0 - x * c2
        return c0, c1, c2, c3, c4, c5, c6
    angle = np.sqrt(x)
    c0 = np.cos(angle)
    c1 = np.sin(angle) / angle
    c2 = (1.0 - c0) / x
    c3 = (1.0 - c1) / x
    c4 = (0.5 - c2) / x
    c5 = (1.0 / 6.0 - c3) / x
    c6 = (1.0 / 24.0 - c4) / x
    return c0, c1, c2, c3, c4, c5, c6


@kernel
def inverse_jacobian_coefficient(x):
    """Return b of J_l^-1 = 1 - W/2 + b W^2, x = angle^2 < (2 pi)^2."""
    _, _, c2, c3, c4, _, _ = stumpff(x)
    return (c3 - 2.0 * c4) / (2.0 * c2)


@kernel
def hat3(w, out):
    """Write the cross-product matrix of w (3,), out (3, 3)."""
    out[:] = 0.0
    add_hat(out, 0, 0, w)


@kernel
def _quadratic(w, second, third, out):
    """Write 1 + second * W + third * W^2 for W = hat(w), out (3, 3)."""
    x, y, z = w
    xx, yy, zz = x * x, y * y, z * z
    out[0, 0] = 1.0 - third * (yy + zz)
    out[1, 1] = 1.0 - third * (xx + zz)
    out[2, 2] = 1.0 - third * (xx + yy)
    out[0, 1] = third * x * y - second * z
    out[1, 0] = third * x * y + second * z
    out[0, 2] = third * x * z + second * y
    out[2, 0] = third * x * z - second * y
    out[1, 2] = third * y * z - second * x
    out[2, 1] = third * y * z + second * x


@kernel
def so3_exp(w, out):
    """Write the rotation 1 + c1 W + c2 W^2 of w (also into a (4, 4) or larger out)."""
    turn = vector_at(w, 0, 1)
    _, c1, c2, _, _, _, _ = stumpff(dot(turn, turn))
    _quadratic(turn, c1, c2, out)


@kernel
def so3_log(r, out):
    """Write rotation vector out (3,) of r, angle in [0, pi], by the quaternion's largest part."""
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    x, y, z = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    xy, xz, yz = r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1]
    if trace >= r[0, 0] and trace >= r[1, 1] and trace >= r[2, 2]:
        w, v = 1.0 + trace, (x, y, z)
    elif r[0, 0] >= r[1, 1] and r[0, 0] >= r[2, 2]:
        w, v = x, (1.0 + r[0, 0] - r[1, 1] - r[2, 2], xy, xz)
    elif r[1, 1] >= r[2, 2]:
        w, v = y, (xy, 1.0 - r[0, 0] + r[1, 1] - r[2, 2], yz)
    else:
        w, v = z, (xz, yz, 1.0 - r[0, 0] - r[1, 1] + r[2, 2])
    if w < 0.0:
        w, v = -w, times(-1.0, v)
    n = math.sqrt(dot(v, v))
    # atan2(n, w) / n keeps full precision down to the smallest n; only n = 0 needs its limit.
    put_vector(out, 0, 1, times(2.0 * math.atan2(n, w) / n if n > 0.0 else 2.0 / w, v))


@kernel
def pose_error(now, wanted, out):
    """Write out (6,), motion from pose now to wanted, base axes: way, turn = log(R_w R_n^T)."""
    turn = np.empty((3, 3))
    for i in range(3):
        out[i] = wanted[i, 3] - now[i, 3]
        put_vector(turn[i], 0, 1, out_of_axes(now, row_at(wanted, i, 0)))
    so3_log(turn, out[3:])


@kernel
def so3_right_jacobian_inverse(w, out):
    """Write J_r^-1 = 1 + W/2 + b W^2 of w, angle below 2 pi, out (3, 3)."""
    turn = vector_at(w, 0, 1)
    _quadratic(turn, 0.5, inverse_jacobian_coefficient(dot(turn, turn)), out)


@kernel
def se3_exp(xi, out):
    """Write the pose (4, 4) of the twist xi = (v, w), out: rotation exp(W), position J_l(w) v."""
    v, w = vector_at(xi, 0, 1), vector_at(xi, 3, 1)
    _, c1, c2, c3, _, _, _ = stumpff(dot(w, w))
    _quadratic(w, c1, c2, out)
    # position = J_l(w) v = v + c2 w x v + c3 w x (w x v)
    across = cross(w, v)
    position = plus(plus(v, times(c2, across)), times(c3, cross(w, across)))
    for i in range(3):
        out[i, 3] = position[i]
        out[3, i] = 0.0
    out[3, 3] = 1.0


@kernel
def se3_log(g, out):
    """Write the twist (6,) of the pose g, angle in [0, pi], out: (J_l^-1 p, log R)."""
    so3_log(g, out[3:6])
    w, p = vector_at(out, 3, 1), column_at(g, 0, 3)
    across = cross(w, p)
    b = inverse_jacobian_coefficient(dot(w, w))
    v = plus(minus(p, times(0.5, across)), times(b, cross(w, across)))
    put_vector(out, 0, 1, v)


@kernel
def adjoint(g, out):
    """Write Ad_g = [[R, p^ R], [0, R]], out (6, 6), of g = (R, p)."""
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        for c in range(3):
            out[i, c] = out[3 + i, 3 + c] = g[i, c]
            out[3 + i, c] = 0.0
            out[i, 3 + c] = g[j, 3] * g[k, c] - g[k, 3] * g[j, c]


@kernel
def adjoint_inverse(g, out):
    """Write Ad_g^-1 = [[R', -R' p^], [0, R']] of g, out: every block of Ad_g, transposed."""
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        for c in range(3):
            out[c, i] = out[3 + c, 3 + i] = g[i, c]
            out[3 + c, i] = 0.0
            out[c, 3 + i] = g[j, 3] * g[k, c] - g[k, 3] * g[j, c]


@kernel
def compose(a, b, out):
    """Write the pose a b, out (4, 4)."""
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
        out[i, 3] = a[i, 0] * b[0, 3] + a[i, 1] * b[1, 3] + a[i, 2] * b[2, 3] + a[i, 3]
        out[3, i] = 0.0
    out[3, 3] = 1.0
