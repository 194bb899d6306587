# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The linearised network in one call.

Below s: Structure; x: Inputs; state: State; w: Work; lanes: LANES.

Source: Sylvester's law of inertia for the count of unstable directions, checked in
test_network_tangent.py.
"""

import math

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    condense,
    evaluate,
    largest_step,
    motor_efforts,
    move,
    set_slots,
)
from soro_mechanics.numerics.dense_kernels import extreme_eigenvalues, negative_pivots

FEW = 6  # rows, up to which rotations are faster than LAPACK


@kernel
def inertia(matrix, unit, work):
    """Return `negative_pivots`, and the least eigenvalue of few finite rows of matrix * unit.

    NaN where they are not. matrix (n, n); unit (n, n): of its entries; work (n, n): scratch.
    """
    n, scaled = matrix.shape[0], matrix * unit
    few = n <= FEW and (scaled * scaled).sum() < math.inf
    least = extreme_eigenvalues(matrix, unit)[0] if few else math.nan
    return negative_pivots(matrix, n, work), least


@kernel
def linearise(s, x, state, w, exact, lanes):
    """Assemble with parameter columns (`exact`: see `evaluate`); scaled residual, `eliminate`.

    s, x, state, w, lanes: above.
    """
    return evaluate(s, x, state, w, True, exact, lanes), eliminate(s, x, state, w)


@kernel
def eliminate(s, x, state, w):
    """Eliminate and write the efforts; return the negative pivots met in rods, or SINGULAR.

    s, x, state: above; w: Work, assembled with parameters.
    """
    negative = condense(s, x, state, w, True, True)
    motor_efforts(s, x, w)
    return negative


@kernel
def follow_change(s, x, state, w, change, part, one, new):
    """Write where a solution moves when actuators and bodies do, by the last elimination.

    Returns the part of the change that was taken. s, x, state: above; w: Work of an elimination
    with parameters, `step_body` is the motion of the bodies; change (m,): of what the actuators
    drive, whole; part: largest part of it that is taken; one: 1: what the equilibrium at the start
    still lacks comes on top, 0: it lacks nothing; new: State, a copy of `state`, out.
    """
    set_slots(s, x, w, change)
    back_substitute(s, x, state, w, 1 + s.counts.slots, w.slots, one)
    part = min(part, largest_step(s, w)[0])
    move(s, state, w, part, new)
    return part
