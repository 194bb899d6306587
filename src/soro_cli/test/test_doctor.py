# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
import contextlib
from importlib.metadata import entry_points
from pathlib import Path
import re
import socket

import pytest
import yaml

from soro_cli.doctor import machine as doctor_machine
from soro_cli.doctor import robot as doctor_robot
from soro_cli.doctor.findings import Level
from soro_cli.main import main
from soro_emulation.device_emulator import GROUP
from soro_mechanics.robot_file.catalogue import find_robot_file, robot_files
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.process.process_sockets import dds_ports

PAGES = Path(__file__).resolve().parents[3] / 'docs'


def only(findings):
    found = list(findings)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ('text', 'level'), [('0', Level.OK), ('101', Level.OK), ('150', Level.WARN), ('x', Level.FAIL)]
)
def test_domain_ids(text, level):
    environment = {'ROS_DOMAIN_ID': text, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    found = list(doctor_machine.domain(environment))
    assert found[0].level is level
    assert found[1].level is Level.OK


@pytest.mark.parametrize(
    ('reach', 'level'),
    [('', Level.OK), ('SUBNET', Level.WARN), ('SYSTEM_DEFAULT', Level.WARN), ('OFF', Level.FAIL)],
)
def test_discovery_ranges(reach, level):
    found = list(doctor_machine.domain({'ROS_AUTOMATIC_DISCOVERY_RANGE': reach}))
    assert found[1].level is level


def test_another_middleware_is_not_vouched_for():
    environment = {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}
    assert list(doctor_machine.domain(environment))[1].level is Level.WARN


@pytest.mark.parametrize(('host', 'level'), [('0.0.0.0', Level.WARN), ('127.0.0.1', Level.OK)])
def test_sockets_of_dds_that_others_reach_are_named(host, level):
    # No participant reaches the last ports of a domain.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_one:
        port = next(p for p in reversed(dds_ports(101)) if bound(open_one, host, p))
        found = list(doctor_machine.open_sockets({'ROS_DOMAIN_ID': '101'}))
    assert (f':{port}' in ' '.join(f.text for f in found)) is (level is Level.WARN)
    assert level in {f.level for f in found}


def bound(udp, host, port):
    with contextlib.suppress(OSError):
        udp.bind((host, port))
        return True
    return False


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


def changed(tmp_path: Path, *pairs: tuple[str, str]) -> str:
    text = find_robot_file('spatial_cc').read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    file = tmp_path / 'changed.yaml'
    file.write_text(text)
    return str(file)


def test_a_good_robot_has_nothing_that_fails():
    found = list(doctor_robot.robot_findings('spatial_cc'))
    assert Level.FAIL not in [f.level for f in found]
    assert any(f.subject == 'provenance' for f in found)
    assert any('stable at' in f.text for f in found)


def test_a_wrong_file_is_reported_with_the_field(tmp_path):
    found = only(list(doctor_robot.robot_findings(changed(tmp_path, ('schema: 2', 'schema: 7')))))
    assert found.level is Level.FAIL
    assert 'schema = 7' in found.text


def test_an_unknown_robot_is_reported():
    assert 'spatial_cc' in only(list(doctor_robot.robot_findings('spatial'))).text


@pytest.mark.parametrize('name', sorted(robot_files()))
def test_the_hardware_of_the_catalogue_is_well_described(name):
    robot = read_robot_file(find_robot_file(name))
    found = list(doctor_robot.hardware(robot))
    others = [(f.subject, f.level) for f in found if f.subject != 'wiring']
    assert others == [('driver', Level.OK), ('emulator', Level.OK)]
    wired = [f.text.split(':')[0] for f in found if f.subject == 'wiring']
    driven = robot.actuators if robot.foreign_section('driver') else ()
    assert wired[: len(robot.actuators)] == [a.name for a in driven]


@pytest.mark.parametrize(
    ('robot', 'rows'),
    [
        ('soft_parallel', ['leg_1: regulator 1', 'leg_2: regulator 2', 'leg_3: regulator 3']),
        ('stiff_flop', ['pair_2: Dev1/ctr1, monitor Dev1/ai1']),
        ('pam_continuum', ['muscle_10_3: valve 59 inflates, 60 deflates']),
        ('haptic_5dof', ['motor_6: motor 6', 'flex_6: flex input 6']),
    ],
)
def test_wiring_is_listed_as_the_file_has_it(robot, rows):
    found = list(doctor_robot.hardware(read_robot_file(find_robot_file(robot))))
    assert set(rows) <= {f.text for f in found if f.subject == 'wiring'}


def test_robot_and_bench_of_the_page_have_no_finding(tmp_path):
    text = (PAGES / 'describe_your_own_robot.md').read_text(encoding='utf-8')
    blocks = re.findall(r'^```yaml\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    (driver,) = (block for block in blocks if block.startswith('driver:'))
    file = tmp_path / 'my_robot.yaml'
    file.write_text(blocks[0] + driver)
    found = list(doctor_robot.hardware(read_robot_file(file)))
    assert {f.level for f in found} == {Level.OK}, found
    file.write_text(blocks[0])
    found = list(doctor_robot.robot_findings(str(file)))
    assert {f.level for f in found} == {Level.OK}, found


@pytest.mark.parametrize(
    ('key', 'line', 'said'),
    [
        ('supervision.follow_time_constant', '    follow_time_constant:', 'a burst line'),
        ('supervision.frozen_for', '    frozen_for:', 'a frozen sensor'),
        ('nidaq.heartbeat', '    heartbeat:', 'nothing vents when the computer stops'),
    ],
)
def test_protection_that_is_left_out_is_named(tmp_path, key, line, said):
    lines = find_robot_file('spatial_cc').read_text().splitlines()
    assert any(text.startswith(line) for text in lines)
    file = tmp_path / 'unguarded.yaml'
    file.write_text('\n'.join(text for text in lines if not text.startswith(line)))
    found = [
        f for f in doctor_robot.hardware(read_robot_file(file)) if f.subject == f'driver.{key}'
    ]
    assert only(found).level is Level.WARN
    assert said in found[0].text


@pytest.mark.parametrize(
    ('robot', 'old', 'new', 'subject', 'said'),
    [
        ('spatial_cc', 'device: nidaq', 'device: nidac', 'driver', "did you mean 'nidaq'"),
        ('spatial_cc', 'command_scale:', 'command_scales:', 'driver', 'command_scale'),
        ('spatial_cc', 'seed: ', 'sead: ', 'emulator', "did you mean 'seed'"),
        ('spatial_cc', 'model: ncm', 'model: ncn', 'emulator', 'emulator.body.model'),
        ('stiff_flop', 'path: body.segments', 'path: body.segment', 'emulator', "no 'segment'"),
        ('pam_continuum', '    muscles:', '    muscels:', 'emulator', 'muscles = None: required'),
    ],
)
def test_what_driver_and_emulator_would_refuse_fails(tmp_path, robot, old, new, subject, said):
    text = find_robot_file(robot).read_text()
    assert old in text
    file = tmp_path / 'wrong.yaml'
    file.write_text(text.replace(old, new, 1))
    found = list(doctor_robot.hardware(read_robot_file(file)))[-1]
    assert (found.subject, found.level) == (subject, Level.FAIL), found
    assert said in found.text


@pytest.mark.parametrize(
    ('robot', 'level', 'said'),
    [
        ('spatial_cc', Level.OK, 'hysteresis 3% of each range'),
        ('pam_continuum', Level.FAIL, 'emulator.stm32.muscles = None: required'),
    ],
)
def test_without_a_section_the_emulator_has_defaults_but_for_muscles(tmp_path, robot, level, said):
    data = yaml.safe_load(find_robot_file(robot).read_text())
    del data['emulator']
    file = tmp_path / 'plain.yaml'
    file.write_text(yaml.safe_dump(data))
    found = list(doctor_robot.hardware(read_robot_file(file)))[-1]
    assert (found.subject, found.level) == ('emulator', level)
    assert said in found.text


EMULATED = {
    'nidaq': 'spatial_cc',
    'dspace': 'soft_parallel',
    'stm32': 'pam_continuum',
    'can': 'haptic_5dof',
    'simulated': 'config/robots/examples/tendon_arm.yaml',
    'ros2_control': 'config/robots/examples/tendon_arm_controllers.yaml',
    'cia402': 'config/robots/examples/tendon_arm_drives.yaml',
    'dynamixel': 'config/robots/examples/tendon_arm_servos.yaml',
}


@pytest.mark.parametrize('device', [point.name for point in entry_points(group=GROUP)])
def test_the_section_of_every_emulated_device_is_read(tmp_path, device):
    data = yaml.safe_load(find_robot_file(EMULATED[device]).read_text())
    section = data.setdefault('emulator', {}).setdefault(device, {})
    file = tmp_path / 'odd.yaml'
    for odd, level in ({}, Level.OK), ({'nonsense': 1}, Level.FAIL):
        section.update(odd)
        file.write_text(yaml.safe_dump(data))
        found = list(doctor_robot.hardware(read_robot_file(file)))[-1]
        assert (found.subject, found.level) == ('emulator', level), found
    assert f'emulator.{device}.nonsense' in found.text


@pytest.mark.parametrize('device', ['dspace', 'stm32', 'can'])
def test_reference_firmware_needs_a_compiler_and_nothing_is_built_to_see_it(
    tmp_path, monkeypatch, device
):
    data = yaml.safe_load(find_robot_file(EMULATED[device]).read_text())
    data.setdefault('emulator', {}).setdefault(device, {})['firmware'] = 'host'
    file = tmp_path / 'firmware.yaml'
    file.write_text(yaml.safe_dump(data))
    compiler, called = tmp_path / 'own_cc', tmp_path / 'called'
    compiler.write_text(f'#!/bin/sh\ntouch {called}\n')
    compiler.chmod(0o755)
    monkeypatch.setenv('CC', str(compiler))
    found = list(doctor_robot.hardware(read_robot_file(file)))[-1]
    assert (found.subject, found.level) == ('emulator', Level.OK), found
    assert not called.exists()
    monkeypatch.setenv('CC', str(tmp_path / 'none'))
    found = list(doctor_robot.hardware(read_robot_file(file)))[-1]
    assert (found.subject, found.level) == ('emulator', Level.FAIL)
    assert f'needs {tmp_path / "none"}, which is not found; install a C compiler' in found.text


def test_a_device_without_an_emulator_has_none_to_check(monkeypatch):
    monkeypatch.setattr(doctor_robot, 'entry_points', lambda group: ())
    found = list(doctor_robot.hardware(read_robot_file(find_robot_file('pam_continuum'))))[-1]
    assert (found.subject, found.level) == ('emulator', Level.OK)


def test_a_client_that_is_not_installed_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'nidaqmx'")

    monkeypatch.setattr('soro_driver.devices.load', missing)
    found = only(doctor_robot.hardware(read_robot_file(find_robot_file('spatial_cc'))))
    assert found.level is Level.FAIL and 'nidaqmx' in found.text


def test_an_empty_name_is_no_robot_and_does_not_stand_for_the_machine(capsys):
    assert main(['doctor', '']) == 1
    assert "robot = '': expected one of" in capsys.readouterr().out
