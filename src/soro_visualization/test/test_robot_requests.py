# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""When a target goes out, against a planner that answers when the test says so."""

from __future__ import annotations

from types import SimpleNamespace

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.task import Future
from soro_mechanics.catalogue import find_robot_file
from soro_mechanics.robot_file import read_robot_file
from soro_node.frames import frames_for
from soro_visualization.robot_requests import ANSWER_TIMEOUT, RobotRequests, TASK_TIMEOUT

from soro_msgs.srv import ComputeCompliance

MODULE = 'soro_visualization.robot_requests'


class Node:
    """Makes publishers and clients that only note."""

    def __init__(self):
        self.published, self.calls, self.given_up = [], [], []
        self.ready = True

    def create_publisher(self, kind, topic, qos):
        return SimpleNamespace(
            get_subscription_count=lambda: 1,
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
        monkeypatch.setattr(f'{MODULE}.time', SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(f'{MODULE}.ActionClient', lambda *arguments: None)
        self.requests = RobotRequests(
            self.node, read_robot_file(find_robot_file('stiff_flop')), frames_for('/arm', 'arm/'),
            lambda shape, text, good, arrived: self.answers.append((text, good)),
        )  # fmt: skip

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
        name, _, future = self.node.calls[-1]
        assert name == 'kinematics_solver/solve_inverse'
        future.set_result(None)


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
    def solves():
        return [call for call in bench.node.calls if call[0].endswith('solve_inverse')]

    for x in (0.01, 0.02):
        bench.requests.move_to(at(x), 'pose', False)
        bench.requests.send_waiting()
    assert len(solves()) == 1  # the second target waits for the answer to the first
    bench.now += 0.99 * ANSWER_TIMEOUT
    bench.requests.send_waiting()
    assert len(solves()) == 1
    bench.now += 0.02 * ANSWER_TIMEOUT
    bench.requests.send_waiting()
    assert [call[1].target.pose.position.x for call in solves()] == [0.01, 0.02]
    assert bench.node.given_up == [solves()[0][2]]
    bench.solved()
    bench.requests.move_to(at(0.03), 'pose', False)
    bench.requests.send_waiting()
    assert len(solves()) == 3


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
