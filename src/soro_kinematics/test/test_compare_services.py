# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""compare_models of a robot that has several, without a node around it."""

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from soro_kinematics.services import Services
from soro_mechanics import load_robot
from soro_mechanics.core.errors import UnknownName
from soro_mechanics.core.status import Code
from soro_msgs.srv import CompareModels, SolveForward
from soro_node.conversions import pose_from_message
from soro_node.inputs.actuator_feedback import LatestFeedback
from soro_node.robot_binding import RobotBinding
from soro_rigs.ros_session import Place

# Kernels may have to be compiled first.
pytestmark = pytest.mark.timeout(600)

PRESSURES = [0.9e5, 0.0, 0.0]


@pytest.fixture(scope='module')
def services():
    values = {
        'robot': 'stiff_flop',
        'model': 'lpcc',
        'frame_prefix': '<namespace>/',
        'gravity': [],
    }
    binding = RobotBinding(Place(), values)
    feedback = LatestFeedback(binding.description, 0.5)
    return Services(binding, feedback, lambda: None, lambda: (1e-5, 1e-4), Time, None)


def test_two_models_are_as_far_apart_as_the_library_says(services):
    request = CompareModels.Request(actuation=PRESSURES, models=['lcm', 'lpcc'])
    answer = services.compare_models(request, CompareModels.Response())
    assert answer.error_code == Code.NONE
    tips = [load_robot('stiff_flop', m).forward(PRESSURES).tip for m in ('lcm', 'lpcc')]
    apart = np.linalg.norm(tips[0][:3, 3] - tips[1][:3, 3])
    assert answer.position_spread == pytest.approx(apart, rel=1e-6)
    assert 0.0 < answer.position_spread < 0.01
    assert answer.hint.startswith('lcm and lpcc are farthest apart')
    for configuration, tip in zip(answer.configurations, tips, strict=True):
        assert pose_from_message(configuration.tip) == pytest.approx(tip, abs=1e-9)


def test_a_model_of_the_request_overrules_the_nodes(services):
    for model in ('', 'lcm'):
        request = SolveForward.Request(actuation=PRESSURES, model=model)
        answer = services.solve_forward(request, SolveForward.Response())
        assert answer.configuration.model == (model or 'lpcc')


def test_an_unknown_model_is_named(services):
    with pytest.raises(UnknownName, match='lpcc'):
        services.compare_models(
            CompareModels.Request(actuation=PRESSURES, models=['lpc']), CompareModels.Response()
        )
