# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Newton's method on the manifold, with guarded steps."""

from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    clear_slots,
    condense,
    evaluate,
    largest_step,
    move,
    SINGULAR,
    solve_bodies,
)
from soro_mechanics.numerics.borrow_kernels import borrowed
from soro_mechanics.numerics.kernels import kernel, NO

CONVERGED = 0
NOT_SOLVABLE = 1
SLOW = 2

GROWTH = 4.0  # a step after which the residual grew more than this is halved
MIN_PART = 1.0 / 64.0


@kernel
def copy_into(source, target):
    """Copy a state."""
    # element by element: a slice assignment of each shape costs three seconds of compilation
    for b in range(source.body.shape[0]):
        for i in range(4):
            for j in range(4):
                target.body[b, i, j] = source.body[b, i, j]
    for k in range(source.node.shape[0]):
        for i in range(4):
            for j in range(4):
                target.node[k, i, j] = source.node[k, i, j]
    for p in range(source.wrench.shape[0]):
        for i in range(6):
            target.wrench[p, i] = source.wrench[p, i]
    for r in range(source.joint.shape[0]):
        for e in range(2):
            for i in range(3):
                target.joint[r, e, i] = source.joint[r, e, i]
                for j in range(3):
                    target.spin[r, e, i, j] = source.spin[r, e, i, j]
    for p in range(source.tension.shape[0]):
        for k in range(source.tension.shape[1]):
            target.tension[p, k] = source.tension[p, k]


@kernel
def solve_held(s, x, state, old, w, tolerance, most, lanes):
    """Solve the equilibrium with the actuators held.

    Parameters
    ----------
    state : State
        Start, and result.
    old : State
        Scratch.
    most : int
        Largest number of steps.

    Returns
    -------
    outcome : int
        CONVERGED, NOT_SOLVABLE or SLOW.
    steps : int
    error : float
        Scaled residual; the last assembly in `w` belongs to `state`.
    """
    s, x, w = borrowed(s), borrowed(x), borrowed(w)
    state, old = borrowed(state), borrowed(old)
    clear_slots(w)
    best = 0.0
    part = 1.0
    for step in range(most + 1):
        error = evaluate(s, x, state, w, NO, NO, lanes)
        if error <= tolerance:
            return CONVERGED, step, error
        if step == most:
            break
        if step > 0 and not error <= GROWTH * best:
            if part <= MIN_PART:
                break
            part *= 0.5
            move(s, old, w, part, state)
            continue
        if condense(s, x, state, w, NO, NO) == SINGULAR:
            return NOT_SOLVABLE, step, error
        if solve_bodies(s, x, w) == 0:
            return NOT_SOLVABLE, step, error
        back_substitute(s, x, state, w, 0, w.slots, 1.0)
        part, _, _ = largest_step(s, w)
        best = error
        copy_into(state, old)
        move(s, old, w, part, state)
    return SLOW, most, error
