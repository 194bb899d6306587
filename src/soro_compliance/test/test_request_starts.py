# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""compute_compliance answers the same whatever was asked before, without a node around it."""

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from soro_compliance.services import Services
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_msgs.srv import ComputeCompliance
from soro_node.conversions import pose_from_message
from soro_node.inputs.actuator_feedback import LatestFeedback
from soro_node.robot_binding import RobotBinding
from soro_rigs.ros_session import Place

# Kernels may have to be compiled first.
pytestmark = pytest.mark.timeout(600)


def services_of(robot):
    values = {'robot': robot, 'model': '', 'frame_prefix': '<namespace>/', 'gravity': []}
    binding = RobotBinding(Place(), values)
    return binding.robot, Services(binding, LatestFeedback(binding.description, 0.5), Time)


def ask(services, actuation, force=0.0):
    request = ComputeCompliance.Request(actuation=list(actuation))
    request.wrench.force.x = force
    return services.compute_compliance(request, ComputeCompliance.Response())


def test_with_branches_the_answer_is_the_same_whatever_was_asked_before():
    robot, services = services_of('stewart_gough')
    rng = np.random.default_rng(0)
    samples = [rng.uniform(*robot.limits.T) for _ in range(6)]
    cold = robot.forward(samples[5])
    warm = robot.forward(samples[5], None, robot.forward(samples[3]))
    assert np.linalg.norm(warm.tip[:3, 3] - cold.tip[:3, 3]) > 0.1
    assert ask(services, samples[3]).error_code == Code.NONE
    answer = ask(services, samples[5])
    assert pose_from_message(answer.configuration.tip) == pytest.approx(cold.tip)
    assert answer.error_code == cold.status.code


def test_without_branches_the_next_solve_starts_from_the_last_good_one():
    _, services = services_of('spatial_cc')
    assert ask(services, np.zeros(3)).error_code == Code.NONE
    good = services._last
    assert ask(services, np.zeros(3), 1e4).error_code == Code.UNSTABLE
    assert services._last is good


def test_frequencies_come_when_they_are_asked_for_and_a_model_has_masses():
    robot, services = services_of('stiff_flop')
    actuation = [0.4e5, 0.1e5, 0.0]
    request = ComputeCompliance.Request(
        actuation=actuation, model='network', natural_frequencies=True
    )
    answer = services.compute_compliance(request, ComputeCompliance.Response())
    assert (answer.error_code, answer.error_message) == (0, '')
    network = robot.with_model('network')
    expected = network.network.natural_frequencies(network.forward(actuation))
    found = list(answer.configuration.natural_frequencies)
    assert found == pytest.approx(expected, rel=1e-9) and found[0] > 0.1
    request.natural_frequencies = False
    answer = services.compute_compliance(request, ComputeCompliance.Response())
    assert not answer.configuration.natural_frequencies
    request = ComputeCompliance.Request(actuation=actuation, natural_frequencies=True)
    with pytest.raises(InvalidInput, match='natural_frequencies') as refused:
        services.compute_compliance(request, ComputeCompliance.Response())
    assert refused.value.code is Code.UNSUPPORTED
