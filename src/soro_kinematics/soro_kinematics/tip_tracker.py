# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is believed of a tracker: poses of its marker in, the measured tip out, or why not.

Pure: clocks, transform and the model's tip are arguments. A pose is refused when its frame is not
connected with base_link, when its stamp does not increase or is too old, when the tip would be too
far from the model's, would have moved too fast, or stands still while the model's moves (a tracker
that repeats its last pose). A refused pose is forgotten; what was believed before grows old.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.numerics import lie
from soro_msgs.msg import TrackerState

WINDOW = 1.0  # s, of latency and rate
AHEAD = 0.05  # s: a stamp that is later than now by more is of another clock
SHORTEST = 0.01  # s: poses may come in bursts; noise is no speed
FROZEN = 1e-3  # m (assumed): the model's tip has moved by more, the tracker's by nothing at all
NANO = 1e-9


@dataclass(frozen=True)
class TrackerRules:
    """What a pose must keep to be believed."""

    timeout: float  #: without a believed pose for longer [s] the tracker is not GOOD
    max_latency: float  #: from stamp to arrival [s]
    max_distance: float  #: from the model's tip [m]
    max_speed: float  #: of the tip since the last believed pose [m/s]
    marker: Array  #: (4, 4); pose of the marker in the frame of the tip


@dataclass(frozen=True)
class MarkerPose:
    """One message of a tracker."""

    stamp: int  #: when it was measured [ns]
    frame_id: str
    pose: Array  #: (4, 4); of the marker in that frame
    #: False where the tracker measures positions alone: then its orientation is (0, 0, 0, 1)
    oriented: bool


@dataclass(frozen=True)
class _Believed:
    seen: MarkerPose
    tip: Array
    arrival: float


class TipTracker:
    """The newest believed pose of one tracker, and what became of the others.

    `refused`: poses that were not believed, since the start. `newest`: the last one that came,
    believed or not.
    """

    def __init__(self, rules: TrackerRules) -> None:
        self.refused = 0
        self.newest: MarkerPose | None = None
        self._rules = rules
        self._to_tip = lie.inverse(rules.marker)
        self._believed: _Believed | None = None
        self._still: tuple[Array, Array] | None = None  # marker and model's tip since it stands
        self._arrivals: deque[tuple[float, float]] = deque()  # (when, latency), of `WINDOW`
        self._refusal = (TrackerState.ABSENT, 'none heard')
        self._last_arrival = -math.inf

    def take(
        self, seen: MarkerPose, to_base: Array | str, model: Array | None, now: int, arrival: float
    ) -> Array | None:
        """Return the measured pose (4, 4) of the tip in base_link, or None.

        Its rotation is the identity where the tracker measures positions alone.

        `to_base` (4, 4): pose of the tracker's frame in base_link, or why no transform connects
        them. `model` (4, 4): the model's tip at the measured actuation; None while that is
        unknown. `now`: in the clock of stamps [ns]. `arrival`: steady clock [s].
        """
        before, self.newest = self.newest, seen
        latency = (now - seen.stamp) * NANO
        self._note(arrival, latency)
        refusal = self._judge_message(seen, before, to_base, latency, now)
        tip = np.eye(4)
        if not refusal and not isinstance(to_base, str):
            tip, refusal = self._tip(to_base @ seen.pose, seen.oriented, model)
        refusal = refusal or self._judge_tip(seen, tip, model, arrival)
        if refusal:
            self._refusal = refusal
            self.refused += 1
            return None
        self._believed = _Believed(seen, tip, arrival)
        return tip

    def refuse(self, reason: str, arrival: float) -> None:
        """Note a message that holds no pose at all."""
        self._last_arrival = arrival
        self._refusal = (TrackerState.LOST, reason)
        self.refused += 1

    def state(self, now: float) -> tuple[int, str]:
        """Return a constant of TrackerState and a sentence, at a steady time [s].

        Single refusals do not change the state: GOOD lasts for `timeout` after a believed pose.
        """
        timeout, believed = self._rules.timeout, self._believed
        if believed is not None and now - believed.arrival <= timeout:
            return TrackerState.GOOD, 'used'
        if self._last_arrival > -math.inf and now - self._last_arrival > timeout:
            return TrackerState.LOST, f'no pose within {timeout:g} s'
        return self._refusal

    @property
    def tip(self) -> Array | None:
        """The last believed tip (4, 4); None before the first."""
        return None if self._believed is None else self._believed.tip

    def latency(self) -> float:
        """Return the median latency of the last second [s]; NaN when nothing has come."""
        return float(np.median([x for _, x in self._arrivals])) if self._arrivals else math.nan

    def rate(self, now: float) -> float:
        """Return how many poses came in the last second [Hz]."""
        self._forget(now)
        return len(self._arrivals) / WINDOW

    def _note(self, arrival: float, latency: float) -> None:
        self._last_arrival = arrival
        self._arrivals.append((arrival, latency))
        self._forget(arrival)

    def _forget(self, now: float) -> None:
        while self._arrivals and now - self._arrivals[0][0] > WINDOW:
            self._arrivals.popleft()

    def _judge_message(
        self,
        seen: MarkerPose,
        before: MarkerPose | None,
        to_base: Array | str,
        latency: float,
        now: int,
    ) -> tuple[int, str] | None:
        if isinstance(to_base, str):
            return TrackerState.NO_TRANSFORM, to_base
        if latency < -AHEAD:
            return TrackerState.LATE, 'stamps are in the future: synchronise the clocks'
        if latency > self._rules.max_latency:
            allowed = f'older than tracker_max_latency ({self._rules.max_latency:g} s)'
            return (
                TrackerState.LATE,
                f'{allowed} at arrival: synchronise the clocks, or allow more',
            )
        if before is not None and before.stamp <= now and seen.stamp <= before.stamp:
            return TrackerState.LATE, 'stamps do not increase'
        return None

    def _tip(
        self, marker: Array, oriented: bool, model: Array | None
    ) -> tuple[Array, tuple[int, str] | None]:
        """Return the tip of a marker in base_link; the model's turn where none is measured."""
        if oriented:
            return marker @ self._to_tip, None
        tip, arm = np.eye(4), self._rules.marker[:3, 3]
        tip[:3, 3] = marker[:3, 3]
        if not np.any(arm):
            return tip, None
        if model is None:
            reason = "positions alone need the model's tip for `marker`: no actuator_state"
            return tip, (TrackerState.LOST, reason)
        tip[:3, 3] -= model[:3, :3] @ arm
        return tip, None

    def _judge_tip(
        self, seen: MarkerPose, tip: Array, model: Array | None, arrival: float
    ) -> tuple[int, str] | None:
        rules, last = self._rules, self._believed
        if self._frozen(seen.pose, model):
            return TrackerState.LOST, 'frozen: the same pose while the robot moves'
        if model is not None and _apart(tip, model) > rules.max_distance:
            allowed = f'tracker_max_distance ({rules.max_distance * 1e3:.3g} mm)'
            return TrackerState.OUTLIER, f"farther from the model's tip than {allowed}"
        if last is not None:
            # By arrival where a clock was set back; by stamps where poses come in bursts.
            between = (seen.stamp - last.seen.stamp) * NANO, arrival - last.arrival
            passed = max(*between, SHORTEST)
            if _apart(tip, last.tip) > rules.max_speed * passed:
                return TrackerState.OUTLIER, 'jumped faster than tracker_max_speed'
        return None

    def _frozen(self, pose: Array, model: Array | None) -> bool:
        if model is None:
            return False
        if self._still is None or not np.array_equal(self._still[0], pose):
            self._still = pose, model
        return _apart(self._still[1], model) > FROZEN


def _apart(a: Array, b: Array) -> float:
    return float(np.linalg.norm(a[:3, 3] - b[:3, 3]))
