# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics from a process of their own: what they say, and that the loop does not need it."""

import os
import signal

from device_in_memory import renderer_in_memory
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.time import Time
from recorded_rig import nominal_calibration

from soro_mechanics.haptics.flex_calibration import save_calibration
from soro_msgs.msg import ActuatorState, FlexState, TipEstimate
from soro_node.conversions import pose_from_message, wrench_from_message
from soro_rigs.ros_session import wait_until

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

DONE = TransitionCallbackReturn.SUCCESS
TURNED = np.array([0.1, -0.2, 0.05, 0.0, -0.05, 0.15])


@pytest.fixture
def running(ros, monkeypatch, tmp_path):
    """A configured renderer whose process has taken over, and what the loop sent to it."""
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, device, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    device.angle = TURNED
    sent, send = [], node._process.send

    def keep(sample):
        taken = send(sample)
        if taken:  # arrays of the law are overwritten by the next tick
            sensing = node._control.haptics.loop.law.sensing
            kept = sensing.pose.copy(), sensing.wrench.copy(), sensing.wrench_covariance.copy()
            sent.append((stamp(sample), *kept))
        return taken

    monkeypatch.setattr(node._process, 'send', keep)
    assert ros.do(node, node.trigger_configure) == DONE
    wait_until(lambda: sent, 60.0)
    return node, sent


def stamp(message):
    found = message.stamp if hasattr(message, 'stamp') else message.header.stamp
    return Time.from_msg(found).nanoseconds


def said(messages):
    """Return level and message of the last status of the copies."""
    found = [s for m in messages for s in m.status if s.name.endswith(': copies')]
    return (found[-1].level[0], found[-1].message) if found else None


def test_topics_hold_what_the_loop_found(ros, running):
    node, sent = running
    topics = {TipEstimate: 'tip_estimate', PoseStamped: 'tip_pose', FlexState: 'flex_state'}
    topics[ActuatorState] = 'actuator_state'
    heard = {kind: ros.listen(kind, topic) for kind, topic in topics.items()}
    begin = wait_until(lambda: all(heard.values()) and len(sent))
    wait_until(lambda: len(sent) > begin + 50)
    wait_until(lambda: all(stamp(m[-1]) >= sent[begin + 50][0] for m in heard.values()))
    found = {row[0]: row[1:] for row in sent}
    for estimate in heard[TipEstimate][-40:]:
        pose, wrench, covariance = found[stamp(estimate)]  # of that very tick
        assert pose_from_message(estimate.pose.pose) == pytest.approx(pose, abs=1e-9)
        assert wrench_from_message(estimate.wrench) == pytest.approx(wrench, abs=1e-9)
        # forces have no part of what is added for the modulus where the hand is at rest
        forces = np.reshape(estimate.wrench_covariance, (6, 6))[:3, :3]
        assert np.all(np.diag(forces) >= np.diag(covariance)[:3] * (1.0 - 1e-9))
    assert heard[ActuatorState][-1].measured.tolist() == TURNED.tolist()
    for messages in heard.values():  # each one of a tick that was sent, in order, once
        stamps = [stamp(m) for m in messages[-40:]]
        assert stamps == sorted(set(stamps)) and set(stamps) <= set(found)


def test_the_loop_goes_on_without_it_and_says_so(ros, running):
    node, _ = running
    statuses = ros.listen(DiagnosticArray, '/diagnostics')
    states = ros.listen(ActuatorState, 'actuator_state')
    wait_until(lambda: states and said(statuses) and said(statuses)[0] == 0)
    before, ticks = stamp(states[-1]), node._loop.figures.ticks
    node._process.process.kill()
    wait_until(lambda: node._process.process.poll() is not None)
    wait_until(lambda: stamp(states[-1]) > before + 500_000_000)  # from the loop again
    assert node._loop.figures.ticks > ticks and node._loop.running
    wait_until(lambda: said(statuses)[0] == 1)


def test_a_process_that_takes_nothing_is_ended_and_the_loop_publishes(ros, running):
    node, sent = running
    process = node._process.process
    os.kill(process.pid, signal.SIGSTOP)
    assert process.wait(20.0) == -signal.SIGKILL
    states = ros.listen(ActuatorState, 'actuator_state')
    wait_until(lambda: len(states) > 20)
    assert stamp(states[-1]) > sent[-1][0]


def test_the_process_ends_with_the_renderer(ros, running):
    node, _ = running
    process = node._process.process
    node._process.connection.close()  # what the end of a process does to its sockets
    assert process.wait(20.0) == 0
