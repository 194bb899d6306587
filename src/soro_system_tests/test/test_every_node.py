# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every node there is: it outlives any request, and demands no more than it needs.

Services and subscriptions are those that the running nodes have, so that a new one is looked at
by itself; a new node has to be named in `NODES`.
"""

from __future__ import annotations

from importlib import import_module
import os
from pathlib import Path
import re
import time

import pytest
from rcl_interfaces.msg import LoggerLevel, Parameter, ParameterValue
from rcl_interfaces.srv import ListParameters
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

from soro_node.qos import LOSSY, SENT_ONCE, STRICTER
from soro_rigs.random_messages import RandomMessages
from soro_rigs.ros_session import RosSession, wait_for, wait_until

ROOT = Path(__file__).resolve().parents[3]
COUNT = 15 * max(1, int(os.environ.get('SORO_FUZZ', '1')))
SEED = 11 if 'SORO_FUZZ' not in os.environ else time.time_ns()
LONGEST = 60.0  # s of one answer, on a machine that does other things too
LENGTHS = (0, 1, 2, 3, 7)
SPACE = '/every'

# By executable: class, and parameters. In the order in which they are started.
NODES = {
    'emulator': ('soro_emulation.node:EmulatorNode', {'robot': 'spatial_cc', 'rate': 0.0}),
    'driver': ('soro_driver.node:DriverNode', {'robot': 'spatial_cc'}),
    'kinematics_solver': ('soro_kinematics.node:KinematicsSolver', {'robot': 'spatial_cc'}),
    'compliance': ('soro_compliance.node:Compliance', {'robot': 'spatial_cc'}),
    'trajectory_planner': ('soro_trajectory.node:TrajectoryPlanner', {'robot': 'spatial_cc'}),
    'visualization': (
        'soro_visualization.node:Visualization',
        {'robot': 'spatial_cc', 'viewer': False},
    ),
    'haptic_renderer': (
        'soro_haptics.node:HapticRenderer',
        {'robot': 'haptic_5dof', 'loop': 'topics', 'connect_timeout': 0.5},
    ),
    'flex_calibration': (
        'soro_flex_calibration.node:FlexCalibrationNode',
        {'robot': 'haptic_5dof'},
    ),
    'recorder': ('soro_recording.recorder_node:Recorder', {'namespaces': ['/nobody']}),
}
NOT_LIFECYCLE = ('emulator', 'recorder')

pytestmark = pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 900)


@pytest.fixture(scope='module')
def ros(tmp_path_factory):
    with RosSession() as session:
        session.nodes = {}
        for name, (where, values) in NODES.items():
            values = dict(values)
            if name == 'recorder':
                values['output'] = str(tmp_path_factory.mktemp('bags') / 'run')
            module, kind = where.split(':')
            node = session.node(getattr(import_module(module), kind), SPACE, **values)
            session.nodes[name] = node
            if name not in NOT_LIFECYCLE:
                session.start(node)  # the renderer waits for a driver that has sensors
        yield session


def test_every_executable_is_among_them():
    found = set()
    for setup in ROOT.glob('src/*/setup.cfg'):
        found |= set(re.findall(r'(\w+) = soro_[\w.]+:main\b', setup.read_text()))
    # The drivers of one device each are the driver.
    drivers = {name for name in found if name.endswith('_driver')}
    assert found - drivers - {'soro'} == set(NODES)


def demanding(subscription):
    profile = subscription.qos_profile
    return (
        profile.reliability == ReliabilityPolicy.RELIABLE
        or profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    )


def test_no_subscription_demands_more_than_it_needs(ros):
    strict, looked_at = set(), 0
    for name, node in ros.nodes.items():
        if name == 'recorder':
            continue  # takes what the publishers of each topic offer: test_recorder.py
        for subscription in node.subscriptions:
            looked_at += 1
            topic = subscription.topic_name.removeprefix(f'{SPACE}/')
            if demanding(subscription):
                assert topic in STRICTER, f'{name} demands more of {topic} than best effort'
                strict.add(topic)
    assert looked_at > 20  # or nothing was running
    assert strict == set(STRICTER)  # no reason for what nobody demands


@pytest.mark.parametrize('name', ['trajectory_planner', 'haptic_renderer'])
def test_best_effort_targets_are_heard(ros, name):
    node, heard = ros.nodes[name], []
    for subscription in list(node.subscriptions):
        topic = subscription.topic_name.removeprefix(f'{SPACE}/')
        if STRICTER.get(topic) == SENT_ONCE:
            made = ros.do(
                ros.client,
                ros.client.create_publisher,
                subscription.msg_type,
                subscription.topic_name,
                LOSSY,
            )
            wait_until(lambda made=made: made.get_subscription_count() >= 1)
            heard.append(topic)
            ros.do(ros.client, ros.client.destroy_publisher, made)
    assert heard


def requests(node, kind):
    """Yield requests of a service: as it is made, of no type and level there is, changed."""
    names = tuple(p for p in node.get_parameters_by_prefix(''))
    random = RandomMessages(SEED, (*names, 'configure', 'transition_success'), LENGTHS)
    plain = kind.Request()
    yield plain
    if hasattr(plain, 'parameters'):
        for number in (255, 1, 5, 0):
            value = ParameterValue(type=number)
            plain.parameters = [Parameter(name=n, value=value) for n in ('', 'use_sim_time')]
            yield plain
    if hasattr(plain, 'levels'):
        plain.levels = [LoggerLevel(name=n, level=2**32 - 1) for n in ('', 'x')]
        yield plain
    if hasattr(plain, 'names'):
        plain.names = [*names[:3], 'none']
    for _ in range(COUNT if plain.get_fields_and_field_types() else 1):
        yield random.changed(plain)


@pytest.mark.parametrize('name', NODES)
def test_no_request_ends_a_node(ros, name):
    node = ros.nodes[name]
    # Last, whatever takes from the others what they are about.
    services = sorted(node.services, key=lambda s: s.srv_name.endswith('/change_state'))
    kinds = {s.service_name for s in services}
    assert len(kinds) >= 7
    for service in services:
        client = ros.do(
            ros.client, ros.client.create_client, service.srv_type, service.service_name
        )
        assert client.wait_for_service(timeout_sec=LONGEST)
        for request in requests(node, service.srv_type):
            try:
                answer = wait_for(client.call_async(request), LONGEST)
            except TimeoutError:
                pytest.fail(f'{service.service_name}: no answer to {str(request)[:300]}')
            assert isinstance(answer, service.srv_type.Response)
        ros.do(ros.client, ros.client.destroy_client, client)
    own = f'{node.get_fully_qualified_name()}/list_parameters'
    assert ros.call(ListParameters, own, ListParameters.Request()).result.names
