# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Between numpy and messages. Nothing that is not finite passes, in either request or frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import functools
from itertools import islice
import math
from typing import Any, Protocol

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, PoseArray, PoseStamped, Transform, Twist, Vector3, Wrench
import numpy as np
from std_msgs.msg import Header
import tf_transformations

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array, Configuration, Load, LoadAxes, Task
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code, SolverStatus
from soro_msgs.msg import ActuatorCommand, Backbone
from soro_msgs.msg import Compliance as ComplianceMessage
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_msgs.msg import Load as LoadMessage
from soro_msgs.msg import SolverStatus as SolverStatusMessage

# Of a backbone in a message. A rod bent by 180 degrees is drawn within 0.1 % of its length;
# every further pose costs sender and receiver 10 microseconds.
MAX_STATIONS = 26
MIN_STATIONS = 6
UNIT_TOLERANCE = 1e-3  # of a quaternion's norm: typed by hand, still meant as unit
# Of a (3, 3) matrix as 9 numbers: what gives x, y, z of the axis, one minus the other; and all of
# them in the order of the transpose.
UNKNOWN_VELOCITY = [Vector3(x=math.nan, y=math.nan, z=math.nan) for _ in range(2)]
_PLUS, _MINUS, _TRANSPOSED = [7, 2, 3], [5, 6, 1], [0, 3, 6, 1, 4, 7, 2, 5, 8]


class HasActuators(Protocol):
    """A Robot or a RobotDescription."""

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The actuators, in the order of every actuation vector."""


def _vector(values: Iterable[float]) -> Vector3:
    x, y, z = map(float, values)
    return Vector3(x=x, y=y, z=z)


def pose_to_message(pose: Array) -> Pose:
    """Return a Pose of a (4, 4) pose."""
    return poses_to_messages(pose[None])[0]


def stamped_pose(pose: Array, frame_id: str, stamp: Time) -> PoseStamped:
    """Return a PoseStamped of a (4, 4) pose in a frame."""
    header = Header(frame_id=frame_id, stamp=stamp)
    return PoseStamped(header=header, pose=pose_to_message(pose))


def transform_to_message(pose: Array) -> Transform:
    """Return a Transform of a (4, 4) pose."""
    return Transform(translation=_vector(pose[:3, 3]), rotation=pose_to_message(pose).orientation)


def poses_to_messages(poses: Array) -> list[Pose]:
    """Return the Poses of (n, 4, 4) poses, all at once: a backbone has tens of them."""
    quaternions = quaternions_of(poses[:, :3, :3]).tolist()
    messages = [Pose() for _ in quaternions]
    # The constructor makes position and orientation anyway: filling them is cheaper than new ones.
    for message, p, r in zip(messages, poses[:, :3, 3].tolist(), quaternions, strict=True):
        position, orientation = message.position, message.orientation
        position.x, position.y, position.z = p
        orientation.x, orientation.y, orientation.z, orientation.w = r
    return messages


def quaternions_of(rotations: Array) -> Array:
    """Return unit quaternions (n, 4), x y z w with w >= 0, of rotation matrices (n, 3, 3).

    Each is a row of the matrix ``4 q q^T``, normalised: the last one below 120 degrees, where a
    backbone mostly is, else the one with the largest diagonal element. The norm of that row is 2
    or more at every angle: well conditioned (Bar-Itzhack 2000 without the eigenvalue problem, as
    the matrices are exact rotations). NaN for a matrix that is not finite.
    """
    r = np.asarray(rotations, dtype=float).reshape(-1, 9)
    q = np.empty((len(r), 4))
    with np.errstate(invalid='ignore'):
        trace = r[:, 0] + r[:, 4] + r[:, 8]
        q[:, :3] = r[:, _PLUS] - r[:, _MINUS]
        q[:, 3] = 1.0 + trace
        turned = trace <= 0.0
        if turned.any():
            q[turned] = _rows_beyond_120_degrees(r[turned], q[turned])
        q /= np.sqrt(np.einsum('ni,ni->n', q, q))[:, None]
    q[~np.isfinite(r).all(axis=1)] = np.nan
    return q


def _rows_beyond_120_degrees(r: Array, last: Array) -> Array:
    """Return that row of the first three of ``4 q q^T`` with the largest diagonal element, (n, 4).

    Of rotations (n, 9); `last` is the fourth row, (n, 4).
    """
    outer = np.empty((len(r), 3, 4))
    outer[:, :, :3] = (r + r[:, _TRANSPOSED]).reshape(-1, 3, 3)
    outer[:, :, 3] = last[:, :3]
    outer[:, range(3), range(3)] += (2.0 - last[:, 3])[:, None]
    best = outer[:, range(3), range(3)].argmax(axis=1)
    rows = outer[range(len(r)), best]
    return np.where(rows[:, 3:] < 0.0, -rows, rows)


def pose_from_message(message: Pose, field: str = 'pose', oriented: bool = False) -> Array:
    """Return the (4, 4) pose of a Pose.

    A quaternion of all zeros (of a message that only fills the position) is the identity, unless
    the orientation counts (`oriented`).

    InvalidInput: A value is not finite, or the quaternion is not a unit quaternion.
    """
    p, o = message.position, message.orientation
    position = finite_array(f'{field}.position', [p.x, p.y, p.z], (3,))
    quaternion = finite_array(f'{field}.orientation', [o.x, o.y, o.z, o.w], (4,))
    norm = float(np.linalg.norm(quaternion))
    if norm == 0.0 and not oriented:
        pose = np.eye(4)
    elif abs(norm - 1.0) > UNIT_TOLERANCE:
        given = tuple(quaternion.tolist())
        expected = f'a unit quaternion, not norm {norm:.6g}'
        raise InvalidInput(f'{field}.orientation', given, expected)
    else:
        pose = np.ascontiguousarray(tf_transformations.quaternion_matrix(quaternion / norm))
    pose[:3, 3] = position
    return pose


def task_from_message(task: int, field: str = 'task') -> Task:
    """Return what of a target counts; InvalidInput: it is none of the constants."""
    if task not in list(Task):
        choices = ', '.join(f'{t.name} ({t.value})' for t in Task)
        raise InvalidInput(field, task, choices)
    return Task(task)


def marker_message(message: PoseStamped | PoseArray, index: int) -> PoseStamped:
    """Return what a tracker sent, or one pose of its array; InvalidInput: it is too short."""
    if isinstance(message, PoseStamped):
        return message
    if index >= len(message.poses):
        expected = f'less than {len(message.poses)}, as many as the message has poses'
        raise InvalidInput('tracker_index', index, expected)
    return PoseStamped(header=message.header, pose=message.poses[index])


def wrench_from_message(message: Wrench, field: str = 'wrench') -> Array:
    """Return (6,), force then moment, of a Wrench; InvalidInput where it is not finite."""
    f, t = message.force, message.torque
    return finite_array(field, [f.x, f.y, f.z, t.x, t.y, t.z], (6,))


def wrench_to_message(wrench: Sequence[float] | Array) -> Wrench:
    """Return a Wrench of (6,), force then moment."""
    return Wrench(force=_vector(wrench[:3]), torque=_vector(wrench[3:]))


def loads_from_messages(messages: Iterable[LoadMessage]) -> tuple[Load, ...]:
    """Return the loads of a request.

    InvalidInput: A value is not finite, an arc length is negative, or `axes` is not one of the
    constants.
    """
    loads = []
    for i, m in enumerate(messages):
        field = f'loads[{i}]'
        if m.axes not in list(LoadAxes):
            raise InvalidInput(f'{field}.axes', m.axes, 'BASE_AXES (0) or LOCAL_AXES (1)')
        arc_length = float(finite_array(f'{field}.arc_length', m.arc_length, ()))
        if arc_length < 0.0:
            raise InvalidInput(f'{field}.arc_length', arc_length, 'a length of zero or more')
        wrench = wrench_from_message(m.wrench, f'{field}.wrench')
        loads.append(Load(wrench, m.on, arc_length, LoadAxes(m.axes)))
    return tuple(loads)


def loads_to_messages(loads: Iterable[Load]) -> list[LoadMessage]:
    """Return the messages of loads."""
    return [
        LoadMessage(
            on=load.on,
            arc_length=float(load.arc_length),
            axes=int(load.axes),
            wrench=wrench_to_message(np.asarray(load.wrench, dtype=float)),
        )
        for load in loads
    ]


def actuation_from_names(
    robot: HasActuators, names: Sequence[str], values: Sequence[float], field: str = 'actuation'
) -> Array:
    """Return values, given by actuator names, in the order of the robot, shape (m,).

    - `names`: each actuator exactly once, any order; empty: `values` are in the order of the
      robot.
    - `values`: SI.

    InvalidInput: INVALID_SIZE, NOT_FINITE, or UNKNOWN_NAME, with the names that are valid.
    """
    own = [a.name for a in robot.actuators]
    array = finite_array(field, values, (len(own),))
    if not names:
        return array
    if len(names) != len(own):
        expected = f'each of {", ".join(own)} once'
        raise InvalidInput('actuator_name', list(names), expected, Code.INVALID_SIZE)
    ordered = np.empty(len(own))
    seen = set()
    for name, value in zip(names, array, strict=True):
        if name not in own:
            raise UnknownName('actuator_name', name, own)
        if name in seen:
            raise InvalidInput('actuator_name', name, 'each actuator once', Code.UNKNOWN_NAME)
        seen.add(name)
        ordered[own.index(name)] = value
    return ordered


def status_to_message(status: SolverStatus) -> SolverStatusMessage:
    """Return the message of a solver's status."""
    return SolverStatusMessage(
        code=int(status.code),
        message=status.message,
        warnings=int(status.warnings),
        iterations=int(min(status.iterations, 65535)),
        residual=float(status.residual),
        tolerance=float(status.tolerance),
        solve_time=float(status.solve_time),
        stability=int(status.stability),
        smallest_eigenvalue=float(status.smallest_eigenvalue),
        limit_distance=float(status.limit_distance),
        mesh_error=float(status.mesh_error),
    )


def configuration_to_message(
    q: Configuration,
    robot: HasActuators,
    frame_id: str,
    stamp: Time,
    origin: int,
    frequencies: Sequence[float] = (),
) -> ConfigurationMessage:
    """Return the message of a configuration.

    Of a backbone with more than `MAX_STATIONS` stations, that many are taken: both ends and
    evenly many between them. What answers a request, and so is no part of a series, has fewer of
    them where the rod is bent less.

    - `robot`: gives the actuators' names.
    - `frame_id`: base_link of the robot, with its prefix.
    - `origin`: FROM_MEASUREMENT, FROM_COMMAND, FROM_REQUEST or GROUND_TRUTH of the message.
    - `frequencies`: natural ones at `q` [Hz]; empty: not computed.
    """
    message = ConfigurationMessage(
        origin=origin,
        model=q.model,
        actuator_name=[a.name for a in robot.actuators],
        actuation=q.actuation.tolist(),
        wrench=wrench_to_message(q.wrench),
        loads=loads_to_messages(q.loads),
        gravity=_vector(q.gravity),
        tip=pose_to_message(q.tip),
        body_name=list(q.bodies),
        body_pose=[pose_to_message(p) for p in q.bodies.values()],
        tip_velocity=Twist(linear=UNKNOWN_VELOCITY[0], angular=UNKNOWN_VELOCITY[1]),
        natural_frequencies=frequencies,
        status=status_to_message(q.status),
    )
    message.header.frame_id = frame_id
    message.header.stamp = stamp
    answer = origin == ConfigurationMessage.FROM_REQUEST
    taken = [_stations(poses, answer) for poses in q.backbones]
    chosen = [poses[i] for poses, i in zip(q.backbones, taken, strict=True)]
    messages = iter(poses_to_messages(np.concatenate(chosen))) if chosen else iter(())
    message.backbones = [
        Backbone(
            name=name,
            arc_length=arc_lengths[i].tolist(),
            radius=radii[i].tolist(),
            poses=list(islice(messages, len(poses))),
        )
        for name, arc_lengths, radii, i, poses in zip(
            q.backbone_names, q.arc_lengths, q.radii, taken, chosen, strict=True
        )
    ]
    return message


def _stations(poses: Array, as_few_as_needed: bool) -> Array | slice:
    """Return which of the stations of a backbone (n, 4, 4) go into its message."""
    most = _needed(poses) if as_few_as_needed else MAX_STATIONS
    return _taken(len(poses), most) if len(poses) > most else slice(None)


def _needed(poses: Array) -> int:
    """Return how many stations draw a rod within the share of its length that the most do at pi.

    A chord of the length c is ``c^2 kappa / 8`` away from its arc: for n chords along a rod of
    length L the share ``kappa L / (8 n^2)``, with the largest curvature that the rod has.
    """
    tangents = poses[:, :3, 2]
    turns = np.square(tangents[1:] - tangents[:-1]).sum(axis=1)
    angle = math.sqrt(turns.max()) * (len(poses) - 1)
    if not angle < math.pi:
        return MAX_STATIONS
    chords = math.ceil((MAX_STATIONS - 1) * math.sqrt(angle / math.pi))
    return max(chords + 1, MIN_STATIONS)


@functools.cache
def _taken(count: int, most: int) -> Array:
    """Return `most` of `count` stations, both ends among them."""
    return np.linspace(0, count - 1, most).round().astype(int)


@dataclass(frozen=True)
class CompliancePoint:
    """A compliance and where it belongs."""

    matrix: Array  #: (6, 6); at the point, axes of base_link, linear first
    pose: Array  #: (4, 4); of the point in base_link
    backbone: str = ''  #: Empty: the tip
    arc_length: float = 0.0  #: along the unloaded backbone [m]


def compliance_to_message(
    point: CompliancePoint, q: Configuration, method: int, frame_id: str, stamp: Time
) -> ComplianceMessage:
    """Return the message of a compliance, with its ellipsoid and eigenscrews.

    Eigenscrews exist only where the compliance is positive definite, which it is not at a clamped
    base or at an unstable equilibrium: NaN there.

    `q`: at which it was linearised; `method`: a constant of the message, TANGENT for example;
    `frame_id`: tip_aligned of the robot, with its prefix.
    """
    from soro_mechanics.analysis import stiffness  # compiled kernels, which drivers do not load

    softness, _ = stiffness.ellipsoids(point.matrix)
    message = ComplianceMessage(
        model=q.model,
        method=method,
        backbone=point.backbone,
        arc_length=float(point.arc_length),
        pose=pose_to_message(point.pose),
        wrench=wrench_to_message(q.wrench),
        matrix=point.matrix.ravel(),
        principal_compliance=softness.values,
        principal_axis=[_vector(axis) for axis in softness.axes.T],
    )
    message.header.frame_id = frame_id
    message.header.stamp = stamp
    try:
        screws = stiffness.eigenscrews(point.matrix)
    except InvalidInput:
        message.eigenstiffness = message.eigenscrew_pitch = np.full(3, np.nan)
    else:  # the library lists the largest first
        message.eigenstiffness = np.ascontiguousarray(screws.values[2::-1])
        message.eigenscrew_pitch = np.ascontiguousarray(screws.pitches[2::-1])
    return message


def command_message(
    node: Any,
    actuators: Sequence[Actuator],
    values: Iterable[float],
    stops: int = 0,
    after: int = 0,
) -> ActuatorCommand:
    """Return values (m,) [SI] as the command, or target, that a node gives now.

    Stamps give the order: it is later than the stamp `after` [ns], also where the clock is not.
    """
    message = ActuatorCommand(
        source=node.get_fully_qualified_name(),
        name=[a.name for a in actuators],
        quantity=[a.quantity_code for a in actuators],
        value=[float(x) for x in values],
        stops=stops,
    )
    stamp = max(node.get_clock().now().nanoseconds, after + 1)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return message


def finite_or_none(values: Any) -> Array | None:
    """Return an array when every value is finite, else None (a sensor that is missing or lost)."""
    array = np.array(values, dtype=float)
    return array if np.all(np.isfinite(array)) else None


def lists_fit(wanted: Sequence[str], names: Sequence[str], *lists: Sequence[Any]) -> bool:
    """Whether a message has the wanted names, in that order, and a value of each list for each."""
    return list(names) == list(wanted) and all(len(values) == len(names) for values in lists)
