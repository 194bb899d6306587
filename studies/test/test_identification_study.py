# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Identification from recordings of emulated robots whose numbers are known."""

from __future__ import annotations

import numpy as np
import pytest

from soro_node.user_errors import UserError
from soro_recording.identify_postures import held, postures, SETTLING, WINDOW
from soro_studies.mechanics.identification_study import space_of
from soro_studies.system import emulated_recording
from soro_studies.system import identification_study as module
from soro_studies.system.emulated_recording import record
from soro_studies.system.identification_study import (
    CASES,
    main,
    of_postures,
    of_recording,
    OFFSET_CASES,
    SPEED,
    Trial,
)


@pytest.mark.timeout(240)
@pytest.mark.parametrize('case', [*CASES, *OFFSET_CASES], ids=str)
def test_known_numbers_and_offsets_lie_in_their_intervals(case, monkeypatch):
    monkeypatch.setattr(emulated_recording, 'RAMP', 0.4)  # s, in which nothing is found out
    trial = of_recording(case, 0)
    assert trial.recovered, trial
    assert max(trial.width.values()) < 0.1


def test_a_wrong_number_is_not_recovered(monkeypatch):
    """The same run, judged against numbers that lie outside of its intervals."""
    real, case = module._trial, CASES[2]
    assert of_postures(case, 0).recovered

    def shifted(found, truth, *others):
        return real(found, truth + (found.high - found.low).max(), *others)

    monkeypatch.setattr(module, '_trial', shifted)
    assert not of_postures(case, 0).recovered


def test_the_section_is_written_and_too_few_seeds_are_an_error(tmp_path, monkeypatch, capsys):
    page = tmp_path / 'page.md'
    page.write_text('# Page\n\nText.\n')
    good = Trial(True, {'a': 0.02, 'b': 0.01}, {'a': 0.001, 'b': -0.002})
    monkeypatch.setattr(module, 'of_postures', lambda case, seed: good)
    monkeypatch.setattr(module, 'of_recording', lambda case, seed: good)
    assert main(['--seeds', '20', '--write', str(page)]) == 0
    row = '| stiff_flop, ncm | numbers | 20 of 20 | +-2.00% (a) | 0.20% (b) |'
    assert page.read_text().count(row) == 2
    bad = Trial(False, good.width, good.error)
    monkeypatch.setattr(module, 'of_recording', lambda case, seed: bad if seed < 2 else good)
    assert main(['--seeds', '20']) == 1
    text = capsys.readouterr().out
    assert '| numbers | 18 of 20 |' in text
    assert 'recovered by 18 seeds or more' in text


@pytest.fixture(scope='module')
def moving():
    space = space_of('spatial_cc', 'constant_curvature')
    return record(space, 'constant_curvature', np.ones(len(space.names)), 5, 0.8, count=6)


def test_postures_on_the_way_do_not_count(moving):
    run, tip = moving
    commanded = run.actuation.commanded
    observations = postures(run, tip, SPEED)
    assert len(observations) == 6
    ends = [np.abs(commanded - a).max(axis=1).min() for a in observations.actuation]
    span = np.array([a.maximum - a.minimum for a in run.actuators])
    # At rest a regulator is as far off as its gain, not as far as its lag: 1 %, four deviations.
    assert max(ends) < 0.04 * span.max()


def test_what_is_held_is_told_from_what_is_commanded(moving):
    run, tip = moving
    span = np.array([a.maximum - a.minimum for a in run.actuators])
    resting = held(run.actuation, tip.time, span, SETTLING)
    for n in np.flatnonzero(resting):
        here = (tip.time >= tip.time[n] - SETTLING) & (tip.time <= tip.time[n])
        assert np.ptp(run.actuation.commanded[here], axis=0).max() < 0.01 * span.max()
    # Six rests of 1.5 s; each loses the settling time and half a window at both ends.
    assert 0 < resting.sum() * 0.04 <= 6 * (1.5 - SETTLING) + 0.5
    assert WINDOW < SETTLING


def test_a_robot_that_never_rests_is_refused(moving):
    run, tip = moving
    with pytest.raises(UserError, match='never rested'):
        postures(run, tip, SPEED, settling=5.0)
