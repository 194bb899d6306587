# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The driver's code against the board in virtual time: accuracy, a bad link, sensors, budgets."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from soro_driver.device import DeviceTimeout, Fault
from soro_driver.serial.frame import SerialState
from soro_emulation.event_log import EventLog
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_rigs.event_log import read_events
from soro_stm32_driver.device import BUDGET
from soro_stm32_driver.muscle_estimate import without_mean
from soro_studies.emulation.muscle_tracking import SLEW
from soro_studies.emulation.stm32_virtual import VirtualRig
from soro_studies.system.virtual_soft_parallel import VirtualRobot

STEP = 4e-4  # m per tick


class Robot:
    """A rig, its log, and a slow hand on the set-points."""

    def __init__(self, folder, *changes):
        text = find_robot_file('pam_continuum').read_text(encoding='utf-8')
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = folder / 'pam_continuum.yaml'
        file.write_text(text, encoding='utf-8')
        self.log = folder / 'log.jsonl'
        self.rig = VirtualRig(read_robot_file(file), EventLog(str(self.log)))
        self.rig.start()
        self.lengths = np.full(30, 0.1)
        self.reading = self.rig.device.read()

    def tick(self, target) -> None:
        step = target - self.lengths
        ratio = np.abs(step).max() / STEP
        self.lengths = self.lengths + step / max(1.0, ratio)
        self.reading = self.rig.device.read()
        self.rig.device.write(self.lengths, 0.5)
        self.rig.link.pass_time(0.1)

    def go(self, target, seconds=6.0) -> float:
        """Go to lengths; returns the root mean square error of the true ones [m]."""
        for _ in range(round(10 * seconds)):
            self.tick(target)
        off = without_mean(self.rig.bank.lengths - target, 3)
        return float(np.sqrt(np.mean(off**2)))

    def events(self, name):
        return read_events(self.log, name)

    def damage(self, direction='both', **values):
        link = self.rig.link
        lines = {'to_device': [link.to_device], 'to_host': [link.to_host]}
        for line in lines.get(direction, [link.to_device, link.to_host]):
            line.damage(values)

    def check_at_most_once(self) -> None:
        """Every command was carried out once: valves worked for exactly what was ordered."""
        commands = self.events('command')
        seqs = [e['seq'] for e in commands]
        assert len(seqs) == len(set(seqs)) > 5
        ordered = np.zeros((30, 2))
        for e in commands:
            for muscle, action, duration in e['actions']:
                ordered[muscle, action - 1] += duration
        armed = [e['t'] for e in self.events('state') if e['state'] == 'ARMED'][-1]
        open_, worked = {}, np.zeros((30, 2))
        for e in self.events('valve'):
            key = e['muscle'], ('inflate', 'deflate').index(e['action'])
            if e['t'] > armed and e['on']:
                open_[key] = e['t']
            elif key in open_:
                worked[key] += 1e3 * (e['t'] - open_.pop(key))
        assert worked == pytest.approx(ordered, abs=1e-2)
        assert self.rig.bank.overlaps == 0


def targets(count, seed=3):
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield 0.1 + without_mean(random.uniform(-0.008, 0.008, 30), 3)


def test_a_computer_that_stands_still_changes_nothing(tmp_path, monkeypatch):
    """Every look at the real clock is an hour later: sessions count virtual time alone."""
    hours = itertools.count(time.monotonic(), 3600.0)
    monkeypatch.setattr(time, 'monotonic', lambda: next(hours))
    rig = Robot(tmp_path).rig
    serial = VirtualRobot(find_robot_file('soft_parallel'))
    monkeypatch.undo()
    assert rig.board.state is SerialState.ARMED
    assert serial.tick.faults == 0
    rig.device.close()
    rig.link.silent, began = True, rig.clock.time
    with pytest.raises(DeviceTimeout, match='HELLO'):
        rig.device.transport.open()
    assert rig.clock.time - began == pytest.approx(0.6 * 1.5, abs=0.01)


def test_lengths_are_reached_by_times_alone(tmp_path):
    robot = Robot(tmp_path)
    errors = [robot.go(target) for target in targets(3)]
    assert max(errors) < 1.5e-4
    # What the driver reckons is nearer than any single pulse could bring it.
    off = without_mean(robot.reading.applied - robot.lengths, 3)
    assert np.sqrt(np.mean(off**2)) < 5e-5
    assert np.isnan(robot.reading.measured).all()
    assert robot.reading.faults == 0 and not robot.reading.tripped
    robot.check_at_most_once()


@pytest.mark.parametrize('rate', [1e-3, 3e-3])
def test_lengths_that_move_are_followed(rate, tmp_path):
    robot = Robot(tmp_path)
    first, second = targets(2)
    robot.go(first)
    count = int(np.abs(second - first).max() / (0.1 * rate))
    way = first + np.linspace(0.0, 1.0, count)[:, None] * (second - first)
    off = []
    for now, then in itertools.pairwise(way):
        robot.rig.device.read()
        robot.rig.device.write(now, 0.5)
        robot.rig.link.pass_time(0.1)
        off.append(without_mean(robot.rig.bank.lengths - then, 3))
    # A shortest pulse is 0.1 to 0.35 mm; 0.2 s of delay would be up to 0.6 mm at the faster rate.
    assert np.sqrt(np.mean(np.square(off))) < 1.6e-4
    assert np.abs(off).max() < 6e-4


def test_one_step_of_the_lengths_is_not_gone_beyond(tmp_path):
    robot = Robot(tmp_path)
    target = next(iter(targets(1)))
    robot.go(target)
    there, step = robot.rig.bank.lengths, np.tile([4e-4, -2e-4, -2e-4], 10)
    robot.lengths = target + step
    robot.go(target + step, 0.6)
    gone = np.mean((robot.rig.bank.lengths - there) * np.sign(step))
    assert gone < 1.25 * np.mean(np.abs(step))


def test_the_declared_rate_is_one_that_the_muscles_have():
    robot = read_robot_file(find_robot_file('pam_continuum'))
    wiring = VirtualRig(robot, EventLog('')).device.wiring
    rate = max(a.rate for a in robot.actuators)
    for curve in wiring.curves:
        for length in np.linspace(curve.shortest + wiring.preload, 0.115, 20):
            state = curve.state(length)
            up = curve.length(curve.inflated(state, 0.1)) - length
            down = length - curve.length(curve.deflated(state, 0.1))
            # Two muscles of a module that go apart make one of them go twice as fast.
            assert min(up, down) > 0.1 * 2.0 * SLEW * rate


def test_muscles_are_vented_until_nothing_of_a_full_one_would_be_left(tmp_path):
    robot = Robot(tmp_path)
    assert len(robot.events('vented')) == 2
    assert robot.rig.bank.pressure == pytest.approx(-70e3, abs=400.0)


def test_after_a_rest_the_next_motion_is_as_good_as_the_first(tmp_path):
    robot = Robot(tmp_path)
    first, second = targets(2)
    robot.go(first)
    robot.go(np.full(30, 0.1), 12.0)
    assert np.all(robot.rig.bank.free == 0.08)
    assert robot.go(second) < 1.5e-4


def test_length_sensors_correct_the_drift_of_a_leak(tmp_path):
    sensed = ('length_sensors: false', 'length_sensors: true')
    errors = {}
    for name, changes in (('blind', ()), ('sensed', (sensed,))):
        folder = tmp_path / name
        folder.mkdir()
        robot = Robot(folder, *changes)
        robot.rig.bank.leak[:] = 1.0 / 40.0  # torn airbags
        for target in targets(3):
            errors[name] = robot.go(target)
    assert errors['blind'] > 5e-4
    assert errors['sensed'] < 2.5e-4


def test_a_missing_sensor_is_flagged(tmp_path):
    robot = Robot(tmp_path, ('length_sensors: false', 'length_sensors: true'))
    robot.rig.broken[4] = True
    robot.go(np.full(30, 0.1), 0.5)
    assert np.isnan(robot.reading.measured[4]) and robot.reading.flags[4]
    assert np.isfinite(np.delete(robot.reading.measured, 4)).all()


@pytest.mark.parametrize(
    'damage',
    [
        {'loss': 0.1},
        {'corruption': 0.1},
        {'repetition': 1.0},
        {'reordering': 0.3},
        {'direction': 'to_host', 'loss': 0.5},
        {'loss': 0.1, 'repetition': 0.3, 'reordering': 0.2, 'corruption': 0.05},
    ],
    ids=['lost', 'damaged', 'repeated', 'reordered', 'answers lost', 'everything'],
)
def test_a_bad_link_costs_no_accuracy(damage, tmp_path):
    robot = Robot(tmp_path)
    robot.damage(**damage)
    errors = [robot.go(target, 8.0) for target in targets(2)]
    assert max(errors) < 4.5e-4
    robot.check_at_most_once()
    assert robot.rig.board.state is SerialState.ARMED


def test_late_commands_are_refused_by_their_deadline(tmp_path):
    robot = Robot(tmp_path)
    (first, second) = targets(2)
    robot.go(first, 2.0)
    robot.damage('to_device', hold=0.36)
    robot.go(second, 8.0)
    assert 'STALE' in [e['reason'] for e in robot.events('refused')]
    window = robot.rig.device.transport.window
    assert window.late + window.lost > 0
    assert robot.events('watchdog') == []
    robot.check_at_most_once()


def test_silence_of_the_radio_trips_the_board(tmp_path):
    robot = Robot(tmp_path)
    (target,) = targets(1)
    robot.go(target, 2.0)
    robot.damage('to_device', loss=1.0)
    robot.go(target, 1.5)
    assert robot.reading.tripped
    assert len(robot.events('watchdog')) == 1


def test_heartbeats_end_when_set_points_end(tmp_path):
    robot = Robot(tmp_path)
    (target,) = targets(1)
    robot.go(target, 2.0)
    for _ in range(15):  # a law that hangs: feedback is still read
        robot.reading = robot.rig.device.read()
        robot.rig.link.pass_time(0.1)
    assert robot.reading.tripped


def test_a_reboot_is_noticed_and_the_robot_vented_before_it_moves_again(tmp_path):
    robot = Robot(tmp_path)
    (target,) = targets(1)
    robot.go(target, 1.5)
    robot.rig.board.reboot(robot.rig.clock.time)
    robot.rig.link.pass_time(0.6)
    robot.reading = robot.rig.device.read()
    assert robot.reading.faults & Fault.REBOOT
    device = robot.rig.device
    device.make_safe()
    device.reset()
    assert not device.ready()
    while not device.ready():
        robot.rig.link.pass_time(0.1)
    assert not device.read().faults
    device.arm()
    assert robot.rig.bank.free == pytest.approx(0.08, abs=1e-6)


def test_a_budget_of_the_board_that_is_used_up_is_a_fault(tmp_path):
    robot = Robot(tmp_path, ('vent_time: 6 s, budget: 6 s', 'vent_time: 6 s, budget: 0.9 s'))
    robot.go(0.1 + without_mean(np.tile([0.012, 0.0, 0.0], 10), 3), 6.0)
    assert robot.reading.faults & BUDGET
    assert 'BUDGET' in [e['reason'] for e in robot.events('refused')]


def test_the_drivers_own_budget_comes_first(tmp_path):
    robot = Robot(tmp_path, ('budget: {value: 5.2 s', 'budget: {value: 0.9 s'))
    robot.go(0.1 + without_mean(np.tile([0.012, 0.0, 0.0], 10), 3), 6.0)
    assert robot.reading.flags[0] and robot.reading.faults == 0
    assert robot.events('refused') == []


def test_no_more_muscles_are_inflated_at_once_than_the_supply_feeds(tmp_path):
    robot = Robot(tmp_path, ('simultaneous: {value: 15', 'simultaneous: {value: 4'))
    (target,) = targets(1)
    error = robot.go(target, 30.0)
    assert error < 4e-4
    open_, most = set(), 0
    for e in robot.events('valve'):
        if e['action'] == 'inflate':
            (open_.add if e['on'] else open_.discard)(e['muscle'])
            most = max(most, len(open_))
    assert 1 < most <= 4


def test_venting_ends_however_often_somebody_asks_for_it(tmp_path):
    robot = Robot(tmp_path)
    robot.go(next(targets(1)), 1.0)
    device, link, clock = robot.rig.device, robot.rig.link, robot.rig.clock
    device.make_safe()
    began, asked = clock.time, len(robot.events('vent'))
    while not device.ready():
        device.reset()  # a person who clears the fault every second
        device.make_safe()
        for _ in range(10):
            link.pass_time(0.1)
            device.read()
        assert clock.time - began < 8.5, 'venting takes 6 s'
    device.arm()
    vents = len(robot.events('vent'))
    assert vents <= asked + 1  # the second one was asked for before a STATUS told of the first
    device.make_safe()  # armed in between: everything begins anew
    assert len(robot.events('vent')) == vents + 1 and not device.ready()
