# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""JointState by its convention: positions of joints that turn [rad] or slide [m], no others."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from soro_kinematics.outputs import joint_state_message
from soro_mechanics.core.actuators import Actuator

ROWS = [
    ('crank', 'angle', 0.3),
    ('p', 'pressure', 2e4),
    ('rod', 'length', 0.21),
    ('t', 'force', 3.0),
]


def message_of(rows):
    actuators = tuple(Actuator(name, kind, 0.0, 1e5, 1.0, 0.0) for name, kind, _ in rows)
    q = SimpleNamespace(actuation=np.array([value for *_, value in rows]))
    return joint_state_message(q, SimpleNamespace(actuators=actuators), Time(sec=7))


def test_joints_that_turn_or_slide_have_positions():
    message = message_of(ROWS)
    assert dict(zip(message.name, message.position, strict=True)) == {'crank': 0.3, 'rod': 0.21}
    assert not message.velocity and not message.effort
    assert message.header.stamp.sec == 7


@pytest.mark.parametrize('kind', ['pressure', 'force'])
def test_what_is_no_joint_publishes_none(kind):
    assert message_of([row for row in ROWS if row[1] == kind]) is None
