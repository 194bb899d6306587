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
from soro_rigs.process_table import node_pid
from soro_studies.system.launched_robot import DiagnosticsWatch
from soro_studies.system.venting import assert_vented

TARGET = (8.0e4, 0.0, 0.0)  # Pa
NOTICED = 2.0  # s: 0.2 s of silence, then a report; the rest is for a busy machine
ENDED = 20.0  # s
NODES = ('driver', 'emulator', 'kinematics_solver', 'compliance', 'trajectory_planner')


def test_a_frozen_emulator_is_noticed_and_old_commands_are_not_replayed(running):
    running.move(TARGET)
    running.kill('emulator', signal.SIGSTOP)
    running.wait(lambda: running.state() != ACTIVE, NOTICED, 'reaction to silence')
    running.send((0.0, 8.0e4, 0.0))
    running.spin(0.5)
    running.kill('emulator', signal.SIGCONT)
    running.wait(lambda: bool(running.events('vented')), 5.0, 'venting by the device itself')
    running.spin(1.0)
    assert running.state() != ACTIVE
    measured = np.array(running.watch.state.measured)
    assert not (measured > 5e3).any(), f'pressure came back: {measured}'


def test_stop_needs_no_ownership_and_the_old_stream_does_not_resume(running):
    running.move(TARGET)
    assert running.call('driver/stop').success
    running.wait(lambda: running.state() != ACTIVE, NOTICED, 'stop')
    running.wait(lambda: max(running.watch.measured) < 5e3, 5.0, 'venting')
    running.spin(1.0)
    assert running.state() != ACTIVE
    assert max(running.watch.measured) < 5e3
    running.send(TARGET)
    running.spin(1.0)
    assert running.state() != ACTIVE and max(running.watch.measured) < 5e3
    # To clear it is a person's decision, and a new target another one.
    running.clear()
    running.spin(0.5)
    assert max(running.watch.measured) < 5e3
    running.move((0.0, 4.0e4, 0.0))


def test_a_stop_of_a_stopped_robot_ends_what_was_sent_just_before_it(running):
    running.move(TARGET)
    assert running.call('driver/stop').success
    running.wait(lambda: max(running.watch.measured) < 5e3, 5.0, 'venting')
    applied = []
    running.session.node.create_subscription(
        ActuatorState,
        f'{running.robot.prefix}/actuator_state',
        lambda message: applied.append(max(message.applied)),
        100,
    )
    for delay in (0.02, 0.05, 0.3):
        assert running.call('driver/stop').success
        running.send(TARGET)
        running.spin(delay)
        assert running.call('driver/stop').success
        running.spin(0.05)  # what was published before the stop
        applied.clear()
        running.spin(1.0)
        known = np.array(applied)[np.isfinite(applied)]
        assert (np.diff(known) <= 1e-6).all() and known[-1] == 0.0, f'{delay} s: {known}'
        assert running.state() == ActuatorState.SAFE
    running.clear()
    running.move(TARGET)


def test_an_emergency_stop_is_latched(running):
    running.move(TARGET)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    estop = running.session.node.create_publisher(Bool, f'{running.robot.prefix}/estop', latched)
    estop.publish(Bool(data=True))
    running.wait(lambda: running.state() == ActuatorState.ESTOP, NOTICED, 'emergency stop')
    running.wait(lambda: max(running.watch.measured) < 5e3, 2.0, 'venting')
    moved = subprocess.run(  # it is at rest, and nobody obeys
        [sys.executable, '-m', 'soro_cli.main', 'move', '--rest'],
        capture_output=True,
        text=True,
        timeout=60.0,
    )
    assert moved.returncode == 1, moved.stdout
    assert 'not moved: ' in moved.stderr and 'soro estop --release' in moved.stderr
    estop.publish(Bool(data=False))
    running.spin(0.5)
    running.send(TARGET)
    running.spin(1.0)
    assert running.state() == ActuatorState.ESTOP
    assert max(running.watch.measured) < 5e3
    # Clearing lets the robot be commanded again; it moves nothing, and nothing old comes back.
    assert running.call('driver/clear_fault').success
    running.wait(lambda: running.state() == ACTIVE, NOTICED, 'cleared driver')
    running.spin(1.0)
    assert max(running.watch.measured) < 5e3
    running.move(TARGET)


# After all that: it ends in order.
def test_sigterm_stops_a_robot_as_ctrl_c_does_and_the_log_names_every_process(running):
    running.move((6.0e4, 0.0, 0.0))
    assert running.process.stop(signal.SIGTERM) == 0, running.process.output
    assert_vented(running)
    for name in NODES:
        assert f'[launch] [{name}] started, pid ' in running.process.output
        assert f'[launch] [{name}] ended with 0' in running.process.output


def test_a_killed_emulator_is_noticed_and_nothing_resumes(running):
    diagnostics = DiagnosticsWatch(running)
    running.move(TARGET)
    running.kill('emulator')
    running.wait(lambda: running.state() != ACTIVE, NOTICED, 'reaction to the dead device')
    running.wait(lambda: diagnostics.levels.get('driver: device', 0) >= 2, NOTICED, 'error')
    running.send(TARGET)
    running.spin(1.0)
    assert running.state() != ACTIVE
    assert running.process.running
    assert 'Traceback' not in running.process.output
    # Honest: one process was killed.
    assert running.process.stop() == 128 + signal.SIGKILL


def test_a_dead_command_source_makes_the_robot_vent(running):
    running.move(TARGET)
    states = []
    running.session.node.create_subscription(
        ActuatorState,
        f'{running.robot.prefix}/actuator_state',
        lambda message: states.append((time.monotonic(), message)),
        100,
    )
    running.spin(0.5)
    killed = time.monotonic()
    running.kill('trajectory_planner')
    running.wait(lambda: running.state() == ActuatorState.SAFE, NOTICED, 'safe state')
    # 0.8 bar at 1 bar/s after 0.2 s without a command.
    running.wait(lambda: max(running.watch.measured) < 5e3, 5.0, 'venting')
    vented = time.monotonic() - killed
    assert vented < 2.5, f'venting took {vented:.2f} s'
    after = [m for t, m in states if t > killed + 0.3]
    applied = np.array([m.applied for m in after])[:, 0]
    assert (np.diff(applied) <= 1e-6).all(), 'the output rose again'
    # Gone is gone: nobody else got control, nothing moved on its own.
    running.spin(0.5)
    assert running.state() == ActuatorState.SAFE
    assert running.watch.state.command_source == ''
    assert running.process.stop() == 128 + signal.SIGKILL
    assert_vented(running)


def test_a_killed_driver_ends_the_launch_and_the_device_vents_itself(running):
    running.move(TARGET)
    running.kill('driver')
    assert running.process.process.wait(ENDED) == 128 + signal.SIGKILL
    assert '[launch] stopping: driver has ended' in running.process.output
    relay = running.events('relay')
    assert relay[-1]['closed'] is False or not any(
        e['pressure'] for e in running.events('output')[-3:]
    )


def test_a_killed_launcher_takes_the_robot_down_safely(running):
    running.move(TARGET)
    watched = [os.pidfd_open(node_pid(running.process.output, name)) for name in NODES]
    running.process.process.kill()
    for name, descriptor in zip(NODES, watched, strict=True):
        selector = selectors.DefaultSelector()
        selector.register(descriptor, selectors.EVENT_READ)
        assert selector.select(ENDED), f'{name} outlived the launcher'
        os.close(descriptor)
    assert_vented(running)
