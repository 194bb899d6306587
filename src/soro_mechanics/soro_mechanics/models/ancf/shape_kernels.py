# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of poses along a leg, eqs (5) and (13), with the project's local z along the rod.

Source: Huang (2022), IEEE Trans. Robotics, eqs (5), (7) (s_2 ends in X^3 / L^2, not 2 X^3 / L^2 as
printed), (13); twists derived here, checked by differences in test_ancf_element.py. q1, q2: nodes.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.numerics.vector_kernels import cross, dot, minus, plus, times, vector_at


@merged_kernel
def shapes(t, length):
    """Return the shape functions of (r1, x1, r2, x2) at X = t length, eq (7), and their d/dX."""
    s1 = 1.0 - 3.0 * t * t + 2.0 * t**3
    c0 = 6.0 * t * (1.0 - t) / length
    slopes = -c0, 1.0 - 4.0 * t + 3.0 * t * t, c0, 3.0 * t * t - 2.0 * t
    return (s1, (t - 2.0 * t * t + t**3) * length, 1.0 - s1, (t**3 - t * t) * length), slopes


@merged_kernel
def _blended(weights, q1, q2):
    """Return weights[0] r1 + weights[1] x1 + weights[2] r2 + weights[3] x2 of q1, q2 (12,)."""
    first = plus(times(weights[0], vector_at(q1, 0, 1)), times(weights[1], vector_at(q1, 3, 1)))
    last = plus(times(weights[2], vector_at(q2, 0, 1)), times(weights[3], vector_at(q2, 3, 1)))
    return plus(first, last)


@kernel
def station(q1, q2, length, t, pose):
    """Write the pose (4, 4) at X = t length of q1, q2; return |r_X|, and Y across it and along.

    z = r_X / |r_X|, x = Y less its part along z, normalised, y = z x x; Y = (1 - t) y1 + t y2.
    """
    weights, slopes = shapes(t, length)
    position, slope = _blended(weights, q1, q2), _blended(slopes, q1, q2)
    speed = math.sqrt(dot(slope, slope))
    z = times(1.0 / speed, slope)
    x = plus(times(1.0 - t, vector_at(q1, 6, 1)), times(t, vector_at(q2, 6, 1)))
    along = dot(z, x)
    x = minus(x, times(along, z))
    across = math.sqrt(dot(x, x))
    x = times(1.0 / across, x)
    y = cross(z, x)
    for i in range(3):
        pose[i, 0], pose[i, 1], pose[i, 2], pose[i, 3] = x[i], y[i], z[i], position[i]
        pose[3, i] = 0.0
    pose[3, 3] = 1.0
    return speed, across, along


@kernel
def leg_poses(nodes, stretch, rest, per_element, poses):
    """Write poses (legs, k, 4, 4): per_element stations of nodes' elements, L = stretch rest."""
    elements = nodes.shape[1] - 1
    for leg in range(nodes.shape[0]):
        length = stretch[leg] * rest
        for e in range(elements):
            first, second = nodes[leg, e], nodes[leg, e + 1]
            for k in range(per_element + (e == elements - 1)):
                pose = poses[leg, e * per_element + k]
                station(first, second, length, k / per_element, pose)


@kernel
def station_motion(q1, q2, length, t, motion):
    """Write motion (6, 24): twist of `station` (q1, q2, length, t) by q, linear first, base axes.

    v = sum s_i dq_i; om = z x dz + z (dx . y), dz = (1 - z z^T) dr_X / |r_X|, dx . y = (dY -
    (Y . z) dz) . y over how long Y is across z.
    """
    pose = np.empty((4, 4))
    speed, across, along = station(q1, q2, length, t, pose)
    shape, slopes = shapes(t, length)
    at = (0, 3, 12, 15)
    motion[:] = 0.0
    for k in range(4):
        for i in range(3):
            motion[i, at[k] + i] = shape[k]
        # turn of the tangent: z x dz, and the spin that keeps x in the plane of Y and z
        for j in range(3):
            col = at[k] + j
            scale = slopes[k] / speed
            motion[3 + (j + 1) % 3, col] = scale * pose[(j + 2) % 3, 2]
            motion[3 + (j + 2) % 3, col] = -scale * pose[(j + 1) % 3, 2]
            spin = -along * pose[j, 1] / across * scale
            for i in range(3):
                motion[3 + i, col] += pose[i, 2] * spin
    for j in range(3):
        for i in range(3):
            spin = pose[i, 2] * pose[j, 1] / across
            motion[3 + i, 6 + j] = (1.0 - t) * spin
            motion[3 + i, 18 + j] = t * spin
