# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Relative pose and logarithm of two frames, with the coefficients that its derivatives need.

Source: closed forms and Bernoulli's series of b(x) = (1 - angle / 2 cot(angle / 2)) / x, derived
here; test_network_kernels.py checks that they join and match differences.
"""

from soro_mechanics.compilation.kernels import fused_kernel, merged_kernel
from soro_mechanics.numerics.lie_kernels import se3_log, SERIES_BELOW, stumpff
from soro_mechanics.numerics.vector_kernels import column_at, dot, minus


@merged_kernel
def horner(x, a, b, c, rest):
    """Return a + b x + c x^2 + rest x^3, all numbers."""
    return a + x * (b + x * (c + x * rest))


@fused_kernel
def small_log_coefficients(x):
    """Return b, db/dx and d2b/dx2 of J_l^-1 = 1 - W/2 + b W^2, x = angle^2 < 1.

    b(x) is the sum of 2 zeta(2 k + 2) / (2 pi)^(2 k + 2) x^k, which converges below (2 pi)^2 and
    needs these terms below 1, where nearly every element is. Written out: a loop here would keep
    the loop over lanes around it from becoming vector instructions.
    """
    b = horner(x, 2.174868698558062e-16, 5.5090028283602295e-18, 1.3954464685812522e-19, 0.0)
    b = horner(x, 1.3382536530684679e-11, 3.3896802963225827e-13, 8.586062056277845e-15, b)
    b = horner(x, 8.267195767195768e-07, 2.08767569878681e-08, 5.284190138687493e-10, b)
    b = horner(x, 1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0, b)
    db = horner(x, 1.957381828702256e-15, 5.5090028283602297e-17, 1.5349911154393774e-18, 0.0)
    db = horner(x, 8.029521918410808e-11, 2.3727762074258077e-12, 6.868849645022276e-14, db)
    db = horner(x, 2.48015873015873e-06, 8.35070279514724e-08, 2.6420950693437467e-09, db)
    db = 1.0 / 720.0 + x * (2.0 / 30240.0 + x * db)
    ddb = horner(x, 1.5659054629618047e-14, 4.958102545524207e-16, 1.5349911154393774e-17, 0.0)
    ddb = horner(x, 1.0568380277374987e-08, 4.0147609592054037e-10, 1.4236657244554848e-11, ddb)
    ddb = horner(x, 6.613756613756614e-05, 4.96031746031746e-06, 2.505210838544172e-07, ddb)
    return b, db, ddb


@fused_kernel
def log_coefficients(x):
    """Return b = (c_3 - 2 c_4) / (2 c_2), db/dx, d2b/dx2, c_n Stumpff's functions; x = angle^2."""
    if x < 1.0:
        return small_log_coefficients(x)
    _, _, c2, c3, c4, c5, c6 = stumpff(x)
    if x < SERIES_BELOW:
        c7 = c8 = 0.0
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


@fused_kernel
def relative_pose(ga, gb, h):
    """Write h = ga^-1 gb (4, 4) [m]: R_a' R_b and R_a' (p_b - p_a) of poses ga, gb (4, 4)."""
    way = minus(column_at(gb, 0, 3), column_at(ga, 0, 3))
    for i in range(3):
        axis = column_at(ga, 0, i)
        for j in range(3):
            h[i, j] = dot(axis, column_at(gb, 0, j))
        h[i, 3] = dot(axis, way)
        h[3, i] = 0.0
    h[3, 3] = 1.0


@fused_kernel
def relative_twist(ga, gb, h, d):
    """Write h = ga^-1 gb (4, 4) and d = log(h) (6,) [m, rad] of poses ga, gb (4, 4)."""
    relative_pose(ga, gb, h)
    se3_log(h, d)
