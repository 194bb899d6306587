# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a tip (4, 4) lacks of its target, and how actuations and steps change that.

The number of a task's rows, 3, 5 or 6, says which task it is; near [m], turn [rad]: their units.

Source: derived here, rows checked by differences in test_inverse.py; Broyden (1965), Mathematics
of Computation 19.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.numerics.lie_kernels import pose_error
from soro_mechanics.numerics.vector_kernels import column_at, cross, dot, in_axes, minus, times


@kernel
def axis_turn(tip, target):
    """Return the shortest turn (3,) [rad] of a tip's z axis to a target's, base axes."""
    now, wanted = column_at(tip, 0, 2), column_at(target, 0, 2)
    axis = cross(now, wanted)
    sine = math.sqrt(dot(axis, axis))
    angle = math.atan2(sine, dot(now, wanted))
    if sine == 0.0:  # any perpendicular axis serves when the direction is opposite
        return times(angle, column_at(tip, 0, 0))
    return times(angle / sine, axis)


@kernel
def task_error(tip, target, near, turn, out):
    """Write what the task lacks, in units; return errors of way and turn, and the size written.

    Rows: (target - tip) / near of places, then log(R_target R_tip^T) / turn, or `axis_turn` about
    the tip's x and y; tip, target (4, 4); out (3,), (5,) or (6,). Errors in [m] and [rad].
    """
    rows = out.shape[0]
    if rows == 6:
        pose_error(tip, target, out)
    else:
        out[0], out[1], out[2] = minus(column_at(target, 0, 3), column_at(tip, 0, 3))
    if rows == 5:
        out[3], out[4], _ = in_axes(tip, axis_turn(tip, target))
    away = turned = size = 0.0
    for i in range(rows):
        away += out[i] * out[i] if i < 3 else 0.0
        turned += out[i] * out[i] if i > 2 else 0.0
        out[i] /= near if i < 3 else turn
        size += out[i] * out[i]
    return math.sqrt(away), math.sqrt(turned), math.sqrt(size)


@kernel
def scaled_rows(tip, twist, near, turn, scale, out):
    """Write what a task counts of twists (6, m), in units per scale (m,); whether it is finite.

    out (rows, m): twist (6,), base axes, at tip, as in `task_error`, over near, turn; times scale.
    """
    finite = True
    for j in range(scale.size):
        spin = column_at(twist, 3, j)
        if out.shape[0] == 5:
            spin = in_axes(tip, spin)
        for i in range(out.shape[0]):
            out[i, j] = scale[j] * (twist[i, j] / near if i < 3 else spin[i - 3] / turn)
            finite = finite and np.isfinite(out[i, j])
    return finite


@kernel
def secant(rows, step, before, after):
    """Return rows with what a step has shown, residuals before and after it (Broyden).

    rows - (after - before + rows step) step^T / |step|^2, as a residual changes by -rows step.
    """
    new, along = rows.copy(), 0.0
    for j in range(step.size):
        along += step[j] * step[j]
    for i in range(rows.shape[0]):
        shown = after[i] - before[i]
        for j in range(step.size):
            shown += rows[i, j] * step[j]
        for j in range(step.size):
            new[i, j] -= shown * (step[j] / along)
    return new
