# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`soro estop` against drivers alone: what is pressed reaches them, and silence is told."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from soro_cli import service_round
from soro_cli.main import main
from soro_driver.device import Fault
from soro_msgs.msg import ActuatorState
from soro_node.qos import LATCHED, LOSSY
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession


class Driver(Node):
    """Listens to `estop` and tells its state; `deaf` ones stay ACTIVE, `lost` have no device."""

    def __init__(self, deaf: bool = False, lost: bool = False, **options) -> None:
        super().__init__('driver', **options)
        self.heard: list[bool] = []
        self._deaf = deaf
        self._faults = int(Fault.COMMUNICATION) if lost else 0
        self._state = ActuatorState.ACTIVE
        self.released = 0
        self.create_service(Trigger, 'driver/stop', lambda request, response: response)
        self.create_service(Trigger, 'driver/release_estop', self._on_release)
        self.create_subscription(Bool, 'estop', self._on_estop, LATCHED)
        self._states = self.create_publisher(ActuatorState, 'actuator_state', LOSSY)
        self.create_timer(0.02, self._tell)

    def _on_estop(self, message: Bool) -> None:
        self.heard.append(message.data)
        if message.data and not self._deaf:
            self._state = ActuatorState.ESTOP

    def _on_release(self, request, response):
        self.released += 1
        response.success, response.message = True, 'released: call driver/clear_fault'
        return response

    def _tell(self) -> None:
        self._states.publish(ActuatorState(device_state=self._state, faults=self._faults))


@pytest.fixture
def drivers(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    with RosSession() as ros:

        def add(space, **how):
            driver = Driver(**how, namespace=space, context=ros.context)
            ros.spin(driver)
            return driver

        yield add


def test_all_robots_are_stopped_and_how_to_go_on_is_said(drivers, capsys):
    left, right = drivers('/left'), drivers('/cell/right')
    assert main(['estop']) == 0
    assert left.heard == right.heard == [True]
    said = capsys.readouterr()
    assert said.out == '/cell/right: emergency stop\n/left: emergency stop\n'
    assert 'soro estop --release -n NAME, then soro stop --clear -n NAME' in said.err


def test_robots_are_stopped_where_no_log_file_can_be_written(drivers, tmp_path, monkeypatch):
    (tmp_path / 'file').touch()
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file/log'))
    left = drivers('/left')
    program = [sys.executable, '-m', 'soro_cli.main', 'estop']
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as child:
        _, said = child.communicate(timeout=60.0)
    assert child.returncode == 0 and 'Traceback' not in said
    assert left.heard == [True]


def test_release_needs_a_name_where_several_run_and_presses_nothing(drivers, capsys):
    left, right = drivers('/left'), drivers('/right')
    assert main(['estop', '--release']) == 1
    assert 'choose one with --namespace: left, right' in capsys.readouterr().err
    assert main(['estop', '--release', '-n', 'left']) == 0
    assert left.released == 1 and right.released == 0
    assert left.heard == right.heard == []
    said = capsys.readouterr()
    assert said.out == '/left: released: call driver/clear_fault\n'
    assert 'to go on: soro stop --clear -n left' in said.err


def test_a_driver_that_does_not_obey_is_named(drivers, monkeypatch, capsys):
    monkeypatch.setattr(service_round, 'ANSWER', 0.5)
    drivers('/left')
    drivers('/deaf', deaf=True)
    assert main(['estop']) == 1
    said = capsys.readouterr().err
    assert 'NOT confirmed within 0.5 s: /deaf (done: /left: emergency stop)' in said
    assert 'emergency stop of the hardware' in said


def test_a_stop_that_reached_no_device_is_not_confirmed(drivers, monkeypatch, capsys):
    monkeypatch.setattr(service_round, 'ANSWER', 0.5)
    drivers('/left')
    gone = drivers('/gone', lost=True)
    assert main(['estop']) == 1
    assert gone.heard == [True]
    said = capsys.readouterr().err
    unsure = 'device lost, outputs not confirmed safe'
    assert f'NOT confirmed within 0.5 s: /gone (latched; {unsure}) (done: /left' in said


def test_a_namespace_without_a_driver_is_told_what_runs(drivers, capsys):
    left = drivers('/left')
    assert main(['estop', '-n', 'right']) == 1
    assert 'there is no driver under /right (running: /left)' in capsys.readouterr().err
    assert left.heard == []
