# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From the end frames of eight two-node elements to their relative twists and stresses.

All arrays are those of `ElementLanes`, rows as named below; k is a lane, lanes is LANES.

Source: d = log(g_a^-1 g_b) by the quaternion, w = 2 atan(|q|) q / |q| with q = (q1, q2, q3) / q0
and v = J_l^-1(w) p, derived here; test_network_kernels.py checks full precision.
"""

from soro_mechanics.compilation.kernels import fused_kernel
from soro_mechanics.models.network.kernels.element_kernels import (
    horner,
    log_coefficients,
    small_log_coefficients,
)
from soro_mechanics.numerics.lie_kernels import se3_log
from soro_mechanics.numerics.vector_kernels import (
    cross,
    dot,
    minus,
    plus,
    plus_dot,
    put_vector,
    times,
    turned,
    vector_at,
)

LANES = 8  # elements at once; kernels also get it as an argument, see `element_lane_kernels`
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

    ga, gb (4, 4): poses [m]; length: h [m]; rest (6,): e0 [1, 1/m]; stiffness (6, 6): stress per
    twist, symmetric positive definite, see `element_flexibility_kernels`; held (6,): stress
    [N, N m] for the geometric part, or (0,): K e, which makes the tangent exact; lane; ends: out.
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
    """Write g_a^-1 g_b, row by row: R_a' R_b and R_a' (p_b - p_a) [m].

    ends (ENDS,): both poses; relative (RELATIVE,): out; lanes: LANES.
    """
    for k in range(lanes):
        p = minus(vector_at(ends, SECOND + 24 + k, 32), vector_at(ends, 24 + k, 32))
        columns = vector_at(ends, SECOND + k, 32) + vector_at(ends, SECOND + 8 + k, 32)
        columns = columns + vector_at(ends, SECOND + 16 + k, 32)
        a0, a1 = vector_at(ends, k, 32), vector_at(ends, 8 + k, 32)
        a2 = vector_at(ends, 16 + k, 32)
        put_vector(relative, k, 8, turned(columns, a0))
        put_vector(relative, 32 + k, 8, turned(columns, a1))
        put_vector(relative, 64 + k, 8, turned(columns, a2))
        put_vector(relative, 24 + k, 32, (dot(a0, p), dot(a1, p), dot(a2, p)))


@fused_kernel
def small_turns(relative, twist, lanes):
    """Write d and series of every lane as if its turn were below SMALL_TURN.

    v = p - w x p / 2 + b w x (w x p) of (R, p) = relative; b by `small_log_coefficients`; atan by
    its series in tan^2 of half the turn, which is kept. twist (TWIST,): out; lanes: LANES.
    """
    for k in range(lanes):
        # 4 q0 (q1, q2, q3) and 1 / (4 q0^2) of the quaternion
        one = 1.0 / (1.0 + relative[k] + relative[40 + k] + relative[80 + k])
        x = relative[72 + k] - relative[48 + k]
        y = relative[16 + k] - relative[64 + k]
        z = relative[32 + k] - relative[8 + k]
        u = (x * x + y * y + z * z) * one * one
        # atan(t) / t in t^2
        a = horner(-u, 1.0 / 21.0, 1.0 / 23.0, 1.0 / 25.0, 1.0 / 27.0 - u * (1.0 / 29.0))
        a = horner(-u, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0, a)
        a = horner(-u, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, a)
        a = horner(-u, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, a)
        w = times(2.0 * one * (1.0 - u * a), (x, y, z))
        b, db, ddb = small_log_coefficients(dot(w, w))
        put_vector(twist, SERIES + k, 8, (b, db, ddb))
        twist[TURN + k] = u
        p = vector_at(relative, 24 + k, 32)
        across = cross(w, p)
        moved = minus(p, times(0.5, across))
        put_vector(twist, k, 8, plus(moved, times(b, cross(w, across))))
        put_vector(twist, 24 + k, 8, w)


@fused_kernel
def large_turn(relative, k, pose, d, twist):
    """Write d and series of lane k, whatever its turn: `se3_log` and `log_coefficients`.

    relative (RELATIVE,); pose (4, 4) and d (6,) are scratch; twist (TWIST,): out.
    """
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

    The gap is their difference over the diagonal of K, a flexibility of the right size. ends give
    h, e0, K and the stress held, twist d; given (GIVEN,): out [N, N m; m, rad]; lanes: LANES.
    """
    for i in range(6):
        o = 8 * i
        for k in range(lanes):
            given[GAP + o + k] = twist[o + k] - ends[REST + o + k] * ends[LENGTH + k]
    for i in range(6):
        o = 8 * i
        row = STIFF + 48 * i
        for k in range(lanes):
            stress = dot(vector_at(ends, row + k, 8), vector_at(given, GAP + k, 8))
            bend = vector_at(ends, row + 24 + k, 8)
            stress = plus_dot(stress, bend, vector_at(given, GAP + 24 + k, 8))
            own = ends[OWN + k]
            given[ELASTIC + o + k] = stress
            given[HELD + o + k] = own * stress + (1.0 - own) * ends[STRESS + o + k]
    for i in range(6):
        o = 8 * i
        for k in range(lanes):
            missing = given[ELASTIC + o + k] - given[HELD + o + k]
            given[GAP + o + k] = missing / ends[STIFF + 7 * o + k]
