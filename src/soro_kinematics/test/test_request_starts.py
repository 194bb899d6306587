# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the solves of requests start: what was solved before does not choose their answers."""

from dataclasses import replace

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from soro_kinematics.services import Services
from soro_mechanics import load_robot
from soro_mechanics.core.status import Code, SolverStatus
from soro_mechanics.robot import Robot
from soro_msgs.msg import ActuatorState
from soro_msgs.srv import CompareModels, ComputeJacobian, SolveForward, SolveInverse
from soro_node.conversions import pose_from_message, pose_to_message
from soro_node.inputs.actuator_feedback import LatestFeedback
from soro_node.requests import forward_from, quick_start_of, start_of
from soro_node.robot_binding import RobotBinding
from soro_rigs.ros_session import Place

# Kernels may have to be compiled first.
pytestmark = pytest.mark.timeout(600)

ZERO = np.zeros(6)


class Asked:
    """Services of a robot, what is known of its present state, and what was solved last."""

    def __init__(self, robot):
        values = {'robot': robot, 'model': '', 'frame_prefix': '<namespace>/', 'gravity': []}
        binding = RobotBinding(Place(), values)
        self.robot = binding.robot
        self.latest = None
        self.feedback = LatestFeedback(binding.description, 60.0)
        self.services = Services(
            binding,
            self.feedback,
            lambda: self.latest,
            lambda: (1e-5, 1e-4),
            Time,
            lambda header, field: np.eye(4),
        )

    def present(self, actuation):
        count = len(actuation)
        unknown = [float('nan')] * count
        state = ActuatorState(
            name=[a.name for a in self.robot.actuators],
            measured=list(actuation),
            quantity=[a.quantity_code for a in self.robot.actuators],
            applied=unknown,
            commanded=unknown,
            flags=[0] * count,
            device_state=ActuatorState.ACTIVE,
        )
        self.feedback.update(state)

    def ask(self, name, kind, **fields):
        return getattr(self.services, name)(kind.Request(**fields), kind.Response())


@pytest.fixture(scope='module')
def branched():
    """Return services whose last solution leads to another branch than a cold start."""
    asked = Asked('stewart_gough')
    rng = np.random.default_rng(0)
    low, high = asked.robot.limits.T
    samples = [rng.uniform(low, high) for _ in range(6)]
    asked.actuation = samples[5].tolist()
    asked.cold = asked.robot.forward(samples[5])
    asked.before = asked.robot.forward(samples[3])
    asked.warm = asked.robot.forward(samples[5], None, asked.before)
    assert asked.before.status.code is asked.warm.status.code is Code.NONE
    assert np.linalg.norm(asked.warm.tip[:3, 3] - asked.cold.tip[:3, 3]) > 0.1
    return asked


def test_with_branches_the_answer_is_the_same_whatever_was_solved_before(branched):
    branched.latest, asked = branched.before, {'actuation': branched.actuation}
    answer = branched.ask('solve_forward', SolveForward, **asked)
    assert pose_from_message(answer.configuration.tip) == pytest.approx(branched.cold.tip)
    assert answer.error_code == branched.cold.status.code
    answer = branched.ask('compare_models', CompareModels, **asked)
    tip = pose_from_message(answer.configurations[0].tip)
    assert tip == pytest.approx(branched.cold.tip)
    answer = branched.ask('compute_jacobian', ComputeJacobian, **asked)
    expected = branched.robot.jacobian(branched.cold)
    assert np.reshape(answer.matrix, expected.shape) == pytest.approx(expected)


def test_the_present_state_is_on_the_branch_that_is_followed(branched):
    branched.latest = branched.warm
    branched.present(branched.actuation)
    answer = branched.ask('compute_jacobian', ComputeJacobian)
    expected = branched.robot.jacobian(branched.warm)
    assert np.reshape(answer.matrix, expected.shape) == pytest.approx(expected, rel=1e-5)


def test_an_inverse_starts_from_a_state_only_while_it_is_present(monkeypatch):
    asked, starts, inverse = Asked('spatial_cc'), [], Robot.inverse

    def recorded(robot, target, wrench, guess, *rest, **named):
        starts.append(guess)
        return inverse(robot, target, wrench, guess, *rest, **named)

    monkeypatch.setattr(Robot, 'inverse', recorded)
    actuation = [0.5e5, 0.2e5, 0.1e5]
    asked.latest = asked.robot.forward(actuation)
    request = SolveInverse.Request()
    request.target.pose = pose_to_message(asked.latest.tip)
    for known in (False, True):
        if known:
            asked.present(actuation)
        answer = asked.services.solve_inverse(request, SolveInverse.Response())
        assert answer.error_code == Code.NONE
    assert starts[0] is None
    assert starts[1] is asked.latest


class Robotlike:
    """A robot whose warm starts end with a code."""

    model = 'constant_curvature'

    def __init__(self, code):
        self.code = code
        self.guesses = []

    def forward(self, actuation, wrench, guess, loads):
        self.guesses.append(guess)
        q = load_robot('spatial_cc').forward(actuation)
        return q if guess is None else replace(q, status=SolverStatus(self.code))


@pytest.mark.parametrize('code', [Code.NOT_CONVERGED, Code.UNSTABLE])
def test_a_warm_start_without_a_stable_equilibrium_is_tried_cold(code):
    robot, near = Robotlike(code), load_robot('spatial_cc').forward(np.zeros(3))
    assert forward_from(robot, np.zeros(3), ZERO, (), near).status.code is Code.NONE
    assert robot.guesses == [near, None]


def test_only_good_solutions_of_the_same_model_are_starts():
    robot = load_robot('spatial_cc')
    q = robot.forward(np.zeros(3))
    assert quick_start_of(robot, q) is start_of(robot, q) is q
    assert start_of(robot, None) is None
    assert start_of(robot, replace(q, model='network')) is None
    for code in (Code.UNSTABLE, Code.NOT_CONVERGED, Code.OUT_OF_RANGE):
        assert start_of(robot, replace(q, status=SolverStatus(code))) is None
