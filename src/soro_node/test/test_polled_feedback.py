# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Feedback that is read when it is asked for, without an executor that waits for it."""

import threading
import time

import numpy as np
import pytest
from rclpy.node import Node

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorState
from soro_node.inputs.polled_feedback import PolledFeedback
from soro_rigs.ros_session import RosSession, wait_until


@pytest.fixture(scope='module')
def robot():
    return read_robot_file(find_robot_file('stiff_flop'))


def state_of(robot, measured):
    codes = [a.quantity_code for a in robot.actuators]
    return ActuatorState(
        name=[a.name for a in robot.actuators],
        quantity=codes,
        commanded=measured,
        applied=measured,
        measured=measured,
    )


class Scene:
    """A node that no executor spins, and a driver beside it."""

    def __init__(self, ros, robot, timeout):
        self.robot = robot
        self.node = Node('reader', context=ros.context)
        self.feedback = PolledFeedback(self.node, robot, timeout)
        self.feedback.open()
        self._publisher = ros.client.create_publisher(ActuatorState, 'actuator_state', 1)
        wait_until(lambda: self._publisher.get_subscription_count() == 1)

    def say(self, *measured):
        self._publisher.publish(state_of(self.robot, list(measured)))

    def close(self):
        self.feedback.close()
        self.node.destroy_node()


@pytest.fixture
def scene(robot):
    with RosSession() as ros:
        scene = Scene(ros, robot, 0.3)
        yield scene
        scene.close()


def test_the_newest_state_is_read_and_ages_from_its_arrival(scene):
    scene.say(1e4, 2e4, 3e4)
    np.testing.assert_array_equal(scene.feedback.actuation(), [1e4, 2e4, 3e4])
    scene.say(4e4, 5e4, 6e4)
    wait_until(lambda: scene.feedback.fresh().present[0] == 4e4)
    wait_until(lambda: scene.feedback.fresh() is None)
    assert 0.3 < scene.feedback.age() < 5.0


def test_a_state_that_has_waited_is_as_old_as_its_waiting(scene):
    scene.say(1e4, 2e4, 3e4)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 0.5)
    assert scene.feedback.fresh() is None  # read for the first time, and too old already
    assert 0.4 < scene.feedback.age() < 5.0
    with pytest.raises(SoroError, match='is the driver running') as error:
        scene.feedback.actuation()
    assert error.value.code is Code.NO_STATE


def test_a_wall_clock_that_is_set_forward_makes_no_state_old(scene, monkeypatch):
    scene.say(1e4, 2e4, 3e4)
    wait_until(lambda: scene.feedback.fresh() is not None)
    scene.say(4e4, 5e4, 6e4)
    wall = time.time_ns
    monkeypatch.setattr(time, 'time_ns', lambda: wall() + 3_600_000_000_000)
    wait_until(lambda: scene.feedback.fresh().present[0] == 4e4)
    assert scene.feedback.age() < 0.3


def test_the_first_state_is_waited_for(scene):
    timer = threading.Timer(0.1, scene.say, (1e4, 2e4, 3e4))
    timer.start()
    np.testing.assert_array_equal(scene.feedback.actuation(), [1e4, 2e4, 3e4])


def test_a_state_of_another_robot_is_refused_until_one_of_this_comes(scene):
    message = state_of(scene.robot, [1e4, 2e4, 3e4])
    message.name = ['x', 'y', 'z']
    scene._publisher.publish(message)
    wait_until(lambda: scene.feedback.age() == float('inf') and scene.feedback.refusal)
    assert 'actuator_state.name' in scene.feedback.refusal
    scene.say(1e4, 2e4, 3e4)
    wait_until(lambda: scene.feedback.fresh() is not None)
    assert not scene.feedback.refusal


def test_nothing_is_read_after_the_end(scene):
    scene.feedback.close()
    assert scene.feedback.fresh() is None
    assert scene.feedback.age() == float('inf')
