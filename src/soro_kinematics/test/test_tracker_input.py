# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A tracker in a frame of its own becomes `tip_measured`, and diagnostics say what is wrong."""

from geometry_msgs.msg import PoseArray, PoseStamped, TransformStamped
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage

from soro_kinematics.node import KinematicsSolver
from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.sensor_sections import placed, write_section
from soro_msgs.msg import ActuatorState, TrackerState
from soro_node.conversions import pose_from_message, pose_to_message, transform_to_message
from soro_rigs.ros_session import RosSession, wait_until

ROBOT, SPACE = 'spatial_cc', '/arm'
ACTUATION = [0.5e5, 0.2e5, 0.1e5]
NAN = [float('nan')] * 3
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BASE_POSE = [0.1, -0.2, 0.3, 0.5, 0.0, 0.0]
MARKER = [0.0, 0.01, 0.02, 0.0, 0.0, 1.0]


def of_six(numbers):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler('xyz', numbers[3:]).as_matrix()
    matrix[:3, 3] = numbers[:3]
    return matrix


@pytest.fixture(scope='module')
def ros():
    with RosSession(SPACE) as session:
        solver = session.node(
            KinematicsSolver,
            SPACE,
            robot=ROBOT,
            base_pose=BASE_POSE,
            marker=MARKER,
            state_timeout=2.0,
            tracker_max_latency=2.0,
            tracker_timeout=1.0,
        )
        assert session.start(solver)
        session.solver = solver
        yield session


def test_a_pose_in_a_camera_becomes_the_measured_tip(ros):
    names = [a.name for a in ros.solver._binding.description.actuators]
    states = ros.client.create_publisher(ActuatorState, 'actuator_state', 1)
    poses = ros.client.create_publisher(PoseStamped, 'tracker/pose', qos_profile_sensor_data)
    static = ros.client.create_publisher(TFMessage, '/tf_static', LATCHED)
    measured = ros.listen(PoseStamped, 'tip_measured')
    known = ros.listen(TrackerState, 'tracker/state')
    camera = of_six([1.0, 2.0, 3.0, 0.0, 1.0, 2.0])  # in world
    # The true tip is not the model's.
    tip = load_robot(ROBOT).forward(ACTUATION).tip @ of_six([0.003, 0.0, 0.001, 0.02, 0.0, 0.0])
    seen = PoseStamped(
        pose=pose_to_message(np.linalg.inv(camera) @ of_six(BASE_POSE) @ tip @ of_six(MARKER))
    )
    seen.header.frame_id = 'camera'
    state = ActuatorState(
        name=names,
        quantity=[1] * 3,
        commanded=NAN,
        applied=NAN,
        measured=ACTUATION,
        flags=[0] * 3,
        device_state=2,
    )

    def speak():
        seen.header.stamp = state.header.stamp = ros.client.get_clock().now().to_msg()
        states.publish(state)
        poses.publish(seen)

    def says(level, word):
        status = ros.solver.diagnostics.status('tracker')
        return status is not None and status.level[0] == level and word in status.message

    wait_until(lambda: says(0, 'none heard'))
    timer = ros.do(ros.client, ros.client.create_timer, 0.02, speak)
    wait_until(lambda: says(1, "no transform from 'camera'"))
    assert not measured
    transform = TransformStamped(child_frame_id='camera', transform=transform_to_message(camera))
    transform.header.frame_id = 'world'
    static.publish(TFMessage(transforms=[transform]))
    wait_until(lambda: measured and says(0, 'used'))
    assert pose_from_message(measured[-1].pose) == pytest.approx(tip, abs=1e-9)
    assert measured[-1].header.frame_id == 'arm/base_link'
    wait_until(lambda: known[-1].state == TrackerState.GOOD)
    assert known[-1].header.frame_id == 'camera'
    assert known[-1].refused > 0
    assert pose_from_message(known[-1].tip.pose) == pytest.approx(tip, abs=1e-9)
    assert 0.0 <= known[-1].latency < 2.0
    seen.pose.position.x += 1.0
    wait_until(lambda: known[-1].state == TrackerState.OUTLIER)
    count = len(measured)
    seen.pose.position.x = float('nan')
    wait_until(lambda: says(1, 'finite') and known[-1].state == TrackerState.LOST)
    assert len(measured) == count
    ros.do(ros.client, ros.client.destroy_timer, timer)
    wait_until(lambda: says(1, 'no pose within'))


def test_one_pose_of_an_array_in_a_frame_that_the_robot_file_places(tmp_path):
    camera, marker = (
        of_six([0.3, 0.0, 0.2, 0.0, 1.0, 2.0]),
        of_six([0.0, 0.0, 0.01, 0.0, 0.5, 0.0]),
    )
    camera_of, marker_of = (placed(pose, 'test') for pose in (camera, marker))
    values = {'index': 1, 'marker': marker_of, 'base': {'frame': 'camera', **camera_of}}
    write_section(str(find_robot_file(ROBOT)), 'tracker', values, tmp_path / 'mine.yaml')
    with RosSession('/two') as ros:
        solver = ros.node(
            KinematicsSolver,
            '/two',
            robot=str(tmp_path / 'mine.yaml'),
            tracker_max_latency=2.0,
            tracker_max_distance=1.0,
        )
        assert ros.start(solver)
        poses = ros.client.create_publisher(PoseArray, 'tracker/pose', qos_profile_sensor_data)
        measured, known = (
            ros.listen(PoseStamped, 'tip_measured'),
            ros.listen(TrackerState, 'tracker/state'),
        )
        tip = of_six([0.01, 0.02, 0.1, 0.1, 0.2, 0.3])
        seen = PoseArray(
            poses=[
                pose_to_message(np.eye(4)),
                pose_to_message(np.linalg.inv(camera) @ tip @ marker),
            ]
        )
        seen.header.frame_id = 'camera'

        def speak():
            seen.header.stamp = ros.client.get_clock().now().to_msg()
            poses.publish(seen)

        timer = ros.do(ros.client, ros.client.create_timer, 0.02, speak)
        wait_until(lambda: measured)
        assert pose_from_message(measured[-1].pose) == pytest.approx(tip, abs=1e-5)
        refused = known[-1].refused if known else 0
        seen.poses.pop()
        wait_until(lambda: known and known[-1].refused > refused)
        ros.do(ros.client, ros.client.destroy_timer, timer)
