# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section `driver`, where emulators listen, and which devices are installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

from soro_driver import devices
from soro_driver.channels import read_channels
from soro_driver.device import DeviceError, Fault, fault_names
from soro_driver.endpoint import derive, FIRST_PORT, make_private, PORTS
from soro_driver.safety.device_lock import DeviceLock
from soro_driver.settings import RAMP, read_driver_settings, RELEASE
from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.robot_file.schema2 import tables
from soro_mechanics.robot_file.section import Section

GOOD = {'device': 'fake', 'rate': '100 Hz', 'fake': {}}


def robot(actuators, section):
    """Return what settings need of a robot."""
    root = None if section is None else Section(section, 'driver', 'robot.yaml')
    return SimpleNamespace(
        actuators=actuators, file='robot.yaml', foreign_section=lambda name: root
    )


def test_defaults(actuators):
    settings = read_driver_settings(robot(actuators, GOOD))
    assert (settings.period, settings.command_timeout, settings.ttl) == (0.01, 0.2, 0.2)
    assert settings.safe_action == RAMP
    assert settings.safe_rate.tolist() == [2e5] * 3
    assert settings.section.path == 'driver.fake'


def test_safe_action(actuators):
    section = GOOD | {'on_command_loss': {'action': 'ramp', 'rate': '1 bar/s'}}
    assert read_driver_settings(robot(actuators, section)).safe_rate.tolist() == [1e5] * 3
    section = GOOD | {'on_command_loss': {'action': 'release'}}
    assert read_driver_settings(robot(actuators, section)).safe_action == RELEASE


@pytest.mark.parametrize(
    ('change', 'path'),
    [
        ({'rate': '100'}, 'driver.rate'),
        ({'rate': '0.1 Hz'}, 'driver.rate'),
        ({'rate': '100 s'}, 'driver.rate'),
        ({'command_timeout': '5 ms'}, 'driver.command_timeout'),
        ({'time_to_live': '2 s'}, 'driver.time_to_live'),
        ({'engage_band': '0 %'}, 'driver.engage_band'),
        # a forgotten % would switch the watch off
        ({'supervision': {'over_limit_margin': 13}}, 'driver.supervision.over_limit_margin'),
        ({'supervision': {'rest_margin': 20}}, 'driver.supervision.rest_margin'),
        ({'supervision': {'follow_tolerance': 15}}, 'driver.supervision.follow_tolerance'),
        ({'engage_band': 2}, 'driver.engage_band'),
        ({'on_command_loss': {'action': 'hope'}}, 'driver.on_command_loss.action'),
        ({'on_command_loss': {'action': 'ramp', 'rate': '1 m/s'}}, 'driver.on_command_loss.rate'),
        ({'on_command_loss': {'action': 'release', 'rate': '1 bar/s'}}, 'driver.on_command_loss.'),
        ({'supervision': {'frozen_for': '-1 s'}}, 'driver.supervision.frozen_for'),
        ({'supervision': {'frozen': '1 s'}}, 'driver.supervision.frozen'),
        ({'comand_timeout': '1 s'}, 'driver.comand_timeout'),
        ({'device': 'other'}, 'driver.other'),
    ],
)
def test_wrong_sections_are_refused_with_their_path(actuators, change, path):
    with pytest.raises(RobotFileError) as error:
        read_driver_settings(robot(actuators, GOOD | change))
    assert error.value.path.startswith(path)


def test_every_key_that_editors_offer_is_read(actuators):
    examples = {'s': '450 ms', '1/s': '100 Hz', '1': 0.1}
    section = dict(GOOD)
    for key, known in tables.DRIVER.items():
        if known.kind == 'quantity':
            section[key] = examples[known.unit]
    supervision = tables.DRIVER['supervision'].item
    section['supervision'] = {key: examples[known.unit] for key, known in supervision.items()}
    read_driver_settings(robot(actuators, section))
    actions = tables.DRIVER['on_command_loss'].item['action'].choices
    assert set(actions) == {RAMP, RELEASE}


@pytest.mark.parametrize('given', [None, {'p1': 1, 'p2': 2, 'p3': 3}, {'p1': 3, 'p2': 1, 'p3': 2}])
def test_channels_of_a_device(given, actuators):
    names = [a.name for a in actuators]
    data = {} if given is None else {'channels': dict(zip(names, given.values(), strict=True))}
    found = read_channels(Section(data, 'driver.fake', 'robot.yaml'), actuators)
    assert [i + 1 for i in found] == (list(given.values()) if given else [1, 2, 3])


@pytest.mark.parametrize('numbers', [[1, 2, 2], [0, 1, 2], [2, 3, 4], [1, 2], [1, 2, 3, 4]])
def test_channels_that_serve_nobody_or_two_are_refused(actuators, numbers):
    names = [a.name for a in actuators] + ['nobody']
    data = {'channels': dict(zip(names, numbers, strict=False))}
    with pytest.raises(RobotFileError, match='channels'):
        read_channels(Section(data, 'driver.fake', 'robot.yaml'), actuators)


def test_without_a_section_the_actuators_are_simulated(actuators):
    settings = read_driver_settings(robot(actuators, None))
    assert (settings.device, settings.section.path) == ('simulated', 'driver.simulated')
    assert settings.safe_action == RAMP  # pressures are let out


def test_endpoints_differ_by_namespace_domain_and_device(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '1')
    one = derive('/a', 'nidaq')
    assert one == derive('a/', 'nidaq')
    assert FIRST_PORT <= one.port < FIRST_PORT + PORTS
    others = [derive('/b', 'nidaq'), derive('/a', 'dspace')]
    monkeypatch.setenv('ROS_DOMAIN_ID', '2')
    others.append(derive('/a', 'nidaq'))
    assert len({e.port for e in [one, *others]}) == 4
    assert len({e.path for e in [one, *others]}) == 4
    assert derive('/a', 'nidaq', 4711).address == '127.0.0.1:4711'


def test_an_endpoint_depends_on_no_variable_of_the_environment(monkeypatch, tmp_path):
    one = derive('/a', 'nidaq')
    for name in ('TMPDIR', 'XDG_RUNTIME_DIR', 'HOME'):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(tempfile, 'tempdir', None)
    assert derive('/a', 'nidaq') == one


def test_a_folder_of_endpoints_is_this_users_alone(tmp_path):
    folder = tmp_path / 'soro'
    make_private(folder)
    make_private(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    with pytest.raises(InvalidInput, match='only this user'):
        make_private(folder)
    link = tmp_path / 'link'
    link.symlink_to(tmp_path)
    with pytest.raises(InvalidInput, match='remove that one'):
        make_private(link)


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / 'soro'
    make_private(folder)
    owner = os.getuid()
    monkeypatch.setattr(os, 'getuid', lambda: 65534)
    with pytest.raises(InvalidInput, match=f'of user {owner}'):
        make_private(folder)


def test_unknown_device_lists_what_is_installed():
    with pytest.raises(UnknownName) as error:
        devices.load('warp_drive')
    assert 'nidaq' in error.value.valid


def test_exclusive_use_across_processes():
    resource = f'test {np.random.default_rng().integers(1 << 40)}'
    mine = DeviceLock(resource)
    mine.acquire()
    mine.acquire()
    code = (
        'import sys; from soro_driver.safety.device_lock import *\n'
        'try: DeviceLock(sys.argv[1]).acquire()\n'
        'except DeviceError as error: print(error); sys.exit(3)\n'
    )
    command = [sys.executable, '-c', code, resource]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert refused.returncode == 3 and 'in use by process' in refused.stdout
    mine.release()
    assert subprocess.run(command, capture_output=True, timeout=30).returncode == 0
    with pytest.raises(DeviceError):
        mine.acquire()
        DeviceLock(resource).acquire()
    mine.release()


def test_faults_in_words():
    words = fault_names(Fault.SENSOR | 1 << 16 | 1 << 20, {1 << 16: 'valve power lost'})
    assert words == [
        'sensor out of range or open',
        'valve power lost',
        'unknown fault bits 0x100000',
    ]
