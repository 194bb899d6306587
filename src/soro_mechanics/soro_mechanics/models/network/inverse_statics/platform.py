# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fast inverse for a platform on rods driven by their lengths (see `platform_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass
import threading
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import copy_state, Inputs, Integers, State
from soro_mechanics.models.network.description.spec import LENGTHS
from soro_mechanics.models.network.kernels import platform_kernels as kernels
from soro_mechanics.models.network.kernels.lane_kernels import LANES
from soro_mechanics.models.network.kernels.path_memory_kernels import POINTS, POSE, ROWS

MAX_STEPS = 12
MAX_RENEWALS = 6
JUMP = 2.0  # change of a rod's stiffness between examinations that calls for a full one
RENEW_DISTANCE = 0.02  # travel after which maps and stability are examined again [m]
LOADING = ('theta', 'gap', 'table', 'gravity', 'dead', 'follower')  # that a load changes
TOLERANCE = 1e-7  # scaled residual: 4e-8 m for the benchmark robot


@dataclass(eq=False)
class Track:
    """What one solve leaves for the next: recent solutions and steps, and the maps."""

    memory: Array  # see `path_memory_kernels`
    count: int  # solutions in the memory
    pairs: int  # of steps in the memory
    maps: kernels.Maps
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
    rod_length: Array  # of the rods, in their order

    @property
    def inputs(self) -> Inputs:
        """Inputs of the kernels."""
        return self.track.loading._replace(length=self.rod_length)


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
        and all(d.kind in LENGTHS and d.curve is None for d in drives)
        and all(s.rod_macro[r] == 1 and s.rod_piece[r + 1] - s.rod_piece[r] == 1 for r in rods)
        and not s.joint_kind[:, 0].any()
        and s.joint_kind[:, 1].max() <= 1
        and np.array_equal(s.rod_body, [[0, 1]] * 6)
        and not layout.sections[:, :, 12].any()
        and not layout.spec.loads
    )


def _alike(a: Array, b: Array) -> bool:
    """Whether no rod can have become critical between two sets of maps (see `renew`)."""
    ratio = a[1::2] / b[1::2]
    same_signs = a[0] == b[0] and a[2::2].tolist() == b[2::2].tolist()
    return same_signs and 1.0 / JUMP < float(ratio.min()) and float(ratio.max()) < JUMP


class _Scratch:
    """What one thread works with."""

    def __init__(self, layout: lay.Layout, base: State, rod_of_actuator: Integers) -> None:
        s, rest = layout.structure, layout.rest
        own = {name: getattr(rest, name).copy() for name in ('length', *LOADING)}
        self.x = rest._replace(**own, dilution=np.ones(6))  # rods without mass
        self.state, self.work = copy_state(base), layout.work()
        paths = np.zeros((int(s.counts[7]), int(s.counts[4]) + 1, 12 * LANES))
        self.platform = kernels.Platform(s, self.x, self.state, self.work, paths, rod_of_actuator)
        self.loading: Inputs | None = None

    def take(self, loading: Inputs) -> None:
        """Work under another load from now on."""
        for name in LOADING:
            getattr(self.x, name)[:] = getattr(loading, name)
        self.loading = loading


class PlatformSolver:
    """Follows targets of one network; every thread has its own scratch."""

    def __init__(self, layout: lay.Layout, base: State) -> None:
        self.layout = layout
        self.tolerance = TOLERANCE
        self._base = base  # the rods' first ends never move
        self._local = threading.local()
        drives = layout.spec.drives
        self._rod = np.array([next(d.rod for d in drives if d.actuator == a) for a in range(6)])
        self._rods = int(layout.structure.counts[1])
        self._stations = int(layout.structure.counts[4]) + 1

    @property
    def _scratch(self) -> _Scratch:
        if not hasattr(self._local, 'scratch'):
            self._local.scratch = _Scratch(self.layout, self._base, self._rod)
        return self._local.scratch

    def _renew(self, scratch: _Scratch, loading: Inputs, state: State) -> kernels.Maps | None:
        """Return new maps at a state and the scratch's lengths; None where singular."""
        maps = kernels.new_maps(self._rods)
        x = loading._replace(length=scratch.x.length)
        s = self.layout.structure
        return maps if kernels.renew(s, x, state, scratch.work, maps, LANES) else None

    def begin(self, x: Inputs, state: State) -> Track | None:
        """Start a track at a solution; None where the maps are singular."""
        n, scratch = self._rods, self._scratch
        scratch.x.length[:] = x.length
        maps = self._renew(scratch, x, copy_state(state))
        if maps is None:
            return None
        memory = np.zeros((ROWS, POSE + kernels.UNKNOWNS * n))
        memory[0, :POSE] = state.body[1, :3].ravel()
        rows = memory[0, POSE:].reshape(n, kernels.UNKNOWNS)
        rows[:, 0], rows[:, 1] = x.length, state.joint[:, 1, 0]
        rows[:, 2:] = state.wrench
        return Track(memory, 1, 0, maps, state.body[1, :3, 3].copy(), True, x)

    def reach(self, track: Track, target: Array) -> Found:
        """Solve a target next to a track."""
        scratch = self._scratch
        if scratch.loading is not track.loading:
            scratch.take(track.loading)
        pose = np.empty((self._rods, self._stations, 4, 4))
        memory = track.memory.copy()  # other solves may start at this track too
        pairs, maps, made_at, same = track.pairs, track.maps, track.made_at, track.same
        steps, resume = 0, False
        outcome, error = kernels.STALE, np.inf
        for _ in range(MAX_RENEWALS):
            search = kernels.Search(memory, track.count, pairs, resume, self.tolerance, MAX_STEPS)
            outcome, taken, error, pairs = kernels.reach_platform(
                scratch.platform, maps, target, search, pose, LANES
            )
            steps += taken
            if outcome != kernels.STALE:
                break
            new = self._renew(scratch, track.loading, scratch.state)
            if new is None:
                break
            maps, made_at, resume, pairs = new, target[:3, 3], True, 0
        away = (target[:3, 3] - made_at).tolist()
        if outcome == kernels.REACHED and max(map(abs, away)) > RENEW_DISTANCE:
            new = self._renew(scratch, track.loading, scratch.state)
            if new is not None:
                maps, made_at, pairs = new, target[:3, 3], 0
        if maps is not track.maps:
            same = same and _alike(maps.signature, track.maps.signature)
        length = scratch.x.length[self._rod]
        count = min(track.count + 1, POINTS)
        track = Track(memory, count, pairs, maps, made_at, same, track.loading, track.remark)
        reached, lengths = outcome == kernels.REACHED, scratch.x.length.copy()
        return Found(reached, steps, error, length, pose, track, lengths)
