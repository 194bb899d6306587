# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse statics of one platform on rods driven by their lengths, inside a microsecond budget.

Same equations as everywhere (closure and joint of every rod, balance of the platform), with the
platform held at its target and the lengths unknown. The linear maps of one full assembly serve
many solves: each iteration integrates the shapes alone and steps with maps that are some
millimetres old, so the residual is exact and only the rate of convergence pays. What the steps
show of the maps' age corrects them (see `path_memory_kernels`); they are renewed when the rate
still grows. A solution is taken one step beyond the iterate whose residual was small enough,
because the extrapolations feed on its error.

Per rod, with its closure c and f_b = F_b + E c, the force on its second end,

    dW = -(T_ab (c + S dq) + t_a dL),   dq = -(Q f_b + d dL),   force on the platform Y f_b

where Y, Q, d hold the eliminated joint.
"""

from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.models.network.arrays import Floats, Inputs, Integers, State, Structure, Work
from soro_mechanics.models.network.kernels.element_kernels import relative_pose
from soro_mechanics.models.network.kernels.end_kernels import end_frame, joint_geometry
from soro_mechanics.models.network.kernels.lane_kernels import integrate_lanes, Variation
from soro_mechanics.models.network.kernels.path_memory_kernels import (
    correct_step,
    extrapolate,
    POINTS,
    POSE,
    remember,
)
from soro_mechanics.models.network.kernels.piece_kernels import (
    bracket,
    closure,
    end_forces,
    predicted_pose,
)
from soro_mechanics.models.network.kernels.rod_kernels import fill_loads
from soro_mechanics.models.network.kernels.system_kernels import (
    condense,
    evaluate,
    residual,
    SINGULAR,
)
from soro_mechanics.numerics.dense_kernels import negative_pivots, solve_in_place
from soro_mechanics.numerics.lie_kernels import compose
from soro_mechanics.numerics.vector_kernels import dot_six, six_in_column, six_in_row

REACHED = 0
STOPPED = 1
STALE = 2
RENEW_RATE = 0.4  # a residual that falls by less asks for new maps, unless one more step will do
LOST_RATE = 0.8  # one that falls by less than this always does
# A longer step after a small residual, both scaled, is axial force against a closure: where that
# alone is left, old maps make more of it than there was, and the step is not taken.
EXTRA = 30.0
LARGEST = 1e6  # scaled residual beyond which the attempt is lost
UNKNOWNS = 8  # of a rod: length, joint angle, wrench (6)


@by_reference
class Platform(NamedTuple):
    """What one thread solves with: the network, and where its iteration stands."""

    structure: Structure
    inputs: Inputs
    state: State
    work: Work
    paths: Floats  # (batches, steps + 1, 12 LANES) of the rods
    rod: Integers  # (6,) of every actuator


@by_reference
class Maps(NamedTuple):
    """Linear maps of one full assembly, per rod; names as above."""

    signature: Floats  # (1 + 2 rods,) see `renew`
    ab: Floats  # (rods, 6, 6)
    e: Floats
    y: Floats
    inverse: Floats  # (6, 6) lengths per force on the platform
    q: Floats  # (rods, 6)
    ta: Floats
    spin: Floats
    d: Floats  # (rods,)


def new_maps(n: int) -> Maps:
    """Return maps of so many rods, nothing written yet."""
    zeros, square = np.zeros, (n, 6, 6)
    blocks = zeros(square), zeros(square), zeros(square), zeros((6, 6))
    return Maps(zeros(1 + 2 * n), *blocks, *(zeros((n, 6)) for _ in range(3)), zeros(n))


class Search(NamedTuple):
    """From where to which residual one target is sought."""

    memory: Any  # (ROWS, POSE + UNKNOWNS rods), see `path_memory_kernels`; receives the new ones
    count: int  # solutions in it
    pairs: int  # pairs in it
    resume: bool  # go on where the iteration stands, instead of an extrapolation
    tolerance: float
    most: int  # steps


@kernel
def renew(s, x, state, w, maps, lanes):
    """Assemble fully at a state and keep what the iterations need. Returns False where singular.

    The signature of the maps holds what stability depends on: negative pivots of joints and
    platform, and per rod the largest entry of its first end's stiffness and the sign of det Phi.
    Where a rod, held at both ends, becomes critical, det Phi passes through zero and that
    stiffness through infinity.
    """
    if not evaluate(s, x, state, w, True, False, lanes) < 1e300:
        return False
    negative = condense(s, x, state, w, True, True)
    if negative == SINGULAR:
        return False
    maps.signature[0] = negative + negative_pivots(w.matrix, 6, w.scratch[0:6, 0:6])
    for r in range(s.counts[1]):
        largest = 0.0
        for i in range(3):
            for j in range(3):
                largest = max(largest, abs(w.tangent[r, 3 + i, 3 + j]))
        maps.signature[1 + 2 * r] = largest
        maps.signature[2 + 2 * r] = w.signs[r]
    turn = w.scratch[20:30, 0:10]
    b_f = w.scratch[30:36, 0:6]
    for r in range(s.counts[1]):
        t = w.tangent[r]
        basis = w.basis[r, 1]
        kind = s.joint_kind[r, 1]
        bracket(w.raw[r, 6:12], b_f)
        joint_geometry(basis, kind, w.raw[r, 6:12], turn)
        for i in range(6):
            for j in range(6):
                maps.ab[r, i, j] = t[i, 6 + j]
                maps.e[r, i, j] = t[6 + i, 6 + j] - b_f[i, j]
                maps.y[r, i, j] = basis[j, i]
            maps.ta[r, i] = w.params[r, i, 0]
            maps.spin[r, i] = basis[i, 7]
            maps.q[r, i] = 0.0
        maps.d[r] = 0.0
        if kind == 0:
            continue
        stiffness = drive = 0.0
        angle = six_in_column(basis, 0, 7)
        for i in range(6):
            drive += basis[i, 7] * w.params[r, 6 + i, 0]
            stiffness += basis[i, 7] * dot_six(six_in_row(t, 6 + i, 6), angle)
        maps.d[r] = drive / stiffness
        for i in range(6):
            maps.q[r, i] = basis[i, 7] / stiffness
        for i in range(6):
            m = turn[i, 7]
            for a in range(6):
                m += basis[a, i] * dot_six(six_in_row(t, 6 + a, 6), angle)
            for j in range(6):
                maps.y[r, i, j] -= m * maps.q[r, j]
    # lengths per force on the platform
    a = w.scratch[0:6, 0:6]
    for i in range(6):
        for j in range(6):
            maps.inverse[i, j] = 1.0 if i == j else 0.0
            a[i, j] = w.columns[i, j]
    return solve_in_place(a, 6, maps.inverse, 6) != 0


@merged_kernel
def shape_residual(of, lanes):
    """Integrate the shapes at a state; write closures, forces and w.balance[1]. The residual."""
    s, x, state, w = of.structure, of.inputs, of.state, of.work
    n = s.counts[1]
    body = state.body[1]
    for r in range(n):
        end_frame(s, x, state, w, r, 1, x.gap[r])
        compose(body, w.end[r, 1], state.node[2 * r + 1])
    fill_loads(s, x, state, w)
    for b in range(s.counts[7]):
        none = Variation(0, s.light_drive, s.light_shift[b], False)
        integrate_lanes(w.load[b], x.table[b], s.counts[4], none, w.lanes[b], of.paths[b], lanes)
    for r in range(n):
        y = w.lanes[r // 8, 0]
        relative_pose(state.node[2 * r], state.node[2 * r + 1], w.h[r])
        closure(y, r % 8, w.h[r], w.scratch[0:8, 0:4], w.closure[r])
        end_forces(y, w.load[r // 8], r % 8, w.h[r], w.raw[r])
    return residual(s, x, state, w)


@merged_kernel
def _chord_step(of, maps, out):
    """Write the scaled step of lengths, joints and wrenches that the kept maps give."""
    s, w = of.structure, of.work
    n = s.counts[1]
    length = s.scale[0]
    size = s.scale[1]
    total = w.scratch[6, 0:6]
    force = w.scratch[8:14, 0:6]
    back = w.scratch[7, 0:6]
    for i in range(6):
        total[i] = w.balance[1, i]
    for r in range(n):
        basis = w.basis[r, 1]
        for i in range(6):
            lost = dot_six(six_in_row(maps.e[r], i, 0), w.closure[r])
            force[r, i] = w.raw[r, 6 + i] + lost
        for i in range(6):
            total[i] += dot_six(six_in_row(maps.y[r], i, 0), force[r])
            total[i] -= dot_six(six_in_column(basis, 0, i), six_in_row(w.raw, r, 6))
    for i in range(6):
        back[i] = -dot_six(six_in_row(maps.inverse, i, 0), total)
    for i in range(6):
        r = of.rod[i]
        change = back[i]
        dq = -maps.d[r] * change - dot_six(maps.q[r], force[r])
        for j in range(6):
            v = maps.ta[r, j] * change
            for m in range(6):
                v += maps.ab[r, j, m] * (w.closure[r, m] + maps.spin[r, m] * dq)
            out[UNKNOWNS * r + 2 + j] = -v / size if j < 3 else -v / (size * length)
        out[UNKNOWNS * r] = change / length
        out[UNKNOWNS * r + 1] = dq


@merged_kernel
def _largest(step):
    """Return the largest entry of a scaled step."""
    largest = 0.0
    for i in range(step.shape[0]):
        largest = max(largest, abs(step[i]))
    return largest


@merged_kernel
def _move(s, x, state, step, part):
    """Move the unknowns by a part of a scaled step."""
    length = part * s.scale[0]
    size = part * s.scale[1]
    for r in range(s.counts[1]):
        o = UNKNOWNS * r
        x.length[r] += length * step[o]
        state.joint[r, 1, 0] += part * step[o + 1]
        for i in range(3):
            state.wrench[r, i] += size * step[o + 2 + i]
            state.wrench[r, 3 + i] += size * s.scale[0] * step[o + 5 + i]


@merged_kernel
def _predict(s, x, state, w, target, memory, count, out):
    """Put the platform at its target and the rods where the memory's solutions lead."""
    extrapolate(target, memory, count, w.scratch[0], w.scratch[1], out)
    for r in range(s.counts[1]):
        o = UNKNOWNS * r
        x.length[r] = out[o]
        state.joint[r, 1, 0] = out[o + 1]
        for i in range(6):
            state.wrench[r, i] = out[o + 2 + i]
    for i in range(3):
        for j in range(4):
            state.body[1, i, j] = target[i, j]


@kernel
def reach_platform(of, maps, target, search, pose, lanes):
    """Solve one target.

    `pose` (rods, steps + 1, 4, 4) receives the shapes.

    Returns
    -------
    outcome : int
        STALE asks for new maps at the state, then for another call with `resume` and no pairs;
        the state is then the best one so far.
    steps : int
    error : float
        Scaled residual of the shapes; the unknowns that the memory receives may be a step better.
    pairs : int
        In the memory now.
    """
    s, x, state = of.structure, of.inputs, of.state
    memory, pairs, most = search.memory, search.pairs, search.most
    if not search.resume:
        row = memory[POINTS + 2 * pairs, POSE:]
        _predict(s, x, state, of.work, target, memory, search.count, row)
    before = error = 0.0
    for step in range(most + 1):
        error = shape_residual(of, lanes)
        reached = error <= search.tolerance
        if not reached:
            if step == most or not error < LARGEST:
                break
            rate = error / before if step > 0 else 0.0
            if rate > RENEW_RATE and (rate > LOST_RATE or rate * error > search.tolerance):
                if rate > 1.0:
                    _move(s, x, state, memory[POINTS + 2 * pairs, POSE:], -1.0)
                return STALE, step, error, pairs
        _chord_step(of, maps, memory[POINTS + 2 * pairs + 1, POSE:])
        pairs = correct_step(memory, pairs, step > 0)
        corrected = memory[POINTS + 2 * pairs, POSE:]
        if not reached or _largest(corrected) <= EXTRA * error:
            _move(s, x, state, corrected, 1.0)
        if reached:
            _write_shapes(of, pose)
            remember(memory, target)
            for r in range(s.counts[1]):
                o = POSE + UNKNOWNS * r
                memory[0, o] = x.length[r]
                memory[0, o + 1] = state.joint[r, 1, 0]
                for i in range(6):
                    memory[0, o + 2 + i] = state.wrench[r, i]
            return REACHED, step, error, pairs
        before = error
    return STOPPED, step, error, pairs


@merged_kernel
def _write_shapes(of, pose):
    """Write the poses of all rods along them."""
    s, h = of.structure, of.work.scratch[0:4, 0:4]
    for r in range(s.counts[1]):
        for step in range(s.counts[4] + 1):
            predicted_pose(of.paths[r // 8, step], r % 8, h)
            compose(of.state.node[2 * r], h, pose[r, step])
