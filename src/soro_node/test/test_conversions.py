# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages and arrays: there and back, and nothing wrong gets in."""

import dataclasses
import math
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Quaternion, Wrench
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
import tf_transformations

from soro_mechanics import load_robot
from soro_mechanics.analysis import stiffness
from soro_mechanics.core.configuration import LoadAxes
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.numerics import lie
from soro_msgs.msg import Compliance, Configuration, Load
from soro_node import conversions as c
from soro_node.frames import Frames, frames_for
from soro_node.inputs.external_wrench import ExternalWrench, wrench_at_tip
from soro_node.transforms import stamp_of

ANGLES = [0.0, 1e-12, 1e-8, 1e-4, 0.5, 2.0, math.pi - 1e-8, math.pi]
numbers = st.floats(-3.0, 3.0)


@pytest.fixture(scope='module')
def robot():
    robot = load_robot('spatial_cc')
    robot.gravity = [0.0, 3.0, -9.3]
    return robot


@pytest.fixture(scope='module')
def bent(robot):
    return robot.forward([0.5e5, 0.2e5, 0.1e5])


def pose_of(vector, position=(0.1, -0.2, 0.3)):
    pose = np.eye(4)
    pose[:3, :3] = lie.so3_exp(np.array(vector, dtype=float))
    pose[:3, 3] = position
    return pose


@settings(deadline=None)
@given(st.tuples(numbers, numbers, numbers))
def test_a_pose_comes_back(vector):
    pose = pose_of(vector)
    assert c.pose_from_message(c.pose_to_message(pose)) == pytest.approx(pose, abs=1e-12)


@pytest.mark.parametrize('angle', ANGLES)
@pytest.mark.parametrize('axis', [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, -2, 2)])
def test_many_quaternions_are_those_of_tf_transformations(angle, axis):
    axis = np.array(axis) / np.linalg.norm(axis)
    rotation = np.eye(4)
    rotation[:3, :3] = lie.so3_exp(angle * axis)
    own = c.quaternions_of(rotation[None, :3, :3])[0]
    other = tf_transformations.quaternion_from_matrix(rotation)
    assert abs(own @ other) == pytest.approx(1.0, abs=1e-12)  # q and -q are one rotation
    assert np.linalg.norm(own) == pytest.approx(1.0, abs=1e-15)
    back = tf_transformations.quaternion_matrix(own)
    assert back[:3, :3] == pytest.approx(rotation[:3, :3], abs=1e-12)


def test_what_is_not_finite_has_no_quaternion_and_leaves_the_others_alone():
    angles = [0.1, 2.0, 2.2, math.pi]  # on either side of 120 degrees
    good = np.array([lie.so3_exp(a * np.array([0.6, 0.0, -0.8])) for a in angles])
    expected = c.quaternions_of(good)
    assert 2.0 * np.arccos(expected[:, 3]) == pytest.approx(angles, abs=1e-7)
    for place in np.ndindex(4, 3, 3):
        for value in (math.nan, math.inf):
            rotations = good.copy()
            rotations[place] = value
            found = c.quaternions_of(rotations)
            assert np.isnan(found[place[0]]).all()
            others = np.arange(4) != place[0]
            assert np.array_equal(found[others], expected[others])
    message = c.pose_to_message(np.full((4, 4), math.nan)).orientation
    assert all(map(math.isnan, (message.x, message.y, message.z, message.w)))


def test_many_poses_are_each_pose():
    poses = np.array([pose_of((0.1 * k, -0.2, 0.05 * k), (k, 0, 1)) for k in range(40)])
    for pose, message in zip(poses, c.poses_to_messages(poses), strict=True):
        assert c.pose_from_message(message) == pytest.approx(pose, abs=1e-12)


def test_a_quaternion_left_out_is_no_rotation():
    message = Pose(orientation=Quaternion(x=0.0, y=0.0, z=0.0, w=0.0))
    message.position.z = 0.1
    assert c.pose_from_message(message)[:3, :3] == pytest.approx(np.eye(3))
    with pytest.raises(InvalidInput, match='target.orientation.*a unit quaternion, not norm 0'):
        c.pose_from_message(message, 'target', oriented=True)


@pytest.mark.parametrize(
    ('change', 'code'),
    [
        ({'x': 0.5}, Code.OUT_OF_RANGE),
        ({'w': math.nan}, Code.NOT_FINITE),
        ({'w': math.inf}, Code.NOT_FINITE),
        ({'w': 1e-9}, Code.OUT_OF_RANGE),
    ],
)
def test_wrong_quaternions_are_refused(change, code):
    message = Pose()
    for name, value in change.items():
        setattr(message.orientation, name, value)
    with pytest.raises(InvalidInput, match='target.orientation') as caught:
        c.pose_from_message(message, 'target')
    assert caught.value.code is code


def test_a_position_that_is_not_finite_is_refused():
    message = Pose()
    message.position.y = math.nan
    with pytest.raises(InvalidInput, match='position'):
        c.pose_from_message(message)


def test_wrenches_come_back_and_nan_does_not_get_in():
    wrench = np.arange(6.0)
    assert np.array_equal(c.wrench_from_message(c.wrench_to_message(wrench)), wrench)
    message = Wrench()
    message.torque.z = math.inf
    with pytest.raises(InvalidInput, match='wrench'):
        c.wrench_from_message(message)


def test_loads_come_over():
    message = Load(on='arm', arc_length=0.1, axes=Load.LOCAL_AXES)
    message.wrench.force.y = 2.0
    (load,) = c.loads_from_messages([message])
    assert (load.on, load.arc_length, load.axes) == ('arm', 0.1, LoadAxes.LOCAL)
    assert load.wrench == pytest.approx([0, 2, 0, 0, 0, 0])
    for change in ({'axes': 2}, {'arc_length': -1.0}, {'arc_length': math.nan}):
        with pytest.raises(InvalidInput, match=r'loads\[0\]'):
            c.loads_from_messages([Load(**change)])


def test_actuation_by_name(robot):
    names = [a.name for a in robot.actuators]
    values = [1.0, 2.0, 3.0]
    assert c.actuation_from_names(robot, [], values) == pytest.approx(values)
    assert c.actuation_from_names(robot, names[::-1], values[::-1]) == pytest.approx(values)
    for wrong, code in (
        (([], [1.0]), Code.INVALID_SIZE),
        ((names[:2], values), Code.INVALID_SIZE),
        (([names[0]] * 3, values), Code.UNKNOWN_NAME),
        (([names[0], names[1], 'x'], values), Code.UNKNOWN_NAME),
        ((names, [1.0, math.nan, 0.0]), Code.NOT_FINITE),
    ):
        with pytest.raises(InvalidInput) as caught:
            c.actuation_from_names(robot, *wrong)
        assert caught.value.code is code
    with pytest.raises(UnknownName, match="did you mean 'actuator_1'"):
        c.actuation_from_names(robot, ['actuator_2', 'actuator_3', 'actuator1'], values)


def test_a_configuration_survives_the_wire(robot, bent):
    stamp = Time(sec=12, nanosec=34)
    message = c.configuration_to_message(
        bent, robot, 'arm/base_link', stamp, Configuration.FROM_MEASUREMENT
    )
    back = deserialize_message(serialize_message(message), Configuration)
    assert repr(back) == repr(message)  # what is not known is NaN, equal to nothing
    assert (back.header.frame_id, back.header.stamp) == ('arm/base_link', stamp)
    assert c.pose_from_message(back.tip) == pytest.approx(bent.tip, abs=1e-12)
    for k, backbone in enumerate(back.backbones):
        assert backbone.name == bent.backbone_names[k]
        every = bent.arc_lengths[k]
        taken = np.searchsorted(every, np.array(backbone.arc_length) - 1e-9)
        assert (taken[0], taken[-1]) == (0, len(every) - 1)
        assert len(taken) == min(len(every), c.MAX_STATIONS)
        assert np.ptp(np.diff(taken)) <= 1
        poses = np.array([c.pose_from_message(p) for p in backbone.poses])
        assert poses == pytest.approx(bent.backbones[k][taken], abs=1e-12)
        assert list(backbone.radius) == pytest.approx(bent.radii[k][taken])
    assert back.status.residual == bent.status.residual
    gravity = back.gravity
    assert [gravity.x, gravity.y, gravity.z] == bent.gravity.tolist() == [0.0, 3.0, -9.3]


def arc(angle, count=101, length=0.2):
    """Return arc lengths and poses of a rod bent evenly."""
    arc_lengths = np.linspace(0.0, length, count)
    poses = np.tile(np.eye(4), (count, 1, 1))
    k = angle / length
    for pose, s in zip(poses, arc_lengths, strict=True):
        pose[:3, :3] = lie.so3_exp(np.array([0.0, k * s, 0.0]))
        pose[:3, 3] = [(1 - math.cos(k * s)) / k, 0, math.sin(k * s) / k] if k else [0, 0, s]
    return arc_lengths, poses


@pytest.mark.parametrize('half', [False, True])
@pytest.mark.parametrize('angle', [0.0, 0.05, 0.5, 1.5, 3.0, 6.0])
def test_an_answer_has_as_many_stations_as_the_bend_needs(robot, bent, angle, half):
    arc_lengths, poses = arc(angle)
    if half:  # all of the bend in the first half of the rod, the other half straight
        poses = np.concatenate([poses, poses[-1] @ arc(0.0)[1][1:]])
        arc_lengths = np.concatenate([arc_lengths, arc_lengths[-1] + arc_lengths[1:]])
    q = dataclasses.replace(
        bent,
        backbone_names=('rod',),
        arc_lengths=(arc_lengths,),
        backbones=(poses,),
        radii=(np.full(len(poses), 0.01),),
    )
    (series,), (answer,) = (
        c.configuration_to_message(q, robot, '', Time(), origin).backbones
        for origin in (Configuration.FROM_MEASUREMENT, Configuration.FROM_REQUEST)
    )
    assert len(series.poses) == c.MAX_STATIONS
    assert c.MIN_STATIONS <= len(answer.poses) <= c.MAX_STATIONS
    sharpest = angle * (1 + half)  # were the whole rod bent as much as its most bent part
    if sharpest > math.pi:
        assert answer == series
        return
    drawn = np.array([[p.position.x, p.position.y, p.position.z] for p in answer.poses])
    between = [np.interp(arc_lengths, answer.arc_length, x) for x in drawn.T]
    miss = np.linalg.norm(poses[:, :3, 3] - np.transpose(between), axis=1).max()
    assert miss < 1e-3 * arc_lengths[-1]
    if sharpest < 0.6:
        assert len(answer.poses) <= 11
    assert answer.poses[-1] == series.poses[-1]


def spring(seed):
    """Return a compliance that is positive definite, with lengths of about a decimetre."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6)) * np.repeat([0.1, 1.0], 3)[:, None]
    return root @ root.T + np.diag(np.repeat([1e-3, 1e-1], 3))


def test_a_compliance_survives_the_wire(bent):
    matrix = spring(1)
    point = c.CompliancePoint(matrix, bent.tip, 'arm', 0.05)
    message = c.compliance_to_message(point, bent, Compliance.INTEGRAL, 'arm/tip_aligned', Time())
    back = deserialize_message(serialize_message(message), Compliance)
    assert np.array(back.matrix).reshape(6, 6) == pytest.approx(matrix)
    assert (back.method, back.backbone, back.arc_length) == (Compliance.INTEGRAL, 'arm', 0.05)
    # the ellipsoid: each axis is an eigenvector of the translational block
    for value, axis in zip(back.principal_compliance, back.principal_axis, strict=True):
        vector = np.array([axis.x, axis.y, axis.z])
        assert matrix[:3, :3] @ vector == pytest.approx(value * vector, rel=1e-9, abs=1e-12)
    assert list(back.principal_compliance) == sorted(back.principal_compliance, reverse=True)
    # the eigenstiffness: K Delta x = tau x, three positive values, ascending
    swap = np.roll(np.eye(6), 3, axis=0)
    expected = np.sort(np.linalg.eigvals(np.linalg.inv(matrix) @ swap).real)[3:]
    assert list(back.eigenstiffness) == pytest.approx(expected, rel=1e-6)
    screws = stiffness.eigenscrews(matrix)
    assert list(back.eigenscrew_pitch) == pytest.approx(screws.pitches[:3][::-1])


def test_a_compliance_without_eigenscrews_says_nan(bent):
    message = c.compliance_to_message(
        c.CompliancePoint(np.zeros((6, 6)), np.eye(4)), bent, 0, 'tip_aligned', Time()
    )
    assert np.isnan(message.eigenstiffness).all()
    assert list(message.principal_compliance) == [0.0, 0.0, 0.0]


def test_a_wrench_does_the_same_work_in_every_frame(bent):
    """Power is independent of where a wrench is expressed: the invariant behind the transport."""
    frames, rng = Frames('arm/'), np.random.default_rng(2)
    wrench, twist_tip = rng.normal(size=6), rng.normal(size=6)
    position, rotation = bent.tip[:3, 3], bent.tip[:3, :3]
    # the same rigid motion, seen at the base origin and in the axes of the tip
    linear, angular = twist_tip[:3], twist_tip[3:]
    at_base = np.concatenate([linear - np.cross(angular, position), angular])
    in_tip = np.concatenate([rotation.T @ linear, rotation.T @ angular])
    for frame, twist in (
        (frames.tip_aligned, twist_tip),
        (frames.base_link, at_base),
        (frames.tip, in_tip),
    ):
        moved = wrench_at_tip(wrench, frame, frames, bent.tip)
        assert moved @ twist_tip == pytest.approx(wrench @ twist)


def test_external_wrench_ages(monkeypatch):
    now = [0.0]
    monkeypatch.setattr('soro_node.inputs.external_wrench.time.monotonic', lambda: now[0])
    held = ExternalWrench(Frames('arm/'), timeout=0.5)
    assert held.at_tip(np.eye(4)) == pytest.approx(np.zeros(6))
    held.hold(np.arange(6.0), 'arm/tip_aligned', 0.0)
    now[0] = 0.4
    assert held.at_tip(np.eye(4)) == pytest.approx(np.arange(6.0))
    assert held.present
    assert not held.overdue
    frozen = held.now()
    now[0] = 0.6
    assert held.overdue and not held.present
    assert held.now() is None
    assert frozen(np.eye(4)) == pytest.approx(np.arange(6.0))
    assert held.at_tip(np.eye(4)) == pytest.approx(np.zeros(6))


def test_frame_names():
    assert frames_for('/').base_link == 'base_link'
    assert frames_for('/arm').tip == 'arm/tip'
    assert frames_for('/lab/arm').tip_aligned == 'lab/arm/tip_aligned'
    assert frames_for('/arm', '').body('platform') == 'platform'
    assert frames_for('/arm', 'left_').tip == 'left_tip'


def test_a_shape_that_was_not_found_is_nan_on_the_wire():
    pose = c.pose_to_message(np.full((4, 4), math.nan))
    numbers = (pose.position.x, pose.orientation.x, pose.orientation.w)
    assert all(math.isnan(x) for x in numbers)


def test_commands_are_in_order_whatever_the_clock_does(robot):
    clock = SimpleNamespace(nanoseconds=5)
    node = SimpleNamespace(
        get_fully_qualified_name=lambda: '/arm/planner',
        get_clock=lambda: SimpleNamespace(now=lambda: clock),
    )
    stamps = [0]
    for clock.nanoseconds in (3_000_000_007, 3_000_000_007, 1, 4_000_000_000):
        command = c.command_message(node, robot.actuators, np.arange(3.0), 9, stamps[-1])
        assert (command.source, command.stops) == ('/arm/planner', 9)
        assert list(command.value) == [0.0, 1.0, 2.0]
        assert list(command.name) == [a.name for a in robot.actuators]
        stamps.append(stamp_of(command.header))
    assert stamps == [0, 3_000_000_007, 3_000_000_008, 3_000_000_009, 4_000_000_000]
    assert c.command_message(node, (), ()).name == []  # which ends a source's control
