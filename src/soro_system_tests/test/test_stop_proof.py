# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A sample of the proof that nothing moves a stopped robot; `make reliability` runs all of it."""

from contextlib import nullcontext
import json
import subprocess

import pytest

from soro_studies.system import stop_proof
from soro_studies.system.stop_proof import Case, cases, ENDS, ENVIRONMENT, page
from soro_studies.system.stop_senders import RATES, RAW, STEPS, TARGET_KINDS


def test_every_end_meets_every_rate_and_every_publisher():
    found = list(cases(TARGET_KINDS, ENDS, RATES))
    assert {(c.end, c.rate) for c in found} == {(e, r) for e in ENDS for r in RATES}
    assert {(c.end, c.kind) for c in found} == {(e, k) for e in ENDS for k in (*TARGET_KINDS, RAW)}
    assert {(c.kind, c.mixed) for c in found} == {
        (k, mixed) for k in (*TARGET_KINDS, RAW) for mixed in (False, True)
    }
    assert {c.step for c in found} == set(STEPS)
    hand = list(cases(('target_actuation', ENVIRONMENT), ENDS, RATES))
    assert {c.kind for c in hand} == {'target_actuation', ENVIRONMENT}


def test_a_case_says_what_it_is():
    words = Case('stop', 'viewer', 0.5, True, 0.4).words
    assert words == 'stop: viewer at 0.5 Hz, refused ones between, stamps 0.4 s back'


def test_the_page_counts_what_is_stored(tmp_path, monkeypatch):
    result = {'robot': 'arm', 'cases': 3, 'messages': 70, 'moves': ['a'], 'trouble': []}
    (tmp_path / 'can.json').write_text(json.dumps(result))
    monkeypatch.setattr('soro_studies.system.stop_proof.RESULTS', tmp_path)
    assert '| can | arm | 3 | 70 | 1 | 0 |' in page()


@pytest.mark.timeout(400)
def test_nothing_moves_a_stopped_robot_before_a_person_clears_it(running, monkeypatch, capsys):
    monkeypatch.setattr(stop_proof, 'launched_robot', lambda *_, **__: nullcontext(running))
    monkeypatch.setenv('XDG_DATA_HOME', '')
    words = ['--one', 'nidaq', '--keep', '--ends', 'stop,lost', '--rates', '0.5,50']
    code, said = stop_proof.main(words), capsys.readouterr().out[-3000:]
    result = json.loads(said[said.index('{\n') :])
    assert result['moves'] == [] and result['cases'] == 6, said
    assert code == 0, said


def test_each_device_has_a_process(monkeypatch):
    commands, codes = [], iter((0, 1))

    def run(command, env, check):
        assert env['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST' and env['ROS_DOMAIN_ID']
        commands.append(command[command.index('--one') :])
        return subprocess.CompletedProcess(command, next(codes))

    monkeypatch.setattr(stop_proof.subprocess, 'run', run)
    assert stop_proof.main(['--devices', 'nidaq,can', '--keep', '--ends', 'stop']) == 1
    assert [c[1] for c in commands] == ['nidaq', 'can'] and all('--keep' in c for c in commands)
