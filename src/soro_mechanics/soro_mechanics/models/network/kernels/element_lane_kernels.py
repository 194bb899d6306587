# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The two-node geometrically exact element; eight at once.

d = log(g_a^-1 g_b), e = d - h e0, energy 1/2 e^T K e, with K of the length h and the section from
`element_flexibility_kernels`: of fourth order in h but for what the load turns out of a plane.
With body variations dd = B (eta_a, eta_b), B = [-J_l^-1(d), J_r^-1(d)]: force B^T K e and tangent
B^T K B + (d/dd of B^T s at fixed stress s) B. The tangent is exact, so it is not symmetric
away from equilibrium. Only differences of frames count, so it does not matter where the rod is.

Newton uses the stress as an unknown of its own (the mixed integration point of Magisano, Leonetti
and Garcea 2017): the geometric part, and the residual that guards the steps, take a stress that
follows the linearised law, not K e, whose axial part is huge after any turn of a thin rod.
Solutions are the same; the number of iterations is not (705 became 8 for a steel wire bent by
45 deg).

With d = (v, w), P = 1 + b W^2 and M = b (W V + V W) + 2 b' (w . v) W^2 the two halves of
B = [-J_l^-1, J_r^-1] are

    -J_l^-1 = [[W/2 - P, V/2 - M], [0, W/2 - P]],   J_r^-1 = [[W/2 + P, V/2 + M], [0, W/2 + P]]

and the geometric parts, the derivatives by d of J_l^-T s and J_r^-T s at fixed stress s = (f, m),
are [[0, X], [X, Y]] with X = X0 -+ F/2 (F the cross matrix of f), Y = Y0 -+ (that of m)/2, upper
signs for J_l.
Every array is flat, a row of eight lanes per number, so that the compiler turns each inner loop
into vector instructions (see `lane_kernels`; `lanes` is an argument for the reason given there).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.models.network.kernels.element_strain_kernels import (
    ENDS,
    GAP,
    GIVEN,
    HELD,
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
from soro_mechanics.models.network.kernels.lane_kernels import LANES
from soro_mechanics.numerics.kernels import fused_kernel, merged_kernel
from soro_mechanics.numerics.kernels_by_reference import by_reference

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


@fused_kernel
def _operators(twist, half, lanes):
    """Write the blocks of B."""
    for k in range(lanes):
        v0 = twist[k]
        v1 = twist[8 + k]
        v2 = twist[16 + k]
        w0 = twist[24 + k]
        w1 = twist[32 + k]
        w2 = twist[40 + k]
        b = twist[SERIES + k]
        t = 2.0 * twist[SERIES + 8 + k] * (w0 * v0 + w1 * v1 + w2 * v2)
        s00 = -(w1 * w1 + w2 * w2)
        s11 = -(w0 * w0 + w2 * w2)
        s22 = -(w0 * w0 + w1 * w1)
        s01 = w0 * w1
        s02 = w0 * w2
        s12 = w1 * w2
        p00 = 1.0 + b * s00
        p11 = 1.0 + b * s11
        p22 = 1.0 + b * s22
        p01 = b * s01
        p02 = b * s02
        p12 = b * s12
        m00 = t * s00 - 2.0 * b * (v1 * w1 + v2 * w2)
        m11 = t * s11 - 2.0 * b * (v0 * w0 + v2 * w2)
        m22 = t * s22 - 2.0 * b * (v0 * w0 + v1 * w1)
        m01 = t * s01 + b * (v0 * w1 + w0 * v1)
        m02 = t * s02 + b * (v0 * w2 + w0 * v2)
        m12 = t * s12 + b * (v1 * w2 + w1 * v2)
        h0 = 0.5 * w0
        h1 = 0.5 * w1
        h2 = 0.5 * w2
        half[k] = -p00
        half[8 + k] = -h2 - p01
        half[16 + k] = h1 - p02
        half[24 + k] = h2 - p01
        half[32 + k] = -p11
        half[40 + k] = -h0 - p12
        half[48 + k] = -h1 - p02
        half[56 + k] = h0 - p12
        half[64 + k] = -p22
        half[RIGHT + k] = p00
        half[RIGHT + 8 + k] = p01 - h2
        half[RIGHT + 16 + k] = p02 + h1
        half[RIGHT + 24 + k] = p01 + h2
        half[RIGHT + 32 + k] = p11
        half[RIGHT + 40 + k] = p12 - h0
        half[RIGHT + 48 + k] = p02 - h1
        half[RIGHT + 56 + k] = p12 + h0
        half[RIGHT + 64 + k] = p22
        h0 = 0.5 * v0
        h1 = 0.5 * v1
        h2 = 0.5 * v2
        half[CORNER + k] = -m00
        half[CORNER + 8 + k] = -h2 - m01
        half[CORNER + 16 + k] = h1 - m02
        half[CORNER + 24 + k] = h2 - m01
        half[CORNER + 32 + k] = -m11
        half[CORNER + 40 + k] = -h0 - m12
        half[CORNER + 48 + k] = -h1 - m02
        half[CORNER + 56 + k] = h0 - m12
        half[CORNER + 64 + k] = -m22
        half[RIGHT_CORNER + k] = m00
        half[RIGHT_CORNER + 8 + k] = m01 - h2
        half[RIGHT_CORNER + 16 + k] = m02 + h1
        half[RIGHT_CORNER + 24 + k] = m01 + h2
        half[RIGHT_CORNER + 32 + k] = m11
        half[RIGHT_CORNER + 40 + k] = m12 - h0
        half[RIGHT_CORNER + 48 + k] = m02 - h1
        half[RIGHT_CORNER + 56 + k] = m12 + h0
        half[RIGHT_CORNER + 64 + k] = m22


@fused_kernel
def _first(twist, given, stress, out, block, lanes):
    """Write b (w . x - hat(w x x) - x w^T) + 2 b' (w x (w x x)) w^T and hat(x) / 2."""
    for k in range(lanes):
        w0 = twist[24 + k]
        w1 = twist[32 + k]
        w2 = twist[40 + k]
        x0 = given[stress + k]
        x1 = given[stress + 8 + k]
        x2 = given[stress + 16 + k]
        b = twist[SERIES + k]
        t = 2.0 * twist[SERIES + 8 + k]
        c0 = w1 * x2 - w2 * x1
        c1 = w2 * x0 - w0 * x2
        c2 = w0 * x1 - w1 * x0
        # columns are multiples of w but for the hat: (t e - b x) w^T
        y0 = t * (w1 * c2 - w2 * c1) - b * x0
        y1 = t * (w2 * c0 - w0 * c2) - b * x1
        y2 = t * (w0 * c1 - w1 * c0) - b * x2
        dot = b * (w0 * x0 + w1 * x1 + w2 * x2)
        c0 *= b
        c1 *= b
        c2 *= b
        out[block + k] = y0 * w0 + dot
        out[block + 8 + k] = y0 * w1 + c2
        out[block + 16 + k] = y0 * w2 - c1
        out[block + 24 + k] = y1 * w0 - c2
        out[block + 32 + k] = y1 * w1 + dot
        out[block + 40 + k] = y1 * w2 + c0
        out[block + 48 + k] = y2 * w0 + c1
        out[block + 56 + k] = y2 * w1 - c0
        out[block + 64 + k] = y2 * w2 + dot
        out[F2 + block + k] = 0.0
        out[F2 + block + 8 + k] = -0.5 * x2
        out[F2 + block + 16 + k] = 0.5 * x1
        out[F2 + block + 24 + k] = 0.5 * x2
        out[F2 + block + 32 + k] = 0.0
        out[F2 + block + 40 + k] = -0.5 * x0
        out[F2 + block + 48 + k] = -0.5 * x1
        out[F2 + block + 56 + k] = 0.5 * x0
        out[F2 + block + 64 + k] = 0.0


@fused_kernel
def _second(twist, given, out, lanes):
    """Add to Y0 the derivative by w of X v, of the force x."""
    for k in range(lanes):
        v0 = twist[k]
        v1 = twist[8 + k]
        v2 = twist[16 + k]
        w0 = twist[24 + k]
        w1 = twist[32 + k]
        w2 = twist[40 + k]
        x0 = given[HELD + k]
        x1 = given[HELD + 8 + k]
        x2 = given[HELD + 16 + k]
        b = twist[SERIES + k]
        t = 2.0 * twist[SERIES + 8 + k]
        wv = w0 * v0 + w1 * v1 + w2 * v2
        k0 = t * wv
        k2 = 4.0 * twist[SERIES + 16 + k] * wv
        c0 = w1 * x2 - w2 * x1
        c1 = w2 * x0 - w0 * x2
        c2 = w0 * x1 - w1 * x0
        a0 = v1 * x2 - v2 * x1
        a1 = v2 * x0 - v0 * x2
        a2 = v0 * x1 - v1 * x0
        e0 = w1 * c2 - w2 * c1
        e1 = w2 * c0 - w0 * c2
        e2 = w0 * c1 - w1 * c0
        q0 = t * (v1 * c2 - v2 * c1 + w1 * a2 - w2 * a1) - k0 * x0
        q1 = t * (v2 * c0 - v0 * c2 + w2 * a0 - w0 * a2) - k0 * x1
        q2 = t * (v0 * c1 - v1 * c0 + w0 * a1 - w1 * a0) - k0 * x2
        u0 = t * v0 + k2 * w0
        u1 = t * v1 + k2 * w1
        u2 = t * v2 + k2 * w2
        dot = b * (v0 * x0 + v1 * x1 + v2 * x2) + k0 * (w0 * x0 + w1 * x1 + w2 * x2)
        h0 = b * a0 + k0 * c0
        h1 = b * a1 + k0 * c1
        h2 = b * a2 + k0 * c2
        bx0 = b * x0
        bx1 = b * x1
        bx2 = b * x2
        out[Y0 + k] += dot - bx0 * v0 + e0 * u0 + q0 * w0
        out[Y0 + 8 + k] += h2 - bx0 * v1 + e0 * u1 + q0 * w1
        out[Y0 + 16 + k] += -h1 - bx0 * v2 + e0 * u2 + q0 * w2
        out[Y0 + 24 + k] += -h2 - bx1 * v0 + e1 * u0 + q1 * w0
        out[Y0 + 32 + k] += dot - bx1 * v1 + e1 * u1 + q1 * w1
        out[Y0 + 40 + k] += h0 - bx1 * v2 + e1 * u2 + q1 * w2
        out[Y0 + 48 + k] += h1 - bx2 * v0 + e2 * u0 + q2 * w0
        out[Y0 + 56 + k] += -h0 - bx2 * v1 + e2 * u1 + q2 * w1
        out[Y0 + 64 + k] += dot - bx2 * v2 + e2 * u2 + q2 * w2


@fused_kernel
def _factor(ends, half, geometry, factor, lanes):
    """Write B^T K plus the geometric part: what multiplies B from the left."""
    for i in range(3):
        o = 8 * i
        for j in range(6):
            column = STIFF + 8 * j
            into = 48 * i + 8 * j
            for k in range(lanes):
                k0 = ends[column + k]
                k1 = ends[column + 48 + k]
                k2 = ends[column + 96 + k]
                k3 = ends[column + 144 + k]
                k4 = ends[column + 192 + k]
                k5 = ends[column + 240 + k]
                a0 = half[o + k]
                a1 = half[o + 24 + k]
                a2 = half[o + 48 + k]
                factor[into + k] = a0 * k0 + a1 * k1 + a2 * k2
                factor[into + 144 + k] = (
                    half[CORNER + o + k] * k0
                    + half[CORNER + o + 24 + k] * k1
                    + half[CORNER + o + 48 + k] * k2
                    + a0 * k3
                    + a1 * k4
                    + a2 * k5
                )
                a0 = half[RIGHT + o + k]
                a1 = half[RIGHT + o + 24 + k]
                a2 = half[RIGHT + o + 48 + k]
                factor[into + 288 + k] = a0 * k0 + a1 * k1 + a2 * k2
                factor[into + 432 + k] = (
                    half[RIGHT_CORNER + o + k] * k0
                    + half[RIGHT_CORNER + o + 24 + k] * k1
                    + half[RIGHT_CORNER + o + 48 + k] * k2
                    + a0 * k3
                    + a1 * k4
                    + a2 * k5
                )
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
    """Write so many rows of six numbers times B."""
    for i in range(rows):
        row = 48 * i
        into = 96 * i
        for j in range(3):
            first = 8 * j
            for k in range(lanes):
                f0 = factor[row + k]
                f1 = factor[row + 8 + k]
                f2 = factor[row + 16 + k]
                f3 = factor[row + 24 + k]
                f4 = factor[row + 32 + k]
                f5 = factor[row + 40 + k]
                a0 = half[first + k]
                a1 = half[first + 24 + k]
                a2 = half[first + 48 + k]
                r0 = half[RIGHT + first + k]
                r1 = half[RIGHT + first + 24 + k]
                r2 = half[RIGHT + first + 48 + k]
                out[into + first + k] = f0 * a0 + f1 * a1 + f2 * a2
                out[into + 48 + first + k] = f0 * r0 + f1 * r1 + f2 * r2
                out[into + 24 + first + k] = (
                    f0 * half[CORNER + first + k]
                    + f1 * half[CORNER + first + 24 + k]
                    + f2 * half[CORNER + first + 48 + k]
                    + f3 * a0
                    + f4 * a1
                    + f5 * a2
                )
                out[into + 72 + first + k] = (
                    f0 * half[RIGHT_CORNER + first + k]
                    + f1 * half[RIGHT_CORNER + first + 24 + k]
                    + f2 * half[RIGHT_CORNER + first + 48 + k]
                    + f3 * r0
                    + f4 * r1
                    + f5 * r2
                )


@merged_kernel
def compute_elements(a, scratch, lanes):
    """Compute eight elements from what `fill_element` left in `a`.

    Parameters
    ----------
    a : ElementLanes
    scratch : ndarray, shape (5, 6)
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
def take_elements(count, a, piece, w):
    """Read the results of the first lanes.

    Parameters
    ----------
    count : int
        Lanes to read.
    piece : ndarray, shape (8,)
        Where the results of each lane belong.
    w : Work
        Out: twist, closure (twist that the held stress lacks), strain (B, its zero blocks are not
        written), tangent, force (of K e) and raw (of the held stress).
    """
    for k in range(count):
        p = piece[k]
        strain = w.strain[p]
        for i in range(6):
            w.twist[p, i] = a.twist[8 * i + k]
            w.closure[p, i] = a.given[GAP + 8 * i + k]
        for i in range(3):
            for j in range(3):
                o = 8 * (3 * i + j) + k
                strain[i, j] = a.half[o]
                strain[3 + i, 3 + j] = a.half[o]
                strain[i, 3 + j] = a.half[CORNER + o]
                strain[i, 6 + j] = a.half[RIGHT + o]
                strain[3 + i, 9 + j] = a.half[RIGHT + o]
                strain[i, 9 + j] = a.half[RIGHT_CORNER + o]
        for i in range(12):
            w.raw[p, i] = a.force[8 * i + k]
            w.force[p, i] = a.force[96 + 8 * i + k]
            for j in range(12):
                w.tangent[p, i, j] = a.tangent[96 * i + 8 * j + k]
