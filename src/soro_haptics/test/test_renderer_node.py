# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The node on a device in memory: what it publishes, what it reads again, what it hears."""

from device_in_memory import renderer_in_memory
from geometry_msgs.msg import PoseStamped, WrenchStamped
import numpy as np
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.time import Time
from recorded_bench import haptics, nominal_calibration
from soro_mechanics.flex_calibration import save_calibration
from soro_node.testing import RosSession, wait_until

from soro_msgs.msg import ActuatorState, FlexState, TipEstimate

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

DONE = TransitionCallbackReturn.SUCCESS


@pytest.fixture(scope='module')
def kernels():
    """Compile what the node would compile in its configuration."""
    haptics()


@pytest.fixture
def ros(kernels):
    with RosSession('/arm') as session:
        yield session


def stamp(message):
    return Time.from_msg(message.header.stamp).nanoseconds


def test_without_an_estimate_none_is_published(ros, monkeypatch, tmp_path):
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, device, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    flex = ros.listen(FlexState, 'flex_state')
    states = ros.listen(ActuatorState, 'actuator_state')
    copies = [
        ros.listen(kind, topic)
        for kind, topic in (
            (TipEstimate, 'tip_estimate'), (PoseStamped, 'tip_pose'),
            (WrenchStamped, 'hand_wrench'),
        )
    ]  # fmt: skip
    device.angle = np.full(6, np.nan)  # where the motors are is not known: no model yet
    assert ros.do(node, node.trigger_configure) == DONE
    wait_until(lambda: len(states) > 20)
    assert not any(copies)
    device.angle = np.zeros(6)
    wait_until(lambda: all(copies) and flex and np.isfinite(flex[-1].value).all())
    begin = len(states)
    device.angle = np.full(6, np.nan)
    lost = wait_until(lambda: [s for s in states[begin:] if np.isnan(s.measured[0])])[0]
    wait_until(lambda: min(stamp(states[-1]), stamp(flex[-1])) > stamp(lost) + 500_000_000)
    assert all(stamp(copy[-1]) <= stamp(lost) for copy in copies)
    assert np.isnan(flex[-1].value).all() and np.isfinite(flex[-1].raw).all()
