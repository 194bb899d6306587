# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""When a target goes out and what is said of it, against nodes that answer when told to."""

from __future__ import annotations

from types import SimpleNamespace

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.task import Future
from std_srvs.srv import Trigger

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.srv import ComputeCompliance, SolveInverse
from soro_node.frames import frames_for
from soro_visualization.robot_requests import RobotRequests, TARGET_AGE
from soro_visualization.service_calls import ANSWER_TIMEOUT, TRIGGER_TIMEOUT

PACKAGE = 'soro_visualization'
MODULE = f'{PACKAGE}.robot_requests'


class Node:
    """Makes publishers and clients that only note."""

    def __init__(self):
        self.published, self.calls, self.given_up = [], [], []
        self.ready = True
        self.counted = lambda: None  # called when listeners are counted

    def create_publisher(self, kind, topic, qos):
        return SimpleNamespace(
            get_subscription_count=lambda: self.counted() or 1,
            publish=lambda message: self.published.append((topic, message)),
        )

    def create_client(self, kind, name):
        def call_async(request):
            future = Future()
            self.calls.append((name, request, future))
            return future

        return SimpleNamespace(
            service_is_ready=lambda: self.ready,
            call_async=call_async,
            remove_pending_request=self.given_up.append,
        )

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time, nanoseconds=0))

    def get_fully_qualified_name(self):
        return '/arm/visualization'


class Rig:
    """The requests of a robot, and what became of them."""

    def __init__(self, monkeypatch):
        self.now, self.node, self.answers = 100.0, Node(), []
        for module in ('robot_requests', 'service_calls'):
            clock = SimpleNamespace(monotonic=lambda: self.now)
            monkeypatch.setattr(f'{PACKAGE}.{module}.time', clock)
        monkeypatch.setattr(f'{MODULE}.ActionClient', lambda *arguments: None)
        self.requests = RobotRequests(
            self.node,
            read_robot_file(find_robot_file('stiff_flop')),
            frames_for('/arm', 'arm/'),
            lambda shape, text, good, arrived: self.answers.append((text, good)),
        )

    def ask(self, task='position', x=0.0):
        """Ask for a pose, and let the node send it."""
        self.requests.move_to(at(x), task, True)
        self.requests.send_waiting()

    def solved(self):
        """Let the solver answer what it was asked last."""
        futures = [f for name, _, f in self.node.calls if name.endswith('solve_inverse')]
        futures[-1].set_result(None)


def at(x):
    """Return an upright pose."""
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


@pytest.fixture
def rig(monkeypatch):
    return Rig(monkeypatch)


def test_a_target_goes_out_with_its_task_and_the_stops_that_were_seen(rig):
    rig.requests.stops = 4
    rig.ask('position_and_axis', 0.02)
    [(topic, message)] = rig.node.published
    assert (topic, message.source, message.stops) == ('tip_target', '/arm/visualization', 4)
    assert message.task == SolveInverse.Request.POSITION_AND_AXIS
    assert message.header.frame_id == 'arm/base_link' and message.pose.position.x == 0.02


def test_a_target_without_a_task_leaves_that_to_the_planner(rig):
    rig.ask(None)
    assert [topic for topic, _ in rig.node.published] == ['target_pose']


def test_release_drops_what_was_waiting(rig):
    rig.requests.actuate(np.zeros(3))
    rig.requests.release()
    rig.requests.send_waiting()
    assert not rig.node.published


def test_a_solver_that_never_answers_blocks_nothing(rig):
    def asked():
        return [call for call in rig.node.calls if call[0].endswith('solve_inverse')]

    for x in (0.01, 0.02):
        rig.requests.move_to(at(x), 'pose', False)
        rig.requests.send_waiting()
    assert len(asked()) == 1  # the second target waits for the answer to the first
    rig.now += 0.99 * ANSWER_TIMEOUT
    rig.requests.send_waiting()
    assert len(asked()) == 1
    rig.now += 0.02 * ANSWER_TIMEOUT
    rig.requests.send_waiting()
    assert [call[1].target.pose.position.x for call in asked()] == [0.01, 0.02]
    assert rig.node.given_up == [asked()[0][2]]
    rig.solved()
    rig.requests.move_to(at(0.03), 'pose', False)
    rig.requests.send_waiting()
    assert len(asked()) == 3


def test_compliance_is_asked_again_when_the_answer_never_came(rig):
    taken = []
    for seconds, asked in ((0.0, 1), (0.9 * ANSWER_TIMEOUT, 1), (0.2 * ANSWER_TIMEOUT, 2)):
        rig.now += seconds
        rig.requests.ask_compliance(taken.append)
        assert len(rig.node.calls) == asked
    rig.node.calls[-1][2].set_result(ComputeCompliance.Response())
    assert taken == [[]]
    rig.requests.ask_compliance(taken.append)
    assert len(rig.node.calls) == 3


def test_a_workspace_is_asked_for_by_the_thread_that_spins(rig):
    sent, tasks = [], []
    rig.requests._workspace = SimpleNamespace(
        server_is_ready=lambda: True,
        send_goal_async=lambda goal, told: sent.append(goal) or Future(),
    )
    rig.node.executor = SimpleNamespace(create_task=lambda *task: tasks.append(task))
    rig.requests.analyze_workspace()
    assert not sent
    [(call, *arguments)] = tasks
    call(*arguments)
    assert sent[0].with_compliance


def solves(rig):
    return [request for name, request, _ in rig.node.calls if name.endswith('solve_inverse')]


@pytest.mark.parametrize('kind', ['pose', 'actuation'])
@pytest.mark.parametrize('end', ['stop', 'release', 'withdraw', 'clear_fault'])
def test_an_end_between_taking_and_sending_withdraws_the_target(rig, end, kind):
    rig.node.counted = lambda: getattr(rig.requests, end)()
    if kind == 'pose':
        rig.ask('pose')
    else:
        rig.requests.actuate(np.zeros(3))
        rig.requests.send_waiting()
    rig.node.counted = lambda: None
    assert not rig.node.published
    rig.ask('pose')
    assert len(rig.node.published) == 1


def test_a_target_goes_out_though_the_solver_is_still_busy_with_the_last_one(rig):
    for x in (0.01, 0.02, 0.03):
        rig.ask('pose', x)
    assert [m.pose.position.x for _, m in rig.node.published] == [0.01, 0.02, 0.03]
    assert [r.target.pose.position.x for r in solves(rig)] == [0.01]
    rig.solved()
    rig.requests.send_waiting()
    assert [r.target.pose.position.x for r in solves(rig)] == [0.01, 0.03]  # the newest


@pytest.mark.parametrize('kind', ['pose', 'actuation'])
def test_a_target_that_has_waited_too_long_is_dropped_and_said(rig, kind):
    if kind == 'pose':
        rig.requests.move_to(at(0.01), 'pose', True)
    else:
        rig.requests.actuate(np.zeros(3))
    rig.now += 1.1 * TARGET_AGE
    rig.requests.send_waiting()
    assert not rig.node.published
    assert 'has waited' in rig.answers[-1][0] and not rig.answers[-1][1]


def test_an_answer_of_the_solver_after_a_stop_is_not_shown(rig):
    rig.ask('pose')
    rig.requests.stop()
    said = list(rig.answers)
    future = next(f for name, _, f in rig.node.calls if name.endswith('solve_inverse'))
    future.set_result(SolveInverse.Response())
    assert rig.answers == said


def test_the_page_solves_what_the_planner_solves(rig):
    rig.requests.wrench = np.array([0.1, 0.2, -0.3, 0.01, 0.02, 0.03])
    rig.requests.move_to(at(0.01), None, True)
    rig.requests.send_waiting()
    [(request, future)] = [c[1:] for c in rig.node.calls if c[0].endswith('get_parameters')]
    values = {'task': 'pose', 'position_tolerance': 1e-4, 'orientation_tolerance': 1e-3}
    future.set_result(
        GetParameters.Response(
            values=[
                ParameterValue(string_value=values[name])
                if name == 'task'
                else ParameterValue(double_value=values[name])
                for name in request.names
            ]
        )
    )
    assert len(rig.node.published) == 1
    rig.solved()
    rig.ask(None, 0.02)
    asked = solves(rig)[-1]
    assert (asked.position_tolerance, asked.orientation_tolerance) == (1e-4, 1e-3)
    assert asked.task == SolveInverse.Request.POSE
    assert (asked.wrench.force.z, asked.wrench.torque.y) == (-0.3, 0.02)
    rig.requests.ask_compliance(list)
    assert rig.node.calls[-1][1].wrench == asked.wrench


def test_without_a_planner_the_solvers_own_tolerances_hold(rig):
    rig.node.ready = False
    rig.requests.move_to(at(0.01), 'pose', False)
    rig.requests.send_waiting()
    rig.node.ready = True
    rig.requests.move_to(at(0.01), 'pose', False)
    rig.requests.send_waiting()
    assert solves(rig)[-1].position_tolerance == 0.0


def test_a_stop_is_said_when_it_is_sent_and_when_nobody_answers_it(rig):
    rig.requests.stop()
    assert rig.answers[-1] == ('driver/stop: sent', True)
    rig.now += 1.1 * TRIGGER_TIMEOUT
    rig.requests.send_waiting()
    assert rig.answers[-1] == ('driver/stop: NO ANSWER, use the hardware stop', False)
    count = len(rig.answers)
    rig.requests.send_waiting()
    assert len(rig.answers) == count  # said once
    rig.node.calls[-1][2].set_result(Trigger.Response(success=True, message='SAFE'))
    assert rig.answers[-1] == ('driver/stop: SAFE', True)


def test_a_stop_that_is_answered_is_not_called_unanswered(rig):
    rig.requests.stop()
    rig.node.calls[-1][2].set_result(Trigger.Response(success=True))
    rig.now += 1.1 * TRIGGER_TIMEOUT
    rig.requests.send_waiting()
    assert rig.answers[-1] == ('driver/stop: done', True)
    rig.node.ready = False
    rig.requests.stop()
    assert 'use the hardware stop' in rig.answers[-1][0]


def test_ellipsoids_of_a_compliance_node_that_is_gone_are_taken_back(rig):
    taken = []
    rig.requests.ask_compliance(taken.append)
    rig.node.ready = False
    rig.requests.ask_compliance(taken.append)
    assert taken == [[]]


def test_whoever_ends_a_target_is_told_of_to_the_other_ways_of_dragging(rig):
    ended = []
    rig.requests.on_end = lambda: ended.append(None)
    for call in ('stop', 'release', 'clear_fault', 'withdraw'):
        getattr(rig.requests, call)()
    rig.requests.actuate(np.zeros(3))
    assert len(ended) == 5


@pytest.mark.parametrize('done', [True, False])
def test_clear_reaches_a_renderer_over_topics_once_its_driver_is_cleared(rig, done):
    rig.requests.clear_fault()
    (asked,) = rig.node.calls
    assert asked[0] == 'driver/clear_fault'
    asked[2].set_result(Trigger.Response(success=done, message='active'))
    names = [name for name, _, _ in rig.node.calls]
    assert names == ['driver/clear_fault', 'haptic_renderer/clear_fault'][: 1 + done]


def test_a_workspace_says_how_far_it_is_and_ends_when_cancelled(rig):
    answer, result, ended = Future(), Future(), []
    handle = SimpleNamespace(
        accepted=True,
        get_result_async=lambda: result,
        cancel_goal_async=lambda: ended.append(True),
    )
    heard = []
    rig.requests._workspace = SimpleNamespace(
        server_is_ready=lambda: True,
        send_goal_async=lambda goal, told: heard.append(told) or answer,
    )
    rig.node.executor = SimpleNamespace(create_task=lambda call, *of: call(*of))
    rig.requests.cancel_workspace()
    rig.requests.analyze_workspace()
    answer.set_result(handle)
    heard[0](SimpleNamespace(feedback=SimpleNamespace(progress=0.25)))
    assert rig.requests.computing == 0.25
    rig.requests.analyze_workspace()
    assert len(heard) == 1  # one at a time
    rig.requests.cancel_workspace()
    assert ended == [True]
    result.set_result(SimpleNamespace(result=SimpleNamespace(error_code=400, error_message='x')))
    assert rig.requests.computing is None
