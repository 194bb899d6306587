# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded run of one robot as arrays: actuation, shapes, tip, paths, on the senders' clock."""

from __future__ import annotations

from collections.abc import Iterator
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
from soro_cli.recording.results import writing

Array = NDArray[np.float64]
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
    """Backbones over time.

    Attributes
    ----------
    time : ndarray, shape (n,) [s]
    backbones : tuple of ndarray, shape (n, k, 3) [m]
        One per backbone, in base_link.
    radii : tuple of float [m]
    tip : ndarray, shape (n, 7)
        Position [m] and quaternion (x, y, z, w).
    actuation : ndarray, shape (n, m) [SI]
    wrench : ndarray, shape (n, 6) [N, N m]
        Load at the tip that was assumed.
    solve_time : ndarray, shape (n,) [s]
    model : str
    """

    time: Array
    backbones: tuple[Array, ...]
    radii: tuple[float, ...]
    tip: Array
    actuation: Array
    wrench: Array
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

    def actuation(self) -> Actuation:
        """Return all actuator states, actuators in the order of the robot's file."""
        names = tuple(a.name for a in self.actuators)
        rows = []
        for entry in self.entries('actuator_state'):
            m = entry.message
            order = [m.name.index(name) for name in names]
            rows.append((self.stamp(m.header), m.commanded[order], m.applied[order],
                         m.measured[order]))  # fmt: skip
        if not rows:
            raise CliError(f'{self.bag.path} holds no actuator_state of {self.namespace}')
        time, *columns = zip(*rows, strict=True)
        return Actuation(names, np.array(time), *(np.array(c, dtype=float) for c in columns))

    def shapes(self, topic: str = PRESENT) -> Shapes | None:
        """Return the shapes of `configuration` or one of its companions; None without any."""
        if topic not in self._shapes:
            self._shapes[topic] = self._read_shapes(topic)
        return self._shapes[topic]

    def _read_shapes(self, topic: str) -> Shapes | None:
        messages = [(self.stamp(e.message.header), e.message) for e in self.entries(topic)]
        if not messages:
            return None
        first = messages[0][1]
        names = tuple(a.name for a in self.actuators)
        backbones = tuple(
            np.array([[_xyz(p.position) for p in m.backbones[i].poses] for _, m in messages])
            for i in range(len(first.backbones))
        )
        order = [list(first.actuator_name).index(name) for name in names]
        return Shapes(
            np.array([t for t, _ in messages]), backbones,
            tuple(float(np.max(b.radius)) for b in first.backbones),
            np.array([_pose(m.tip) for _, m in messages]),
            np.array([m.actuation[order] for _, m in messages]),
            np.array([_xyz(m.wrench.force) + _xyz(m.wrench.torque) for _, m in messages]),
            np.array([m.status.solve_time for _, m in messages]), first.model,
        )  # fmt: skip

    def tip(self) -> tuple[Array, Array]:
        """Return times (n,) [s] and poses (n, 7) of tip_pose."""
        rows = [
            (self.stamp(m.header), _pose(m.pose))
            for m in (e.message for e in self.entries('tip_pose'))
        ]
        return np.array([t for t, _ in rows]), np.array([p for _, p in rows]).reshape(-1, 7)

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
        return np.array([self.stamp(e.message.header) for e in self.entries(topic)])

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


def _pose(pose: Any) -> list[float]:
    q = pose.orientation
    return [*_xyz(pose.position), q.x, q.y, q.z, q.w]
