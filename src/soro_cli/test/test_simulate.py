# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro simulate: what it writes against statics, an oscillator and a recording."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from recorded_run import HOLD, RecordedRun
from scipy.spatial.transform import Rotation

from soro_cli.main import main
from soro_cli.recorded_bodies import recorded_bodies
from soro_cli.simulation_figure import ENERGIES
from soro_mechanics import load_robot
from soro_msgs.msg import Revision
from soro_recording.bag_writer import BagWriter
from soro_recording.open_bag import open_bag
from soro_recording.run_data import RunData
from soro_recording.run_player import write_player

FAST = ('--elements', '4', '--step', '5ms')


def simulated(capsys, tmp_path, *words):
    """Return the numbers and the table of a simulation."""
    code = main(['simulate', *words, *FAST, '--json', '-o', str(tmp_path)])
    numbers = json.loads(capsys.readouterr().out)
    assert code == 0, numbers
    assert (tmp_path / 'simulation.png').stat().st_size > 10_000
    return numbers, np.genfromtxt(tmp_path / 'simulation.csv', delimiter=',', names=True)


def test_a_step_rings_at_the_first_mode_around_the_static_tip(capsys, tmp_path):
    numbers, table = simulated(capsys, tmp_path, 'stiff_flop', '0.2bar', '0', '0')
    assert len(table) == 401
    assert table['pair_1'][[10, -1]] == pytest.approx([1e4, 2e4])  # 2 bar/s
    still = load_robot('stiff_flop').forward([2e4, 0.0, 0.0]).tip[:3, 3]
    assert numbers['tip'] == pytest.approx(still, abs=1e-4)  # another theory
    late = table['x'][21:] - table['x'][-1]  # the actuators have arrived
    turns = np.flatnonzero(np.diff(np.sign(np.diff(late[:80]))))
    half = 0.005 * np.diff(turns).mean()
    assert 0.5 / half == pytest.approx(numbers['frequency'][0], rel=0.05)
    # damping of the mode: what is left after half a swing
    left = -late[turns[1] + 1] / late[turns[0] + 1]
    zeta = -np.log(left) / np.hypot(np.pi, np.log(left))
    assert zeta == pytest.approx(numbers['damping'][0], rel=0.15)
    stored = sum(table[name] for name in ENERGIES[:3])
    assert table['work'] - table['dissipated'] == pytest.approx(stored - stored[0], abs=2e-4)


def test_inputs_begin_at_rest_and_go_where_they_should(capsys, tmp_path):
    words = ('spatial_cc', '0.3bar', '0', '0', '--duration', '1')
    _, ramp = simulated(capsys, tmp_path, *words, '--input', 'ramp', '--rise', '0.5s')
    assert ramp['actuator_1'][[0, 50, 100, 200]] == pytest.approx([0.0, 1.5e4, 3e4, 3e4])
    _, chirp = simulated(
        capsys, tmp_path, *words, '--input', 'chirp', '--chirp', '1', '3', '--emulated'
    )
    # two whole periods in 1 s: frequency rises from 1 to 3 Hz
    peaks = np.flatnonzero(np.diff(np.sign(np.diff(chirp['actuator_1']))) < 0)
    assert len(peaks) == 2
    assert chirp['actuator_1'][[0, -1]] == pytest.approx([0.0, 0.0], abs=1.0)


def test_a_recording_is_what_drives_it(capsys, tmp_path):
    run = RecordedRun(tmp_path / 'run', postures=3)
    words = ('spatial_cc', '--bag', str(run.folder), '--duration', '3')
    _, table = simulated(capsys, tmp_path / 'out', *words)
    random = np.random.default_rng(1)  # as the recording was made
    random.uniform(size=len(run.truth))
    for row in (160, 480):  # every posture is held for 1.6 s
        expected = 0.8 * run.robot.limits[:, 1] * random.uniform(size=3)
        found = [table[f'actuator_{i}'][row] for i in (1, 2, 3)]
        assert found == pytest.approx(expected)
        random.standard_normal((HOLD, 3))


def test_its_recording_is_played_and_drives_it_again(capsys, tmp_path):
    words = ('stiff_flop', '0.4bar', '0', '0', '--duration', '0.5')
    bag, again = tmp_path / 'bag', tmp_path / 'again'
    _, table = simulated(capsys, tmp_path / 'one', *words, '--record', str(bag))
    with open_bag(bag) as opened:
        assert opened.revision == Revision.CURRENT
        run = RunData(opened, '/stiff_flop')
        bodies = recorded_bodies(run)
        assert write_player(run, tmp_path / 'player.html', bodies)
        written = re.search(r'const run = (\{.*\});', (tmp_path / 'player.html').read_text())
        drawn = dict(zip(bodies, json.loads(written[1])['bodies'], strict=True))
        assert drawn['ground']['poses'] is None
        # The plate across the end of the last segment is as wide as that, and stays at the tip.
        (name,) = set(drawn) - {'ground'}
        corners, poses = np.array(drawn[name]['corners']), np.array(drawn[name]['poses'])
        places = Rotation.from_quat(poses[:, 3:]).apply(corners.mean(axis=0)) + 1e3 * poses[:, :3]
        np.testing.assert_allclose(places, 1e3 * run.shapes().tip[:, :3], atol=1.0)
        around = np.linalg.norm(corners - corners.mean(axis=0), axis=1).max()
        assert around == pytest.approx(1e3 * run.shapes().radii[-1], rel=0.2)
        shapes = run.shapes()
        every = 4  # 20 ms, in steps
        places = np.stack([table[n][::every] for n in 'xyz'], axis=1)
        np.testing.assert_allclose(shapes.tip[:, :3], places, atol=1e-9)
        np.testing.assert_allclose(np.diff(shapes.time), 0.02, atol=1e-6)
    _, second = simulated(capsys, again, 'stiff_flop', '--bag', str(bag))
    np.testing.assert_allclose(second['x'], table['x'][: len(second)], atol=1e-5)
    assert main(['simulate', *words, *FAST, '--record', str(bag), '-o', str(again)]) != 0


def test_a_recording_that_the_disk_did_not_take_is_no_result(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(BagWriter, 'dropped', property(lambda self: 3))
    words = ['stiff_flop', '0.4bar', '0', '0', *FAST, '-o', str(tmp_path / 'out')]
    assert main(['simulate', *words, '--record', str(tmp_path / 'bag')]) == 1
    assert '3 messages were not written' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (('--chirp', '1', '8'), '--chirp is for --input chirp'),
        (('--input', 'chirp', '--chirp', '-1', '8'), '--chirp = -1.0: expected a finite'),
        (('--input', 'chirp', '--chirp', '1', '8mm'), "'mm' measures another dimension"),
        (('--rise', '1s'), '--rise is for --input ramp'),
        (('--input', 'ramp', '--rise', '0s'), '--rise = 0.0: expected a finite'),
        (('--bag', 'run'), '--bag brings its actuation'),
        (('--duration', '2mm'), "'mm' measures another dimension"),
        (('--step', 'nan'), '--step = nan'),
        (('--elements', '100000'), 'at most 1000'),
    ],
)
def test_what_does_not_belong_together_is_refused_in_one_line(capsys, words, said):
    assert main(['simulate', 'stiff_flop', '0.1bar', '0', '0', *words]) != 0
    error = capsys.readouterr().err
    assert said in error and error.count('soro: ') == 1 + ('kernels' in error)


def test_what_is_missing_is_said(capsys, tmp_path):
    assert main(['simulate', 'stiff_flop', '--json']) == 2
    assert main(['simulate', 'stiff_flop', '9bar', '0', '0', '--json']) != 0
    assert main(['simulate', 'stiff_flop', '1bar', '0', '0', '--duration', '-1', '--json']) != 0
    capsys.readouterr()
    numbers, _ = simulated(
        capsys, tmp_path, 'stewart_gough', 'length_1=0.41m', '--duration', '0.1'
    )
    assert numbers['frequency'] == []  # no masses in its file
