# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`soro move --pose`, against the services of a robot."""

from __future__ import annotations

from functools import partial

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from rclpy.action import ActionServer
from rclpy.node import Node

from soro_cli.main import main
from soro_msgs.action import TrackTrajectory
from soro_msgs.msg import ActuatorCommand, ActuatorState, ErrorCode, SolverStatus, TipTarget
from soro_msgs.srv import SolveForward, SolveInverse
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until

MOVE = ('move', '--pose', '10mm', '0', '45mm', '--no-wait')
TRACK = ('track', 'circle', '--centre', '0', '0', '45mm', '--size', '5mm')


class Robot:
    """A solver that reaches everything and a planner; both note what they are asked."""

    def __init__(self, ros: RosSession, task: str, namespace: str = '/arm') -> None:
        self.tasks: list[int] = []
        self.warnings = 0
        self.examined: list[bool] = []
        self.targets: list[TipTarget | ActuatorCommand] = []
        solver = Node('kinematics_solver', namespace=namespace, context=ros.context)
        solver.declare_parameter('robot', 'stiff_flop')
        solver.create_service(SolveInverse, '~/solve_inverse', self._solve)
        solver.create_service(SolveForward, '~/solve_forward', self._examine)
        self.planner = Node('trajectory_planner', namespace=namespace, context=ros.context)
        self.planner.declare_parameter('task', task)
        self.planner.create_subscription(TipTarget, 'tip_target', self.targets.append, 1)
        self.planner.create_subscription(
            ActuatorCommand, 'target_actuation', self.targets.append, 1
        )
        for node in (solver, self.planner):
            ros.spin(node)

    @property
    def task(self) -> str:
        """The planner's parameter."""
        return self.planner.get_parameter('task').value

    def _solve(self, request, response):
        self.tasks.append(request.task)
        return response

    def _examine(self, request, response):
        self.examined.append(request.examine)
        response.configuration.status.warnings = self.warnings
        response.configuration.status.message = 'soon unstable' if self.warnings else ''
        return response


@pytest.fixture
def make_robot(monkeypatch):
    """Return a function that starts a robot; nobody waits for its streams, it has none."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    monkeypatch.setattr('soro_cli.motion.MotionWatch.ready', lambda watch, timeout: True)
    with RosSession() as ros:
        yield partial(Robot, ros)


@pytest.mark.parametrize(
    ('task', 'namespace'),
    [('position', '/arm'), ('position_and_axis', '/arm'), ('pose', '/arm'), ('pose', '/')],
)
def test_a_position_is_checked_and_sent_whatever_the_planner_wants_of_poses(
    make_robot, task, namespace
):
    robot = make_robot(task, namespace)
    assert main(MOVE) == 0
    wait_until(lambda: robot.targets)
    assert robot.tasks == [SolveInverse.Request.POSITION]
    (target,) = robot.targets
    assert target.task == SolveInverse.Request.POSITION
    assert (target.pose.position.x, target.pose.position.z) == (0.010, 0.045)
    assert robot.task == task


@pytest.mark.parametrize('warnings', [0, SolverStatus.NEAR_INSTABILITY])
@pytest.mark.parametrize('how', [MOVE, ('move', '--actuation', '0.5bar', '0', '0', '--no-wait')])
def test_what_the_model_doubts_is_said_before_the_target_is_sent(
    make_robot, capsys, warnings, how
):
    robot = make_robot('position')
    robot.warnings = warnings
    assert main(how) == 0
    assert robot.examined == [True]
    assert ('warning: soon unstable' in capsys.readouterr().err) is bool(warnings)


@pytest.mark.parametrize('words', [('move', '--rest'), TRACK])
def test_a_refusal_gives_the_reason_of_the_driver(make_robot, capsys, words):
    planner = make_robot('position').planner

    def refuse(handle):
        handle.abort()
        code, text = ErrorCode.DEVICE_FAULT, 'refused: find the cause'
        return TrackTrajectory.Result(error_code=code, error_message=text)

    ActionServer(planner, TrackTrajectory, '/arm/trajectory_planner/track_trajectory', refuse)
    publisher = planner.create_publisher(DiagnosticArray, '/diagnostics', 10)
    target = DiagnosticStatus(
        level=b'\2', name='/arm/trajectory_planner: target', message='refused: find the cause'
    )
    device = DiagnosticStatus(
        level=b'\2', name='/arm/driver: device', values=[KeyValue(key='reason', value='no air')]
    )
    said = DiagnosticArray(status=[target, device])
    planner.create_timer(0.1, lambda: publisher.publish(said))
    assert main(words) == 1
    assert 'refused: find the cause (no air)' in capsys.readouterr().err


def test_of_actuators_that_do_not_arrive_those_that_are_off_are_named(
    make_robot, monkeypatch, capsys
):
    make_robot('position')
    monkeypatch.setattr('soro_cli.motion.MotionWatch.measured', [0.3e5, 0.0, 0.5e5])
    words = ('move', '--actuation', '0.5bar', '0', '0.5bar', '--timeout', '0.1')
    assert main(words) == 1
    said = capsys.readouterr().err
    assert 'pair_1 0.3 bar of 0.5 bar' in said and 'pair_2' not in said and 'pair_3' not in said


@pytest.mark.parametrize(
    ('state', 'said'),
    [
        (None, 'not moved: the driver publishes no actuator_state'),
        (ActuatorState(device_state=ActuatorState.ESTOP), 'not moved: the driver is in ESTOP'),
        (ActuatorState(device_state=ActuatorState.ACTIVE), 'not moved: no tip_pose received'),
    ],
)
def test_without_state_or_tip_nothing_is_sent_and_what_is_missing_is_said(
    make_robot, monkeypatch, capsys, state, said
):
    robot = make_robot('position')
    monkeypatch.setattr('soro_cli.motion.MotionWatch.ready', lambda watch, timeout: False)
    monkeypatch.setattr('soro_cli.motion.MotionWatch.state', state)
    assert main(('move', '--actuation', '0.5bar', '0', '0')) == 1
    assert said in capsys.readouterr().err
    assert not robot.targets


@pytest.mark.parametrize('words', [('calibrate',), ('haptics', 'free')])
def test_verbs_of_a_haptic_device_say_that_a_robot_is_none(make_robot, capsys, words):
    make_robot('position')
    assert main(words) == 1
    assert 'stiff_flop is no haptic device' in capsys.readouterr().err
