# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro bench finds what is wired wrongly, and what does not stop; checks of hardware."""

from dataclasses import replace
import json
import threading
import time

import numpy as np
import pytest
import yaml

from soro_cli import bench
from soro_cli.bench import Bench
from soro_cli.doctor import hardware as doctor_hardware
from soro_cli.doctor.findings import Level
from soro_cli.main import main
from soro_driver.device import Device, DeviceError, DeviceLost, Identity, Reading
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_rigs.held_up import undisturbed

EXAMPLES = find_robot_file('stiff_flop').with_name('examples')


class Board(Device):
    """Obeys at once, as it is wired: measured = wiring @ set-points."""

    wiring = np.eye(3)

    def __init__(self):
        self.values = np.zeros(3)

    @classmethod
    def from_section(cls, section, robot, endpoint):
        for key in section.keys:
            assert key in section
        return cls()

    def open(self):
        return Identity('board', '1')

    def read(self):
        flags = np.zeros(3, np.uint16)
        return Reading(time.monotonic(), self.wiring @ self.values, self.values, flags)

    def write(self, values, ttl):
        self.values = values.copy()

    def arm(self):
        pass

    def make_safe(self):
        self.values = np.zeros(3)

    def reset(self):
        pass

    def close(self):
        pass


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(bench, 'SETTLE', 0.15)
    monkeypatch.setattr(bench, 'START', 0.3)
    monkeypatch.setattr(bench, 'PULLED', 1.0)


def verdicts(monkeypatch, board, ask=None):
    monkeypatch.setattr(bench.devices, 'load', lambda name: board)
    with Bench('stiff_flop', True, 0.05, ask) as made:
        return {f.subject: f.level for f in made.findings()}


def wired(matrix):
    return type('Wired', (Board,), {'wiring': np.array(matrix, float)})


@undisturbed
def test_a_board_that_is_right_passes(monkeypatch, quick):
    found = verdicts(monkeypatch, Board)
    assert set(found.values()) == {Level.OK}
    assert {'device', 'armed', 'pair_1', 'pair_2', 'pair_3', 'stop'} <= set(found)


@pytest.mark.parametrize(
    ('matrix', 'wrong'),
    [
        ([[1, 0, 0], [0, 0.5, 0], [0, 0, 1]], {'pair_2'}),
        ([[1, 0, 0], [0, 0, 1], [0, 1, 0]], {'pair_2', 'pair_3'}),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 0]], {'pair_3'}),
    ],
    ids=['scale', 'exchanged', 'dead'],
)
@undisturbed
def test_a_wrong_wire_is_found_at_its_channel(monkeypatch, quick, matrix, wrong):
    found = verdicts(monkeypatch, wired(matrix))
    assert {name for name, level in found.items() if level is Level.FAIL} == wrong


@undisturbed
def test_what_does_not_stop_is_not_armed_again(monkeypatch, quick):
    armed = []

    class Runaway(Board):
        runs, away = False, 0.0

        def read(self):
            self.away += 1000.0 if self.runs else 0.0
            reading = super().read()
            return replace(reading, measured=reading.measured + self.away)

        def arm(self):
            armed.append(True)

    def stop(loop, who):
        Runaway.runs = True
        ordinary(loop, who)

    ordinary = bench.ControlLoop.stop
    monkeypatch.setattr(bench.ControlLoop, 'stop', stop)
    found = verdicts(monkeypatch, Runaway)
    assert found['stop'] is Level.FAIL
    assert 'cable' not in found
    assert len(armed) == 1


@undisturbed
def test_pressure_that_stays_up_after_a_stop_is_found(monkeypatch, quick):
    class Holding(Board):
        stuck = None

        def read(self):
            reading = super().read()
            return reading if self.stuck is None else replace(reading, measured=self.stuck)

    def stop(loop, who):
        Holding.stuck = loop.device.wiring @ loop.device.values
        ordinary(loop, who)

    ordinary = bench.ControlLoop.stop
    monkeypatch.setattr(bench.ControlLoop, 'stop', stop)
    found = verdicts(monkeypatch, Holding)
    assert found['stop'] is Level.FAIL
    assert found['pair_1'] is Level.OK
    assert 'cable' not in found


@undisturbed
def test_what_a_person_sees_counts(monkeypatch, quick):
    def ask(question):
        return 'n' if 'pair_2' in question else 'y'

    found = verdicts(monkeypatch, Board, ask)
    assert found['pair_2'] is Level.FAIL
    assert found['cable'] is Level.FAIL  # nobody pulled it


@undisturbed
def test_no_wire_is_blamed_for_a_loop_that_was_held_up(monkeypatch, quick):
    """It is held up from the moment a channel shall move until that must be over."""
    monkeypatch.setattr(bench, 'SETTLE', 0.05)
    free, ordinary, held = threading.Event(), Bench._wait, []

    class HeldUpBoard(Board):
        def read(self):
            assert free.wait(10.0)
            return super().read()

    def wait(made, seconds, *until):
        if not until and seconds == made._time and made._law.wanted[1] and not held:
            held.append(seconds)
            free.clear()
        found = ordinary(made, seconds, *until)
        free.set()
        return found

    free.set()
    monkeypatch.setattr(Bench, '_wait', wait)
    found = verdicts(monkeypatch, HeldUpBoard)
    assert held and set(found.values()) == {Level.OK}, found


def test_a_device_that_is_missing_ends_it(monkeypatch, quick):
    class Missing(Board):
        def open(self):
            raise DeviceLost('no such port')

    assert verdicts(monkeypatch, Missing) == {'connect': Level.FAIL}


@undisturbed
def test_a_fault_is_named_while_the_device_is_still_made_safe(monkeypatch, quick):
    class Refusing(Board):
        def write(self, values, ttl):
            if values.any():
                raise DeviceError('refused')

        def make_safe(self):
            seen.wait(5.0)

    seen = threading.Event()
    monkeypatch.setattr(bench.devices, 'load', lambda name: Refusing)
    with Bench('stiff_flop', True, 0.05, None) as made:
        last = list(made.findings())[-1]
        seen.set()
    assert last.level is Level.FAIL
    assert last.text == 'FAULT while pair_1 was to move'


@pytest.mark.timeout(240)
@pytest.mark.parametrize('arm', ['tendon_arm_servos', 'tendon_arm_drives'])
@undisturbed
def test_an_emulated_device_passes_every_step(tmp_path, arm):
    # As patient as a driver may be: a busy computer must not decide.
    data = yaml.safe_load((EXAMPLES / f'{arm}.yaml').read_text())
    data['driver'] |= {'command_timeout': '4 s', 'feedback_timeout': '2 s'}
    data['driver'] |= {'time_to_live': '500 ms', 'supervision': {}}
    robot, report = tmp_path / 'arm.yaml', tmp_path / 'report.json'
    robot.write_text(yaml.safe_dump(data))
    code = main(['bench', str(robot), '--part', '10', '--output', str(report)])
    assert code == 0, report.read_text()
    found = {f['subject']: f['level'] for f in json.loads(report.read_text())}
    assert set(found) >= {'device', 'armed', 'near_1', 'far_3', 'stop', 'cable'}
    assert set(found.values()) == {'ok'}


def levels(findings):
    return [f.level for f in findings]


def test_an_adapter_that_keeps_bytes_is_told_by_its_file(tmp_path):
    for name, latency in (('ttyUSB0', '16'), ('ttyUSB1', '1')):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'latency_timer').write_text(latency + '\n')
    slow, quick = doctor_hardware.usb_latency(tmp_path)
    assert (slow.level, quick.level) == (Level.WARN, Level.OK)
    assert str(tmp_path / 'ttyUSB0/latency_timer') in slow.remedy


def test_can_links_as_iproute2_prints_them():
    def link(state, bitrate):
        data = {'state': state, 'bittiming': {'bitrate': bitrate}}
        return {'ifname': 'can0', 'linkinfo': {'info_kind': 'can', 'info_data': data}}

    def found(*links):
        return levels(doctor_hardware.can_links(json.dumps(links).encode()))

    assert found(link('ERROR-ACTIVE', 1000000)) == [Level.OK]
    assert found(link('BUS-OFF', 1000000), link('STOPPED', 0)) == [Level.WARN, Level.WARN]
    assert found() == levels(doctor_hardware.can_links(b'')) == []


def test_who_holds_a_device_is_listed():
    text = '0000: 00000002 0 10000 1 1 123 @soro/serial /dev/ttyUSB0\n0000: 2 0 0 1 1 9 /run/x\n'
    assert [f.text for f in doctor_hardware.held(text)] == ['serial /dev/ttyUSB0']


def test_real_time_is_a_matter_of_the_limit():
    assert levels(doctor_hardware.real_time(0)) == [Level.WARN]
    assert levels(doctor_hardware.real_time(90)) == levels(doctor_hardware.real_time(-1))


def test_the_verb_checks_hardware(capsys):
    assert main(['doctor', '--hardware', '--json']) == 0
    subjects = {f['subject'] for f in json.loads(capsys.readouterr().out)['findings']}
    assert {'serial', 'can', 'priority'} <= subjects
