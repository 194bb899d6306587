# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where frames lie to each other at the stamp of a message: tf2's buffer, listener and filter.

tf2_ros has no wheels. As there, transforms between two samples are interpolated, and none is
extrapolated: a message waits for a transform that is on its way, and is refused otherwise.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
import threading
import time
from typing import Any

from geometry_msgs.msg import Point, Pose
import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
import tf_transformations

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_node.conversions import pose_from_message
from soro_node.executor.clock_watch import steady_timer
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.inputs.actuator_feedback import NANOSECONDS

HISTORY = 10 * NANOSECONDS  # as tf2's buffer
STALE = NANOSECONDS  # the newest transform, for a message without a stamp, is no older (assumed)
BACK = NANOSECONDS // 4  # (assumed): a stamp so much before the last is of a clock that was set
WAIT = 0.25  # s (assumed): the solver publishes 30 transforms a second, a few ms late
LOOK = 0.01  # s between two looks at TF, which wakes nobody
MAX_WAITING = 100  # messages
STAMP = itemgetter(0)  # of a sample
# More than one node may say where frames are, each once.
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
MOVING = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


class NoTransform(InvalidInput):
    """Two frames are not connected at a moment; `pending`: a transform may be on its way."""

    def __init__(self, source: str, target: str, why: str = '', pending: bool = True) -> None:
        self.pending, self.why = pending, f'no transform from {source!r} to {target!r}{why}'
        expected = f'a frame that TF connects with {target!r} at the stamp: {self.why}'
        super().__init__('header.frame_id', source, expected, Code.UNKNOWN_FRAME)


@dataclass
class _Link:
    """A frame in its parent: one sample, or those of the last seconds in the order of stamps."""

    parent: str
    static: bool
    samples: list[tuple[int, Array, Array]] = field(default_factory=list)  # position, quaternion

    def add(self, stamp: int, position: Array, quaternion: Array) -> None:
        at = bisect.bisect_left(self.samples, stamp, key=STAMP)
        if at == len(self.samples) or self.samples[at][0] != stamp:
            self.samples.insert(at, (stamp, position, quaternion))
        while self.samples[-1][0] - self.samples[0][0] > HISTORY:
            del self.samples[0]

    def at(self, stamp: int) -> Array:
        """Return the pose (4, 4) at a stamp that lies between two samples, or on one."""
        after = 0 if self.static else bisect.bisect_left(self.samples, stamp, key=STAMP)
        end, position, quaternion = self.samples[after]
        if not self.static and end != stamp:
            begin, first, turn = self.samples[after - 1]
            share = (stamp - begin) / (end - begin)
            position = first + share * (position - first)
            quaternion = tf_transformations.quaternion_slerp(turn, quaternion, share)
        pose: Array = tf_transformations.quaternion_matrix(quaternion)
        pose[:3, 3] = position
        return pose


class TransformBuffer:
    """Frames, their parents, and their transforms of the last seconds."""

    def __init__(self) -> None:
        self._links: dict[str, _Link] = {}

    def update(self, message: TFMessage, static: bool) -> None:
        """Take the transforms of a message; those that are none are left out."""
        for each in message.transforms:
            child, parent = each.child_frame_id.lstrip('/'), each.header.frame_id.lstrip('/')
            t, turn = each.transform.translation, each.transform.rotation
            point = Point(x=t.x, y=t.y, z=t.z)
            try:
                pose = pose_from_message(Pose(position=point, orientation=turn), 'transform')
            except SoroError:
                continue
            stamp, link = stamp_of(each.header), self._links.get(child)
            back = link is not None and link.samples[-1][0] - stamp > BACK
            if link is None or static or link.static or link.parent != parent or back:
                link = self._links[child] = _Link(parent, static)
            link.add(stamp, pose[:3, 3], tf_transformations.quaternion_from_matrix(pose))

    def ancestors(self, frame: str) -> list[str]:
        """Return the frame and what it hangs on, nearest first."""
        found = [frame.lstrip('/')]
        while (link := self._links.get(found[-1])) is not None and link.parent not in found:
            found.append(link.parent)
        return found

    def lookup(self, target: str, source: str, stamp: int, now: int) -> Array:
        """Return the pose (4, 4) of frame `source` in frame `target`.

        - `stamp`: the moment [ns]; 0: the newest that all transforms know.
        - `now`: in the clock of stamps [ns].

        NoTransform: not connected, stale, or not known at that moment.
        """
        up, down = self.ancestors(target), self.ancestors(source)
        common = next((frame for frame in down if frame in up), None)
        if common is None:
            raise NoTransform(source, target)
        paths = [path[: path.index(common)] for path in (up, down)]
        moving = [f for path in paths for f in path if not self._links[f].static]
        if moving:
            stamp = self._moment(moving, stamp, now, (source, target))
        from_target, from_source = (self._compose(path, stamp) for path in paths)
        return np.linalg.solve(from_target, from_source)

    def _moment(self, moving: list[str], stamp: int, now: int, names: tuple[str, str]) -> int:
        newest, last = min((self._links[f].samples[-1][0], f) for f in moving)
        oldest, first = max((self._links[f].samples[0][0], f) for f in moving)
        stale = now - newest > STALE
        if stamp > newest or (stamp == 0 and stale):
            late = ((stamp or now) - newest) / NANOSECONDS
            raise NoTransform(*names, f', {late:.3g} s after the newest one of {last!r}')
        stamp = stamp or newest
        if stamp < oldest:
            early = (oldest - stamp) / NANOSECONDS
            why = f', {early:.3g} s before the oldest one known of {first!r}'
            raise NoTransform(*names, why, pending=False)
        return stamp

    def _compose(self, path: list[str], stamp: int) -> Array:
        pose = np.eye(4)
        for frame in path:
            pose = self._links[frame].at(stamp) @ pose
        return pose


class TransformListener:
    """TF as one node hears it, read by asking, in any thread; from `open` to `close`."""

    def __init__(self, node: Any) -> None:
        self._node, self._heard = node, PolledSubscriptions(node)
        self._buffer, self._lock = TransformBuffer(), threading.Lock()
        self._is_open = False

    def open(self, moving: bool = False) -> None:
        """Listen; to frames that move at once, or from the first need on."""
        self._is_open = True
        self._heard.open(TFMessage, '/tf_static', STATIC)
        if moving:
            self._heard.open(TFMessage, '/tf', MOVING)

    def close(self) -> None:
        """Listen no more."""
        self._is_open = False
        self._heard.close_all()

    def lookup(self, target: str, header: Header, wait: float = 0.0) -> Array:
        """Return the pose (4, 4) of the frame of a message in a frame; '' is that frame itself.

        NoTransform: also after `wait` [s] TF does not connect the two at the stamp.
        """
        source, end = header.frame_id, time.monotonic() + wait
        while source not in ('', target):
            try:
                with self._lock:
                    now = self._node.get_clock().now().nanoseconds
                    return self._now().lookup(target, source, stamp_of(header), now)
            except NoTransform as error:
                if self._is_open:
                    self.open(moving=True)
                if not error.pending or time.monotonic() >= end:
                    raise
                time.sleep(0.005)
        return np.eye(4)

    def awaited(self, target: str, header: Header, field: str) -> Array:
        """Look up for something that comes once, which may take `WAIT`; InvalidInput: `field`."""
        try:
            return self.lookup(target, header, WAIT)
        except NoTransform as error:
            field = f'{field}.frame_id'
            raise InvalidInput(field, error.value, error.expected, error.code) from error

    def hangs_on(self, frame: str, ancestor: str) -> bool:
        """Whether a frame moves with another one."""
        with self._lock:
            return ancestor in self._now().ancestors(frame)

    def _now(self) -> TransformBuffer:
        for topic in ('/tf_static', '/tf'):
            for message in self._heard.all(topic):
                self._buffer.update(message, topic == '/tf_static')
        return self._buffer


class TransformFilter:
    """Hands messages on in their order, with the pose of their frame, once that is known.

    - `node`: has the timer that looks again while a message waits.
    - `lookup`: from a header to the pose (4, 4) of its frame; raises NoTransform.
    - `take`: gets message, arrival (steady clock [s]) and pose, or why there is none.
    """

    def __init__(
        self,
        node: Any,
        lookup: Callable[[Header], Array],
        take: Callable[[Any, float, Array | NoTransform], None],
    ) -> None:
        self._node, self._lookup, self._take = node, lookup, take
        self._timer: Any = None  # while a message waits
        self._waiting: deque[tuple[Any, float]] = deque(maxlen=MAX_WAITING)

    def add(self, message: Any, arrival: float | None = None) -> None:
        """Take a message with a header; it has arrived just now unless it is said when."""
        self._waiting.append((message, time.monotonic() if arrival is None else arrival))
        self.proceed()

    def proceed(self) -> None:
        """Hand on what need not wait any more."""
        while self._waiting:
            message, arrival = self._waiting[0]
            found: Array | NoTransform
            try:
                found = self._lookup(message.header)
            except NoTransform as error:
                if error.pending and time.monotonic() - arrival < WAIT:
                    if self._timer is None:
                        self._timer = steady_timer(self._node, LOOK, self.proceed)
                    return
                found = error
            self._waiting.popleft()
            self._take(message, arrival, found)
        timer, self._timer = self._timer, None
        if timer is not None:
            self._node.destroy_timer(timer)


def stamp_of(header: Header) -> int:
    """Return the stamp of a header [ns]."""
    return header.stamp.sec * NANOSECONDS + header.stamp.nanosec
