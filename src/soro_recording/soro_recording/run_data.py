# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded run of one robot as arrays: actuation, shapes, tip, paths, on the senders' clock.

Messages become numbers one by one: decoded, a shape takes a hundred times the memory of what is
kept of it, and an hour of them more than a computer has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
import tempfile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from soro_node.user_errors import UserError
from soro_recording.bag_reader import BagReader, NANOSECONDS
from soro_recording.recorded_robot import describe
from soro_recording.series import Array, at, clock_fault, Series, without_jitter

T = TypeVar('T')
NOT_TOLD = (float('nan'),) * 3
NOT_FOLLOWED = (3, 4, 5)  # device states SAFE, FAULT, ESTOP: the last command stands, unheeded
PRESENT, COMMANDED, TRUTH = 'configuration', 'commanded_configuration', 'emulator/configuration'


@dataclass(frozen=True)
class Actuation:
    """What was asked of the actuators and what they did."""

    names: tuple[str, ...]
    time: Array  #: (n,) [s]
    #: commanded, applied, measured: (n, m) [SI]; NaN where nothing was commanded, or the driver
    #: did not follow, and where nothing is measured
    commanded: Array
    applied: Array
    measured: Array
    delay: float = 0.0  #: [s]; how much later than its stamp a state was received, median

    @property
    def unmeasured(self) -> dict[str, float]:
        """Share of the states without a measured value, by actuator: 1 without a sensor."""
        shares = np.mean(np.isnan(self.measured), axis=0).tolist()
        return dict(zip(self.names, shares, strict=True))

    @property
    def sensed(self) -> NDArray[np.bool_]:
        """Which actuators were ever measured, shape (m,)."""
        return np.isfinite(self.measured).any(axis=0)

    @property
    def present(self) -> Array:
        """Measured values, the applied ones of actuators without a sensor, shape (n, m).

        Never both of one actuator: its set-point is no reading of a sensor that failed.
        """
        return np.where(self.sensed, self.measured, self.applied)

    @property
    def stand_in(self) -> Array:
        """Applied values where nothing was measured, NaN elsewhere, shape (n, m)."""
        return np.where(np.isnan(self.measured), self.applied, np.nan)

    @property
    def source(self) -> str:
        """What the kinematics had of the actuators: measured or applied values, or both."""
        if self.sensed.all():
            return 'measured'
        return 'measured and applied' if self.sensed.any() else 'applied'


@dataclass(frozen=True)
class Shapes:
    """What is known of the shapes at every moment; `RunData.backbones` gives their lines."""

    time: Array  #: (n,) [s]
    lengths: Array  #: (n,) [m]; of all backbones together
    radii: tuple[float, ...]  #: [m]; one per backbone
    tip: Array  #: (n, 7); position [m] and quaternion (x, y, z, w)
    actuation: Array  #: (n, m) [SI]
    wrench: Array  #: (n, 6) [N, N m]; load at the tip that was assumed
    #: (n, 3) [m/s^2], or None; that was assumed; None in recordings that are older than that field
    gravity: Array | None
    solve_time: Array  #: (n,) [s]
    models: tuple[str, ...]  #: that ran, in their order; several where it was changed
    model: NDArray[np.int_]  #: (n,); which of them each shape is of


@dataclass(frozen=True)
class TrackedPath:
    """A desired path and where the tip was while it was followed, shapes (n, 3) and (k, 3) [m]."""

    desired: Array
    actual: Array

    @property
    def distances(self) -> Array:
        """Distance of every actual position from the desired path, shape (k,) [m]."""
        return distance_to_path(self.actual, self.desired)

    @property
    def rmse(self) -> float:
        """Root mean square of `distances` [m]."""
        return float(np.sqrt(np.mean(self.distances**2)))


class RunData:
    """One robot of a recording; every part is read when it is first asked for.

    - `namespace`: with its leading slash.
    - `robot`: name or file of the robot; default: the file in the bag.

    Its attributes:
    - `notes`: what a person should know of the recording, and of where the robot's file is from.
    - `clock_faults`: by topic, of those read so far, why the senders' stamps are no times: those
      of the receipt stand for them.

    UserError: the bag does not say which robot it was.
    """

    def __init__(self, bag: BagReader, namespace: str, robot: str | None = None) -> None:
        self.bag = bag
        self.namespace, self.prefix = namespace, namespace.rstrip('/')
        self._folder = tempfile.TemporaryDirectory(prefix='soro_run_')
        self.description, said = describe(bag, namespace, robot, Path(self._folder.name))
        self.actuators = self.description.actuators
        self.notes = [f'{bag.path}: {text}' for text in bag.notes] + ([said] if said else [])
        self.clock_faults: dict[str, str] = {}
        self._start = bag.start
        self._shapes: dict[str, Shapes | None] = {}

    def has(self, topic: str) -> bool:
        """Whether messages of a topic (relative name) were recorded."""
        found = self.bag.topics.get(f'{self.prefix}/{topic}')
        return found is not None and found.count > 0

    def entries(self, topic: str) -> Iterator[Any]:
        """Return the recorded messages of a topic (relative name)."""
        return self.bag.messages([f'{self.prefix}/{topic}'])

    def table(self, topic: str, row: Callable[[Any], Sequence[float]], width: int) -> Series:
        """Return the numbers that `row` takes from each message of a topic with a header."""

        def rows() -> Iterator[list[float]]:
            for entry in self.entries(topic):
                message = entry.message
                sent = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
                yield [self._since(entry.stamp), self._since(sent), *row(message)]

        table = np.fromiter(rows(), np.dtype((np.float64, 2 + width)))
        received, sent, values = table[:, 0], without_jitter(table[:, 1]), table[:, 2:]
        fault = clock_fault(sent, self._since(0))
        if fault:
            self.clock_faults[topic] = fault
            sent = received
        delay = float(np.median(received - sent)) if len(sent) else 0.0
        return Series(sent, values, delay)

    @cached_property
    def actuation(self) -> Actuation:
        """All actuator states, actuators in the order of the robot's file."""
        names = tuple(a.name for a in self.actuators)

        def row(m: Any) -> list[float]:
            order = self._order(m.name, 'actuator_state')
            commanded = m.commanded[order]
            if m.device_state in NOT_FOLLOWED:
                commanded = np.full(len(order), np.nan)
            return [*commanded, *m.applied[order], *m.measured[order]]

        table = self.table('actuator_state', row, 3 * len(names))
        if not len(table.time):
            raise UserError(f'{self.bag.path} holds no actuator_state of {self.namespace}')
        return Actuation(names, table.time, *np.split(table.values, 3, axis=1), table.delay)

    def commanded_at(self, time: Array) -> NDArray[np.bool_]:
        """Return at which times (n,) [s] the driver followed a command."""
        data = self.actuation
        return np.isfinite(at(data.time, data.commanded, time)).all(axis=1)

    def _order(self, names: Sequence[str], topic: str) -> list[int]:
        """Return where the actuators are in a message. UserError: it is of other actuators."""
        recorded, expected = list(names), [a.name for a in self.actuators]
        if sorted(recorded) != sorted(expected):
            raise UserError(
                f'{self.prefix}/{topic} has the actuators {", ".join(recorded) or "none"}; the '
                f'robot file {self.description.file} has {", ".join(expected)}: name the file of '
                'the recorded robot (--robot FILE, or soro simulate FILE)'
            )
        return [recorded.index(name) for name in expected]

    def shapes(self, topic: str = PRESENT) -> Shapes | None:
        """Return the shapes of `configuration` or one of its companions; None without any."""
        if topic not in self._shapes:
            self._shapes[topic] = self._read_shapes(topic)
        return self._shapes[topic]

    def _read_shapes(self, topic: str) -> Shapes | None:
        first = next(iter(self.entries(topic)), None)
        if first is None:
            return None
        m = first.message
        order = self._order(m.actuator_name, topic)
        told = hasattr(m, 'gravity')
        models: dict[str, int] = {}

        def row(m: Any) -> list[float]:
            return [
                *_pose(m.tip),
                *m.actuation[order],
                *_xyz(m.wrench.force),
                *_xyz(m.wrench.torque),
                *(_xyz(m.gravity) if told else NOT_TOLD),
                m.status.solve_time,
                sum(map(_length, _lines(m))),
                models.setdefault(m.model, len(models)),
            ]

        ends = np.cumsum([7, len(order), 6, 3, 1, 1, 1])
        table = self.table(topic, row, ends[-1])
        tip, actuation, wrench, gravity, solve_time, lengths, model = np.split(
            table.values, ends[:-1], axis=1
        )
        return Shapes(
            table.time,
            lengths[:, 0],
            tuple(float(np.max(b.radius)) for b in m.backbones),
            tip,
            actuation,
            wrench,
            gravity if told else None,
            solve_time[:, 0],
            tuple(models),
            model[:, 0].astype(int),
        )

    def backbones(self, topic: str, chosen: NDArray[np.int_]) -> list[list[Array]]:
        """Return the backbones of some shapes, by their indices in `shapes`.

        Each (k, 3) [m], in base_link; each model has stations of its own.
        """
        return self._chosen(topic, chosen, _lines)

    def body_poses(self, name: str, chosen: NDArray[np.int_]) -> list[list[float]]:
        """Return where a body was: position [m] and quaternion; no numbers where nobody said."""

        def pose(m: Any) -> list[float]:
            named = dict(zip(m.body_name, m.body_pose, strict=True)) | {'tip': m.tip}
            return np.round(_pose(named[name]), 5).tolist() if name in named else []

        return self._chosen(PRESENT, chosen, pose)

    def _chosen(self, topic: str, chosen: NDArray[np.int_], take: Callable[[Any], T]) -> list[T]:
        wanted = set(chosen.tolist())
        # Only what is wanted is decoded.
        found = {i: take(e.message) for i, e in enumerate(self.entries(topic)) if i in wanted}
        return [found[i] for i in chosen.tolist()]

    def tip(self) -> tuple[Array, Array]:
        """Return times (n,) [s] and poses (n, 7) of tip_pose."""
        table = self.table('tip_pose', lambda m: _pose(m.pose), 7)
        return table.time, table.values

    def paths(self) -> list[TrackedPath]:
        """Return every path that was followed, with the longest actual path recorded for it."""
        topics = [f'{self.prefix}/{name}' for name in ('desired_path', 'actual_path')]
        found: list[list[Array]] = []
        for entry in self.bag.messages(topics):
            points = np.array([_xyz(p.pose.position) for p in entry.message.poses])
            if entry.topic == topics[0]:
                found.append([points.reshape(-1, 3), np.zeros((0, 3))])
            elif found:
                found[-1][1] = points.reshape(-1, 3)
        return [TrackedPath(d, a) for d, a in found if len(d) > 1 and len(a) > 1]

    def stamps(self, topic: str) -> Array:
        """Return when the sender stamped the messages of a topic, shape (n,) [s]."""
        return self.table(topic, lambda m: (), 0).time

    def _since(self, stamp: int) -> float:
        """Return a time since 1970 [ns] from the start of the recording [s]."""
        return (stamp - self._start) * NANOSECONDS


def distance_to_path(points: Array, path: Array) -> Array:
    """Return the distance of points (k, 3) from a polyline (n, 3), shape (k,)."""
    start, along = path[:-1], np.diff(path, axis=0)
    length = np.einsum('ij,ij->i', along, along)
    relative = points[:, None, :] - start
    # A segment without length is its own nearest point.
    share = np.einsum('kij,ij->ki', relative, along) / np.where(length > 0.0, length, 1.0)
    nearest = start + np.clip(share, 0.0, 1.0)[:, :, None] * along
    return np.linalg.norm(points[:, None, :] - nearest, axis=2).min(axis=1)


def choose_namespace(bag: BagReader, wanted: str | None) -> str:
    """Return the namespace of the robot that is meant.

    UserError: no such robot in the bag, or several and none named.
    """
    listing = ', '.join(name.lstrip('/') or '/' for name in bag.namespaces) or 'none'
    if wanted is not None:
        name = '/' + wanted.strip('/')
        if name not in bag.namespaces:
            raise UserError(f'{bag.path} holds no robot under {name}; recorded: {listing}')
        return name
    if len(bag.namespaces) != 1:
        raise UserError(
            f'{bag.path} holds several robots; choose one with --namespace: {listing}'
            if bag.namespaces
            else f'{bag.path} holds no robot: no actuator_state was recorded'
        )
    return bag.namespaces[0]


def _xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def _lines(message: Any) -> list[Array]:
    """Return the positions along each backbone of a Configuration, shape (k, 3)."""
    return [np.array([_xyz(p.position) for p in b.poses]) for b in message.backbones]


def _length(line: Array) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


def _pose(pose: Any) -> list[float]:
    q = pose.orientation
    return [*_xyz(pose.position), q.x, q.y, q.z, q.w]
