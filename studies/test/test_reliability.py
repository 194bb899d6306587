# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What writes docs/evidence/reliability.md: no cell forgotten, no growth overlooked."""

from __future__ import annotations

import os
from pathlib import Path
import threading
import uuid

import pytest

from soro_studies.system.fault_matrix import covered_cells
from soro_studies.system.injections import DEVICES, DRIVES, INJECTIONS, reason
from soro_studies.system.process_figures import (
    figures_of,
    left_segments,
    processes_below,
    segments_of,
    SHARED,
)
from soro_studies.system.reliability_page import matrix_section
from soro_studies.system.soak import robots
from soro_studies.system.soak_faults import FAULTS
from soro_studies.system.soak_growth import growth, verdict

WORKSPACE = Path(__file__).resolve().parents[2]
MEBI = 2.0**20


def test_every_cell_of_the_fault_matrix_has_a_test_or_a_reason(monkeypatch):
    monkeypatch.chdir(WORKSPACE)
    covered = covered_cells()
    every = {(d, number) for d in (*DEVICES, *DRIVES) for number in INJECTIONS}
    reasons = {(d, number) for d, number in every if reason(d, number)}
    assert covered | reasons == every
    assert not covered & reasons, 'a reason for a cell that a test covers'


def test_the_soak_breaks_every_device():
    assert set(FAULTS) == {*DEVICES, 'simulated'}
    assert all(any(f.stops for f in faults) for faults in FAULTS.values())


def evidence(outcome, **values):
    return {
        'test': 'test_a.py::test_b[can]',
        'cells': [['can', 2]],
        'outcome': outcome,
        'at': 0.0,
        'injected': ['silent'],
        'log': ['+0.2 s state state=SAFE'],
        'safe': 0.2,
        'level': 2,
        'diagnostics': 'device lost',
        'noticed': 0.3,
        'state': 'UNCONFIGURED',
        **values,
    }


def test_the_last_attempt_counts_and_the_others_are_told():
    runs = [evidence('failed'), evidence('passed', safe=0.25)]
    text = '\n'.join(matrix_section({'test_a.py::test_b[can]': runs}))
    assert '1 of 1 tests passed; 1 needed more' in text
    assert '`test_b[can]` (2) | +0.2 s state state=SAFE | 0.25 s | device lost (0.30 s)' in text
    assert '| 2 | Peer alive but silent, or frozen | owed | owed | owed | 1/1 |' in text
    text = '\n'.join(matrix_section({'test_a.py::test_b[can]': runs[:1]}))
    assert 'FAILED, UNCONFIGURED' in text and '| owed | owed | owed | 0/1 |' in text


def run_of(memory, files):
    """Return samples of one process, every two seconds for ten minutes."""
    return [(2.0 * k, {'driver': [int(memory(k)), 20, int(files(k))]}) for k in range(300)]


@pytest.mark.parametrize(
    ('memory', 'files', 'expected'),
    [
        (lambda k: 100 * MEBI + (k < 20) * -40 * MEBI, lambda k: 25, 'flat'),
        (lambda k: (100 + 0.05 * k) * MEBI, lambda k: 25, 'memory grow'),
        (lambda k: 100 * MEBI, lambda k: 25 + k // 50, 'files grow'),
    ],
)
def test_growth_is_seen_after_warming_up(memory, files, expected):
    assert verdict(run_of(memory, files), 'driver') == expected


def test_growth_is_that_between_the_medians():
    before, more = growth(run_of(lambda k: k * MEBI, lambda k: 0), 'driver', 0)
    assert before == pytest.approx(112 * MEBI, rel=0.01)  # second quarter: 75 to 150
    assert more == pytest.approx(150 * MEBI, rel=0.01)


def test_figures_of_a_process_are_those_of_the_kernel(tmp_path):
    before = figures_of(os.getpid())
    block, waiting = bytearray(64 * 2**20), threading.Event()
    block[::4096] = b'\1' * (len(block) // 4096)  # touched, so resident
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    with (tmp_path / 'file').open('w'):
        after = figures_of(os.getpid())
    waiting.set()
    thread.join()
    assert after.memory - before.memory > 60 * MEBI
    assert (after.threads, after.files) == (before.threads + 1, before.files + 1)
    assert figures_of(2**22 + 1) is None  # above the largest number of a process


def test_memory_that_a_process_has_left_behind_is_found():
    name = f'fastdds_{uuid.uuid4().hex}'
    segment, lock = Path(SHARED, name), Path(SHARED, f'{name}_el')
    try:
        segment.touch()
        with lock.open('w'):
            assert name in segments_of(os.getpid())
            assert left_segments({name}) == []  # in use
        assert name not in segments_of(os.getpid())
        assert left_segments({name, 'fastdds_never_made'}) == [name]
        segment.unlink()
        assert left_segments({name}) == []
    finally:
        segment.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)
    assert segments_of(2**22 + 1) == set()  # above the largest number of a process


def test_every_robot_of_the_catalogue_that_can_be_broken_is_soaked():
    assert set(robots()) >= {'pam_continuum', 'stewart_gough', 'stiff_flop_two_segment'}


def test_processes_are_called_as_the_launcher_says():
    found = processes_below(os.getppid(), f'[launch] [tests] started, pid {os.getpid()}\n')
    assert found['launch'] == os.getppid() and found['tests'] == os.getpid()
