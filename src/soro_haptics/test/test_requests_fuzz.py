# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Environments changed at random: answered with a code; what is taken is rendered in bounds."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from std_srvs.srv import Trigger

from soro_haptics.environment_messages import object_to_message, objects_from_messages
from soro_haptics.haptic_parameters import PARAMETERS
from soro_haptics.haptic_setup import make_haptics
from soro_haptics.node import HapticRenderer
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment
from soro_msgs.srv import SetVirtualEnvironment
from soro_rigs.random_messages import RandomMessages
from soro_rigs.ros_session import RosSession, wait_for

ROBOT = 'haptic_5dof'
COUNT = 60 * max(1, int(os.environ.get('SORO_FUZZ', '1')))
SEED = 8 if 'SORO_FUZZ' not in os.environ else time.time_ns()
LONGEST = 60.0  # s of one answer, on a machine that does other things too
NAMES = ('hold', 'wall', 'box', 'line', 'circle', 'angle')
PERIOD = 2e-3  # s
TICKS = 5  # of each environment

# The first solve compiles the network's kernels.
pytestmark = pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 900)


def requests(count):
    """Yield requests: one of the published environments, changed."""
    random = RandomMessages(SEED, NAMES)
    for i in range(count):
        objects = published_environment(NAMES[i % len(NAMES)], np.eye(4))
        messages = [object_to_message(o) for o in objects]
        yield random.changed(SetVirtualEnvironment.Request(objects=messages))


def test_every_request_is_answered():
    with RosSession('/fuzz') as ros:
        node = ros.node(HapticRenderer, '/fuzz', robot=ROBOT, loop='topics', autostart=False)
        client = ros.do(
            ros.client,
            ros.client.create_client,
            SetVirtualEnvironment,
            'haptic_renderer/set_environment',
        )
        assert client.wait_for_service(timeout_sec=LONGEST)
        codes = set()
        for request in requests(COUNT):
            answer = wait_for(client.call_async(request), LONGEST)
            code = Code(answer.error_code)
            # Nothing drives here: what could be rendered is refused for that.
            assert code not in (Code.NONE, Code.UNKNOWN), answer.error_message
            assert answer.error_message and len(answer.error_message) < 5000
            codes.add(code)
        assert Code.NOT_ACTIVE in codes and len(codes) > 2
        for name in ('reload_calibration', 'clear_timing'):
            other = ros.do(
                ros.client, ros.client.create_client, Trigger, f'haptic_renderer/{name}'
            )
            assert other.wait_for_service(timeout_sec=LONGEST)
            assert wait_for(other.call_async(Trigger.Request()), LONGEST) is not None
        assert not node.active


def test_what_is_taken_is_rendered_within_the_limits_of_the_motors(robot):
    values = {p.name: p.default for p in PARAMETERS}
    haptics = make_haptics(robot.description, None, PERIOD, values)
    loop, still = haptics.loop, np.zeros(6)
    low, high = (robot.limits[:, i] for i in range(2))
    taken = 0
    for request in requests(COUNT):
        try:
            environment = VirtualEnvironment(objects_from_messages(request.objects))
        except SoroError as error:
            assert str(error) and error.code is not Code.UNKNOWN
            continue
        taken += 1
        loop.start(still)
        loop.law.replace_environment(environment)
        sensor = loop.device.ports.sensor.copy()
        for _ in range(TICKS):
            assert loop.tick(still, sensor) in list(Code)
            command = loop.law.command
            assert np.isfinite(command).all(), environment
            assert (command >= low - 1e-9).all() and (command <= high + 1e-9).all(), environment
            loop.advance()
        assert len(environment.objects) == len(request.objects)
    assert taken > COUNT // 20  # most changes make a request that is refused
