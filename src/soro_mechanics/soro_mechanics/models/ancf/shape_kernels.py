# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of poses along a leg, eqs (5) and (13), with the project's local z along the rod."""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.numerics.vector_kernels import cross, dot, minus, plus, times, vector_at


@merged_kernel
def shapes(t, length):
    """Return the shape functions of (r1, x1, r2, x2) at X = t L, eq (7), and their slopes."""
    s1 = 1.0 - 3.0 * t * t + 2.0 * t**3
    c0 = 6.0 * t * (1.0 - t) / length
    slopes = -c0, 1.0 - 4.0 * t + 3.0 * t * t, c0, 3.0 * t * t - 2.0 * t
    return (s1, (t - 2.0 * t * t + t**3) * length, 1.0 - s1, (t**3 - t * t) * length), slopes


@merged_kernel
def _blended(weights, q1, q2):
    """Return the sum of (r1, x1, r2, x2), each with its weight."""
    first = plus(times(weights[0], vector_at(q1, 0, 1)), times(weights[1], vector_at(q1, 3, 1)))
    last = plus(times(weights[2], vector_at(q2, 0, 1)), times(weights[3], vector_at(q2, 3, 1)))
    return plus(first, last)


@kernel
def station(q1, q2, length, t, pose):
    """Write the pose (4, 4) at X = t L of an element, t in [0, 1].

    Returns how long r_X is, and how long Y is across it and along.
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
    """Write poses (legs, elements * per_element + 1, 4, 4) along every leg."""
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
    """Write the twist (6, 24) of a station, linear first, base axes, per element coordinate."""
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
