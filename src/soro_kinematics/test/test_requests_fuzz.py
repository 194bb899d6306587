# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests changed at random: always an answer, with a code and a field's name; the node lives."""

from __future__ import annotations

import os
import time

import pytest

from soro_kinematics.node import KinematicsSolver
from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.msg import Load
from soro_msgs.srv import CompareModels, ComputeJacobian, SolveForward, SolveInverse
from soro_rigs.random_messages import RandomMessages
from soro_rigs.ros_session import RosSession, wait_for

ROBOT = 'spatial_cc'
COUNT = 60 * max(1, int(os.environ.get('SORO_FUZZ', '1')))
SEED = 8 if 'SORO_FUZZ' not in os.environ else time.time_ns()
LONGEST = 60.0  # s of one answer, on a machine that does other things too
SERVICES = {
    'solve_forward': SolveForward,
    'solve_inverse': SolveInverse,
    'compute_jacobian': ComputeJacobian,
    'compare_models': CompareModels,
}


@pytest.fixture(scope='module')
def ros():
    with RosSession('/fuzz') as session:
        node = session.node(KinematicsSolver, '/fuzz', robot=ROBOT)
        assert session.start(node)
        yield session


def valid(kind):
    robot = load_robot(ROBOT)
    request = kind.Request()
    if kind is SolveInverse:
        tip = robot.forward(robot.limits.mean(axis=1)).tip[:3, 3]
        place = request.target.pose.position
        place.x, place.y, place.z = tip.tolist()
        request.position_tolerance = 1e-5
    else:
        request.actuator_name = [a.name for a in robot.actuators]
        request.actuation = robot.limits.mean(axis=1).tolist()
    return request


@pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 300)
@pytest.mark.parametrize('name', SERVICES)
def test_every_request_is_answered(ros, name):
    kind = SERVICES[name]
    random = RandomMessages(SEED, (ROBOT, 'constant_curvature', 'fuzz/base_link'))
    client = ros.do(ros.client, ros.client.create_client, kind, f'kinematics_solver/{name}')
    assert client.wait_for_service(timeout_sec=LONGEST)
    start, refused = valid(kind), 0
    with_load = valid(kind)
    with_load.loads = [Load()]
    for i in range(COUNT):
        request = random.changed(with_load if i % 2 else start)
        answer = wait_for(client.call_async(request), LONGEST)
        code = Code(answer.error_code)
        assert (code is Code.NONE) == (not answer.error_message), (code, answer.error_message)
        assert code is not Code.UNKNOWN, answer.error_message  # an exception of the node's own
        assert len(answer.error_message) < 5000
        refused += code is not Code.NONE
    assert refused > COUNT // 10
    answer = wait_for(client.call_async(start), LONGEST)
    assert answer.error_code == Code.NONE, answer.error_message
    ros.do(ros.client, ros.client.destroy_client, client)
