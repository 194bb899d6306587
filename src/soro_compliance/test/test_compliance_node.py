# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The compliance node in a session of its own, with and without a namespace."""

import hashlib
import json
from pathlib import Path

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Wrench, WrenchStamped
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import PointCloud2

from soro_compliance.node import Compliance
from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.action import AnalyzeWorkspace
from soro_msgs.msg import ActuatorState
from soro_msgs.msg import Compliance as ComplianceMessage
from soro_msgs.srv import ComputeCompliance
from soro_node.conversions import pose_from_message, wrench_from_message, wrench_to_message
from soro_node.frames import frames_for
from soro_node.inputs.external_wrench import wrench_at_tip
from soro_rigs.ros_session import RosSession, wait_for, wait_until

ROBOT = 'spatial_cc'
ACTUATION = [0.5e5, 0.2e5, 0.1e5]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture(scope='module')
def robot():
    return load_robot(ROBOT)


@pytest.fixture(params=['', '/lab/arm'], ids=['root', 'namespace'], scope='module')
def ros(request):
    with RosSession(request.param) as session:
        session.compliance = session.node(Compliance, request.param, robot=ROBOT)
        assert session.start(session.compliance)
        name = 'compliance/analyze_workspace'
        session.action = session.action_client(AnalyzeWorkspace, name)
        yield session


def ask(ros, **fields):
    request = ComputeCompliance.Request(**fields)
    return ros.call(ComputeCompliance, 'compliance/compute_compliance', request)


def analyse(ros, seen=None, **fields):
    assert ros.action.wait_for_server(10.0)
    callback = None if seen is None else lambda m: seen.append(m.feedback)
    goal = AnalyzeWorkspace.Goal(**fields)
    return wait_for(ros.action.send_goal_async(goal, feedback_callback=callback))


def finish(handle):
    answer = wait_for(handle.get_result_async(), 60.0)
    return answer.status, answer.result


def test_compliance_at_the_tip_is_the_librarys(ros, robot):
    q = robot.forward(ACTUATION)
    for method, name in ((0, 'tangent'), (1, 'integral')):
        answer = ask(ros, actuation=ACTUATION, method=method)
        assert (answer.error_code, answer.error_message) == (0, '')
        (point,) = answer.compliance
        matrix = np.array(point.matrix).reshape(6, 6)
        assert matrix == pytest.approx(robot.compliance(q, method=name), rel=1e-9)
        assert (point.method, point.backbone) == (method, '')
        assert point.header.frame_id.endswith('tip_aligned')
        assert list(point.principal_compliance) == pytest.approx(
            np.linalg.eigvalsh(0.5 * (matrix + matrix.T)[:3, :3])[::-1], rel=1e-9
        )
        # Three actuators' springs alone hold this arm: a compliance of rank 3 has no eigenscrews.
        assert np.isnan(point.eigenstiffness).all()


def test_the_published_sums_are_of_segment_models(ros, robot):
    segments = robot.with_model('ncm')
    q = segments.forward(ACTUATION)
    of = ComplianceMessage
    ready = {'actuation': ACTUATION, 'model': 'ncm'}
    assert wait_until(lambda: ask(ros, **ready).error_code != Code.BUSY, 240.0)
    for method, name in (
        (of.TANGENT, 'tangent'),
        (of.INTEGRAL, 'integral'),
        (of.MIDPOINT, 'midpoint'),
        (of.TRAPEZOID, 'trapezoid'),
    ):
        answer = ask(ros, actuation=ACTUATION, method=method, model='ncm')
        assert answer.error_code == 0, answer.error_message
        matrix = np.array(answer.compliance[0].matrix).reshape(6, 6)
        assert matrix == pytest.approx(segments.compliance(q, method=name), rel=1e-9)
    answer = ask(ros, actuation=ACTUATION, method=of.MIDPOINT)
    assert (answer.error_code, len(answer.compliance)) == (Code.UNSUPPORTED, 0)


def test_along_the_backbone_every_station_answers(ros, robot):
    q = robot.forward(ACTUATION)
    answer = ask(ros, actuation=ACTUATION, along_backbone=True)
    assert len(answer.compliance) == sum(len(s) for s in q.arc_lengths)
    last = answer.compliance[-1]
    assert last.backbone == q.backbone_names[-1]
    assert np.array(last.matrix).reshape(6, 6) == pytest.approx(robot.compliance(q), rel=1e-9)


def test_load_counts(ros, robot):
    wrench = Wrench()
    wrench.force.x = 0.2
    answer = ask(ros, actuation=ACTUATION, wrench=wrench)
    q = robot.forward(ACTUATION, [0.2, 0, 0, 0, 0, 0])
    matrix = np.array(answer.compliance[0].matrix).reshape(6, 6)
    assert matrix == pytest.approx(robot.compliance(q), rel=1e-9)
    assert answer.compliance[0].wrench.force.x == 0.2


def test_wrong_requests_have_codes(ros):
    nan = float('nan')
    for fields, code in (
        ({'actuation': [1.0]}, Code.INVALID_SIZE),
        ({'actuation': [nan, 0.0, 0.0]}, Code.NOT_FINITE),
        ({'actuation': ACTUATION, 'actuator_name': ['a', 'b', 'c']}, Code.UNKNOWN_NAME),
        ({'actuation': ACTUATION, 'model': 'ncn'}, Code.UNKNOWN_MODEL),
        ({'actuation': ACTUATION, 'method': 7}, Code.OUT_OF_RANGE),
        ({}, Code.NO_STATE),
    ):
        answer = ask(ros, **fields)
        assert answer.error_code == code, answer.error_message
        assert answer.error_message


@pytest.fixture
def speaking(ros, robot):
    """Have a driver speak."""
    states = ros.client.create_publisher(ActuatorState, 'actuator_state', 1)
    nan = [float('nan')] * 3
    state = ActuatorState(
        name=[a.name for a in robot.actuators],
        quantity=[1] * 3,
        commanded=nan,
        measured=nan,
        applied=ACTUATION,
        flags=[0] * 3,
        device_state=ActuatorState.ACTIVE,
    )
    timer = ros.client.create_timer(0.02, lambda: states.publish(state))
    wait_until(lambda: ros.compliance._feedback.fresh())
    yield
    ros.client.destroy_timer(timer)


def test_an_empty_actuation_is_the_present_one(ros, speaking):
    answer = ask(ros)
    assert list(answer.configuration.actuation) == ACTUATION


@pytest.mark.parametrize('frame', ['tip_aligned', 'tip', 'base_link'])
def test_the_present_state_is_under_the_external_wrench(ros, robot, speaking, frame):
    frames = frames_for(ros.client.get_namespace())
    external = np.array([0.2, 0.0, -0.1, 0.0, 0.001, 0.0])
    message = WrenchStamped(wrench=wrench_to_message(external))
    message.header.frame_id = getattr(frames, frame)
    wait_until(lambda: not ros.compliance._wrench.present)  # that of another frame
    wrenches = ros.client.create_publisher(WrenchStamped, 'external_wrench', 1)
    timer = ros.client.create_timer(0.02, lambda: wrenches.publish(message))
    asked = Wrench()
    asked.force.y = 0.05

    def loaded():
        answer = ask(ros, wrench=asked)
        return answer if answer.configuration.wrench.force.x != 0.0 else None

    answer = wait_until(loaded)
    other = ask(ros, actuation=ACTUATION, wrench=asked).configuration
    ros.client.destroy_timer(timer)
    q = answer.configuration
    tip = pose_from_message(q.tip)
    expected = wrench_at_tip(external, message.header.frame_id, frames, tip)
    expected[1] += 0.05
    assert wrench_from_message(q.wrench) == pytest.approx(expected, abs=1e-5)
    assert tip == pytest.approx(robot.forward(ACTUATION, expected).tip, abs=1e-5)
    # An actuation that is asked for has the wrench that is asked for.
    assert other.wrench == asked


def test_diagnostics_know_an_old_wrench_and_a_node_that_does_not_listen(ros):
    def row(name):
        status = ros.compliance.diagnostics.status(name)
        return status.level[0], status.message

    wait_until(lambda: row('external_wrench') == (1, 'older than 0.5 s: counts as zero'))
    ros.do(ros.compliance, ros.compliance.trigger_deactivate)
    for name in ('solver', 'actuator_state', 'external_wrench'):
        assert row(name) == (0, 'inactive')
    ros.do(ros.compliance, ros.compliance.trigger_activate)


def test_workspace_is_reported_saved_and_latched(ros, robot, tmp_path):
    seen = []
    file = tmp_path / 'cloud.npz'
    handle = analyse(ros, seen, method=1, samples=300, with_compliance=True, save_to=str(file))
    status, result = finish(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Code.NONE)
    assert (result.solved, result.failed) == (300, 0)
    assert result.saved_to == str(file)
    assert result.volume > 0.0 and result.longest_extent > 0.0
    assert seen[-1].progress == 1.0
    assert [f.name for f in result.points.fields][3:] == ['min_compliance', 'max_compliance']
    table = np.frombuffer(bytes(result.points.data), '<f4').reshape(300, 5)
    with np.load(file) as data:
        assert table[:, :3] == pytest.approx(data['tip'][:, :3, 3], rel=1e-5, abs=1e-7)
        origin = json.loads(str(data['origin']))
    assert (origin['robot'], origin['method'], origin['seed']) == (ROBOT, 'RANDOM', 0)
    content = Path(origin['robot_file']).read_bytes()
    assert origin['robot_file_sha256'] == hashlib.sha256(content).hexdigest()
    assert origin['gravity_in_base_link_m_s2'] == robot.gravity.tolist()
    assert result.maximum.z == pytest.approx(table[:, 2].max(), rel=1e-5)
    late = ros.listen(PointCloud2, 'workspace', LATCHED)
    wait_until(lambda: late)
    assert late[0].width == 300
    assert late[0].header.frame_id.endswith('base_link')


def test_analysis_can_be_cancelled_and_only_one_runs(ros):
    seen = []
    handle = analyse(ros, seen, method=1, samples=100_000)
    wait_until(lambda: seen)
    status, result = finish(analyse(ros, samples=10))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.BUSY)
    wait_for(handle.cancel_goal_async())
    status, result = finish(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_CANCELED, Code.CANCELED)


def test_wrong_goals_have_codes(ros):
    for fields, code in (
        ({'method': 5, 'samples': 10}, Code.OUT_OF_RANGE),
        ({'samples': 2_000_000}, Code.OUT_OF_RANGE),
        ({'samples': 10, 'lower': [0.0]}, Code.INVALID_SIZE),
        ({'samples': 10, 'upper': [float('nan')] * 3}, Code.NOT_FINITE),
        ({'samples': 10, 'model': 'x'}, Code.UNKNOWN_MODEL),
        ({'samples': 10, 'save_to': 'cloud.txt'}, Code.OUT_OF_RANGE),
    ):
        status, result = finish(analyse(ros, **fields))
        assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, code)


def test_inactive_answers_that_it_is(ros):
    ros.compliance.trigger_deactivate()
    assert ask(ros, actuation=ACTUATION).error_code == Code.NOT_ACTIVE
    status, result = finish(analyse(ros, samples=10))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.NOT_ACTIVE)
    ros.compliance.trigger_activate()
    assert ask(ros, actuation=ACTUATION).error_code == Code.NONE
    assert finish(analyse(ros, samples=10))[1].error_code == Code.NONE
