# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`soro move --pose` and the task of the planner, against the services of a robot."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
import pytest
from rclpy.node import Node
from soro_cli.main import main
from soro_node.testing import own_domain, RosSession, wait_until

from soro_msgs.srv import SolveInverse

MOVE = ('move', '--pose', '10mm', '0', '45mm', '--no-wait')


class Robot:
    """A solver that reaches everything and a planner; both note what they are asked."""

    def __init__(self, ros: RosSession, task: str) -> None:
        self.tasks: list[int] = []
        self.targets: list[PoseStamped] = []
        solver = Node('kinematics_solver', namespace='/arm', context=ros.context)
        solver.declare_parameter('robot', 'stiff_flop')
        solver.create_service(SolveInverse, '~/solve_inverse', self._solve)
        self.planner = Node('trajectory_planner', namespace='/arm', context=ros.context)
        self.planner.declare_parameter('task', task)
        self.planner.create_subscription(PoseStamped, 'target_pose', self.targets.append, 1)
        for node in (solver, self.planner):
            ros.spin(node)

    @property
    def task(self) -> str:
        """The planner's parameter."""
        return self.planner.get_parameter('task').value

    def _solve(self, request, response):
        self.tasks.append(request.task)
        return response


@pytest.fixture
def make_robot(monkeypatch):
    """Return a function that starts a robot; nobody waits for its streams, it has none."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    monkeypatch.setattr('soro_cli.motion.MotionWatch.ready', lambda watch, timeout: True)
    with RosSession() as ros:
        yield lambda task: Robot(ros, task)


def test_a_position_is_checked_and_sent_where_the_planner_meets_positions(make_robot):
    robot = make_robot('position')
    assert main(MOVE) == 0
    wait_until(lambda: robot.targets)
    assert robot.tasks == [SolveInverse.Request.POSITION]


@pytest.mark.parametrize('task', ['position_and_axis', 'pose'])
def test_a_planner_that_wants_an_orientation_gets_no_position(make_robot, task, capsys):
    robot = make_robot(task)
    assert main(MOVE) == 1
    said = capsys.readouterr().err
    assert f"the task of /arm/trajectory_planner is '{task}'" in said
    assert '--position-only' in said
    assert (robot.tasks, robot.targets, robot.task) == ([], [], task)


def test_the_task_is_set_where_a_person_asks_for_it(make_robot, capsys):
    robot = make_robot('pose')
    assert main((*MOVE, '--position-only')) == 0
    wait_until(lambda: robot.targets)
    assert robot.task == 'position'
    assert "was 'pose' and is 'position' now" in capsys.readouterr().err
