# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded run of one robot as arrays: actuation, shapes, tip, paths, on the senders' clock.

Messages become numbers one by one: decoded, a shape takes a hundred times the memory of what is
kept of it, and an hour of them more than a computer has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from soro_mechanics.actuators import Actuator
from soro_mechanics.catalogue import find_robot_file
from soro_mechanics.errors import SoroError
from soro_mechanics.robot_file import read_robot_file, RobotDescription

from soro_cli.bag_reader import BagReader, NANOSECONDS
from soro_cli.errors import CliError
from soro_cli.file_errors import writing

Array = NDArray[np.float64]
NOT_TOLD = (float('nan'),) * 3
PRESENT, COMMANDED, TRUTH = 'configuration', 'commanded_configuration', 'emulator/configuration'


@dataclass(frozen=True)
class Actuation:
    """What was asked of the actuators and what they did.

    Attributes
    ----------
    names : tuple of str
    time : ndarray, shape (n,) [s]
    commanded, applied, measured : ndarray, shape (n, m) [SI]
        NaN where nothing was commanded, or nothing is measured.
    """

    names: tuple[str, ...]
    time: Array
    commanded: Array
    applied: Array
    measured: Array

    @property
    def present(self) -> Array:
        """Measured values, the applied ones where nothing is measured, shape (n, m)."""
        return np.where(np.isnan(self.measured), self.applied, self.measured)


@dataclass(frozen=True)
class Shapes:
    """What is known of the shapes at every moment; `RunData.backbones` gives their lines.

    Attributes
    ----------
    time : ndarray, shape (n,) [s]
    lengths : ndarray, shape (n,) [m]
        Of all backbones together.
    radii : tuple of float [m]
        One per backbone.
    tip : ndarray, shape (n, 7)
        Position [m] and quaternion (x, y, z, w).
    actuation : ndarray, shape (n, m) [SI]
    wrench : ndarray, shape (n, 6) [N, N m]
        Load at the tip that was assumed.
    gravity : ndarray, shape (n, 3) [m/s^2], or None
        That was assumed; None in recordings that are older than that field.
    solve_time : ndarray, shape (n,) [s]
    model : str
    """

    time: Array
    lengths: Array
    radii: tuple[float, ...]
    tip: Array
    actuation: Array
    wrench: Array
    gravity: Array | None
    solve_time: Array
    model: str


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

    Parameters
    ----------
    bag : BagReader
    namespace : str
        With its leading slash.

    Raises
    ------
    CliError
        The bag does not say which robot it was.
    """

    def __init__(self, bag: BagReader, namespace: str) -> None:
        self.bag = bag
        self.namespace = namespace
        self._folder = tempfile.TemporaryDirectory(prefix='soro_run_')
        self.description = _description(bag, namespace, Path(self._folder.name))
        self._shapes: dict[str, Shapes | None] = {}
        self._start = bag.start * NANOSECONDS

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """Actuators as in the robot's file."""
        return self.description.actuators

    def has(self, topic: str) -> bool:
        """Whether messages of a topic (relative name) were recorded."""
        found = self.bag.topics.get(f'{self.namespace}/{topic}')
        return found is not None and found.count > 0

    def entries(self, topic: str) -> Iterator[Any]:
        """Return the recorded messages of a topic (relative name)."""
        return self.bag.messages([f'{self.namespace}/{topic}'])

    def table(self, topic: str, row: Callable[[Any], Sequence[float]], width: int) -> Array:
        """Return the numbers that `row` takes from each message of a topic, shape (n, width)."""
        rows = (row(entry.message) for entry in self.entries(topic))
        return np.fromiter(rows, np.dtype((np.float64, width)))

    def actuation(self) -> Actuation:
        """Return all actuator states, actuators in the order of the robot's file."""
        names = tuple(a.name for a in self.actuators)

        def row(m: Any) -> list[float]:
            order = [m.name.index(name) for name in names]
            return [self.stamp(m.header), *m.commanded[order], *m.applied[order],
                    *m.measured[order]]  # fmt: skip

        table = self.table('actuator_state', row, 1 + 3 * len(names))
        if not len(table):
            raise CliError(f'{self.bag.path} holds no actuator_state of {self.namespace}')
        return Actuation(names, table[:, 0], *np.split(table[:, 1:], 3, axis=1))

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
        order = [list(m.actuator_name).index(actuator.name) for actuator in self.actuators]
        told = hasattr(m, 'gravity')

        def row(m: Any) -> list[float]:
            return [
                self.stamp(m.header), *_pose(m.tip), *m.actuation[order], *_xyz(m.wrench.force),
                *_xyz(m.wrench.torque), *(_xyz(m.gravity) if told else NOT_TOLD),
                m.status.solve_time, sum(map(_length, _lines(m))),
            ]  # fmt: skip

        ends = np.cumsum([1, 7, len(order), 6, 3, 1, 1])
        table = self.table(topic, row, ends[-1])
        time, tip, actuation, wrench, gravity, solve_time, lengths = np.split(
            table, ends[:-1], axis=1
        )
        return Shapes(
            time[:, 0], lengths[:, 0], tuple(float(np.max(b.radius)) for b in m.backbones), tip,
            actuation, wrench, gravity if told else None, solve_time[:, 0], m.model,
        )  # fmt: skip

    def backbones(self, topic: str, chosen: NDArray[np.int_]) -> tuple[Array, ...]:
        """Return the backbones of some shapes, by their indices in `shapes`.

        Returns
        -------
        tuple of ndarray, shape (n, k, 3) [m]
            One per backbone, in base_link.
        """
        indices, place = np.unique(chosen, return_inverse=True)
        wanted = set(indices.tolist())
        # Only what is wanted is decoded.
        lines = [_lines(e.message) for i, e in enumerate(self.entries(topic)) if i in wanted]
        return tuple(np.array(backbone)[place] for backbone in zip(*lines, strict=True))

    def tip(self) -> tuple[Array, Array]:
        """Return times (n,) [s] and poses (n, 7) of tip_pose."""
        table = self.table('tip_pose', lambda m: [self.stamp(m.header), *_pose(m.pose)], 8)
        return table[:, 0], table[:, 1:]

    def paths(self) -> list[TrackedPath]:
        """Return every path that was followed, with the longest actual path recorded for it."""
        topics = [f'{self.namespace}/{name}' for name in ('desired_path', 'actual_path')]
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
        return self.table(topic, lambda m: [self.stamp(m.header)], 1)[:, 0]

    def stamp(self, header: Any) -> float:
        """Return a header's time in seconds from the start of the recording."""
        return header.stamp.sec - self._start + header.stamp.nanosec * NANOSECONDS


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

    Raises
    ------
    CliError
        No such robot in the bag, or several and none named.
    """
    listing = ', '.join(name.lstrip('/') for name in bag.namespaces) or 'none'
    if wanted is not None:
        name = '/' + wanted.strip('/')
        if name not in bag.namespaces:
            raise CliError(f'{bag.path} holds no robot under {name}; recorded: {listing}')
        return name
    if len(bag.namespaces) != 1:
        raise CliError(
            f'{bag.path} holds several robots; choose one with --namespace: {listing}'
            if bag.namespaces
            else f'{bag.path} holds no robot: no actuator_state was recorded'
        )
    return bag.namespaces[0]


def _description(bag: BagReader, namespace: str, folder: Path) -> RobotDescription:
    """Return the recorded robot; its file is put into a folder, for those who edit it."""
    texts = [robot.text for robot in bag.robots if robot.namespace == namespace]
    try:
        if not texts:  # a bag of rosbag2: the namespace is usually the robot's name
            return read_robot_file(find_robot_file(namespace.strip('/')))
        path = folder / 'robot.yaml'
        with writing(path):
            path.write_text(texts[0], encoding='utf-8')
        return read_robot_file(path)
    except SoroError as error:
        raise CliError(
            f'which robot {namespace} in {bag.path} was is not known: {error}'
        ) from None


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
