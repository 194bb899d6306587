# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A command that is ended takes its goal with it, whatever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from rclpy.action import ActionServer, CancelResponse

from soro_msgs.action import AnalyzeWorkspace
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until

COMMAND = """
from soro_cli.action_client import run_action
from soro_cli.ros_session import RosSession
from soro_msgs.action import AnalyzeWorkspace

with RosSession() as session:
    goal = AnalyzeWorkspace.Goal()
    result = run_action(session, AnalyzeWorkspace, '/left/work', goal, lambda _: None)
    print(result.error_message)
"""


class Work:
    """Serves an action that ends when it is cancelled."""

    def __init__(self, ros: RosSession) -> None:
        self.running = []
        self.cancelled = 0
        ros.do(
            ros.client,
            ActionServer,
            ros.client,
            AnalyzeWorkspace,
            '/left/work',
            self._end,
            handle_accepted_callback=self.running.append,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )
        ros.do(ros.client, ros.client.create_timer, 0.02, self._look)

    def _look(self) -> None:
        for handle in [h for h in self.running if h.is_cancel_requested]:
            self.running.remove(handle)
            handle.execute()

    def _end(self, handle):
        self.cancelled += 1
        handle.canceled()
        return AnalyzeWorkspace.Result(error_message='ended in order')


def command(**options):
    return subprocess.Popen(
        [sys.executable, '-c', COMMAND],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, 'ROS_DOMAIN_ID': str(own_domain())},
        **options,
    )


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_goal_of_a_command_that_is_ended_is_cancelled(number):
    with RosSession() as ros:
        work = Work(ros)
        with command() as process:
            try:
                wait_until(lambda: work.running, 30.0)
                process.send_signal(number)
                assert process.stdout.read().strip() == b'ended in order'
                assert process.wait(30.0) == 0
            finally:
                process.kill()
        assert work.cancelled == 1 and not work.running


def test_work_that_was_started_to_outlive_its_terminal_does():
    with RosSession() as ros:
        work = Work(ros)
        with command(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
            try:
                wait_until(lambda: work.running, 30.0)
                process.send_signal(signal.SIGHUP)
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(1.0)
                assert not work.cancelled
                process.send_signal(signal.SIGTERM)
                assert process.wait(30.0) == 0
            finally:
                process.kill()
        assert work.cancelled == 1
