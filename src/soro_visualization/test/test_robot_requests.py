# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""When a target goes out, against a planner that answers when the test says so."""

from __future__ import annotations

from types import SimpleNamespace

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterValue, SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.task import Future
from std_srvs.srv import Trigger

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.srv import ComputeCompliance, SolveInverse
from soro_node.frames import frames_for
from soro_visualization.robot_requests import RobotRequests, TARGET_AGE, TASK_TIMEOUT
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
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time))

    def get_fully_qualified_name(self):
        return '/arm/visualization'


class Bench:
    """The requests of a robot, and what became of them."""

    def __init__(self, monkeypatch):
        self.now, self.node, self.answers = 100.0, Node(), []
        for module in ('robot_requests', 'service_calls', 'planner_settings'):
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

    @property
    def tasks(self):
        """The calls that set the task, with the values."""
        return [
            (request.parameters[0].value.string_value, future)
            for name, request, future in self.node.calls
            if name == 'trajectory_planner/set_parameters'
        ]

    def answer(self, good=True, reason='', call=-1):
        """Let the planner answer."""
        results = [SetParametersResult(successful=good, reason=reason)]
        self.tasks[call][1].set_result(SetParameters.Response(results=results))

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
def bench(monkeypatch):
    return Bench(monkeypatch)


def test_a_target_goes_out_when_the_planner_has_taken_the_task(bench):
    bench.ask('pose')
    assert bench.tasks[-1][0] == 'pose' and not bench.node.published
    bench.answer()
    assert [topic for topic, _ in bench.node.published] == ['target_pose']


def test_the_task_is_set_with_every_target_as_others_set_it_too(bench):
    for _ in range(2):
        bench.ask('pose')
        bench.answer()
        bench.solved()
    assert [task for task, _ in bench.tasks] == ['pose', 'pose']
    assert len(bench.node.published) == 2


def test_a_refusal_is_said_nothing_is_sent_and_the_next_target_asks_again(bench):
    bench.ask('pose')
    bench.answer(False, 'not now')
    assert not bench.node.published
    text, good = bench.answers[-1]
    assert 'not sent' in text and 'not now' in text and not good
    bench.ask('pose')
    bench.answer()
    assert len(bench.tasks) == 2 and len(bench.node.published) == 1


def test_without_the_planners_service_nothing_is_sent(bench):
    bench.node.ready = False
    bench.ask()
    assert not bench.node.published and 'does not answer' in bench.answers[-1][0]


@pytest.mark.parametrize(
    'end',
    [
        lambda requests: requests.stop(),
        lambda requests: requests.release(),
        lambda requests: requests.actuate(np.zeros(3)),
    ],
    ids=['stop', 'release', 'slider'],
)
def test_what_ends_a_target_ends_it_also_while_the_planner_is_asked(bench, end):
    bench.ask('pose')
    end(bench.requests)
    bench.answer()
    assert not bench.node.published
    bench.ask('pose')
    bench.answer()
    assert bench.node.published[-1][0] == 'target_pose'


def test_release_drops_what_was_waiting(bench):
    bench.requests.actuate(np.zeros(3))
    bench.requests.release()
    bench.requests.send_waiting()
    assert not bench.node.published


def test_while_the_planner_is_asked_the_newest_target_waits(bench):
    for x in (0.01, 0.02, 0.03):
        bench.ask('position', x)
    assert len(bench.tasks) == 1
    bench.answer()
    bench.solved()
    bench.requests.send_waiting()
    bench.answer()
    assert [m.pose.position.x for _, m in bench.node.published] == [0.01, 0.03]


def test_a_planner_that_never_answers_is_named_and_blocks_nothing(bench):
    bench.ask('pose')
    bench.now += 1.1 * TASK_TIMEOUT
    bench.ask('position')
    assert 'trajectory_planner does not answer' in bench.answers[-1][0]
    bench.answer(call=0)  # too late
    assert not bench.node.published
    bench.answer()
    assert len(bench.node.published) == 1


def test_a_solver_that_never_answers_blocks_nothing(bench):
    def asked():
        return [call for call in bench.node.calls if call[0].endswith('solve_inverse')]

    for x in (0.01, 0.02):
        bench.requests.move_to(at(x), 'pose', False)
        bench.requests.send_waiting()
    assert len(asked()) == 1  # the second target waits for the answer to the first
    bench.now += 0.99 * ANSWER_TIMEOUT
    bench.requests.send_waiting()
    assert len(asked()) == 1
    bench.now += 0.02 * ANSWER_TIMEOUT
    bench.requests.send_waiting()
    assert [call[1].target.pose.position.x for call in asked()] == [0.01, 0.02]
    assert bench.node.given_up == [asked()[0][2]]
    bench.solved()
    bench.requests.move_to(at(0.03), 'pose', False)
    bench.requests.send_waiting()
    assert len(asked()) == 3


def test_compliance_is_asked_again_when_the_answer_never_came(bench):
    taken = []
    for seconds, asked in ((0.0, 1), (0.9 * ANSWER_TIMEOUT, 1), (0.2 * ANSWER_TIMEOUT, 2)):
        bench.now += seconds
        bench.requests.ask_compliance(taken.append)
        assert len(bench.node.calls) == asked
    bench.node.calls[-1][2].set_result(ComputeCompliance.Response())
    assert taken == [[]]
    bench.requests.ask_compliance(taken.append)
    assert len(bench.node.calls) == 3


def test_a_workspace_is_asked_for_by_the_thread_that_spins(bench):
    sent, tasks = [], []
    bench.requests._workspace = SimpleNamespace(
        server_is_ready=lambda: True, send_goal_async=lambda goal: sent.append(goal) or Future()
    )
    bench.node.executor = SimpleNamespace(create_task=lambda *task: tasks.append(task))
    bench.requests.analyze_workspace()
    assert not sent
    [(call, *arguments)] = tasks
    call(*arguments)
    assert sent[0].with_compliance


def solves(bench):
    return [request for name, request, _ in bench.node.calls if name.endswith('solve_inverse')]


@pytest.mark.parametrize('kind', ['pose', 'actuation'])
@pytest.mark.parametrize('end', ['stop', 'release', 'withdraw', 'clear_fault'])
def test_an_end_between_taking_and_sending_withdraws_the_target(bench, end, kind):
    bench.node.counted = lambda: getattr(bench.requests, end)()
    if kind == 'pose':
        bench.ask('pose')
    else:
        bench.requests.actuate(np.zeros(3))
        bench.requests.send_waiting()
    bench.node.counted = lambda: None
    assert not bench.tasks and not bench.node.published
    bench.ask('pose')
    bench.answer()
    assert len(bench.node.published) == 1


def test_a_target_goes_out_though_the_solver_is_still_busy_with_the_last_one(bench):
    for x in (0.01, 0.02, 0.03):
        bench.ask('pose', x)
        bench.answer()
    assert [m.pose.position.x for _, m in bench.node.published] == [0.01, 0.02, 0.03]
    assert [r.target.pose.position.x for r in solves(bench)] == [0.01]
    bench.solved()
    bench.requests.send_waiting()
    assert [r.target.pose.position.x for r in solves(bench)] == [0.01, 0.03]  # the newest


@pytest.mark.parametrize('kind', ['pose', 'actuation'])
def test_a_target_that_has_waited_too_long_is_dropped_and_said(bench, kind):
    if kind == 'pose':
        bench.requests.move_to(at(0.01), 'pose', True)
    else:
        bench.requests.actuate(np.zeros(3))
    bench.now += 1.1 * TARGET_AGE
    bench.requests.send_waiting()
    assert not bench.tasks and not bench.node.published
    assert 'has waited' in bench.answers[-1][0] and not bench.answers[-1][1]


def test_an_answer_of_the_solver_after_a_stop_is_not_shown(bench):
    bench.ask('pose')
    bench.answer()
    bench.requests.stop()
    said = list(bench.answers)
    future = next(f for name, _, f in bench.node.calls if name.endswith('solve_inverse'))
    future.set_result(SolveInverse.Response())
    assert bench.answers == said


def test_the_page_solves_what_the_planner_solves(bench):
    bench.requests.wrench = np.array([0.1, 0.2, -0.3, 0.01, 0.02, 0.03])
    bench.requests.move_to(at(0.01), None, True)
    bench.requests.send_waiting()
    [(request, future)] = [c[1:] for c in bench.node.calls if c[0].endswith('get_parameters')]
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
    assert not bench.tasks  # nobody asked for a task: it stays as the planner has it
    assert len(bench.node.published) == 1
    bench.solved()
    bench.ask(None, 0.02)
    asked = solves(bench)[-1]
    assert (asked.position_tolerance, asked.orientation_tolerance) == (1e-4, 1e-3)
    assert asked.task == SolveInverse.Request.POSE
    assert (asked.wrench.force.z, asked.wrench.torque.y) == (-0.3, 0.02)
    bench.requests.ask_compliance(list)
    assert bench.node.calls[-1][1].wrench == asked.wrench


def test_without_a_planner_the_solvers_own_tolerances_hold(bench):
    bench.node.ready = False
    bench.requests.move_to(at(0.01), 'pose', False)
    bench.requests.send_waiting()
    bench.node.ready = True
    bench.requests.move_to(at(0.01), 'pose', False)
    bench.requests.send_waiting()
    assert solves(bench)[-1].position_tolerance == 0.0


def test_a_stop_is_said_when_it_is_sent_and_when_nobody_answers_it(bench):
    bench.requests.stop()
    assert bench.answers[-1] == ('driver/stop: sent', True)
    bench.now += 1.1 * TRIGGER_TIMEOUT
    bench.requests.send_waiting()
    assert bench.answers[-1] == ('driver/stop: NO ANSWER, use the hardware stop', False)
    count = len(bench.answers)
    bench.requests.send_waiting()
    assert len(bench.answers) == count  # said once
    bench.node.calls[-1][2].set_result(Trigger.Response(success=True, message='SAFE'))
    assert bench.answers[-1] == ('driver/stop: SAFE', True)


def test_a_stop_that_is_answered_is_not_called_unanswered(bench):
    bench.requests.stop()
    bench.node.calls[-1][2].set_result(Trigger.Response(success=True))
    bench.now += 1.1 * TRIGGER_TIMEOUT
    bench.requests.send_waiting()
    assert bench.answers[-1] == ('driver/stop: done', True)
    bench.node.ready = False
    bench.requests.stop()
    assert 'use the hardware stop' in bench.answers[-1][0]


def test_ellipsoids_of_a_compliance_node_that_is_gone_are_taken_back(bench):
    taken = []
    bench.requests.ask_compliance(taken.append)
    bench.node.ready = False
    bench.requests.ask_compliance(taken.append)
    assert taken == [[]]


def test_whoever_ends_a_target_is_told_of_to_the_other_ways_of_dragging(bench):
    ended = []
    bench.requests.on_end = lambda: ended.append(None)
    for call in ('stop', 'release', 'clear_fault', 'withdraw'):
        getattr(bench.requests, call)()
    bench.requests.actuate(np.zeros(3))
    assert len(ended) == 5
