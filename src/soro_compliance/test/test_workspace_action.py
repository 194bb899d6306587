# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Deactivation and cancelling of workspace analyses, without a node around them."""

import threading
from types import SimpleNamespace

from builtin_interfaces.msg import Time
import pytest

from soro_compliance import workspace_analysis as analysis
from soro_compliance.workspace_action import WorkspaceAction
from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.action import AnalyzeWorkspace
from soro_node.lifecycle import NotActive
from soro_node.robot_binding import RobotBinding
from soro_rigs.ros_session import Place

GOAL = {'method': AnalyzeWorkspace.Goal.RANDOM, 'samples': 40}


class Node:
    """What a WorkspaceAction asks of its node."""

    active = True

    def check_active(self):
        if not self.active:
            raise NotActive('not active')

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time))


class Handle:
    """A goal; `feedback` is called with every feedback."""

    is_cancel_requested = False

    def __init__(self, feedback=lambda message: None, **fields):
        self.request = AnalyzeWorkspace.Goal(**{**GOAL, **fields})
        self.publish_feedback = feedback
        self.succeed = self.abort = self.canceled = lambda: None


@pytest.fixture
def action():
    values = {'robot': 'spatial_cc', 'model': '', 'frame_prefix': '<namespace>/', 'gravity': []}
    binding = RobotBinding(Place(), values)
    return WorkspaceAction(Node(), binding, lambda: 10, lambda cloud: None)


def test_a_goal_that_outlasts_the_deactivation_ends_itself_and_no_other(action):
    inside, go_on, results = threading.Event(), threading.Event(), []

    def hold(message):
        inside.set()
        go_on.wait(20.0)

    slow = threading.Thread(target=lambda: results.append(action.execute(Handle(hold))))
    slow.start()
    assert inside.wait(20.0)
    assert not action.end(0.01)  # deactivated and activated again while the goal is held up
    assert action.execute(Handle()).error_code == Code.BUSY
    go_on.set()
    slow.join(20.0)
    assert results[0].error_code == Code.CANCELED
    for _ in range(2):
        assert action.execute(Handle()).error_code == Code.NONE


def test_a_goal_that_comes_with_the_deactivation_is_refused(action):
    node, left = action._node, [True, False]
    node.check_active = lambda: left.pop(0) or Node.check_active(SimpleNamespace(active=False))
    assert action.execute(Handle()).error_code == Code.NOT_ACTIVE
    node.check_active = lambda: None
    assert action.execute(Handle()).error_code == Code.NONE


def test_drawing_samples_can_be_cancelled(action, monkeypatch):
    handle, drawn = Handle(samples=20), []

    def none_feasible(robot, batch):
        drawn.append(len(batch))
        handle.is_cancel_requested = True
        return [False] * len(batch)

    monkeypatch.setattr(analysis, 'within_coupled', none_feasible)
    result = action.execute(handle)
    assert result.error_code == Code.CANCELED
    assert drawn == [20]


def test_the_first_actuator_of_a_grid_changes_slowest():
    robot = load_robot('spatial_cc')
    low, high = robot.limits.T
    grid = analysis.grid_samples(robot, low, high, 8)
    assert grid[0].tolist() == low.tolist()
    assert grid[1].tolist() == [low[0], low[1], high[2]]
    assert grid[-1].tolist() == high.tolist()
