# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which of the driver's states the solver follows: each, some of a fast stream, or the newest."""

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest

from soro_kinematics import node
from soro_kinematics.node import KinematicsSolver
from soro_msgs.msg import ActuatorState, Configuration
from soro_rigs.ros_session import RosSession, wait_until

NAN = [float('nan')] * 3
PERIOD = 1.0 / 125.0  # s, of tip_pose at most


class Scene:
    """A solver, a driver that speaks, and nobody who listens yet."""

    def __init__(self, ros):
        self.ros = ros
        self.solver = ros.node(KinematicsSolver, robot='spatial_cc')
        assert ros.start(self.solver)
        names = [a.name for a in self.solver._binding.description.actuators]
        self.state = ActuatorState(
            name=names,
            quantity=[1] * 3,
            commanded=NAN,
            applied=NAN,
            measured=[5e4, 2e4, 0.0],
            flags=[0] * 3,
            device_state=2,
        )
        self._publisher = ros.client.create_publisher(ActuatorState, 'actuator_state', 1)
        self._timer = None

    def speak(self, period):
        """Publish a state every so many seconds, each with a number of its own."""

        def publish():
            self.state.header.stamp.nanosec += 1
            self._publisher.publish(self.state)

        if self._timer is not None:
            self.ros.client.destroy_timer(self._timer)
        self._timer = self.ros.client.create_timer(period, publish)


@pytest.fixture
def scene():
    with RosSession() as ros:
        yield Scene(ros)


def numbers(tips):
    return np.array([tip.header.stamp.nanosec for tip in tips])


def test_every_state_of_a_usual_driver_has_its_tip(scene):
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    scene.speak(0.02)
    wait_until(lambda: len(tips) > 60)
    steps = np.diff(numbers(tips)[20:])  # the listener is noticed with the first ones
    assert np.median(steps) == 1
    assert np.mean(steps) < 1.2  # a busy computer may lose one


def test_states_that_come_too_often_are_skipped_and_the_newest_are_solved(scene):
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    scene.speak(0.002)
    wait_until(lambda: len(tips) > 200)
    fast = numbers(tips)[50:]
    assert np.all(np.diff(fast) > 0)
    assert np.median(np.diff(fast)) >= 2  # four of five are skipped where nothing stalls
    # A slow stream after it is followed state by state again.
    tips.clear()
    scene.speak(0.02)
    wait_until(lambda: len(tips) > 40)
    assert np.median(np.diff(numbers(tips)[10:])) == 1


def test_while_nobody_listens_the_newest_state_is_solved_now_and_then(scene):
    shapes = scene.ros.listen(Configuration, 'configuration')
    scene.speak(0.002)
    wait_until(lambda: len(shapes) > 10)
    assert not scene.solver._feedback._gate.is_open
    stamps = np.array([shape.header.stamp.nanosec for shape in shapes])
    assert np.all(np.diff(stamps) > 0)
    scene.state.measured = [0.0, 0.0, 6e4]
    wait_until(lambda: list(shapes[-1].actuation) == [0.0, 0.0, 6e4])


def test_a_configuration_that_nobody_reads_is_not_written(scene, monkeypatch):
    written, write = [], node.configuration_to_message
    monkeypatch.setattr(node, 'configuration_to_message', lambda *of: written.append(write(*of)))
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    scene.speak(0.02)
    wait_until(lambda: len(tips) > 20)
    assert not written
    monkeypatch.undo()
    shapes = scene.ros.listen(Configuration, 'configuration')
    wait_until(lambda: len(shapes) > 2)


def test_a_state_of_another_robot_is_said_to_be_one(scene):
    scene.state.name = ['x', 'y', 'z']
    scene.speak(0.02)

    def found():
        status = scene.solver.diagnostics.status('actuator_state')
        return (
            status is not None
            and status.level == b'\x02'
            and 'actuator_state.name' in (status.message)
        )

    wait_until(found)
    tips = scene.ros.listen(PoseStamped, 'tip_pose')  # followed state by state: the same
    wait_until(lambda: scene.solver._feedback._gate.is_open)
    scene.solver.diagnostics._statuses.clear()
    wait_until(found)
    assert not tips
