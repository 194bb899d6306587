# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a muscle is after its valve was open for a time (Chen 2022, Fig. 4 b), and back.

The state of a muscle is one number, the equivalent inflation time: how long an evacuated one has
to be inflated to be like it. Inflating adds to it; deflating goes through the other table. At its
shortest length a muscle may be evacuated or not: half a second of inflation lies between the two.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.numerics.monotone_curve import cubic_at, pchip_slopes

END = 2e-3  # m above the shortest length: where a table of deflation may end
FINER = 16  # points of the smooth curve per point of a table
EVACUATED = 0.1  # of the time until an evacuated muscle grows: so little is as good as nothing
NOTHING = 1e-6  # of the vacuum: no valve is open for as long as the rest would take


class MuscleCurve:
    """Tables of one muscle, and smooth curves through them.

    - `inflate_time`, `inflate_length`: (k,) [s], [m]; from completely deflated on. Time begins at
      0; length stays or grows, and grows from where it has once grown.
    - `deflate_time`, `deflate_length`: (n,) [s], [m]; from the longest length on; length falls.

    InvalidInput: tables that are no curves.
    """

    def __init__(
        self,
        inflate_time: Array,
        inflate_length: Array,
        deflate_time: Array,
        deflate_length: Array,
    ) -> None:
        self.inflate_time, self.inflate_length = inflate_time, inflate_length
        self.deflate_time, self.deflate_length = deflate_time, deflate_length
        self._check()
        self._draw()

    def _check(self) -> None:
        for name in ('inflate', 'deflate'):
            time, length = getattr(self, f'{name}_time'), getattr(self, f'{name}_length')
            if time.shape != length.shape or time.ndim != 1 or time.size < 3:
                found = f'{time.size} times, {length.size} lengths'
                raise InvalidInput(name, found, 'as many lengths as times, at least three')
            if not (np.all(np.isfinite(time)) and np.all(np.isfinite(length))):
                raise InvalidInput(name, 'not finite', 'finite numbers')
            if time[0] != 0.0 or not np.all(np.diff(time) > 0.0):
                raise InvalidInput(f'{name} time', time.tolist(), 'growing times that begin at 0')
        rise = np.diff(self.inflate_length)
        moving = np.flatnonzero(rise > 0.0)
        if moving.size == 0 or np.any(rise[moving[0] :] <= 0.0) or np.any(rise < 0.0):
            raise InvalidInput('inflate length', self.inflate_length.tolist(), 'growing lengths')
        if not np.all(np.diff(self.deflate_length) < 0.0):
            raise InvalidInput('deflate length', self.deflate_length.tolist(), 'falling lengths')
        if self.deflate_length[-1] - self.shortest > END:
            found = f'{self.deflate_length[-1]:.4f} m'
            expected = f'an end near the shortest length {self.shortest:.4f} m'
            raise InvalidInput('deflate length', found, expected)

    def _draw(self) -> None:
        """Draw smooth curves through the tables, and extend them below the shortest length.

        Below it the pressure goes on falling though the length does not: the lengths that the
        first rise would have there, `slack` ones, grow toward `_vacuum` as quickly as they fall at
        the end of the deflation.
        """
        rising = int(np.flatnonzero(np.diff(self.inflate_length) > 0.0)[0])
        self._onset = float(self.inflate_time[rising])
        self._rise = rise = _smooth(self.inflate_time[rising:], self.inflate_length[rising:])
        self._fall = fall = _smooth(self.deflate_time, self.deflate_length)
        self._fill = float((rise[1][1] - rise[1][0]) / (rise[0][1] - rise[0][0]))
        empty = float((fall[1][-2] - fall[1][-1]) / (fall[0][-1] - fall[0][-2]))
        self._vacuum = self.shortest - self._fill * self._onset
        self._constant = (float(fall[1][-1]) - self._vacuum) / empty

    @property
    def shortest(self) -> float:
        """Length of the completely deflated muscle [m]."""
        return float(self.inflate_length[0])

    @property
    def longest(self) -> float:
        """Largest length both tables know [m]."""
        return float(min(self.inflate_length[-1], self.deflate_length[0]))

    @property
    def fullest(self) -> float:
        """Largest state [s]."""
        return float(self.inflate_time[-1])

    def length(self, state: float) -> float:
        """Return the length [m] of a state [s]."""
        return max(self.shortest, self.slack(state))

    def slack(self, state: float) -> float:
        """Return the length [m] of a state [s]; below the shortest one for what is evacuated."""
        if state <= self._onset:
            return self.shortest - self._fill * (self._onset - state)
        return float(np.interp(state, *self._rise))

    def state(self, length: float) -> float:
        """Return the state [s] of a length [m], which may be a slack one."""
        if length <= self.shortest:
            return self._onset - min(self._onset, (self.shortest - length) / self._fill)
        return float(np.interp(length, self._rise[1], self._rise[0]))

    def inflated(self, state: float, seconds: float) -> float:
        """Return the state after inflating."""
        return float(min(state + seconds, self.fullest))

    def deflated(self, state: float, seconds: float) -> float:
        """Return the state after deflating."""
        if seconds <= 0.0:
            return state
        return min(state, self.state(self.fallen(self._deflation_time(state) + seconds)))

    def time_to(self, state: float, length: float) -> float:
        """Return for how long to inflate (positive) or deflate (negative) to get to a length.

        To the shortest length or below means: until the muscle is evacuated, as it is after
        venting, so that what follows begins where the tables begin.
        """
        if length <= self.shortest:
            emptied = EVACUATED * self._onset
            if state <= emptied:
                return 0.0
            return self._deflation_time(state) - self._deflation_time(emptied)
        goal = self.state(min(length, self.longest))
        if goal >= state:
            return goal - state
        return self._deflation_time(state) - self._deflation_time(goal)

    def run_up(self, goal: float, seconds: float) -> float:
        """Return the length [m] from which an inflation (deflation: negative) takes so long.

        Where a way is too short for a valve, this is where to go first.

        `goal`: where to arrive [m]; `seconds`: the last pulse.
        """
        state = self.state(goal)
        if seconds >= 0.0:
            return self.length(state - seconds)
        return self.fallen(max(0.0, self._deflation_time(state) + seconds))

    def _deflation_time(self, state: float) -> float:
        """Return for how long the longest muscle has to be deflated to this state [s]."""
        time, length = self._fall
        here = self.slack(state)
        if here >= length[-1]:
            return float(np.interp(here, length[::-1], time[::-1]))  # wants growing abscissae
        left = (here - self._vacuum) / (length[-1] - self._vacuum)
        return float(time[-1] - self._constant * np.log(max(left, NOTHING)))

    def fallen(self, seconds: float) -> float:
        """Return the length [m], also slack, after deflating from the longest one."""
        time, length = self._fall
        if seconds <= time[-1]:
            return float(np.interp(seconds, time, length))
        if self._constant <= 0.0:
            return self._vacuum
        left = np.exp((time[-1] - seconds) / self._constant)
        return float(self._vacuum + (length[-1] - self._vacuum) * left)


def _smooth(time: Array, length: Array) -> tuple[Array, Array]:
    """Return a fine table of the monotone cubic through a coarse one."""
    fine = np.linspace(time[0], time[-1], FINER * time.size)
    if time.size == 2:  # growth in the last interval only: two points are a line
        return fine, np.interp(fine, time, length)
    smooth, _ = cubic_at(time, length, pchip_slopes(time, length), fine)
    return fine, smooth
