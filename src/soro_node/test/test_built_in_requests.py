# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What rclpy answers by itself refuses what it does not understand, and the node lives on."""

import pytest
from rcl_interfaces.msg import LoggerLevel, Parameter, ParameterValue
from rcl_interfaces.srv import SetLoggerLevels, SetParameters, SetParametersAtomically
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from soro_node.lifecycle import GuardedLifecycleNode
from soro_rigs.ros_session import RosSession, wait_until

NONSENSE = Parameter(name='use_sim_time', value=ParameterValue(type=255))


def setting(name, value):
    return Parameter(name=name, value=ParameterValue(type=1, bool_value=value))


@pytest.fixture(params=[Node, GuardedLifecycleNode])
def ros(request):
    with RosSession() as session:

        def make(**options):
            return request.param('listener', enable_logger_service=True, **options)

        session.listener = session.node(make)
        yield session


def test_parameters_of_no_type_are_refused_each_in_its_place(ros):
    wanted = [NONSENSE, setting('use_sim_time', True), NONSENSE]
    answer = ros.call(
        SetParameters, '/listener/set_parameters', SetParameters.Request(parameters=wanted)
    )
    assert [r.successful for r in answer.results] == [False, True, False]
    assert '255' in answer.results[0].reason
    assert ros.listener.get_parameter('use_sim_time').value is True


def test_parameters_are_set_all_or_none(ros):
    request = SetParametersAtomically.Request(parameters=[setting('use_sim_time', True), NONSENSE])
    answer = ros.call(SetParametersAtomically, '/listener/set_parameters_atomically', request)
    assert not answer.result.successful and '255' in answer.result.reason
    assert ros.listener.get_parameter('use_sim_time').value is False


def test_levels_that_do_not_exist_are_refused_each_in_its_place(ros):
    levels = [LoggerLevel(name='listener', level=n) for n in (10, 2**32 - 1, 20)]
    answer = ros.call(
        SetLoggerLevels, '/listener/set_logger_levels', SetLoggerLevels.Request(levels=levels)
    )
    assert [r.successful for r in answer.results] == [True, False, True]


def test_a_clock_that_is_none_is_not_followed(ros):
    node = ros.listener
    request = SetParameters.Request(parameters=[setting('use_sim_time', True)])
    assert ros.call(SetParameters, '/listener/set_parameters', request).results[0].successful
    clock = ros.do(ros.client, ros.client.create_publisher, Clock, '/clock', 10)
    wait_until(lambda: clock.get_subscription_count() == 1)
    wrong, right = Clock(), Clock()
    wrong.clock.sec, right.clock.sec = -5, 12
    clock.publish(wrong)

    def follows():
        clock.publish(right)
        return node.get_clock().now().nanoseconds == 12 * 10**9

    wait_until(follows)
