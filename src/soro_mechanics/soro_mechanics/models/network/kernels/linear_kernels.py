# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The linearised network in one call, and whether its stability is known from another one.

Below s: Structure; x: Inputs; state: State; w: Work; lanes: LANES.

Source: Wittrick and Williams (1971), Q. J. Mech. Appl. Math. 24, 263, for the count of unstable
directions; bounds are of this project, checked in test_network_tangent.py.
"""

import math
from typing import NamedTuple

from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel, merged_kernel
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

FAR, OTHER = 0.05, 2.0  # of a body, in lengths and rad; of a wrench, forces by E I / L^2
FEW = 6  # rows, up to which rotations are faster than LAPACK
UNLIKE = 0.5  # of the largest entries in both rows of an entry of a piece's stiffness
STIFF = 8.0 * math.pi**2  # that of a strut within `OTHER` of where it is critical, by E I / L


class StableReference(NamedTuple):
    """A solution whose stability more nodes have shown: what is near it is stable too."""

    body: NDArray  # (bodies, 4, 4)
    wrench: NDArray  # (pieces, 6)
    stiffness: NDArray  # (pieces, 3, 3) moment by turn at the first end, the second one held
    length: NDArray  # (pieces,)
    bending: NDArray  # (pieces,) E I where, and about the axis about which, a piece is softest


@merged_kernel
def pieces_hold(s, w):
    """Return whether every integrated piece is stable with its second end free.

    With both ends held it is then stable all the more, and the elimination, which sees nodes only,
    has missed nothing inside. A strut loses this at a sixteenth of the load at which it buckles
    between held ends, and does not regain it under any greater load. s, w: above.
    """
    for r in range(s.counts.rods):
        if s.rod_macro[r] == 1:
            for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
                held = w.tangent[p, 6:12, 6:12]
                if w.signs[p] <= 0 or negative_pivots(held, 6, w.scratch) != 0:
                    return False
    return True


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
    error = evaluate(s, x, state, w, True, exact, lanes)
    negative, holds = eliminate(s, x, state, w)
    return error, negative, holds


@kernel
def eliminate(s, x, state, w):
    """Eliminate and write the efforts; negative pivots met in rods or SINGULAR, `pieces_hold`.

    s, x, state: above; w: Work, assembled with parameters.
    """
    negative = condense(s, x, state, w, True, True)
    motor_efforts(s, x, w)
    return negative, pieces_hold(s, w)


@kernel
def is_near_stable(s, x, state, w, reference):
    """Return whether no piece can have become critical between that solution and this one.

    Unstable directions are those of the condensed tangent and those of all pieces with both ends
    held (Wittrick and Williams), which the elimination does not see. Where one of the latter
    comes, the piece's stiffness goes through infinity and changes its sign: within `OTHER` of it,
    it is `STIFF` at least, and the change twice of that. L and E I are the piece's own: a slender
    one is critical under what the others do not feel. s, x, state, w: above; reference: that one.
    """
    for b in range(state.body.shape[0]):
        for i in range(3):
            if not abs(state.body[b, i, 3] - reference.body[b, i, 3]) < FAR * s.scale[0]:
                return False
            for j in range(3):
                if not abs(state.body[b, i, j] - reference.body[b, i, j]) < FAR:
                    return False
    for r in range(s.counts.rods):
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            length = reference.length[p]
            if not abs(x.length[r] * s.share[p] - length) < FAR * length:
                return False
            if s.lane[p] >= 0 and not _is_alike(
                state, w, reference, p, reference.bending[p] / length
            ):
                return False
    return True


@merged_kernel
def _is_alike(state, w, reference, p, moment):
    """Return whether integrated piece p is as in `is_near_stable`; moment: its E I / L [N m].

    Wrench by less than OTHER of E I / L^2 and E I / L; each entry of the stiffness by less than
    UNLIKE of the root of both rows' largest, or of STIFF E I / L. state, w: above; reference: its.
    """
    before, now, force = (
        reference.stiffness[p],
        w.tangent[p, 3:6, 3:6],
        moment / reference.length[p],
    )
    for i in range(3):
        force_change = abs(state.wrench[p, i] - reference.wrench[p, i]) / force
        moment_change = abs(state.wrench[p, 3 + i] - reference.wrench[p, 3 + i]) / moment
        if not max(force_change, moment_change) < OTHER:
            return False
        for j in range(3):
            most_i = most_j = 0.0
            for k in range(3):
                most_i, most_j = max(most_i, abs(before[i, k])), max(most_j, abs(before[j, k]))
            most = min((most_i * most_j) ** 0.5, STIFF * moment)
            if not abs(now[i, j] - before[i, j]) < UNLIKE * most:
                return False
    return True


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
