# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests and goals changed at random: always an answer with a code; the node lives."""

from __future__ import annotations

import os
import time

import pytest

from soro_compliance.node import Compliance
from soro_compliance.workspace_analysis import check_file
from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_msgs.action import AnalyzeWorkspace
from soro_msgs.msg import Load
from soro_msgs.srv import ComputeCompliance
from soro_rigs.random_messages import RandomMessages
from soro_rigs.ros_session import RosSession, wait_for

ROBOT = 'spatial_cc'
COUNT = 40 * max(1, int(os.environ.get('SORO_FUZZ', '1')))
SEED = 8 if 'SORO_FUZZ' not in os.environ else time.time_ns()
LONGEST = 40.0  # s of one answer, on a machine that does other things too
SAMPLES = 200  # of a goal that changed nothing of it


@pytest.fixture(scope='module')
def ros():
    with RosSession('/fuzz') as session:
        node = session.node(Compliance, '/fuzz', robot=ROBOT, samples=SAMPLES)
        assert session.start(node)
        yield session


def check(code, message):
    assert (code is Code.NONE) == (not message), (code, message)
    assert code is not Code.UNKNOWN, message  # an exception of the node's own
    assert len(message) < 5000


@pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 300)
def test_every_request_is_answered(ros):
    kind = ComputeCompliance
    random = RandomMessages(SEED, (ROBOT, 'constant_curvature', 'fuzz/base_link'))
    client = ros.do(ros.client, ros.client.create_client, kind, 'compliance/compute_compliance')
    assert client.wait_for_service(timeout_sec=LONGEST)
    middle = load_robot(ROBOT).limits.mean(axis=1).tolist()
    start = kind.Request(actuation=middle)
    loaded = kind.Request(actuation=middle, loads=[Load()])
    for i in range(COUNT):
        answer = wait_for(client.call_async(random.changed(loaded if i % 2 else start)), LONGEST)
        check(Code(answer.error_code), answer.error_message)
    assert wait_for(client.call_async(start), LONGEST).error_code == Code.NONE
    ros.do(ros.client, ros.client.destroy_client, client)


@pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 300)
def test_every_goal_ends(ros, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = RandomMessages(SEED, (ROBOT, 'constant_curvature'))
    action = ros.action_client(AnalyzeWorkspace, 'compliance/analyze_workspace')
    assert action.wait_for_server(LONGEST)
    start = AnalyzeWorkspace.Goal(samples=SAMPLES, save_to=str(tmp_path / 'cloud.csv'))
    for _ in range(COUNT // 2):
        handle = wait_for(action.send_goal_async(random.changed(start)), LONGEST)
        assert handle.accepted
        result = wait_for(handle.get_result_async(), LONGEST).result
        check(Code(result.error_code), result.error_message)
    handle = wait_for(action.send_goal_async(start), LONGEST)
    assert wait_for(handle.get_result_async(), LONGEST).result.error_code == Code.NONE


@pytest.mark.parametrize('name', ['~no_such_user/x.csv', 'a\0.csv', 'x' * 5000 + '.csv', '/', '.'])
def test_a_name_that_can_be_no_file_is_refused(name):
    with pytest.raises(InvalidInput) as caught:
        check_file(name)
    assert caught.value.field == 'save_to'
