# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From the end frames of eight two-node elements to their relative twists and stresses."""

from soro_mechanics.models.network.kernels.element_kernels import (
    log_coefficients,
    small_log_coefficients,
)
from soro_mechanics.models.network.kernels.lane_kernels import LANES
from soro_mechanics.numerics.kernels import fused_kernel
from soro_mechanics.numerics.lie_kernels import se3_log

# Rows of `ends`: both poses (12 each, row by row), length, whether the held stress is K e, rest
# strain, held stress, stiffness (row by row). `relative` (12 rows) is the relative pose.
SECOND, LENGTH, OWN, REST, STRESS, STIFF = (LANES * n for n in (12, 24, 25, 26, 32, 38))
ENDS, RELATIVE = 74 * LANES, 12 * LANES
# Rows of `twist`: d, b and its two derivatives, tan^2 of half the turn.
SERIES, TURN, TWIST = 6 * LANES, 9 * LANES, 10 * LANES
# Rows of `given`: held stress, stress K e, gap.
HELD, ELASTIC, GAP, GIVEN = (LANES * n for n in (0, 6, 12, 18))
# tan^2(angle / 2) of 0.5 rad: below it the series of `small_turns` have full precision.
SMALL_TURN = 0.0652


@fused_kernel
def fill_element(ga, gb, length, rest, stiffness, held, lane, ends):
    """Put one element into its lane.

    Parameters
    ----------
    ga, gb : ndarray, shape (4, 4)
    length : float
        Rest length [m].
    rest : ndarray, shape (6,)
        Rest strain.
    stiffness : ndarray, shape (6, 6)
        Stress per twist, symmetric and positive definite; see `element_flexibility_kernels`.
    held : ndarray, shape (6,) or (0,)
        Stress for the geometric part; empty: K e, which makes the tangent exact.
    ends : ndarray, shape (ENDS,)
    """
    for i in range(3):
        for j in range(4):
            ends[8 * (4 * i + j) + lane] = ga[i, j]
            ends[SECOND + 8 * (4 * i + j) + lane] = gb[i, j]
    own = held.shape[0] == 0
    ends[LENGTH + lane] = length
    ends[OWN + lane] = 1.0 if own else 0.0
    for i in range(6):
        ends[REST + 8 * i + lane] = rest[i]
        ends[STRESS + 8 * i + lane] = 0.0 if own else held[i]
        for j in range(6):
            ends[STIFF + 8 * (6 * i + j) + lane] = stiffness[i, j]


@fused_kernel
def relative_poses(ends, relative, lanes):
    """Write g_a^-1 g_b, row by row."""
    for k in range(lanes):
        p0 = ends[SECOND + 24 + k] - ends[24 + k]
        p1 = ends[SECOND + 56 + k] - ends[56 + k]
        p2 = ends[SECOND + 88 + k] - ends[88 + k]
        a00 = ends[k]
        a01 = ends[8 + k]
        a02 = ends[16 + k]
        a10 = ends[32 + k]
        a11 = ends[40 + k]
        a12 = ends[48 + k]
        a20 = ends[64 + k]
        a21 = ends[72 + k]
        a22 = ends[80 + k]
        b00 = ends[SECOND + k]
        b01 = ends[SECOND + 8 + k]
        b02 = ends[SECOND + 16 + k]
        b10 = ends[SECOND + 32 + k]
        b11 = ends[SECOND + 40 + k]
        b12 = ends[SECOND + 48 + k]
        b20 = ends[SECOND + 64 + k]
        b21 = ends[SECOND + 72 + k]
        b22 = ends[SECOND + 80 + k]
        relative[k] = a00 * b00 + a10 * b10 + a20 * b20
        relative[8 + k] = a00 * b01 + a10 * b11 + a20 * b21
        relative[16 + k] = a00 * b02 + a10 * b12 + a20 * b22
        relative[24 + k] = a00 * p0 + a10 * p1 + a20 * p2
        relative[32 + k] = a01 * b00 + a11 * b10 + a21 * b20
        relative[40 + k] = a01 * b01 + a11 * b11 + a21 * b21
        relative[48 + k] = a01 * b02 + a11 * b12 + a21 * b22
        relative[56 + k] = a01 * p0 + a11 * p1 + a21 * p2
        relative[64 + k] = a02 * b00 + a12 * b10 + a22 * b20
        relative[72 + k] = a02 * b01 + a12 * b11 + a22 * b21
        relative[80 + k] = a02 * b02 + a12 * b12 + a22 * b22
        relative[88 + k] = a02 * p0 + a12 * p1 + a22 * p2


@fused_kernel
def small_turns(relative, twist, lanes):
    """Write d and series of every lane as if its turn were below SMALL_TURN."""
    for k in range(lanes):
        # 4 q0 (q1, q2, q3) and 4 q0^2 of the quaternion; tan(angle / 2) = n / w
        w = 1.0 + relative[k] + relative[40 + k] + relative[80 + k]
        x = relative[72 + k] - relative[48 + k]
        y = relative[16 + k] - relative[64 + k]
        z = relative[32 + k] - relative[8 + k]
        one = 1.0 / w
        u = (x * x + y * y + z * z) * one * one
        # atan(t) / t in t^2
        a = 1.0 / 27.0 - u * (1.0 / 29.0)
        a = 1.0 / 25.0 - u * a
        a = 1.0 / 23.0 - u * a
        a = 1.0 / 21.0 - u * a
        a = 1.0 / 19.0 - u * a
        a = 1.0 / 17.0 - u * a
        a = 1.0 / 15.0 - u * a
        a = 1.0 / 13.0 - u * a
        a = 1.0 / 11.0 - u * a
        a = 1.0 / 9.0 - u * a
        a = 1.0 / 7.0 - u * a
        a = 1.0 / 5.0 - u * a
        a = 1.0 / 3.0 - u * a
        a = 2.0 * one * (1.0 - u * a)
        x *= a
        y *= a
        z *= a
        twist[24 + k] = x
        twist[32 + k] = y
        twist[40 + k] = z
        q = x * x + y * y + z * z
        twist[TURN + k] = u
        b, db, ddb = small_log_coefficients(q)
        twist[SERIES + k] = b
        twist[SERIES + 8 + k] = db
        twist[SERIES + 16 + k] = ddb
        p0 = relative[24 + k]
        p1 = relative[56 + k]
        p2 = relative[88 + k]
        a0 = y * p2 - z * p1
        a1 = z * p0 - x * p2
        a2 = x * p1 - y * p0
        twist[k] = p0 - 0.5 * a0 + b * (y * a2 - z * a1)
        twist[8 + k] = p1 - 0.5 * a1 + b * (z * a0 - x * a2)
        twist[16 + k] = p2 - 0.5 * a2 + b * (x * a1 - y * a0)


@fused_kernel
def large_turn(relative, k, pose, d, twist):
    """Write d and series of one lane, whatever its turn; pose (4, 4) and d (6,) are scratch."""
    for i in range(3):
        for j in range(4):
            pose[i, j] = relative[8 * (4 * i + j) + k]
    se3_log(pose, d)
    for i in range(6):
        twist[8 * i + k] = d[i]
    b, db, ddb = log_coefficients(d[3] * d[3] + d[4] * d[4] + d[5] * d[5])
    twist[SERIES + k] = b
    twist[SERIES + 8 + k] = db
    twist[SERIES + 16 + k] = ddb


@fused_kernel
def stresses(ends, twist, given, lanes):
    """Write held stress, stress K (d - h e0), and the gap: a twist that is zero where they agree.

    The gap is their difference over the diagonal of K, a flexibility of the right size.
    """
    for i in range(6):
        o = 8 * i
        for k in range(lanes):
            given[GAP + o + k] = twist[o + k] - ends[REST + o + k] * ends[LENGTH + k]
    for i in range(6):
        o = 8 * i
        row = STIFF + 48 * i
        for k in range(lanes):
            stress = ends[row + k] * given[GAP + k]
            stress += ends[row + 8 + k] * given[GAP + 8 + k]
            stress += ends[row + 16 + k] * given[GAP + 16 + k]
            stress += ends[row + 24 + k] * given[GAP + 24 + k]
            stress += ends[row + 32 + k] * given[GAP + 32 + k]
            stress += ends[row + 40 + k] * given[GAP + 40 + k]
            own = ends[OWN + k]
            given[ELASTIC + o + k] = stress
            given[HELD + o + k] = own * stress + (1.0 - own) * ends[STRESS + o + k]
    for i in range(6):
        o = 8 * i
        for k in range(lanes):
            missing = given[ELASTIC + o + k] - given[HELD + o + k]
            given[GAP + o + k] = missing / ends[STIFF + 7 * o + k]
