# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The newest actuator state: its age, and patience with a driver that has just started."""

import threading
import time

import numpy as np
import pytest

from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorState
from soro_node.inputs import actuator_feedback
from soro_node.inputs.actuator_feedback import LatestFeedback
from soro_rigs.ros_session import wait_until


@pytest.fixture(scope='module')
def robot():
    return read_robot_file(find_robot_file('stiff_flop'))


def state_of(robot, measured):
    """Return a message in the reverse order of the robot file."""
    pairs = list(zip(robot.actuators, measured, strict=True))[::-1]
    values = [x for _, x in pairs]
    return ActuatorState(
        name=[a.name for a, _ in pairs],
        quantity=[a.quantity_code for a, _ in pairs],
        commanded=values,
        applied=[1.0] * len(pairs),
        measured=values,
    )


def test_values_come_in_the_order_of_the_robot_file_and_grow_old(robot, monkeypatch):
    latest = LatestFeedback(robot, 60.0)
    latest.update(state_of(robot, [1e4, float('nan'), 3e4]))
    np.testing.assert_array_equal(latest.actuation(), [1e4, 1.0, 3e4])  # applied where unmeasured
    latest.timeout = 0.05
    wait_until(lambda: latest.fresh() is None)
    assert latest.age() > 0.05
    monkeypatch.setattr(actuator_feedback, 'FIRST', 3600.0)  # is for the first one only
    with pytest.raises(SoroError, match='is the driver running') as error:
        latest.actuation()
    assert error.value.code is Code.NO_STATE


def test_the_first_state_is_waited_for(robot):
    latest = LatestFeedback(robot, 0.5)
    timer = threading.Timer(0.1, lambda: latest.update(state_of(robot, [1e4, 2e4, 3e4])))
    timer.start()
    np.testing.assert_array_equal(latest.actuation(), [1e4, 2e4, 3e4])


def test_patience_ends_once_for_all_who_ask(robot, monkeypatch):
    monkeypatch.setattr(actuator_feedback, 'FIRST', 0.1)
    latest = LatestFeedback(robot, 0.5)
    began = time.monotonic()
    with pytest.raises(SoroError, match='no actuator_state'):
        latest.actuation()
    assert time.monotonic() - began >= 0.09
    monkeypatch.setattr(actuator_feedback, 'FIRST', 3600.0)
    with pytest.raises(SoroError, match='no actuator_state'):
        latest.actuation()  # at once


def test_a_state_of_another_robot_is_refused_and_changes_nothing(robot):
    latest = LatestFeedback(robot, 0.5)
    latest.update(state_of(robot, [1e4, 2e4, 3e4]))
    stranger = state_of(robot, [0.0, 0.0, 0.0])
    stranger.name[0] = 'leg_7'
    with pytest.raises(InvalidInput, match='actuator_state.name'):
        latest.update(stranger)
    np.testing.assert_array_equal(latest.actuation(), [1e4, 2e4, 3e4])
