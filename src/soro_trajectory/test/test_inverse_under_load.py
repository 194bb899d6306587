# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Targets and paths under a wrench that turns and moves with the tip, or stays at the base."""

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import Task
from soro_mechanics.core.status import Code
from soro_msgs.action import TrackTrajectory
from soro_node.conversions import pose_to_message
from soro_node.frames import Frames
from soro_node.inputs.external_wrench import settled, wrench_at_tip
from soro_trajectory.inverse_under_load import InverseUnderLoad
from soro_trajectory.planning import make_plan, PlanningLimits
from soro_trajectory.targets import goal_for_pose, TargetRefused

FRAMES = Frames('arm/')
BENT = np.array([0.7e5, 0.0, 0.0])
TOLERANCES = (1e-4, 1e-3)

# Kernels may have to be compiled first.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


def wrench_in(frame, *values):
    wrench = np.array(values, dtype=float)
    return lambda tip: wrench_at_tip(wrench, f'arm/{frame}', FRAMES, tip)


def loaded(robot, actuation, wrench_at):
    """Return where the robot comes to rest under a wrench that goes with its tip."""
    start = robot.forward(actuation)
    q = settled(lambda w: robot.forward(actuation, w, start), wrench_at, start.tip)
    assert q.status.code is Code.NONE
    return q.tip


@pytest.mark.parametrize('task', [Task.POSITION, Task.POSITION_AND_AXIS])
@pytest.mark.parametrize(
    'wrench_at',
    [
        wrench_in('tip', 0, 0, -0.2, 0, 0, 0),
        wrench_in('tip', 0, 0, 0.3, 0, 0, 0),
        wrench_in('base_link', 0.1, 0, -0.2, 0, 0, 0),
        wrench_in('tip_aligned', 0.1, 0, -0.2, 0, 0, 0),
    ],
    ids=['tip, pushed', 'tip, pulled', 'base_link', 'tip_aligned'],
)
def test_a_reachable_target_is_reached_under_the_wrench_that_is_there(robot, wrench_at, task):
    target = loaded(robot, BENT, wrench_at)
    rest = robot.forward(np.zeros(3))
    actuation = goal_for_pose(robot, target, task, wrench_at, rest, TOLERANCES).actuation
    reached = loaded(robot, actuation, wrench_at)
    # what the solve leaves of the tolerance, and what the wrench does then
    assert np.linalg.norm(reached[:3, 3] - target[:3, 3]) < 1.2 * TOLERANCES[0]
    if task is Task.POSITION_AND_AXIS:
        assert np.arccos(min(1.0, reached[:3, 2] @ target[:3, 2])) < 1.2 * TOLERANCES[1]


def test_a_wrench_that_is_the_same_everywhere_needs_one_solve(robot, monkeypatch):
    wrench_at = wrench_in('tip_aligned', 0.1, 0, 0, 0, 0, 0)
    target = loaded(robot, BENT, wrench_at)
    count, inverse = [], type(robot).inverse

    def counted(*arguments):
        count.append(1)
        return inverse(*arguments)

    monkeypatch.setattr(type(robot), 'inverse', counted)
    goal_for_pose(robot, target, Task.POSITION, wrench_at, None, TOLERANCES)
    assert len(count) == 1


def test_an_unreachable_target_is_refused_under_load(robot):
    target = np.eye(4)
    target[2, 3] = 0.2
    with pytest.raises(TargetRefused) as caught:
        wrench_at = wrench_in('tip', 0, 0, -0.2, 0, 0, 0)
        goal_for_pose(robot, target, Task.POSITION, wrench_at, None, TOLERANCES)
    assert caught.value.code in (Code.UNREACHABLE, Code.AT_LIMIT)


def test_a_wrench_that_never_settles_is_refused_with_the_reason(robot):
    signs = []

    def wrench_at(tip):
        signs.append(1)
        return np.array([0.3 * (-1) ** len(signs), 0, 0, 0, 0, 0])

    target = robot.forward(BENT).tip
    found = InverseUnderLoad(robot, wrench_at).inverse(
        target, np.zeros(6), None, (), Task.POSITION, *TOLERANCES
    )
    assert found.status.code is Code.NOT_CONVERGED
    assert 'do not come to rest' in found.status.message


def test_every_point_of_a_path_has_the_wrench_of_its_own_tip(robot):
    wrench_at = wrench_in('tip', 0, 0, -0.2, 0, 0, 0)
    centre = loaded(robot, [0.3e5] * 3, wrench_at)
    centre[:3, :3] = np.eye(3)
    goal = TrackTrajectory.Goal(
        curve='circle', size=0.004, curve_pose=PoseStamped(pose=pose_to_message(centre))
    )
    limits = PlanningLimits(0.02, 0.003, 0.1, np.full(3, 1e5), TOLERANCES)
    to_base, proceed = (lambda header, field: np.eye(4)), (lambda progress: True)
    plan = make_plan(robot, goal, to_base, limits, wrench_at, None, proceed)
    assert plan.code is Code.NONE, plan.message
    for actuation, position in zip(plan.solution.actuation, plan.path.positions, strict=True):
        reached = loaded(robot, actuation, wrench_at)[:3, 3]
        assert np.linalg.norm(reached - position) < 1.2 * TOLERANCES[0]
