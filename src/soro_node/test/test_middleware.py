# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What Fast DDS runs in a process of ours, and whose profile it reads."""

import os
from pathlib import Path
import subprocess
import sys

import pytest
from soro_node.middleware import PROFILE, VARIABLES
from soro_node.testing import own_domain

THREADS = """
import os
from soro_node.middleware import set_middleware
set_middleware()
import rclpy
rclpy.init()
node = rclpy.create_node('looked_at')
folders = os.scandir('/proc/self/task')
print(rclpy.get_rmw_implementation_identifier())
print(*(open(f'{folder.path}/comm').read().strip() for folder in folders))
node.destroy_node()
rclpy.shutdown()
"""


def in_a_process(**variables):
    """Return middleware and names of the threads of a process with a node."""
    clean = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    local = {'ROS_DOMAIN_ID': str(own_domain()), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    done = subprocess.run(
        [sys.executable, '-c', THREADS], env={**clean, **local, **variables}, check=True,
        capture_output=True, text=True, timeout=60.0,
    )  # fmt: skip
    middleware, threads = done.stdout.splitlines()
    return middleware, threads.split()


def test_nobody_asks_for_types():
    _, threads = in_a_process()
    assert not [name for name in threads if name.startswith('dds.tls')]


@pytest.mark.parametrize('name', VARIABLES)
def test_a_profile_of_the_user_is_read_instead(name, tmp_path: Path):
    own = tmp_path / 'own.xml'
    own.write_text(PROFILE.read_text().replace('disabled', 'enabled'))
    middleware, threads = in_a_process(**{name: str(own)})
    if 'fastrtps' in middleware:
        assert [thread for thread in threads if thread.startswith('dds.tls')]
