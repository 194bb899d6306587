# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`soro calibrate tracker` and `force`: a robot of a few topics, whose sensors are known."""

from __future__ import annotations

import json

from geometry_msgs.msg import PoseArray, PoseStamped, TransformStamped, WrenchStamped
import numpy as np
import pytest
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from tf2_msgs.msg import TFMessage

from soro_cli.main import main
from soro_cli.sensor_tour import postures
from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.numerics import lie
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.sensor_sections import write_section
from soro_msgs.msg import ActuatorCommand, ActuatorState
from soro_node.conversions import pose_to_message, transform_to_message, wrench_to_message
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession

NOISE, TURN_NOISE = 0.1e-3, 1e-3  # m, rad
MARKER = lie.se3_exp([0.002, -0.003, 0.01, 0.3, 1.0, -0.4])
ZERO, MASS = np.array([0.3, -0.2, 1.0, 0.01, 0.02, -0.03]), 0.1  # N, N m; kg
CENTRE, GRAVITY = np.array([0.0, 0.01, 0.03]), [0.0, 0.0, -9.81]
BASE = lie.se3_exp([0.3, 0.1, 0.5, 0.1, 2.5, 1.0])
WORDS = ('calibrate', 'tracker', '--poses', '8', '--amplitude', '1', '--settle', '20ms', '--json')


class Robot(Node):
    """Where it is told to be at once; an array of two poses is what its tracker sends."""

    def __init__(self, ros, file):
        super().__init__('kinematics_solver', namespace='/arm', context=ros.context)
        for name, value in (
            ('robot', file),
            ('tracker_index', -1),
            ('frame_prefix', 'arm/'),
            ('gravity', GRAVITY),
        ):
            self.declare_parameter(name, value)
        self.model, self.random = load_robot('spatial_cc'), np.random.default_rng(3)
        self.values, self.frame = [0.0] * 3, 'camera'
        self.tips = self.create_publisher(PoseStamped, 'tip_pose', 5)
        self.states = self.create_publisher(ActuatorState, 'actuator_state', 5)
        self.seen = self.create_publisher(PoseArray, 'tracker/pose', qos_profile_sensor_data)
        self.felt = self.create_publisher(
            WrenchStamped, 'external_wrench', qos_profile_sensor_data
        )
        self.frames = self.create_publisher(TFMessage, '/tf', 100)
        self.create_subscription(ActuatorCommand, 'target_actuation', self.take, 1)
        self.create_timer(0.01, self.speak, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def take(self, message):
        self.values = list(message.value)

    def speak(self):
        stamp = self.get_clock().now().to_msg()
        names, three = [a.name for a in self.model.actuators], list(self.values)
        state = ActuatorState(name=names, quantity=[1] * 3, flags=[0] * 3, device_state=2)
        state.commanded = state.applied = state.measured = three
        self.states.publish(state)
        tip = self.model.forward(three).tip
        self.tips.publish(PoseStamped(pose=pose_to_message(tip)))
        noise = self.random.standard_normal(6) * ([NOISE] * 3 + [TURN_NOISE] * 3)
        marker = lie.inverse(BASE) @ tip @ MARKER @ lie.se3_exp(noise)
        seen = PoseArray(poses=[pose_to_message(np.eye(4)), pose_to_message(marker)])
        seen.header.stamp, seen.header.frame_id = stamp, self.frame
        self.seen.publish(seen)
        gravity = tip[:3, :3].T @ GRAVITY
        wrench = ZERO + MASS * np.append(gravity, np.cross(CENTRE, gravity))
        felt = WrenchStamped(wrench=wrench_to_message(wrench + 1e-3 * noise))
        felt.header.stamp, felt.header.frame_id = stamp, 'arm/sensor'
        self.felt.publish(felt)
        # The solver's tip gives way to a zero that is taken for a load; the robot does not.
        bent = tip @ lie.se3_exp([0.0, 0.0, 0.0, 0.3, 0.0, 0.0])
        for child, parent, pose in (('sensor', 'tip', np.eye(4)), ('tip', 'base_link', bent)):
            frame = TransformStamped(
                child_frame_id=f'arm/{child}', transform=transform_to_message(pose)
            )
            frame.header.stamp, frame.header.frame_id = stamp, f'arm/{parent}'
            self.frames.publish(TFMessage(transforms=[frame]))


@pytest.fixture
def robot(monkeypatch, tmp_path):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    file = tmp_path / 'spatial_cc.yaml'
    write_section(str(find_robot_file('spatial_cc')), 'tracker', {'index': 1}, file)
    with RosSession() as ros:
        robot = Robot(ros, str(file))
        ros.spin(robot)
        yield robot


def test_marker_and_tracker_are_found_and_kept(robot, tmp_path, capsys):
    mine = tmp_path / 'mine.yaml'
    assert main([*WORDS, '--write', str(mine)]) == 0
    found = json.loads(capsys.readouterr().out)
    off = np.array(found['marker'])[:3, 3] - MARKER[:3, 3]
    assert (np.abs(off) < 3.0 * np.array(found['half'][:3])).all()
    assert np.array(found['base']) == pytest.approx(BASE, abs=5e-3)
    assert found['frame'] == 'camera'
    kept = read_robot_file(mine).structure['tracker']
    assert (kept.index, kept.frame) == (1, 'camera')
    assert kept.marker == pytest.approx(np.array(found['marker']), abs=1e-5)


def test_zero_and_tool_of_a_force_sensor_are_found_and_kept(robot, tmp_path, capsys):
    mine = tmp_path / 'mine.yaml'
    assert main(['calibrate', 'force', *WORDS[2:], '--write', str(mine)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['zero'] == pytest.approx(ZERO, abs=1e-3)
    assert found['mass'] == pytest.approx(MASS, abs=1e-3)
    kept = read_robot_file(mine).structure['force_sensor']
    assert (kept.frame, kept.mass) == ('arm/sensor', pytest.approx(found['mass'], rel=1e-4))
    assert kept.centre == pytest.approx(CENTRE, abs=1e-3)


def test_a_tracker_whose_place_is_known_and_one_that_is_silent(robot, capsys):
    robot.frame = 'arm/base_link'  # said so; it is another one, which the fit shows
    assert main([*WORDS]) == 1 or json.loads(capsys.readouterr().out)['left'][0] > 0.1
    robot.destroy_publisher(robot.seen)
    robot.seen = robot.create_publisher(PoseArray, 'elsewhere', 1)
    assert main([*WORDS]) == 1
    assert 'tracker/pose' in json.loads(capsys.readouterr().out.splitlines()[-1])['error_message']


def test_postures_keep_coupled_limits_and_the_amplitude():
    robot = load_robot('stiff_flop')
    found = postures(robot, 20, 1.0)
    assert len(found) == 20
    assert not any(robot.violations(a) for a in found)
    assert postures(robot, 5, 0.2).max() <= 0.2 * robot.limits.max()
    with pytest.raises(InvalidInput):
        postures(robot, 5, 1.5)
