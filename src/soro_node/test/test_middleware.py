# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What Fast DDS runs in a process of ours, where it listens, and whose profile it reads."""

import ipaddress
import json
import os
from pathlib import Path
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from soro_node.middleware import (
    DEPRECATED,
    LOOPBACK,
    NETWORK,
    PEERS,
    RANGE,
    Reach,
    reach,
    set_middleware,
    VARIABLES,
)
from soro_rigs.domains import own_domain

ENV = Path(__file__).resolve().parents[3] / 'scripts' / 'env.sh'
LOOK = """
import json, os, sys
{0}
import rclpy
from soro_node.process.process_sockets import sockets_of_processes
rclpy.init()
node = rclpy.create_node('looked_at')
folders = os.scandir('/proc/self/task')
print(json.dumps({{
    'middleware': rclpy.get_rmw_implementation_identifier(),
    'threads': [open(f'{{folder.path}}/comm').read().strip() for folder in folders],
    'udp': [str(s.address) for s in sockets_of_processes([os.getpid()]) if s.protocol == 'udp'],
    'shared': [os.readlink(f'/proc/self/fd/{{n}}') for n in os.listdir('/proc/self/fd')
               if os.path.exists(f'/proc/self/fd/{{n}}')],
}}))
node.destroy_node()
rclpy.shutdown()
"""
SHARED_MEMORY_ONLY = """
<dds xmlns="http://www.eprosima.com"><profiles>
  <transport_descriptors><transport_descriptor>
    <transport_id>only</transport_id><type>SHM</type>
  </transport_descriptor></transport_descriptors>
  <participant profile_name="own" is_default_profile="true"><rtps>
    <userTransports><transport_id>only</transport_id></userTransports>
    <useBuiltinTransports>false</useBuiltinTransports>
  </rtps></participant>
</profiles></dds>
"""
OURS = LOOK.format('from soro_node.middleware import set_middleware; set_middleware()')
THEIRS = LOOK.format('')
FAST = 'rmw_fastrtps_cpp'
NAMES = re.compile('fastdds|fastrtps')  # of shared memory: of Fast DDS 3, 2


def clean():
    """Return the variables of this process without those that reach."""
    asked = {*VARIABLES, RANGE, PEERS, DEPRECATED, 'RMW_IMPLEMENTATION'}
    return {k: v for k, v in os.environ.items() if k not in asked}


def in_a_process(program=OURS, before=(), **variables):
    """Return what a process with a node says of itself."""
    done = subprocess.run(
        [*before, sys.executable, '-c', program],
        check=True,
        capture_output=True,
        text=True,
        env={**clean(), 'ROS_DOMAIN_ID': str(own_domain()), **variables},
        timeout=60.0,
    )
    return json.loads(done.stdout)


def outside(found):
    return [a for a in found['udp'] if not ipaddress.ip_address(a).is_loopback]


def is_fastdds(found):
    """Whether what these tests say is about the middleware that was found."""
    return 'fastrtps' in found['middleware']


def test_nobody_asks_for_types():
    assert not [name for name in in_a_process()['threads'] if name.startswith('dds.tls')]


@pytest.mark.parametrize(
    'variables', [{}, {RANGE: 'LOCALHOST'}, {RANGE: 'LOCALHOST', DEPRECATED: '1'}]
)
def test_every_socket_is_loopback_unless_a_network_is_asked_for(variables):
    found = in_a_process(**variables)
    if is_fastdds(found):
        assert found['udp'] and outside(found) == []


@pytest.mark.parametrize('variables', [{}, {RANGE: 'SUBNET'}, {RANGE: 'SYSTEM_DEFAULT'}])
def test_no_process_shares_a_mutex_with_its_readers(variables):
    found = in_a_process(**variables)
    if is_fastdds(found):
        assert not [file for file in found['shared'] if NAMES.search(file)]


def test_the_switch_opens_to_a_network():
    found = in_a_process(**{RANGE: 'SUBNET'})
    if is_fastdds(found):
        assert outside(found)


@pytest.mark.parametrize('times', [1, 2])
def test_programs_that_are_not_ours_are_loopback_too_in_a_shell_of_the_workspace(times):
    sourced = f'. {ENV}; ' * times + 'exec "$@"'
    workspace = {'SORO_WORKSPACE': str(ENV.parents[1]), 'SORO_VENV': sys.prefix}
    found = in_a_process(THEIRS, ('sh', '-c', sourced, 'sh'), **workspace)
    if is_fastdds(found):
        assert found['udp'] and outside(found) == []


def test_a_shell_whose_user_asks_for_a_network_has_it():
    before = ('sh', '-c', f'. {ENV}; exec "$@"', 'sh')
    variables = {'SORO_WORKSPACE': str(ENV.parents[1]), RANGE: 'SUBNET'}
    found = in_a_process(THEIRS, before, **variables)
    if is_fastdds(found):
        assert outside(found)


PLAIN_PEER = """
import sys, rclpy
rclpy.init()
node = rclpy.create_node('plain_peer')
while 'of_ours' not in node.get_node_names():
    rclpy.spin_once(node, timeout_sec=0.05)
print('met')
rclpy.shutdown()
"""
PEER_OF_OURS = """
import sys, threading
from soro_node.middleware import set_middleware
set_middleware()
import rclpy
rclpy.init()
node = rclpy.create_node('of_ours')
threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
print('up', flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize('range_', ['LOCALHOST', 'SUBNET'])
def test_a_plain_shell_of_this_machine_still_finds_our_nodes(range_):
    environment = {**clean(), 'ROS_DOMAIN_ID': str(own_domain())}
    with subprocess.Popen(
        [sys.executable, '-c', PEER_OF_OURS],
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as ours:
        assert ours.stdout.readline() == 'up\n'
        done = subprocess.run(
            [sys.executable, '-c', PLAIN_PEER],
            env={**environment, RANGE: range_},
            capture_output=True,
            text=True,
            timeout=60.0,
            check=False,
        )
        ours.kill()
    assert done.stdout == 'met\n', done.stderr


@pytest.mark.parametrize('name', VARIABLES)
def test_a_profile_of_the_user_is_read_instead(name, tmp_path: Path):
    own = tmp_path / 'own.xml'
    own.write_text(SHARED_MEMORY_ONLY)
    found = in_a_process(**{name: str(own), RANGE: 'SYSTEM_DEFAULT'})
    if is_fastdds(found):
        assert found['udp'] == [] and any(NAMES.search(file) for file in found['shared'])


OTHER = {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}
CASES = [
    ({}, Reach.MACHINE, 'SYSTEM_DEFAULT'),
    ({RANGE: 'LOCALHOST'}, Reach.MACHINE, 'SYSTEM_DEFAULT'),
    ({RANGE: 'SUBNET'}, Reach.NETWORK, 'SUBNET'),
    ({RANGE: 'SUBNET', VARIABLES[0]: str(LOOPBACK)}, Reach.NETWORK, 'SUBNET'),
    ({RANGE: 'SYSTEM_DEFAULT'}, Reach.NETWORK, 'SYSTEM_DEFAULT'),
    ({RANGE: 'OFF'}, Reach.OFF, 'OFF'),
    ({RANGE: 'LOCALHOST', VARIABLES[0]: '/own.xml'}, Reach.OWN_PROFILE, 'LOCALHOST'),
    ({PEERS: '192.0.2.7'}, Reach.NETWORK, 'LOCALHOST'),
    ({RANGE: 'SUBNET', DEPRECATED: '1'}, Reach.MACHINE, 'SYSTEM_DEFAULT'),
    (OTHER, Reach.OTHER_MIDDLEWARE, 'LOCALHOST'),
    ({**OTHER, RANGE: 'SUBNET'}, Reach.OTHER_MIDDLEWARE, 'SUBNET'),
    (
        {**OTHER, RANGE: 'SYSTEM_DEFAULT', VARIABLES[0]: str(LOOPBACK)},
        Reach.OTHER_MIDDLEWARE,
        'LOCALHOST',
    ),
]


@pytest.mark.parametrize(('environment', 'expected', 'range_'), CASES)
def test_what_is_asked_for_is_what_a_child_asks_for_too(environment, expected, range_):
    environment = dict(environment)
    for _ in range(2):  # a child of ours inherits what its parent has set
        assert reach(environment) is expected
        set_middleware(environment)
        assert environment[RANGE] == range_


@pytest.mark.parametrize('profile', [LOOPBACK, NETWORK])
def test_profiles_are_the_default_of_their_file(profile):
    space = {'d': 'http://www.eprosima.com'}
    participants = ElementTree.parse(profile).getroot().findall('.//d:participant', space)
    assert [p.get('is_default_profile') for p in participants] == ['true']
