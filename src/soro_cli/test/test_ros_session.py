# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a command reads from a running node."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from rclpy.node import Node
from rclpy.task import Future

from soro_cli.ros_session import RosSession as Session
from soro_cli.ros_session import TIMED_OUT
from soro_node.diagnostics import Diagnostics, Level
from soro_node.user_errors import UserError
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession

VALUES = {'robot': 'stiff_flop', 'priority': 50, 'rate': 0.5, 'online': True, 'empty': ''}


def test_a_parameter_of_any_type_is_read_as_text(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))

    def node(**options):
        made = Node('device', **options)
        made.declare_parameters('', list(VALUES.items()))
        return made

    with RosSession() as ros:
        ros.node(node, '/left')
        with Session() as session:
            found = {name: session.parameter('/left/device', name) for name in VALUES}
            assert found == {name: str(value) for name, value in VALUES.items()}
            assert session.parameter('/left/device', 'nonsense') == ''
            session.set_parameter('/left/device', 'robot', 'spatial_cc')
            assert session.parameter('/left/device', 'robot') == 'spatial_cc'
            with pytest.raises(UserError, match='/left/device'):
                session.set_parameter('/left/device', 'rate', 'fast')


@pytest.fixture
def interruptible():
    """Take Ctrl-C as on a terminal, also where the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_cuts_no_callback_and_the_session_goes_on_hearing(interruptible):
    with Session() as session:
        whole = []

        def callback():
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.01)  # the interpreter sees the signal here
            whole.append(True)

        timer = session.node.create_timer(0.001, callback)
        for count in (1, 2, 3):
            with pytest.raises(KeyboardInterrupt):
                session.spin_until(lambda: False, 5.0)
            assert len(whole) == count
        session.node.destroy_timer(timer)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_request_that_is_interrupted_while_it_is_sent_is_known_and_not_sent_again(interruptible):
    with Session() as session:
        sent, futures, answer = [], [], Future()

        def send():
            sent.append(True)  # the server has it by now
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.01)
            return answer

        with pytest.raises(KeyboardInterrupt):
            session.answered(send, 5.0, futures=futures)
        assert futures == [answer]
        answer.set_result('accepted')
        assert session.answered(send, 5.0, futures=futures) is answer and len(sent) == 1


@pytest.mark.timeout(60)
def test_who_asks_a_node_that_compiles_hears_so(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    with RosSession() as ros, Session() as session:
        node = Node('device', namespace='/left', context=ros.context)  # nothing spins it
        diagnostics = Diagnostics(node)
        diagnostics.report('kernels', Level.WARN, 'as the base of all nodes says')
        with diagnostics.repeated(), pytest.raises(UserError, match='compiles') as refused:
            session.parameter('/left/device', 'robot')
        assert refused.value.code == TIMED_OUT
        node.destroy_node()
