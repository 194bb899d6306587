# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`soro stop` against drivers alone: no solver, no parameters and no robot file are there."""

from __future__ import annotations

import json

import pytest
from std_srvs.srv import Trigger

from soro_cli import service_round
from soro_cli.main import main
from soro_cli.ros_session import RosSession as SessionOfVerbs
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession


@pytest.fixture
def ros(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    with RosSession() as session:
        yield session


class Drivers:
    """Offers the services of drivers and notes who was asked for what."""

    def __init__(self, ros: RosSession) -> None:
        self._ros = ros
        self.asked: list[str] = []

    def add(self, space: str, success: bool = True) -> None:
        for service in ('stop', 'clear_fault'):
            self.offer(f'{space}/driver/{service}', 'SAFE', success)

    def offer(self, name: str, message: str, success: bool = True) -> None:
        def answer(request, response):
            self.asked.append(name)
            response.success, response.message = success, message
            return response

        self._ros.do(self._ros.client, self._ros.client.create_service, Trigger, name, answer)


@pytest.fixture
def drivers(ros):
    return Drivers(ros)


def test_a_driver_is_enough(drivers, capsys):
    drivers.add('/left')
    assert main(['stop']) == 0
    assert drivers.asked == ['/left/driver/stop']
    assert capsys.readouterr().out == '/left: SAFE\n'


def test_without_a_name_all_are_stopped_and_it_is_said(drivers, capsys):
    drivers.add('/left')
    drivers.add('/cell/right')
    assert main(['stop', '--json']) == 0
    assert sorted(drivers.asked) == ['/cell/right/driver/stop', '/left/driver/stop']
    said = capsys.readouterr()
    assert json.loads(said.out)['message'] == '/cell/right: SAFE; /left: SAFE'
    assert 'all were stopped' in said.err


@pytest.mark.parametrize('option', ['--namespace', '--robot'])
def test_a_name_chooses_one(drivers, option):
    drivers.add('/left')
    drivers.add('/right')
    assert main(['stop', option, 'right']) == 0
    assert drivers.asked == ['/right/driver/stop']


def test_clear_needs_a_name_where_several_run(drivers, capsys):
    drivers.add('/left')
    drivers.add('/right')
    assert main(['stop', '--clear']) == 1
    assert 'choose one with --namespace: left, right' in capsys.readouterr().err
    assert drivers.asked == []
    assert main(['stop', '--clear', '-n', 'left']) == 0
    assert drivers.asked == ['/left/driver/clear_fault']


def test_one_that_does_not_answer_or_refuses_holds_nobody_up(ros, drivers, monkeypatch, capsys):
    from rclpy.node import Node

    monkeypatch.setattr(service_round, 'ANSWER', 0.5)
    drivers.add('/left')
    drivers.add('/right', success=False)
    dead = Node('driver', namespace='/dead', context=ros.context)  # nobody spins it
    dead.create_service(Trigger, 'driver/stop', lambda request, response: response)
    assert main(['stop']) == 1
    dead.destroy_node()
    assert sorted(drivers.asked) == ['/left/driver/stop', '/right/driver/stop']
    said = capsys.readouterr().err
    assert '/dead: driver/stop did not answer within 0.5 s; /right: SAFE' in said
    assert 'done: /left: SAFE' in said
    assert 'If a robot moves, use the emergency stop of the hardware.' in said


def test_a_viewer_that_waits_for_a_driver_is_no_robot(ros, drivers, capsys):
    ros.do(ros.client, ros.client.create_client, Trigger, '/gone/driver/stop')
    ros.do(ros.client, ros.client.create_client, Trigger, '/gone/driver/clear_fault')
    drivers.add('/left')
    assert main(['stop', '--clear']) == 0
    assert main(['stop', '-n', 'gone']) == 1
    said = capsys.readouterr().err
    assert 'nobody offers /gone/driver/stop (running: /left)' in said
    assert 'emergency stop' in said


def test_a_renderer_over_topics_is_cleared_after_its_driver_and_no_other(ros, drivers, capsys):
    for space in ('/left', '/right'):
        drivers.add(space)
        drivers.offer(f'{space}/haptic_renderer/clear_fault', 'active: choose')
    assert main(['stop', '--clear', '-n', 'left']) == 0
    order = ['/left/driver/clear_fault', '/left/haptic_renderer/clear_fault']
    assert drivers.asked == order
    assert capsys.readouterr().out == '/left: active: choose\n'
    assert main(['stop', '-n', 'left']) == 0, 'stopping asks the driver alone'
    assert drivers.asked == [*order, '/left/driver/stop']


def hidden_at_first(monkeypatch, service):
    """Have a service found some looks later than the others, as discovery does."""
    looks, see = iter(range(4)), SessionOfVerbs.offering

    def offering(self, name):
        return set() if name == service and next(looks, None) is not None else see(self, name)

    monkeypatch.setattr(SessionOfVerbs, 'offering', offering)


@pytest.mark.parametrize(
    ('verb', 'service'),
    [(['stop', '--clear'], 'clear_fault'), (['estop', '--release'], 'release_estop')],
)
def test_a_renderer_that_is_found_later_than_its_driver_is_asked(
    drivers, monkeypatch, verb, service
):
    renderer = f'haptic_renderer/{service}'
    hidden_at_first(monkeypatch, renderer)
    order = [f'/left/driver/{service}', f'/left/{renderer}']
    drivers.add('/left')
    for name in order[service == 'clear_fault' :]:  # that of the driver is there
        drivers.offer(name, 'done')
    assert main([*verb, '-n', 'left']) == 0
    assert [name for name in drivers.asked if name in order] == order
