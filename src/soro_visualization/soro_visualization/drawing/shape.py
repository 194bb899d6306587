# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The shape of a robot as arrays: what markers and viewer draw, whoever it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tf_transformations

from soro_mechanics.core.configuration import Array

FORCE_SHOWN = 1e-4  # N; weaker loads are numerical zeros to people


@dataclass(frozen=True)
class Rod:
    """One backbone."""

    name: str
    positions: Array  #: (n, 3) [m]; in base_link
    quaternions: Array  #: (n, 4); x, y, z, w; local z along the rod
    radius: Array  #: (n,) [m]
    arc_length: Array  #: (n,) [m]; along the unloaded rod


@dataclass(frozen=True)
class Shape:
    """One configuration of a robot, everything in base_link."""

    rods: tuple[Rod, ...]
    bodies: dict[str, Array]  #: (4, 4); rigid bodies by name
    tip: Array  #: (4, 4)
    wrench: Array  #: (6,) [N, N m]; at the tip, axes of base_link, force first
    actuation: dict[str, float]  #: SI, by actuator name
    model: str = ''
    code: int = 0  #: ErrorCode of the solver
    doubt: str = ''  #: why this configuration is not to be trusted; empty where it is
    residual: float = 0.0
    stamp: float = 0.0  #: seconds of the header's stamp
    #: (3,) [m/s^2]; in base_link: how the robot is mounted
    gravity: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def up(self) -> Array:
        """Unit vector against gravity, (3,); z of base_link where there is no weight."""
        size = float(np.linalg.norm(self.gravity))
        return -self.gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0])

    @property
    def extent(self) -> float:
        """Largest distance of anything drawn from the base's origin [m]."""
        points = [rod.positions for rod in self.rods]
        points.append(self.tip[None, :3, 3])
        points += [pose[None, :3, 3] for pose in self.bodies.values()]
        return float(np.linalg.norm(np.concatenate(points), axis=1).max())

    @property
    def thickest(self) -> float:
        """Radius of the thickest rod [m]."""
        return max((float(rod.radius.max()) for rod in self.rods), default=0.0)

    @property
    def loaded(self) -> bool:
        """Whether a force acts on the tip that is worth an arrow."""
        return bool(np.linalg.norm(self.wrench[:3]) > FORCE_SHOWN)


def rotation_matrix(quaternion: Array) -> Array:
    """Return the (3, 3) rotation of a unit quaternion x, y, z, w."""
    return tf_transformations.quaternion_matrix(quaternion)[:3, :3]


def pose_matrix(message: Any) -> Array:
    """Return the (4, 4) pose of a geometry_msgs/Pose."""
    p, o = message.position, message.orientation
    pose = tf_transformations.quaternion_matrix([o.x, o.y, o.z, o.w])
    pose[:3, 3] = p.x, p.y, p.z
    return pose


def path_positions(message: Any) -> Array:
    """Return the positions (n, 3) [m] of a nav_msgs/Path."""
    rows = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in message.poses]
    return np.array(rows).reshape(-1, 3)


def _doubt(status: Any) -> str:
    """Return why this configuration is not to be trusted; empty where it is."""
    warnings = getattr(status, 'warnings', 0)  # recordings of revision 1 have none
    return getattr(status, 'message', '') or 'doubtful' if warnings or status.code else ''


def shape_from_message(message: Any) -> Shape | None:
    """Return the shape in a soro_msgs/Configuration, or None where a value is not finite.

    ValueError: it has no backbone or no extent, a radius that is not positive, or lists that do
    not fit.
    """
    for names, values in (('body_name', 'body_pose'), ('actuator_name', 'actuation')):
        counts = len(getattr(message, names)), len(getattr(message, values))
        if counts[0] != counts[1]:
            raise ValueError(f'{names} and {values} have {counts[0]} and {counts[1]} entries')
    _check(message.backbones)
    rods = _rods(message.backbones)
    f, t, g = message.wrench.force, message.wrench.torque, message.gravity
    stamp = message.header.stamp
    shape = Shape(
        rods=rods,
        bodies={
            name: pose_matrix(pose)
            for name, pose in zip(message.body_name, message.body_pose, strict=True)
        },
        tip=pose_matrix(message.tip),
        wrench=np.array([f.x, f.y, f.z, t.x, t.y, t.z]),
        actuation=dict(zip(message.actuator_name, message.actuation, strict=True)),
        model=message.model,
        code=int(message.status.code),
        doubt=_doubt(message.status),
        residual=float(message.status.residual),
        stamp=stamp.sec + 1e-9 * stamp.nanosec,
        gravity=np.array([g.x, g.y, g.z]),
    )
    numbers = [shape.tip, *shape.bodies.values(), shape.wrench, shape.gravity]
    numbers += [a for r in rods for a in (r.positions, r.quaternions, r.radius, r.arc_length)]
    if not all(np.isfinite(a).all() for a in numbers):
        return None
    if not 0.0 < shape.extent < np.inf:
        raise ValueError(f'its extent is {shape.extent:g} m, expected a positive one')
    return shape


def _check(backbones: Sequence[Any]) -> None:
    if not backbones:
        raise ValueError('backbones is empty, expected at least one')
    for backbone in backbones:
        counts = [len(x) for x in (backbone.poses, backbone.radius, backbone.arc_length)]
        if counts[0] < 2 or len(set(counts)) > 1:
            raise ValueError(
                f'backbone {backbone.name!r} has {counts} poses, radii and arc lengths, expected '
                'as many of each, at least two'
            )
        if min(backbone.radius) <= 0.0:
            raise ValueError(f'backbone {backbone.name!r}: a radius is not positive')


def _rods(backbones: Sequence[Any]) -> tuple[Rod, ...]:
    # One pass over all messages: attribute access is what costs here.
    places = ((p.position, p.orientation) for backbone in backbones for p in backbone.poses)
    rows = np.array([(p.x, p.y, p.z, o.x, o.y, o.z, o.w) for p, o in places])
    parts = np.split(rows, np.cumsum([len(backbone.poses) for backbone in backbones])[:-1])
    return tuple(
        Rod(b.name, part[:, :3], part[:, 3:], np.array(b.radius), np.array(b.arc_length))
        for b, part in zip(backbones, parts, strict=True)
    )
