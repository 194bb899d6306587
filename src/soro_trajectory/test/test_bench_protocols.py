# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bench protocols keep limits and rates, and write tables that their readers take."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import load_robot, Robot
from soro_mechanics.analysis.measured_compliance import read_pulls
from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_msgs.action import BenchProtocol
from soro_recording.mapped_run import MappedRun
from soro_trajectory.bench_protocols import chirp, levels, reach, table_path, write_table


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


def goal(protocol='stretch', **fields):
    return BenchProtocol.Goal(protocol=protocol, **fields)


def test_stretch_moves_one_actuator_after_the_other_up_and_back(robot):
    found = levels(robot, goal(amplitude=0.4, count=5, actuator_name=['pair_1', 'pair_3']))
    assert found.shape == (18, 3)
    assert ((found > 0.0).sum(axis=1) <= 1).all()
    assert (found[:, 1] == 0.0).all()
    assert found.max() == pytest.approx(0.4 * robot.limits.max())
    assert found[:9, 0] == pytest.approx(found[8::-1, 0])  # a triangle
    assert not any(robot.violations(a) for a in found)


def test_a_chirp_keeps_rates_and_rises_from_one_frequency_to_the_other(robot):
    rates = np.array([a.rate for a in robot.actuators])
    asked = goal(
        'chirp', amplitude=0.1, duration=20.0, lowest_frequency=0.2, highest_frequency=1.0
    )
    sweep = chirp(robot, asked, rates)
    speed = np.abs(np.diff(sweep.actuation, axis=0)) / np.diff(sweep.time)[:, None]
    assert (speed <= rates * 1.001).all()
    assert not any(robot.violations(a) for a in sweep.actuation)
    middle = sweep.actuation[:, 0] - sweep.actuation[0, 0]
    crossings = sweep.time[1:][np.diff(np.sign(middle)) > 0]
    assert 1.0 / np.diff(crossings)[0] < 0.35
    assert 1.0 / np.diff(crossings)[-1] > 0.9
    assert len(crossings) == pytest.approx(0.6 * 20.0, abs=1.5)  # the mean frequency
    for name in ('stiff_flop', 'pam_continuum', 'haptic_5dof'):  # by default it is possible
        other = load_robot(name)
        rates = np.array([a.rate for a in other.actuators])
        sweep = chirp(other, goal('chirp'), rates)
        speed = np.abs(np.diff(sweep.actuation, axis=0)) / np.diff(sweep.time)[:, None]
        assert speed.max() > 0.1 * rates.min() and (speed <= rates * 1.001).all()
    rates = np.array([a.rate for a in robot.actuators])
    with pytest.raises(InvalidInput) as refused:
        chirp(robot, goal('chirp', amplitude=0.5, highest_frequency=50.0), rates)
    assert refused.value.field == 'highest_frequency'
    with pytest.raises(InvalidInput) as refused:  # 1.5 bar in each pair by itself, not in all
        chirp(robot, goal('chirp', amplitude=1.0, highest_frequency=0.1), rates)
    assert refused.value.field == 'amplitude'
    with pytest.raises(InvalidInput) as refused:  # its points would fill the memory
        chirp(robot, goal('chirp', amplitude=1e-6, duration=9e5), rates)
    assert refused.value.field == 'duration'


@pytest.mark.parametrize(
    'fields',
    [
        {'amplitude': 1.5},
        {'amplitude': float('nan')},
        {'settle_time': -1.0},
        {'duration': float('inf')},
        {'actuator_name': ['pair_9']},
        {'protocol': 'dance'},
    ],
)
def test_what_makes_no_sense_is_refused(robot, fields):
    with pytest.raises((InvalidInput, UnknownName)):
        reach(robot, goal(**{'protocol': 'step', **fields}))


def limited(name, low, high):
    """Return a robot whose actuators go so far down and up from rest [SI]."""
    description = load_robot(name).description
    actuators = tuple(
        replace(a, minimum=a.rest - low, maximum=a.rest + high) for a in description.actuators
    )
    return Robot(replace(description, actuators=actuators), 'kirchhoff')


def test_muscles_that_only_contract_are_moved_that_way():
    contracting = limited('pam_continuum', 0.02, 0.0)
    rates = np.array([a.rate for a in contracting.actuators])
    rest, end = reach(contracting, goal(amplitude=0.4))
    assert end - rest == pytest.approx(np.full(30, -0.4 * 0.02))
    assert levels(contracting, goal(count=3)).shape == (150, 30)
    assert np.ptp(chirp(contracting, goal('chirp'), rates).actuation) > 1e-4
    for found in (levels(contracting, goal()), chirp(contracting, goal('chirp'), rates).actuation):
        assert not any(contracting.violations(a) for a in found)
    rest, end = reach(limited('pam_continuum', 0.02, 0.02), goal('step'))  # as before: up
    assert end - rest == pytest.approx(np.full(30, 0.5 * 0.02))


@pytest.mark.parametrize('name', ['my_arm.csv', 'my_arm.yaml'])
def test_a_table_and_its_mapping_replace_nothing(tmp_path, name):
    """They are measured; a robot file may have the mapping's name."""
    (tmp_path / name).touch()
    with pytest.raises(InvalidInput, match=f'another name: {name} exists'):
        table_path(str(tmp_path / 'my_arm.csv'))
    if name == 'my_arm.yaml':
        assert table_path(str(tmp_path / 'my_arm.csv'), mapped=False)  # of pulls


def test_tables_go_where_they_can_and_are_read_by_identify_and_compliance(robot, tmp_path):
    for text in ('relative.csv', str(tmp_path / 'no.txt'), '/nowhere/table.csv'):
        with pytest.raises(InvalidInput):
            table_path(text)
    drives = tuple(f'{a.name} [{a.unit}]' for a in robot.actuators)
    places, rows = ('x [m]', 'y [m]', 'z [m]'), np.arange(24.0).reshape(4, 6) * 1e-3
    table = table_path(str(tmp_path / 'levels.csv'))
    write_table(table, drives, (*drives, *places), rows)
    run = MappedRun(table, tmp_path / 'levels.yaml', 'stiff_flop')
    assert run.actuation.measured == pytest.approx(rows[:, :3])
    assert run.tip.poses[:, :3] == pytest.approx(rows[:, 3:])
    timed = np.column_stack([np.arange(4.0), rows])
    write_table(table, drives, ('time [s]', *drives, *places), timed)
    run = MappedRun(table, tmp_path / 'levels.yaml', 'stiff_flop')
    assert run.tip.time == pytest.approx(np.arange(4.0))
    assert np.isnan(run.actuation.commanded).all()
    asked = tuple(f'{a.name}_commanded [{a.unit}]' for a in robot.actuators)
    both = np.column_stack([timed[:, :1], rows[:, :3] + 1.0, timed[:, 1:]])
    write_table(table, drives, ('time [s]', *asked, *drives, *places), both)
    run = MappedRun(table, tmp_path / 'levels.yaml', 'stiff_flop')
    assert run.actuation.commanded == pytest.approx(rows[:, :3] + 1.0)
    assert run.actuation.present == pytest.approx(rows[:, :3])
    part = tmp_path / 'part.yaml'
    mapping = (tmp_path / 'levels.yaml').read_text()
    part.write_text(mapping.replace(f", commanded: '{asked[1]}'", ''))
    with pytest.raises(RobotFileError, match=f'actuators.{robot.actuators[1].name}.commanded'):
        MappedRun(table, part, 'stiff_flop')
    pulls = np.vstack([np.zeros(6), rows[1:]])
    write_table(tmp_path / 'pulls.csv', (), ('fx [N]', 'fy [N]', 'fz [N]', *places), pulls)
    read = read_pulls(tmp_path / 'pulls.csv')
    assert read.forces == pytest.approx(rows[1:, :3])
    assert read.displacements == pytest.approx(rows[1:, 3:])
    assert not (tmp_path / 'pulls.yaml').exists()
