# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The closed forms of the constant-curvature arm for many samples at once."""

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.constant_curvature.kernels import arc_pose, arc_through


@kernel
def forward_batch(lengths, to_arc, poses):
    """Write poses (n, 4, 4) of actuator lengths (n, 3); `to_arc` (3, 3) maps lengths to x."""
    for i in range(lengths.shape[0]):
        l0 = lengths[i, 0]
        l1 = lengths[i, 1]
        l2 = lengths[i, 2]
        u = to_arc[0, 0] * l0 + to_arc[0, 1] * l1 + to_arc[0, 2] * l2
        v = to_arc[1, 0] * l0 + to_arc[1, 1] * l1 + to_arc[1, 2] * l2
        s = to_arc[2, 0] * l0 + to_arc[2, 1] * l1 + to_arc[2, 2] * l2
        arc_pose(u, v, s, poses[i])


@kernel
def inverse_batch(points, to_lengths, lengths):
    """Write actuator lengths (n, 3) that bring the tip to points (n, 3)."""
    for i in range(points.shape[0]):
        u, v, s = arc_through(points[i, 0], points[i, 1], points[i, 2])
        for j in range(3):
            lengths[i, j] = to_lengths[j, 0] * u + to_lengths[j, 1] * v + to_lengths[j, 2] * s
