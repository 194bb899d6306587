# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The whole chain under faults: outputs safe in time, said clearly, nothing resumes by itself."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool

from soro_cli.motion import ACTIVE
from soro_msgs.msg import ActuatorState
from soro_studies.system.launched_robot import DiagnosticsWatch, launched_robot
from soro_studies.system.venting import assert_vented

TARGET = (8.0e4, 0.0, 0.0)  # Pa
NOTICED = 2.0  # s: 0.2 s of silence, then a report; the rest is for a busy machine
ENDED = 20.0  # s


def test_a_killed_emulator_is_noticed_and_nothing_resumes(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        diagnostics = DiagnosticsWatch(robot)
        robot.move(TARGET)
        robot.kill('emulator')
        robot.wait(lambda: robot.state() != ACTIVE, NOTICED, 'reaction to the dead device')
        robot.wait(lambda: diagnostics.levels.get('driver: device', 0) >= 2, NOTICED, 'error')
        robot.send(TARGET)
        robot.spin(1.0)
        assert robot.state() != ACTIVE
        assert robot.process.running
        assert 'Traceback' not in robot.process.output
        # Honest: one process was killed.
        assert robot.process.stop() == 128 + signal.SIGKILL


def test_a_frozen_emulator_is_noticed_and_old_commands_are_not_replayed(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        robot.move(TARGET)
        robot.kill('emulator', signal.SIGSTOP)
        robot.wait(lambda: robot.state() != ACTIVE, NOTICED, 'reaction to silence')
        robot.send((0.0, 8.0e4, 0.0))
        robot.spin(0.5)
        robot.kill('emulator', signal.SIGCONT)
        robot.wait(lambda: bool(robot.events('vented')), 5.0, 'venting by the device itself')
        robot.spin(1.0)
        assert robot.state() != ACTIVE
        measured = np.array(robot.watch.state.measured)
        assert not (measured > 5e3).any(), f'pressure came back: {measured}'
        assert robot.process.stop() == 0, robot.process.output
        assert_vented(robot)


def test_a_dead_command_source_makes_the_robot_vent(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        robot.move(TARGET)
        states = []
        robot.session.node.create_subscription(
            ActuatorState,
            f'{robot.robot.namespace}/actuator_state',
            lambda message: states.append((time.monotonic(), message)),
            100,
        )
        robot.spin(0.5)
        killed = time.monotonic()
        robot.kill('trajectory_planner')
        robot.wait(lambda: robot.state() == ActuatorState.SAFE, NOTICED, 'safe state')
        # 0.8 bar at 1 bar/s after 0.2 s without a command.
        robot.wait(lambda: max(robot.watch.measured) < 5e3, 5.0, 'venting')
        vented = time.monotonic() - killed
        assert vented < 2.5, f'venting took {vented:.2f} s'
        after = [m for t, m in states if t > killed + 0.3]
        applied = np.array([m.applied for m in after])[:, 0]
        assert (np.diff(applied) <= 1e-6).all(), 'the output rose again'
        # Gone is gone: nobody else got control, nothing moved on its own.
        robot.spin(0.5)
        assert robot.state() == ActuatorState.SAFE
        assert robot.watch.state.command_source == ''
        assert robot.process.stop() == 128 + signal.SIGKILL
        assert_vented(robot)


def test_a_killed_driver_ends_the_launch_and_the_device_vents_itself(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        robot.move(TARGET)
        robot.kill('driver')
        assert robot.process.process.wait(ENDED) == 128 + signal.SIGKILL
        assert '[launch] stopping: driver has ended' in robot.process.output
        relay = robot.events('relay')
        assert relay[-1]['closed'] is False or not any(
            e['pressure'] for e in robot.events('output')[-3:]
        )


def test_a_killed_launcher_takes_the_robot_down_safely(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        robot.move(TARGET)
        names = ('driver', 'emulator', 'kinematics_solver', 'compliance', 'trajectory_planner')
        watched = [os.pidfd_open(robot.process.node_pid(name)) for name in names]
        robot.process.process.kill()
        for name, descriptor in zip(names, watched, strict=True):
            selector = selectors.DefaultSelector()
            selector.register(descriptor, selectors.EVENT_READ)
            assert selector.select(ENDED), f'{name} outlived the launcher'
            os.close(descriptor)
        assert_vented(robot)


def test_stop_needs_no_ownership_and_the_old_stream_does_not_resume(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        robot.move(TARGET)
        assert robot.call('driver/stop').success
        robot.wait(lambda: robot.state() != ACTIVE, NOTICED, 'stop')
        robot.wait(lambda: max(robot.watch.measured) < 5e3, 5.0, 'venting')
        robot.spin(1.0)
        assert robot.state() != ACTIVE
        assert max(robot.watch.measured) < 5e3
        robot.send(TARGET)
        robot.spin(1.0)
        assert robot.state() != ACTIVE and max(robot.watch.measured) < 5e3
        # To clear it is a person's decision, and a new target another one.
        robot.clear()
        robot.spin(0.5)
        assert max(robot.watch.measured) < 5e3
        robot.move((0.0, 4.0e4, 0.0))
        assert robot.process.stop() == 0, robot.process.output
        assert_vented(robot)


def test_a_stop_of_a_stopped_robot_ends_what_was_sent_just_before_it(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        robot.move(TARGET)
        assert robot.call('driver/stop').success
        robot.wait(lambda: max(robot.watch.measured) < 5e3, 5.0, 'venting')
        applied = []
        robot.session.node.create_subscription(
            ActuatorState,
            f'{robot.robot.namespace}/actuator_state',
            lambda message: applied.append(max(message.applied)),
            100,
        )
        for delay in (0.02, 0.05, 0.3):
            assert robot.call('driver/stop').success
            robot.send(TARGET)
            robot.spin(delay)
            assert robot.call('driver/stop').success
            robot.spin(0.05)  # what was published before the stop
            applied.clear()
            robot.spin(1.0)
            known = np.array(applied)[np.isfinite(applied)]
            assert (np.diff(known) <= 1e-6).all() and known[-1] == 0.0, f'{delay} s: {known}'
            assert robot.state() == ActuatorState.SAFE
        robot.clear()
        robot.move(TARGET)
        assert robot.process.stop() == 0, robot.process.output


def test_an_emergency_stop_is_latched(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path) as robot:
        robot.move(TARGET)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        estop = robot.session.node.create_publisher(
            Bool, f'{robot.robot.namespace}/estop', latched
        )
        estop.publish(Bool(data=True))
        robot.wait(lambda: robot.state() == ActuatorState.ESTOP, NOTICED, 'emergency stop')
        robot.wait(lambda: max(robot.watch.measured) < 5e3, 2.0, 'venting')
        moved = subprocess.run(  # it is at rest, and nobody obeys
            [sys.executable, '-m', 'soro_cli.main', 'move', '--rest'],
            capture_output=True,
            text=True,
            timeout=60.0,
        )
        assert moved.returncode == 1, moved.stdout
        assert 'not moved: ' in moved.stderr and 'soro estop --release' in moved.stderr
        estop.publish(Bool(data=False))
        robot.spin(0.5)
        robot.send(TARGET)
        robot.spin(1.0)
        assert robot.state() == ActuatorState.ESTOP
        assert max(robot.watch.measured) < 5e3
        # Clearing lets the robot be commanded again; it moves nothing, and nothing old comes back.
        assert robot.call('driver/clear_fault').success
        robot.wait(lambda: robot.state() == ACTIVE, NOTICED, 'cleared driver')
        robot.spin(1.0)
        assert max(robot.watch.measured) < 5e3
        robot.move(TARGET)
        assert robot.process.stop() == 0, robot.process.output
        assert_vented(robot)
