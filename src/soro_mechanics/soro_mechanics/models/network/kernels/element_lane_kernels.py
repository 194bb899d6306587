# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The two-node geometrically exact element; eight at once.

d = log(g_a^-1 g_b), e = d - h e0, energy 1/2 e^T K e, with K of the length h and the section from
`element_flexibility_kernels`: of fourth order in h but for what the load turns out of a plane.
With body variations dd = B (eta_a, eta_b), B = [-J_l^-1(d), J_r^-1(d)]: force B^T K e and tangent
B^T K B + (d/dd of B^T s at fixed stress s) B. The tangent is exact, so it is not symmetric away
from equilibrium. Only differences of frames count, so it does not matter where the rod is.

Newton uses the stress as an unknown of its own: the geometric part, and the residual that guards
the steps, take a stress that follows the linearised law, not K e, whose axial part is huge after
any turn of a thin rod. Solutions are the same; the number of iterations is not (705 became 8 for a
steel wire bent by 45 deg).

With d = (v, w), P = 1 + b W^2 and M = b (W V + V W) + 2 b' (w . v) W^2 the two halves of
B = [-J_l^-1, J_r^-1] are

    -J_l^-1 = [[W/2 - P, V/2 - M], [0, W/2 - P]],   J_r^-1 = [[W/2 + P, V/2 + M], [0, W/2 + P]]

and the geometric parts, the derivatives by d of J_l^-T s and J_r^-T s at fixed stress s = (f, m),
are [[0, X], [X, Y]] with X = X0 -+ F/2 (F the cross matrix of f), Y = Y0 -+ (that of m)/2, upper
signs for J_l.
Every array is flat, a row of eight lanes per number, so that the compiler turns each inner loop
into vector instructions; `lanes` is an argument, because a trip count known at compile time is
unrolled into scalar instructions instead.
Below v [m], w [rad] are d; f [N], m [N m] a stress; k a lane; lanes LANES; others: `ElementLanes`.

Source: Magisano, Leonetti and Garcea (2017) for the stress as an unknown (mixed integration
point); B and the tangent are derived here, checked by differences in test_network_kernels.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import fused_kernel, merged_kernel
from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.models.network.kernels.element_strain_kernels import (
    ENDS,
    GAP,
    GIVEN,
    HELD,
    LANES,
    large_turn,
    RELATIVE,
    relative_poses,
    SERIES,
    SMALL_TURN,
    small_turns,
    STIFF,
    stresses,
    TURN,
    TWIST,
)
from soro_mechanics.numerics.vector_kernels import (
    cross,
    dot,
    each,
    minus,
    number_at,
    plus,
    plus_cross,
    plus_dot,
    put_number,
    put_vector,
    times,
    vector_at,
)

# Rows of `half`: the blocks (3, 3) of B: -J_l^-1 diagonal, -J_l^-1 corner, J_r^-1 likewise.
CORNER, RIGHT, RIGHT_CORNER = 9 * LANES, 18 * LANES, 27 * LANES
HALF = 36 * LANES
# Rows of `geometry`: X0, Y0 and the cross matrices F/2, that of m/2.
Y0, F2, M2 = 9 * LANES, 18 * LANES, 27 * LANES
GEOMETRY = 36 * LANES
FACTOR = 72 * LANES  # (12, 6), rows first
TANGENT = 144 * LANES  # (12, 12)
FORCE = 24 * LANES  # of the held stress (12), of the elastic one (12)


@by_reference
class ElementLanes(NamedTuple):
    """Arrays of eight elements; their rows are named above."""

    ends: NDArray[np.float64]
    relative: NDArray[np.float64]
    twist: NDArray[np.float64]
    given: NDArray[np.float64]
    half: NDArray[np.float64]
    geometry: NDArray[np.float64]
    factor: NDArray[np.float64]
    tangent: NDArray[np.float64]
    force: NDArray[np.float64]


def new_element_lanes() -> ElementLanes:
    """Return arrays in which no lane is singular."""
    sizes = (ENDS, RELATIVE, TWIST, GIVEN, HALF, GEOMETRY, FACTOR, TANGENT, FORCE)
    return ElementLanes(*(np.ones(n) for n in sizes))


@merged_kernel
def _hats(a, b):
    """Return hat(a) hat(b) + hat(b) hat(a) = a b' + b a' - 2 a.b: diagonal, rest (12, 02, 01)."""
    x, y, z = each(a, b)
    rest = a[1] * b[2] + a[2] * b[1], a[0] * b[2] + a[2] * b[0], a[0] * b[1] + a[1] * b[0]
    return times(-2.0, (y + z, x + z, x + y)), rest


@merged_kernel
def _put_pair(half, left, right, diagonal, rest, h):
    """Write (3, 3) hat(h) - S at `left` of half, hat(h) + S at `right`.

    S symmetric: diagonal and rest as from `_hats`; left, right: lane and first row of a block.
    """
    x, y, z = diagonal
    a, b, c = rest
    put_vector(half, left, 8, (-x, -h[2] - c, h[1] - b))
    put_vector(half, left + 24, 8, (h[2] - c, -y, -h[0] - a))
    put_vector(half, left + 48, 8, (-h[1] - b, h[0] - a, -z))
    put_vector(half, right, 8, (x, c - h[2], b + h[1]))
    put_vector(half, right + 24, 8, (c + h[2], y, a - h[0]))
    put_vector(half, right + 48, 8, (b - h[1], a + h[0], z))


@fused_kernel
def _operators(twist, half, lanes):
    """Write the blocks W/2 -+ P and V/2 -+ M of B to half; twist: v, w, b, b'; lanes: LANES."""
    for k in range(lanes):
        v, w, b = vector_at(twist, k, 8), vector_at(twist, 24 + k, 8), number_at(twist, SERIES + k)
        t = number_at(twist, SERIES + 8 + k) * dot(w, v)
        square, mixed = _hats(w, w)  # twice W^2
        diagonal, rest = times(0.5 * b, square), times(0.5 * b, mixed)
        _put_pair(half, k, RIGHT + k, plus((1.0, 1.0, 1.0), diagonal), rest, times(0.5, w))
        diagonal, rest = _hats(v, w)
        diagonal = plus(times(t, square), times(b, diagonal))
        rest = plus(times(t, mixed), times(b, rest))
        _put_pair(half, CORNER + k, RIGHT_CORNER + k, diagonal, rest, times(0.5, v))


@fused_kernel
def _first(twist, given, stress, out, block, lanes):
    """Write b (w . x - hat(w x x) - x w^T) + 2 b' (w x (w x x)) w^T and hat(x) / 2.

    The first is d(P x)/dw: X0 of a force, a part of Y0 of a moment. twist, given, lanes: above; x
    [N or N m] begins at `stress` in given; out (GEOMETRY,): geometry, from `block` and F2 + block.
    """
    for k in range(lanes):
        w, x = vector_at(twist, 24 + k, 8), vector_at(given, stress + k, 8)
        b, c = number_at(twist, SERIES + k), cross(w, x)
        # columns are multiples of w but for the hat: (t e - b x) w^T
        y = minus(times(2.0 * number_at(twist, SERIES + 8 + k), cross(w, c)), times(b, x))
        d, c, h = b * dot(w, x), times(b, c), times(0.5, x)
        put_vector(out, block + k, 8, plus((d, c[2], -c[1]), times(y[0], w)))
        put_vector(out, block + 24 + k, 8, plus((-c[2], d, c[0]), times(y[1], w)))
        put_vector(out, block + 48 + k, 8, plus((c[1], -c[0], d), times(y[2], w)))
        put_vector(out, F2 + block + k, 8, (0.0, -h[2], h[1]))
        put_vector(out, F2 + block + 24 + k, 8, (h[2], 0.0, -h[0]))
        put_vector(out, F2 + block + 48 + k, 8, (-h[1], h[0], 0.0))


@merged_kernel
def _add_row(out, at, row, sizes, vectors):
    """Add row + sizes (3,) times vectors (3, 3) to the vector (3,) that begins at `at` in out."""
    row = plus(row, plus(times(sizes[0], vectors[0]), times(sizes[1], vectors[1])))
    row = plus(row, times(sizes[2], vectors[2]))
    put_vector(out, at, 8, plus(vector_at(out, at, 8), row))


@fused_kernel
def _second(twist, given, out, lanes):
    """Add d(M x)/dw at the held force x to Y0 in out (GEOMETRY,); twist, given, lanes: above."""
    for k in range(lanes):
        v, w = vector_at(twist, k, 8), vector_at(twist, 24 + k, 8)
        x = vector_at(given, HELD + k, 8)
        b, t = number_at(twist, SERIES + k), 2.0 * number_at(twist, SERIES + 8 + k)
        wv = dot(w, v)
        k0 = t * wv
        c, a = cross(w, x), cross(v, x)
        e = cross(w, c)
        q = minus(times(t, plus_cross(cross(v, c), w, a)), times(k0, x))
        u = plus(times(t, v), times(4.0 * number_at(twist, SERIES + 16 + k) * wv, w))
        d = b * dot(v, x) + k0 * dot(w, x)
        h = plus(times(b, a), times(k0, c))
        y, vectors = times(-b, x), (v, u, w)
        _add_row(out, Y0 + k, (d, h[2], -h[1]), (y[0], e[0], q[0]), vectors)
        _add_row(out, Y0 + 24 + k, (-h[2], d, h[0]), (y[1], e[1], q[1]), vectors)
        _add_row(out, Y0 + 48 + k, (h[1], -h[0], d), (y[2], e[2], q[2]), vectors)


@fused_kernel
def _factor(ends, half, geometry, factor, lanes):
    """Write (12, 6) what multiplies B from the left: B^T K plus the geometric part.

    Of rows of J_l: -[[0, X], [X, Y]], of J_r the same with +. ends give K; half, geometry: of
    `_operators`, `_first`, `_second`; factor (FACTOR,): out; lanes: LANES.
    """
    for i in range(3):
        o = 8 * i
        for j in range(6):
            column = STIFF + 8 * j
            into = 48 * i + 8 * j
            for k in range(lanes):
                pull, bend = vector_at(ends, column + k, 48), vector_at(ends, column + 144 + k, 48)
                a, r = vector_at(half, o + k, 24), vector_at(half, RIGHT + o + k, 24)
                put_number(factor, into + k, dot(a, pull))
                corner = dot(vector_at(half, CORNER + o + k, 24), pull)
                put_number(factor, into + 144 + k, plus_dot(corner, a, bend))
                put_number(factor, into + 288 + k, dot(r, pull))
                corner = dot(vector_at(half, RIGHT_CORNER + o + k, 24), pull)
                put_number(factor, into + 432 + k, plus_dot(corner, r, bend))
    for i in range(3):
        for j in range(3):
            here = 8 * (3 * i + j)
            left = 48 * i + 8 * j
            for k in range(lanes):
                x = geometry[here + k]
                y = geometry[Y0 + here + k]
                f = geometry[F2 + here + k]
                m = geometry[M2 + here + k]
                # the left half takes its geometric part with the sign of -J_l^-1
                factor[left + 24 + k] += f - x
                factor[left + 144 + k] += f - x
                factor[left + 168 + k] += m - y
                factor[left + 312 + k] += f + x
                factor[left + 432 + k] += f + x
                factor[left + 456 + k] += m + y


@fused_kernel
def _product(factor, half, out, rows, lanes):
    """Write so many rows of six numbers times B: out (rows, 12) = factor (rows, 6) B.

    half: blocks of B, of which the zero one is skipped; lanes: LANES.
    """
    for i in range(rows):
        row = 48 * i
        into = 96 * i
        for j in range(3):
            o = 8 * j
            for k in range(lanes):
                f, m = vector_at(factor, row + k, 8), vector_at(factor, row + 24 + k, 8)
                a, r = vector_at(half, o + k, 24), vector_at(half, RIGHT + o + k, 24)
                put_number(out, into + o + k, dot(f, a))
                put_number(out, into + 48 + o + k, dot(f, r))
                corner = dot(f, vector_at(half, CORNER + o + k, 24))
                put_number(out, into + 24 + o + k, plus_dot(corner, m, a))
                corner = dot(f, vector_at(half, RIGHT_CORNER + o + k, 24))
                put_number(out, into + 72 + o + k, plus_dot(corner, m, r))


@merged_kernel
def compute_elements(a, scratch, lanes):
    """Compute eight elements from what `fill_element` left in `a`: twist to tangent and forces.

    a: ElementLanes, out: all but ends; scratch (5, 6); lanes: LANES. `tangent` is B^T K B and the
    geometric part [N/m, N, N m], `force` B^T s of the held stress and B^T K e [N, N m].
    """
    relative_poses(a.ends, a.relative, lanes)
    small_turns(a.relative, a.twist, lanes)
    for k in range(lanes):
        if not a.twist[TURN + k] < SMALL_TURN:
            large_turn(a.relative, k, scratch[0:4, 0:4], scratch[4], a.twist)
    stresses(a.ends, a.twist, a.given, lanes)
    _operators(a.twist, a.half, lanes)
    _first(a.twist, a.given, HELD, a.geometry, 0, lanes)
    _first(a.twist, a.given, HELD + 24, a.geometry, Y0, lanes)
    _second(a.twist, a.given, a.geometry, lanes)
    _factor(a.ends, a.half, a.geometry, a.factor, lanes)
    _product(a.factor, a.half, a.tangent, 12, lanes)
    _product(a.given, a.half, a.force, 2, lanes)


@merged_kernel
def take_strain(half, k, strain):
    """Write B (6, 12) of lane k of half to strain; its zero blocks are not written."""
    for i in range(3):
        for j in range(3):
            o = 8 * (3 * i + j) + k
            strain[i, j] = strain[3 + i, 3 + j] = half[o]
            strain[i, 3 + j] = half[CORNER + o]
            strain[i, 6 + j] = strain[3 + i, 9 + j] = half[RIGHT + o]
            strain[i, 9 + j] = half[RIGHT_CORNER + o]


@merged_kernel
def take_elements(count, a, piece, w):
    """Read the results of the first lanes.

    count: lanes to read; a: ElementLanes; piece (8,): where the results of each lane belong;
    w: Work, out: twist, closure (twist that the held stress lacks), strain (B, its zero blocks are
    not written), tangent, force (of K e) and raw (of the held stress).
    """
    for k in range(count):
        p = piece[k]
        take_strain(a.half, k, w.strain[p])
        for i in range(6):
            w.twist[p, i] = a.twist[8 * i + k]
            w.closure[p, i] = a.given[GAP + 8 * i + k]
        for i in range(12):
            w.raw[p, i] = a.force[8 * i + k]
            w.force[p, i] = a.force[96 + 8 * i + k]
            for j in range(12):
                w.tangent[p, i, j] = a.tangent[96 * i + 8 * j + k]
