# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of poses along a leg, eqs (5) and (13), with the project's local z along the rod."""

import math

import numpy as np

from soro_mechanics.numerics.kernels import kernel


@kernel
def station(q1, q2, length, t, pose, slope):
    """Write the pose (4, 4) at X = t L of an element and r_X (3,); t in [0, 1]."""
    s1 = 1.0 - 3.0 * t * t + 2.0 * t**3
    s2 = (t - 2.0 * t * t + t**3) * length
    s6 = (t**3 - t * t) * length
    c0 = 6.0 * t * (1.0 - t) / length
    c1 = 1.0 - 4.0 * t + 3.0 * t * t
    c2 = 3.0 * t * t - 2.0 * t
    norm = along = 0.0
    for i in range(3):
        pose[i, 3] = s1 * q1[i] + (1.0 - s1) * q2[i] + s2 * q1[3 + i] + s6 * q2[3 + i]
        slope[i] = c0 * (q2[i] - q1[i]) + c1 * q1[3 + i] + c2 * q2[3 + i]
        norm += slope[i] * slope[i]
    norm = math.sqrt(norm)
    for i in range(3):
        pose[i, 2] = slope[i] / norm
        along += pose[i, 2] * ((1.0 - t) * q1[6 + i] + t * q2[6 + i])
    norm = 0.0
    for i in range(3):
        pose[i, 0] = (1.0 - t) * q1[6 + i] + t * q2[6 + i] - along * pose[i, 2]
        norm += pose[i, 0] * pose[i, 0]
    norm = math.sqrt(norm)
    for i in range(3):
        pose[i, 0] /= norm
    pose[0, 1] = pose[1, 2] * pose[2, 0] - pose[2, 2] * pose[1, 0]
    pose[1, 1] = pose[2, 2] * pose[0, 0] - pose[0, 2] * pose[2, 0]
    pose[2, 1] = pose[0, 2] * pose[1, 0] - pose[1, 2] * pose[0, 0]
    pose[3, 0] = pose[3, 1] = pose[3, 2] = 0.0
    pose[3, 3] = 1.0
    return norm, along


@kernel
def leg_poses(nodes, stretch, rest, per_element, poses):
    """Write poses (legs, elements * per_element + 1, 4, 4) along every leg."""
    slope = np.empty(3)
    elements = nodes.shape[1] - 1
    for leg in range(nodes.shape[0]):
        length = stretch[leg] * rest
        for e in range(elements):
            first, second = nodes[leg, e], nodes[leg, e + 1]
            for k in range(per_element + (e == elements - 1)):
                pose = poses[leg, e * per_element + k]
                station(first, second, length, k / per_element, pose, slope)


@kernel
def station_motion(q1, q2, length, t, motion):
    """Write the twist (6, 24) of a station, linear first, base axes, per element coordinate."""
    pose = np.empty((4, 4))
    slope = np.empty(3)
    across, along = station(q1, q2, length, t, pose, slope)
    s1 = 1.0 - 3.0 * t * t + 2.0 * t**3
    c0 = 6.0 * t * (1.0 - t) / length
    shape = (s1, (t - 2.0 * t * t + t**3) * length, 1.0 - s1, (t**3 - t * t) * length)
    slopes = (-c0, 1.0 - 4.0 * t + 3.0 * t * t, c0, 3.0 * t * t - 2.0 * t)
    at = (0, 3, 12, 15)
    motion[:] = 0.0
    speed = math.sqrt(slope[0] ** 2 + slope[1] ** 2 + slope[2] ** 2)
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
