# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot launched in a process of its own: started, waited for, stopped in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
import os
from pathlib import Path
import re
import signal
import subprocess
import sys

from std_srvs.srv import Trigger

from soro_cli.motion import ACTIVE, MotionWatch
from soro_cli.robot_choice import RunningRobot
from soro_cli.ros_session import RosSession
from soro_msgs.srv import ComputeCompliance, ComputeJacobian, SolveForward, SolveInverse
from soro_node.process.parent_death import until_parent_dies
from soro_node.user_errors import UserError

# How the own runner and ROS 2 launch say that a node has ended.
ENDED = re.compile(
    r'^(?:\[launch\] \[\S+\] (?:ended with|was ended by|cannot be started)|'
    r'\[ERROR\] \[\S+\]: process has died).*',
    re.MULTILINE,
)
STOP_PATIENCE = 30.0  # s: SIGINT, SIGTERM and SIGKILL of the slowest node, and then some


class RobotProcess(AbstractContextManager['RobotProcess']):
    """``soro launch`` with further words in a subprocess; a file receives what it prints.

    `environment`: variables that differ from those of this process.
    """

    def __init__(
        self, words: Sequence[str], output: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._words = list(words)
        self._output = output
        self._environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RobotProcess:
        with self._output.open('wb') as file:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'soro_cli.main', 'launch', *self._words],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=until_parent_dies(own_group=True),
            )
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return self._output.read_text(errors='replace')

    @property
    def running(self) -> bool:
        """Whether the launcher runs."""
        return self.process.poll() is None

    def stop(self, number: signal.Signals = signal.SIGINT, timeout: float = STOP_PATIENCE) -> int:
        """Stop everything as Ctrl-C does and return the exit code; safe to call again."""
        if self.running:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()  # the nodes end with it, see soro_node.process.parent_death
            self.process.wait()
            raise

    @property
    def ended_nodes(self) -> list[str]:
        """What the launcher says about nodes that have ended, while others run."""
        return ENDED.findall(self.output)

    def wait_ready(self, session: RosSession, robot: RunningRobot, timeout: float) -> None:
        """Wait until the driver is active, the tip is known and the services answer.

        UserError: not within the time, or a node or the launcher has ended; with the last lines it
        printed.
        """
        watch = MotionWatch(robot)

        def ready() -> bool:
            if not self.running or self.ended_nodes:
                return True
            return (
                watch.tip is not None
                and watch.state is not None
                and watch.state.device_state == ACTIVE
                and serves(session, robot)
            )

        try:
            in_time = session.spin_until(ready, timeout)
            last = '\n'.join(self.output.splitlines()[-15:])
            if not self.running:
                raise UserError(f'the robot ended with {self.process.returncode}:\n{last}')
            if ended := self.ended_nodes:
                raise UserError(f'the robot is not whole: {"; ".join(ended)}\n{last}')
            if not in_time:
                reason = '; '.join(watch.reasons()) or 'some nodes are missing'
                raise UserError(f'the robot was not ready after {timeout:g} s: {reason}\n{last}')
        finally:
            watch.close()


def serves(session: RosSession, robot: RunningRobot) -> bool:
    """Whether the services of a robot's nodes are there."""
    return all(session.serves(kind, f'{robot.prefix}/{name}') for name, kind in SERVICES)


SERVICES = (
    ('kinematics_solver/solve_forward', SolveForward),
    ('kinematics_solver/solve_inverse', SolveInverse),
    ('kinematics_solver/compute_jacobian', ComputeJacobian),
    ('compliance/compute_compliance', ComputeCompliance),
    ('driver/stop', Trigger),
)
