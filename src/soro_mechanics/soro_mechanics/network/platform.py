# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fast inverse for a platform on rods driven by their lengths (see `platform_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass
import threading
from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.configuration import Array
from soro_mechanics.network import layout as lay
from soro_mechanics.network.arrays import copy_state, Inputs, State, Work
from soro_mechanics.network.lane_kernels import LANES
from soro_mechanics.network.path_memory_kernels import POINTS, POSE, ROWS
from soro_mechanics.network.platform_kernels import (
    reach_platform,
    REACHED,
    renew,
    STALE,
    UNKNOWNS,
)

MOST_STEPS = 12
MOST_RENEWALS = 6
JUMP = 2.0  # change of a rod's stiffness between examinations that calls for a full one
RENEW_DISTANCE = 0.02  # travel after which maps and stability are examined again [m]
TOLERANCE = 1e-7  # scaled residual: 4e-8 m for the benchmark robot


class Maps(NamedTuple):
    """Linear maps of one full assembly, per rod; names as in `platform_kernels`."""

    ab: Array
    e: Array
    y: Array
    q: Array
    d: Array
    ta: Array
    spin: Array
    inverse: Array
    rod_of_actuator: Array
    signature: Array


@dataclass
class Track:
    """What one solve leaves for the next: recent solutions and steps, and the maps."""

    memory: Array  # see `path_memory_kernels`
    count: int  # solutions in the memory
    pairs: int  # of steps in the memory
    maps: Maps
    made_at: Array  # position of the platform where the maps were made
    same: bool  # stability cannot have changed since the track began
    loading: Inputs
    remark: str = ''  # what the last examination found outside the theory


class Found(NamedTuple):
    """A solved target."""

    reached: bool
    steps: int
    error: float
    length: Array
    pose: Array  # (rods, steps + 1, 4, 4)
    track: Track


def is_platform(layout: lay.Layout) -> bool:
    """Whether the fast path can treat a network."""
    s = layout.structure
    rods = range(int(s.counts[1]))
    drives = layout.spec.drives
    return bool(
        int(s.counts[0]) == 2
        and len(rods) == 6
        and layout.actuators == 6
        and sorted(d.rod for d in drives) == list(rods)
        and all(d.kind == 'length' and d.curve is None for d in drives)
        and all(s.rod_macro[r] == 1 and s.rod_piece[r + 1] - s.rod_piece[r] == 1 for r in rods)
        and not s.joint_kind[:, 0].any()
        and s.joint_kind[:, 1].max() <= 1
        and np.array_equal(s.rod_body, [[0, 1]] * 6)
        and not layout.sections[:, :, 12].any()
        and not layout.spec.loads
    )


class FastStructure(NamedTuple):
    """The part of `Structure` that an iteration reads: passing an array costs 0.1 us."""

    counts: Any
    rod_node: Any
    rod_piece: Any
    rod_macro: Any
    lane: Any
    share: Any
    attach: Any
    motor_axis: Any
    offset: Any
    joint_kind: Any
    joint_axes: Any
    light_drive: Any
    light_shift: Any
    scale: Any
    body_mass: Any
    body_centre: Any


class FastInputs(NamedTuple):
    """The same of `Inputs`."""

    length: Any
    theta: Any
    gap: Any
    table: Any
    gravity: Any
    dead: Any
    follower: Any


class FastWork(NamedTuple):
    """The same of `Work`."""

    scratch: Any
    end: Any
    basis: Any
    load: Any
    lanes: Any
    balance: Any
    h: Any
    closure: Any
    raw: Any


def _alike(a: Array, b: Array) -> bool:
    """Whether no rod can have become critical between two sets of maps (see `renew`)."""
    ratio = a[1::2] / b[1::2]
    same_signs = a[0] == b[0] and a[2::2].tolist() == b[2::2].tolist()
    return same_signs and 1.0 / JUMP < float(ratio.min()) and float(ratio.max()) < JUMP


class PlatformSolver:
    """Follows targets of one network; every thread has its own scratch."""

    def __init__(self, layout: lay.Layout, base: State) -> None:
        self.layout = layout
        self.tolerance = TOLERANCE
        self._base = base  # the rods' first ends never move
        self._local = threading.local()
        fields = FastStructure._fields
        self._fast_structure = FastStructure(*(getattr(layout.structure, k) for k in fields))
        drives = layout.spec.drives
        self._rod = np.array([next(d.rod for d in drives if d.actuator == a) for a in range(6)])

    def _scratch(self) -> tuple[Work, Array]:
        if not hasattr(self._local, 'work'):
            s = self.layout.structure
            self._local.work = self.layout.work()
            self._local.state = copy_state(self._base)
            self._local.length = np.empty(int(s.counts[1]))
            w = self._local.work
            self._local.fast_work = FastWork(*(getattr(w, k) for k in FastWork._fields))
            self._local.paths = np.empty((int(s.counts[7]), int(s.counts[4]) + 1, 12 * LANES))
        return self._local.work, self._local.paths

    def _empty_maps(self) -> Maps:
        n = int(self.layout.structure.counts[1])
        zeros = np.zeros
        return Maps(
            zeros((n, 6, 6)), zeros((n, 6, 6)), zeros((n, 6, 6)), zeros((n, 6)), zeros(n),
            zeros((n, 6)), zeros((n, 6)), zeros((6, 6)), self._rod, zeros(1 + 2 * n),
        )  # fmt: skip

    def begin(self, x: Inputs, state: State) -> Track | None:
        """Start a track at a solution; None where the maps are singular."""
        n = int(self.layout.structure.counts[1])
        maps = self._empty_maps()
        work, _ = self._scratch()
        if not renew(self.layout.structure, x, copy_state(state), work, maps, LANES):
            return None
        memory = np.zeros((ROWS, POSE + UNKNOWNS * n))
        memory[0, :POSE] = state.body[1, :3].ravel()
        rows = memory[0, POSE:].reshape(n, UNKNOWNS)
        rows[:, 0], rows[:, 1] = x.length, state.joint[:, 1, 0]
        rows[:, 2:] = state.wrench
        return Track(memory, 1, 0, maps, state.body[1, :3, 3].copy(), True, x)

    def reach(self, track: Track, target: Array) -> Found:
        """Solve a target next to a track."""
        s = self.layout.structure
        work, paths = self._scratch()
        state = self._local.state
        n = int(s.counts[1])
        pose = np.empty((n, int(s.counts[4]) + 1, 4, 4))
        memory = track.memory.copy()  # other solves may start at this track too
        pairs, maps, made_at, same = track.pairs, track.maps, track.made_at, track.same
        local, x = self._local, track.loading
        length = local.length
        fast = FastInputs(length, x.theta, x.gap, x.table, x.gravity, x.dead, x.follower)
        steps, resume = 0, False
        outcome, error = STALE, np.inf
        for _ in range(MOST_RENEWALS):
            outcome, taken, error, pairs = reach_platform(
                self._fast_structure, fast, state, local.fast_work, maps, target, memory,
                track.count, pairs, resume, self.tolerance, MOST_STEPS, paths, pose, LANES,
            )  # fmt: skip
            steps += taken
            if outcome != STALE:
                break
            maps = self._empty_maps()
            if not renew(s, x._replace(length=length), state, work, maps, LANES):
                break
            made_at, resume, pairs = target[:3, 3], True, 0
        away = (target[:3, 3] - made_at).tolist()
        if outcome == REACHED and max(map(abs, away)) > RENEW_DISTANCE:
            maps, made_at, pairs = self._empty_maps(), target[:3, 3], 0
            renew(s, x._replace(length=length), state, work, maps, LANES)
        if maps is not track.maps:
            same = same and _alike(maps.signature, track.maps.signature)
        new = Track(
            memory, min(track.count + 1, POINTS), pairs, maps, made_at, same, track.loading,
            track.remark,
        )  # fmt: skip
        return Found(outcome == REACHED, steps, error, length[self._rod], pose, new)
