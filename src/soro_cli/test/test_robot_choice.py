# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which robot a verb speaks to: never one that was only discovered first."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from rclpy.node import Node
from std_srvs.srv import Trigger

from soro_cli import ros_session
from soro_cli.main import main
from soro_cli.ros_session import LONGEST, RosSession, SETTLED, SLICE, SOLVER
from soro_node.user_errors import UserError
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession as Nodes


class Scripted(RosSession):
    """A session that sees nodes come and go at given times, on a clock of its own."""

    def __init__(self, monkeypatch, *story):
        self.now = 0.0
        self._story = story
        self._executor = SimpleNamespace(spin_once=self._pass)
        self.node = SimpleNamespace(get_node_names_and_namespaces=self._seen)
        monkeypatch.setattr(ros_session, 'time', SimpleNamespace(monotonic=lambda: self.now))

    def _pass(self, timeout_sec):
        self.now += timeout_sec

    def _seen(self):
        return [
            (name, space) for begin, end, space, name in self._story if begin <= self.now < end
        ]


EVER = 1e9


def test_a_robot_that_comes_while_nodes_are_still_found_is_seen(monkeypatch):
    session = Scripted(
        monkeypatch,
        (0.1, EVER, '/left', SOLVER),
        (0.9, EVER, '/right', 'emulator'),
        (1.7, EVER, '/right', SOLVER),
    )
    assert session.running_robots() == ['/left', '/right']
    assert session.now == pytest.approx(1.7 + SETTLED, abs=3 * SLICE)


def test_a_named_robot_is_not_waited_for_longer_than_it_takes_to_find_it(monkeypatch):
    session = Scripted(monkeypatch, (0.1, EVER, '/left', SOLVER), (0.2, EVER, '/right', SOLVER))
    assert '/right' in session.running_robots('/right')
    assert session.now < 0.2 + 2 * SLICE


def test_other_commands_do_not_hold_discovery_up(monkeypatch):
    passing = [(0.1 * i, 0.1 * i + 0.1, '/', f'soro_cli_{i}') for i in range(1000)]
    session = Scripted(monkeypatch, (0.0, EVER, '/left', SOLVER), *passing)
    assert session.running_robots() == ['/left']
    assert session.now < SETTLED + 3 * SLICE


def test_nodes_that_come_and_go_without_an_end_are_said(monkeypatch):
    passing = [(0.5 * i, 0.5 * i + 0.5, '/', f'node_{i}') for i in range(1000)]
    session = Scripted(monkeypatch, (0.0, EVER, '/left', SOLVER), *passing)
    with pytest.raises(UserError, match='name one with --namespace'):
        session.running_robots()
    assert session.now < LONGEST + 1.0


@pytest.fixture
def ros(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    with Nodes() as session:
        yield session


def solver(**options):
    node = Node(SOLVER, **options)
    node.declare_parameter('robot', 'stiff_flop')
    return node


@pytest.fixture
def late(ros, monkeypatch):
    """Let a driver of another robot begin when a command has seen the first robot."""
    ros.node(solver, '/left')
    begun = []

    def nodes(session, original=RosSession._nodes):
        seen = original(session)
        if ('/left', SOLVER) in seen and not begun:
            begun.append(True)
            ros.do(
                ros.client,
                ros.client.create_service,
                Trigger,
                '/right/driver/stop',
                lambda request, response: response,
            )
        return seen

    monkeypatch.setattr(RosSession, '_nodes', nodes)
    return begun


@pytest.mark.parametrize(
    'words',
    [
        ('fk', '0', '0', '0'),
        ('move', '--rest'),
        ('haptics', 'wall'),
        ('calibrate',),
        ('workspace',),
        ('jacobian',),
    ],
    ids=lambda w: w[0],
)
def test_of_two_robots_none_is_chosen_silently(late, capsys, words):
    assert main(words) == 1
    assert late
    said = capsys.readouterr().err
    assert 'several robots run; choose one with --namespace: left, right' in said


def test_one_robot_is_named(ros, capsys):
    ros.node(solver, '/left')
    main(['haptics', 'free'])
    assert 'soro: the one robot that runs: /left\n' in capsys.readouterr().err
