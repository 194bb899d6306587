# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from soro_cli.findings import Level
from soro_mechanics.catalogue import find_robot_file

from soro_cli import doctor_machine, doctor_robot


def only(findings):
    found = list(findings)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ('text', 'level'),
    [('0', Level.OK), ('101', Level.OK), ('150', Level.WARN), ('x', Level.FAIL)],
)
def test_domain_ids(text, level):
    environment = {'ROS_DOMAIN_ID': text, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    found = list(doctor_machine.domain(environment))
    assert found[0].level is level
    assert found[1].level is Level.OK


@pytest.mark.parametrize(('reach', 'level'), [('SUBNET', Level.WARN), ('OFF', Level.FAIL)])
def test_discovery_ranges(reach, level):
    found = list(doctor_machine.domain({'ROS_AUTOMATIC_DISCOVERY_RANGE': reach}))
    assert found[1].level is level


def test_a_missing_compiler_is_named(tmp_path):
    found = list(doctor_machine.compiler({'PATH': str(tmp_path)}))
    assert [f.level for f in found] == [Level.WARN] * 3
    assert 'build-essential' in found[0].remedy


def test_mixed_installations_fail():
    found = list(doctor_machine.ros({'AMENT_PREFIX_PATH': '/opt/ros/jazzy'}))
    assert 'rclpy' in found[0].text or 'wheels' in found[0].text
    from_wheels = 'wheels' in found[0].text
    assert (len(found) == 2) is from_wheels


def test_serial_ports_that_may_not_be_opened(tmp_path, monkeypatch):
    assert 'no port' in only(doctor_machine.serial_devices(tmp_path)).text
    (tmp_path / 'ttyUSB0').touch()
    assert 'can be opened' in only(doctor_machine.serial_devices(tmp_path)).text
    monkeypatch.setattr(doctor_machine.os, 'access', lambda path, mode: False)
    assert 'dialout' in only(doctor_machine.serial_devices(tmp_path)).remedy


def test_can_interfaces(tmp_path):
    assert 'no interface' in only(doctor_machine.can_devices(tmp_path)).text
    (tmp_path / 'can0').mkdir()
    (tmp_path / 'can0' / 'type').write_text('280\n')
    (tmp_path / 'can0' / 'operstate').write_text('down\n')
    (tmp_path / 'eth0').mkdir()
    (tmp_path / 'eth0' / 'type').write_text('1\n')
    found = only(doctor_machine.can_devices(tmp_path))
    assert found.level is Level.WARN
    assert 'ip link set can0 up' in found.remedy
    (tmp_path / 'can0' / 'operstate').write_text('up\n')
    assert only(doctor_machine.can_devices(tmp_path)).level is Level.OK


def test_shared_memory_that_cannot_be_written(tmp_path):
    assert only(doctor_machine.shared_memory(tmp_path / 'gone')).level is Level.FAIL
    assert 'free' in only(doctor_machine.shared_memory(tmp_path)).text


def changed(tmp_path: Path, *pairs: tuple[str, str]) -> str:
    text = find_robot_file('spatial_cc').read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    file = tmp_path / 'changed.yaml'
    file.write_text(text)
    return str(file)


def test_a_good_robot_has_nothing_that_fails():
    found = doctor_robot.check_robot('spatial_cc')
    assert Level.FAIL not in [f.level for f in found]
    assert any(f.subject == 'provenance' for f in found)
    assert any('converges' in f.text for f in found)


def test_a_wrong_file_is_reported_with_the_field(tmp_path):
    found = only(doctor_robot.check_robot(changed(tmp_path, ('schema: 1', 'schema: 7'))))
    assert found.level is Level.FAIL
    assert 'schema = 7' in found.text


def test_an_unknown_robot_is_reported():
    assert 'spatial_cc' in only(doctor_robot.check_robot('spatial')).text
