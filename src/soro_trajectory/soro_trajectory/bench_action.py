# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The BenchProtocol action: move by a protocol, record what the sensors say, write a table."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
import time
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_msgs.action import BenchProtocol
from soro_node.inputs.actuator_feedback import NANOSECONDS
from soro_node.inputs.external_wrench import ExternalWrench
from soro_node.inputs.polled_feedback import PolledFeedback
from soro_trajectory.bench_protocols import (
    chirp,
    COMMANDED,
    levels,
    reach,
    table_path,
    write_table,
)
from soro_trajectory.command_stream import Phase
from soro_trajectory.error_record import unseen
from soro_trajectory.measured_tip import TipSample
from soro_trajectory.stream_action import LOOK_PERIOD, StreamAction
from soro_trajectory.stream_error import NO_TRACKER, StreamError

WINDOW = 0.5  # s, of a mean at rest, and between two looks at a pull
HIDDEN = 5.0  # s, without a tracker: a hand may be in its way
SETTLE, DURATION = 1.0, 10.0  # s, where a goal says zero
REACHED, STILL = 0.3, 0.1  # of the length of a pull: how near it comes, and how far it may move
PLACE = ('x [m]', 'y [m]', 'z [m]')
FORCE = ('fx [N]', 'fy [N]', 'fz [N]')
AXES = [sign * axis for axis in np.eye(3) for sign in (1.0, -1.0)]
LENGTHS = (2e-3, 4e-3)  # m


def over_time(states: dict[int, Array], tips: dict[int, Array]) -> list[Array]:
    """Return rows time [s], values at that time, tip [m], of states and tips by stamp [ns]."""
    known = sorted(states)
    kept = [k for k in sorted(tips) if known and known[0] <= k <= known[-1]]
    if not kept:
        return []
    over = np.array([states[k] for k in known]).T
    # Differences of stamps: a double does not hold nanoseconds since 1970.
    times = [np.array([k - kept[0] for k in x]) / NANOSECONDS for x in (kept, known)]
    values = np.array([np.interp(times[0], times[1], row) for row in over]).T
    found = zip(times[0], values, (tips[k] for k in kept), strict=True)
    return [np.concatenate([[t], v, p]) for t, v, p in found]


class BenchAction(StreamAction):
    """Executes goals of BenchProtocol; `inputs` are those of the node."""

    name = 'bench_protocol'

    def __init__(self, *shared: Any, inputs: tuple[PolledFeedback, ExternalWrench]) -> None:
        super().__init__(*shared)
        self._feedback, self._wrench = inputs
        self._drives = tuple(f'{a.name} [{a.unit}]' for a in self._binding.robot.actuators)
        asked = tuple(d.replace(' [', f'{COMMANDED} [') for d in self._drives)
        self._over_time = ('time [s]', *asked, *self._drives, *PLACE)

    def _run(self, handle: Any, result: Any) -> None:
        goal = handle.request
        path = table_path(goal.save_to, goal.protocol != 'pull')
        reach(self._binding.robot, goal)
        if not self._node.tip_control.live:
            raise StreamError(Code.NO_STATE, NO_TRACKER)
        self._generation = self._stream.begin_era(self._ends)
        record, drives, columns = {
            'pull': (self._pulls, (), (*FORCE, *PLACE)),
            'stretch': (self._stretch, self._drives, (*self._drives, *PLACE)),
        }.get(goal.protocol, (self._series, self._drives, self._over_time))
        rows: list[Array] = []
        try:
            record(handle, goal, rows)
        except Exception:  # what was measured is kept where nobody takes it for a whole table
            path, drives = path.with_suffix('.partial.csv'), ()
            with suppress(SoroError, OSError):
                self._keep(result, path, drives, columns, rows)
            raise
        self._keep(result, path, drives, columns, rows)

    def _keep(self, result: Any, path: Path, drives: Any, columns: Any, rows: Any) -> None:
        if len(rows) > 1:
            write_table(path, drives, columns, np.array(rows))
            result.rows, result.saved_to = len(rows), str(path)

    def _tell(self, handle: Any, share: float, step: str) -> None:
        handle.publish_feedback(BenchProtocol.Feedback(progress=min(1.0, share), step=step))

    def _go(self, handle: Any, goal: Any, target: Array) -> None:
        self._node.go_to(target, self._generation)
        self._arrive(handle, goal.settle_time or SETTLE, lambda progress: None)

    def _mean(self, handle: Any, loaded: bool = False) -> tuple[Array, Array, Array]:
        """Return means within `WINDOW`: actuation (m,), tip (3,), force (3,) in base_link.

        `loaded`: of the moments that have a wrench; the force is NaN where none has.
        """
        begin, found = time.monotonic(), list[tuple[Array, ...]]()
        while time.monotonic() - begin < (WINDOW if found else HIDDEN):
            self._look(handle)
            state, sample = self._feedback.fresh(), self._node.tip_control.measured.fresh()
            if state is not None and state.known and sample is not None:
                force = self._force(state.present, sample) if loaded else np.full(3, np.nan)
                found.append((state.present, sample.pose[:3, 3], force))
            self.ending.wait(LOOK_PERIOD)
        if not found:
            raise StreamError(Code.NO_STATE, NO_TRACKER)
        found = [row for row in found if np.isfinite(row[2]).all()] or found
        actuation, tip, force = (np.mean(part, axis=0) for part in zip(*found, strict=True))
        return actuation, tip, force

    def _force(self, actuation: Array, sample: TipSample) -> Array:
        """Return the force (3,) [N] in base_link, NaN without a wrench.

        The model turns the tip where the tracker does not; StreamError: nor does it.
        """
        if (wrench_at := self._wrench.now()) is None:
            return np.full(3, np.nan)
        if sample.oriented:
            return wrench_at(sample.pose)[:3]
        if (near := self._node.solved(actuation)[0]) is None:
            text = 'the tracker sees no turn of the tip, and the model has no equilibrium here'
            raise StreamError(Code.NOT_CONVERGED, text)
        return wrench_at(near.tip)[:3]

    def _stretch(self, handle: Any, goal: Any, rows: list[Array]) -> None:
        targets = levels(self._binding.robot, goal)
        for i, target in enumerate(targets):
            self._tell(handle, i / len(targets), f'posture {i + 1} of {len(targets)}')
            self._go(handle, goal, target)
            rows.append(np.concatenate(self._mean(handle)[:2]))

    def _series(self, handle: Any, goal: Any, rows: list[Array]) -> None:
        """Record a step or a chirp: a row for every measured tip, at its stamp."""
        robot, sweep = self._binding.robot, None
        first, last = reach(robot, goal)
        if goal.protocol == 'chirp':
            sweep = chirp(robot, goal, self._stream.rates)
            first = sweep.actuation_at(0.0)
        self._tell(handle, 0.0, 'going to the start')
        self._go(handle, goal, first)
        begin, seconds = time.monotonic(), goal.duration or DURATION
        if sweep is None:
            seconds += SETTLE
        else:
            self._stream.follow(sweep, begin)
        states, tips, steps = dict[int, Array](), dict[int, Array](), sweep is None
        try:
            while time.monotonic() - begin < seconds or self._stream.phase is Phase.FOLLOW:
                self._look(handle)
                if steps and time.monotonic() - begin > SETTLE:  # the rest before shows the delay
                    self._node.go_to(last, self._generation)
                    steps = False
                state, sample = self._feedback.fresh(), self._node.tip_control.measured.fresh()
                if state is not None and state.known:
                    states[state.stamp] = np.append(state.commanded, state.present)
                if sample is not None:
                    tips[sample.stamp] = sample.pose[:3, 3]
                self._tell(handle, (time.monotonic() - begin) / seconds, 'recording')
                self.ending.wait(LOOK_PERIOD)
        finally:
            rows += over_time(states, tips)
        if not rows:
            raise StreamError(Code.NO_STATE, f"{NO_TRACKER}; or its clock is not the driver's")
        if text := unseen((row[0] for row in rows), seconds):
            raise StreamError(Code.NO_STATE, f'tip_measured {text}')

    def _pulls(self, handle: Any, goal: Any, rows: list[Array]) -> None:
        """Hold the robot while a person pulls, and keep each pull once it stands still."""
        ways = [np.array([d.x, d.y, d.z]) for d in goal.directions] or AXES
        lengths = list(goal.lengths) or LENGTHS
        if not (min(lengths) > 0.0 and all(abs(np.linalg.norm(w) - 1.0) < 1e-3 for w in ways)):
            given = [way.tolist() for way in ways], list(lengths)
            raise InvalidInput('directions, lengths', given, 'unit vectors; lengths above zero')
        if (held := self._node.present()) is None:
            raise StreamError(Code.NO_STATE, 'no actuator_state')
        self._go(handle, goal, held)
        rest = self._mean(handle)[1]
        rows.append(np.append(np.zeros(3), rest))
        pulls = [(w, n) for w in ways for n in lengths]
        for i, (way, length) in enumerate(pulls):
            words = ' '.join(f'{x:+.3g}' for x in way)
            step = f'pull along ({words}) by {1e3 * length:.3g} mm and hold still'
            self._tell(handle, i / len(pulls), step)
            end, before = time.monotonic() + (goal.duration or DURATION), np.full(3, np.inf)
            while True:
                _, tip, force = self._mean(handle, True)
                gone, loaded = float(way @ (tip - rest)), np.isfinite(force).all()
                near = abs(gone - length) <= REACHED * length
                if near and loaded and np.linalg.norm(tip - before) < STILL * length:
                    break
                before = tip
                if time.monotonic() > end:
                    lacks = '' if loaded else ', no external_wrench'
                    raise StreamError(Code.TIMED_OUT, f'{step}: {1e3 * gone:.2g} mm now{lacks}')
            rows.append(np.append(force, tip))
