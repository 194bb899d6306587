# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Goals changed at random: always a result with a code; the motors stay in their range."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from rclpy.node import Node

from soro_flex_calibration.node import FlexCalibrationNode, RECORDING
from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.action import CalibrateFlexSensors
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState
from soro_rigs.random_messages import RandomMessages
from soro_rigs.ros_session import RosSession, wait_for, wait_until

ROBOT = 'haptic_5dof'
COUNT = 40 * max(1, int(os.environ.get('SORO_FUZZ', '1')))
SEED = 8 if 'SORO_FUZZ' not in os.environ else time.time_ns()
LONGEST = 60.0  # s of one answer, on a machine that does other things too
NAMES = [f'motor_{i + 1}' for i in range(6)]
STRIPS = [f'flex_{i + 1}' for i in range(6)]

pytestmark = pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 600)


class Motors(Node):
    """Motors that follow at once, and sensors that measure nothing."""

    def __init__(self, **kwargs):
        super().__init__('haptic_renderer', **kwargs)
        self.angle, self.largest = np.zeros(6), 0.0
        self._states = self.create_publisher(ActuatorState, 'actuator_state', 20)
        self._flex = self.create_publisher(FlexState, 'flex_state', 20)
        self.create_subscription(ActuatorCommand, 'target_actuation', self._on_target, 1)
        self.create_timer(0.01, self._publish)

    def _on_target(self, message):
        self.angle = np.array(message.value)
        self.largest = max(self.largest, float(np.abs(self.angle).max()))

    def _publish(self):
        state = ActuatorState(name=NAMES, measured=self.angle.tolist(), flags=[0] * 6)
        state.device_state = ActuatorState.ACTIVE
        flex = FlexState(name=STRIPS, value=[0.0] * 6, flags=[0] * 6, raw=[2000.0] * 6)
        state.header.stamp = flex.header.stamp = self.get_clock().now().to_msg()
        self._states.publish(state)
        self._flex.publish(flex)


@pytest.fixture
def scene(tmp_path):
    with RosSession('/fuzz') as ros:
        ros.motors = ros.node(Motors, '/fuzz')
        ros.calibration = ros.node(
            FlexCalibrationNode,
            '/fuzz',
            robot=ROBOT,
            speed=10.0,
            settle_time=0.0,
            calibration_file=str(tmp_path / 'c.yaml'),
        )
        assert ros.start(ros.calibration)
        ros.action = ros.action_client(CalibrateFlexSensors, 'flex_calibration/calibrate')
        wait_until(ros.action.server_is_ready, LONGEST)
        wait_until(lambda: ros.calibration.count_publishers('actuator_state') > 0)
        ros.file = tmp_path / 'c.yaml'
        yield ros


def run(scene, goal, at_most=None):
    """Send a goal, cancel it once it moves for longer than that, and return its result."""
    handle = wait_for(scene.action.send_goal_async(goal), LONGEST)
    assert handle.accepted
    future = handle.get_result_async()
    if at_most is not None:
        try:
            wait_until(future.done, at_most)
        except TimeoutError:
            wait_for(handle.cancel_goal_async(), LONGEST)
    return wait_for(future, LONGEST).result


def check(result):
    code = Code(result.error_code)
    assert (code is Code.NONE) == (not result.error_message), (code, result.error_message)
    assert code is not Code.UNKNOWN, result.error_message  # an exception of the node's own
    assert len(result.error_message) < 5000
    return code


def test_every_goal_ends_and_the_motors_stay_in_their_range(scene):
    random = RandomMessages(SEED, (*STRIPS, ROBOT))
    limits = load_robot(ROBOT).limits
    start = CalibrateFlexSensors.Goal(poses=4, amplitude=0.3, samples_per_pose=1)
    codes = [check(run(scene, random.changed(start), 0.5)) for _ in range(COUNT)]
    assert len(set(codes)) > 2
    assert scene.motors.largest <= np.abs(limits).max() + 1e-9
    assert not scene.file.exists()  # sensors that stand still are never believed
    unknown = CalibrateFlexSensors.Goal(sensor_name=['no_such_sensor'])
    assert check(run(scene, unknown)) is Code.UNKNOWN_NAME


ANGLES, COUNTS = np.zeros((10, 6)), np.full((10, 6), 2000.0)
RECORDINGS = {
    'one array of three': {'names': STRIPS},
    'cut': {'names': STRIPS, 'angles': ANGLES, 'counts': COUNTS[:5]},
    'empty': {'names': STRIPS, 'angles': ANGLES[:0], 'counts': COUNTS[:0]},
    'other motors': {'names': STRIPS, 'angles': ANGLES[:, :2], 'counts': COUNTS},
    'other sensors': {'names': ['a', 'b'], 'angles': ANGLES, 'counts': COUNTS[:, :2]},
    'no numbers': {'names': STRIPS, 'angles': np.full((10, 6), np.nan), 'counts': COUNTS},
    'texts': {'names': STRIPS, 'angles': np.full((10, 6), 'x'), 'counts': COUNTS},
}


def test_a_recording_that_is_none_is_refused(scene):
    stored = scene.file.with_name(RECORDING)
    for data in (b'', b'PK', b'\x93NUMPY', bytes(1000), *RECORDINGS):
        if isinstance(data, str):
            np.savez(stored, **{k: np.asarray(v) for k, v in RECORDINGS[data].items()})
        else:
            stored.write_bytes(data)
        result = run(scene, CalibrateFlexSensors.Goal(use_recorded=True))
        assert check(result) is not Code.NONE
        assert RECORDING in result.error_message, data
