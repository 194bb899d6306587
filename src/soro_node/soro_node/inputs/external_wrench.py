# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Wrenches from outside: brought to the tip, axes of base_link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
import threading
import time
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.status import Code, SolverStatus
from soro_node.frames import Frames

ROUNDS = 12  # each leaves about a tenth of what is missing
SETTLED = 1e-6  # m and rad: the tip moves by less between two rounds

# From the pose of the tip (4, 4) to the wrench (6,) there, axes of base_link.
WrenchAt = Callable[[Array], Array]


class _Received(NamedTuple):
    wrench_at: WrenchAt
    arrival: float


def wrench_at_tip(wrench: Array, frame_id: str, frames: Frames, tip: Array) -> Array:
    """Return a wrench that acts at the origin of a frame as one at the tip, axes of base_link.

    - `wrench` (6,) [N, N m]: force then moment, acting at the origin of `frame_id`, in its axes.
    - `frame_id`: tip_aligned, tip or base_link of the robot.
    - `tip` (4, 4): pose of the tip in base_link.

    UnknownName: UNKNOWN_FRAME: the frame is not one of the three.
    """
    frames.check('frame_id', frame_id, (frames.tip_aligned, frames.tip, frames.base_link))
    if frame_id == frames.tip_aligned:
        return wrench.copy()
    force, moment = wrench[:3], wrench[3:]
    if frame_id == frames.tip:
        rotation = tip[:3, :3]
        return np.concatenate([rotation @ force, rotation @ moment])
    # The same force, moved from the base origin to the tip p, keeps its effect with the moment
    # about the tip: m - p x f.
    return np.concatenate([force, moment - np.cross(tip[:3, 3], force)])


def settled(
    solve: Callable[[Array], Configuration], wrench_at: WrenchAt, tip: Array
) -> Configuration:
    """Return the equilibrium under a wrench that depends on where the tip is.

    NOT_CONVERGED where wrench and tip do not come to agree.

    - `solve`: returns the equilibrium under a wrench (6,).
    - `tip` (4, 4): where the tip is supposed to be at first.
    """
    wrench = wrench_at(tip)
    q = solve(wrench)
    for _ in range(ROUNDS):
        if not q.status.converged:
            return q
        before, wrench = wrench, wrench_at(q.tip)
        if np.array_equal(before, wrench) or np.abs(q.tip - tip).max() <= SETTLED:
            return q
        tip, q = q.tip, solve(wrench)
    return replace(q, status=unsettled(q.status))


def unsettled(status: SolverStatus) -> SolverStatus:
    """Return the status of a solve whose wrench and tip do not come to agree."""
    message = 'the external wrench and the tip on which it acts do not come to rest'
    return replace(status, code=Code.NOT_CONVERGED, message=message)


class ExternalWrench:
    """The newest external wrench of a robot; safe from any thread.

    - `timeout`: a wrench older than this [s] is gone: zero.
    """

    def __init__(self, frames: Frames, timeout: float) -> None:
        self.timeout = timeout
        self._frames = frames
        self._received: _Received | None = None
        self._lock = threading.Lock()

    def hold(self, wrench: Array, frame_id: str, arrival: float) -> None:
        """Take a wrench (6,) in one of the three frames; it arrived then (steady clock [s])."""
        with self._lock:
            wrench_at = partial(wrench_at_tip, wrench, frame_id, self._frames)
            self._received = _Received(wrench_at, arrival)

    @property
    def present(self) -> bool:
        """Whether a wrench is known and not too old."""
        return self.now() is not None

    @property
    def overdue(self) -> bool:
        """Whether a wrench was known and is too old by now."""
        return self._received is not None and self.now() is None

    def at_tip(self, tip: Array) -> Array:
        """Return (6,), force first, at the tip, axes of base_link; zero when nothing is known."""
        wrench_at = self.now()
        return np.zeros(6) if wrench_at is None else wrench_at(tip)

    def now(self) -> WrenchAt | None:
        """Return the wrench of this moment for any pose of the tip; None when nothing is known.

        It does not grow old: all rounds of a solve have the same one.
        """
        with self._lock:
            received = self._received
        if received is None or time.monotonic() - received.arrival > self.timeout:
            return None
        return received.wrench_at
