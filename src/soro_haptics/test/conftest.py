# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What tests share; test modules of this folder import each other."""

from pathlib import Path
import sys

import pytest

from soro_mechanics import load_robot
from soro_mechanics.haptics.device import HapticDevice
from soro_rigs.ros_session import RosSession

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope='module')
def kernels():
    """Compile what the node would compile in its configuration."""
    from recorded_rig import haptics  # found since the line above

    haptics()


@pytest.fixture
def ros(kernels):
    with RosSession('/arm') as session:
        yield session


@pytest.fixture(scope='module')
def plant(robot):
    return HapticDevice(robot)


@pytest.fixture(scope='session')
def robot():
    return load_robot('haptic_5dof')


@pytest.fixture(autouse=True)
def own_user_data(tmp_path_factory, monkeypatch):
    """Keep latched emergency stops of a test away from the next one, and from the user."""
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path_factory.mktemp('data')))
