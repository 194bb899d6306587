# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The linearised network in one call, because each call hands over arrays for microseconds."""

from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    clear_slots,
    condense,
    evaluate,
    largest_step,
    motor_efforts,
    move,
)
from soro_mechanics.numerics.borrow_kernels import borrowed
from soro_mechanics.numerics.kernels import kernel


@kernel
def linearise(s, x, state, w, exact, lanes):
    """Assemble with parameter columns, eliminate, write the efforts; `exact` as in `evaluate`.

    Returns
    -------
    error : float
        Scaled residual.
    negative : int
        Negative pivots met in the rods, or SINGULAR.
    """
    s, x, state, w = borrowed(s), borrowed(x), borrowed(state), borrowed(w)
    error = evaluate(s, x, state, w, True, exact, lanes)
    negative = condense(s, x, state, w, True, True)
    motor_efforts(s, x, w)
    return error, negative


@kernel
def follow_change(s, x, state, w, change, part, one, new):
    """Write where a solution moves when actuators and bodies do, by the last elimination.

    Parameters
    ----------
    w : Work
        Of an elimination with parameters; `step_body` is the motion of the bodies, (n,).
    change : ndarray, shape (m,)
        Of what the actuators drive, whole.
    part : float
        Largest part of the change that is taken.
    one : float
        1: what the equilibrium at the start still lacks comes on top; 0: it lacks nothing.
    new : State
        A copy of `state`, to be written.

    Returns
    -------
    float
        The part of the change that was taken.
    """
    s, x, state, w = borrowed(s), borrowed(x), borrowed(state), borrowed(w)
    clear_slots(w)
    for k in range(s.counts[6]):
        w.slots[s.map_index[k, 1], s.map_index[k, 2]] += x.map_gain[k] * change[s.map_index[k, 0]]
    back_substitute(s, x, state, w, 1 + s.counts[5], w.slots, one)
    part = min(part, largest_step(s, w)[0])
    move(s, state, w, part, new)
    return part
