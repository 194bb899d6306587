# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro identify --history: from a table of somebody's to a robot file whose past is undone."""

import json

import numpy as np
import pytest

from soro_cli.main import main
from soro_mechanics import load_robot
from soro_studies.mechanics.history_study import motion

MAPPING = """
actuators:
  actuator_1: {from: a, unit: kPa}
  actuator_2: {from: b, unit: kPa}
  actuator_3: {from: c, unit: kPa}
tip: {position: [x, y, z], unit: mm}
"""
CHOICE = ['--history', 'hysteresis', '--history', 'creep', '--history', 'delay']


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    """Return what is true, a table at the rate of the tracker, and its mapping."""
    folder = tmp_path_factory.mktemp('lab')
    truth = motion(load_robot('spatial_cc'), 5)
    data = truth.data
    values = [np.interp(data.seen, data.time, u) / 1e3 for u in data.actuation.T]
    table = np.column_stack([1e3 * data.seen, *values, 1e3 * data.points])
    rows = ['t,a,b,c,x,y,z', *(','.join(f'{x:.6g}' for x in row) for row in table)]
    (folder / 'run.csv').write_text('\n'.join(rows) + '\n')
    (folder / 'timed.yaml').write_text(MAPPING + 'time: {from: t, unit: ms}\n')
    (folder / 'untimed.yaml').write_text(MAPPING)
    return truth, folder


def asked(lab, capsys, *words, mapping='timed'):
    folder = lab[1]
    code = main([
        'identify', str(folder / 'run.csv'), '--robot', 'spatial_cc', '--model',
        'constant_curvature', '--mapping', str(folder / f'{mapping}.yaml'),
        '-o', str(folder), *words,
    ])  # fmt: skip
    return code, capsys.readouterr()


def test_the_past_of_a_table_is_found_drawn_and_written(lab, capsys):
    truth, folder = lab
    file = folder / 'mine.yaml'
    code, said = asked(lab, capsys, *CHOICE, '--json', '--write', str(file))
    answer = json.loads(said.out)
    assert code == 0 and answer['better']
    assert answer['held_after'] < 0.4 * answer['held_before']
    for name, true in truth.values.items():
        number = answer['found'][name]
        half = 0.5 * (number['high'] - number['low'])
        assert abs(number['value'] - true) < 2.0 * half  # four deviations
    assert (folder / 'identification.png').stat().st_size > 10_000
    robot = load_robot(file)
    kept = robot.description.structure['history']
    assert kept.weights.sum(axis=1) == pytest.approx(np.ones(3), abs=0.03)
    assert robot.description.actuators == load_robot('spatial_cc').description.actuators


def test_what_cannot_be_is_refused_by_its_option(lab, capsys):
    for words, mapping, field in (
        (CHOICE, 'untimed', 'time'),
        ([*CHOICE, '--marker-offset'], 'timed', '--history'),
    ):
        code, said = asked(lab, capsys, *words, mapping=mapping)
        assert code and field in said.err
