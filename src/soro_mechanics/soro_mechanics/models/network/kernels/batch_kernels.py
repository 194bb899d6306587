# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Many actuations of one network, each by Newton's method from a predicted state.

Source: Newton's method as in `newton_kernels`, here without guards; test_network_batch.py compares
with solving sample by sample.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel, makes_arrays, merged_kernel
from soro_mechanics.models.network.arrays import State
from soro_mechanics.models.network.kernels.contact_kernels import examine, Segments
from soro_mechanics.models.network.kernels.element_flexibility_kernels import stiffen_elements
from soro_mechanics.models.network.kernels.newton_kernels import copy_into, drive_to, exchange_lack
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
from soro_mechanics.numerics.dense_kernels import negative_pivots
from soro_mechanics.numerics.lie_kernels import compose, se3_exp


class Samples(NamedTuple):
    """What `solve_samples` shall solve, and what it has solved."""

    values: NDArray[np.float64]  # (n, k) driven values of each sample
    moves: NDArray[np.float64]  # (n, 6 (bodies + nodes + pieces + rods)) starts, moves from base
    tip: int  # body whose pose is wanted
    tolerance: float  # scaled residual of a solution
    # how far [rad, characteristic lengths] a solution may lie from its start, and move in one
    # step more
    farthest: float
    last_step: float
    segments: Segments  # between nodes
    strain_limit: NDArray[np.float64]  # (rods,)
    strain: NDArray[np.float64]  # (rods,) scratch
    most: int  # largest number of steps
    tips: NDArray[np.float64]  # (n, 4, 4) poses of the tip where solved
    # (n,) converged near the start, stable and within the theory; what is not has to be solved
    # with more care
    solved: NDArray[np.bool_]
    state: State  # scratch
    old: State  # scratch


@makes_arrays
@merged_kernel
def _drive(s, x, rest, w, b, sample):
    """Put every drive to its value of a sample: x = rest, then `drive_to` and `stiffen_elements`.

    s: Structure; x: Inputs, out but for loads; rest: Inputs at rest; w: Work, slots are scratch;
    b: Samples; sample: which of them.
    """
    x.length[:] = rest.length
    x.dilution[:] = rest.dilution
    x.theta[:] = rest.theta
    x.section[:] = rest.section
    x.tension[:] = rest.tension
    drive_to(s, x, b.values[sample], w.slots)
    clear_slots(w)
    stiffen_elements(s, x.length, x.section, s.restiffened, w.scratch[0:6, 0:6], x.stiffness)


@merged_kernel
def _start(s, base, w, row, state):
    """Write state = base moved by a row: bodies, nodes, wrenches of pieces, joints.

    Frames g exp(row), all else g + row. s: Structure; base: State; w: Work, out: steps; row
    (6 (bodies + nodes + pieces + rods),) [m, rad, N, N m]; state: State, out.
    """
    w.step_joint[:] = 0.0
    for steps in (w.step_body, w.step_node, w.step_wrench):
        steps[:] = 0.0
    exchange_lack(w, 0, row, 1.0, 0.0)
    move(s, base, w, 1.0, state)


@makes_arrays
@kernel
def solve_samples(s, base, x, rest, b, w, lanes):
    """Solve many actuations, each from its own start; say which of them are beyond doubt.

    Steps by w.matrix eta = -w.vector, without halving. Solved is a sample whose scaled residual
    falls to b.limits[0], that has moved by b.limits[1] at most, has no negative pivot, lacks a
    step of b.limits[2] at most (which its tip still takes) and is valid. s: Structure; base: State
    from which starts are counted; x: Inputs, written but for loads; rest: Inputs at rest;
    b: Samples, out: tips, solved; w: Work; lanes: LANES.
    """
    state = b.state
    old = b.old
    n = w.matrix.shape[0]
    g = w.scratch[0:4, 0:4]
    clear_slots(w)
    copy_into(base, state)
    copy_into(base, old)
    for sample in range(b.values.shape[0]):
        b.solved[sample] = False
        _drive(s, x, rest, w, b, sample)
        _start(s, base, w, b.moves[sample], state)
        away = 0.0
        converged = False
        for step in range(b.most + 1):
            if evaluate(s, x, state, w, False, False, lanes) <= b.tolerance:
                converged = True
                break
            if step == b.most or condense(s, x, state, w, False, False) == SINGULAR:
                break
            if solve_bodies(w) == 0:
                break
            back_substitute(s, x, state, w, 0, w.slots, 1.0)
            _, turn, shift = largest_step(s, w)
            away += max(turn, shift / s.scale[0])
            if not away <= b.farthest:
                break
            move(s, state, w, 1.0, old)
            state, old = old, state
        if not converged:
            continue
        evaluate(s, x, state, w, False, True, lanes)
        if condense(s, x, state, w, False, True) != 0:
            continue
        if negative_pivots(w.matrix, n, w.dense) != 0 or solve_bodies(w) == 0:
            continue
        # the elimination is there: the last step costs next to nothing
        back_substitute(s, x, state, w, 0, w.slots, 1.0)
        _, turn, shift = largest_step(s, w)
        if not max(turn, shift / s.scale[0]) <= b.last_step:
            continue
        se3_exp(w.step_body[b.tip], g)
        compose(state.body[b.tip], g, b.tips[sample])
        b.solved[sample] = _is_valid(x, state, b)


@kernel
def _is_valid(x, state, b):
    """Return whether a solution is within the theory: no strain beyond its limit, no contact.

    x: Inputs; state: State; b: Samples, strain is scratch.
    """
    shape = state.node, state.wrench, x.length
    rod, first, _, _ = examine(*shape, b.segments, b.strain_limit, b.strain)
    return rod < 0 and first < 0
