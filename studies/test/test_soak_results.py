# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The last soak of every robot: kept small, judged from all of it, not lost to a shorter one."""

from __future__ import annotations

import json
import random

import pytest
from soak_samples import MEBI, PROCESSES, raw_of, samples_of

from soro_studies.system.reliability_page import HEAD, matrix_section, sections_of, write_section
from soro_studies.system.soak_growth import grown, growth, verdict
from soro_studies.system.soak_page import soak_section
from soro_studies.system.soak_results import (
    compact,
    MOST_ROWS,
    note_without_figures,
    objection,
    raw_results,
    store,
    stored,
    thinned,
)


def page_of(results, folder, names=('stiff_flop',)):
    return '\n'.join(soak_section(results, names, folder / 'evidence'))


def test_what_is_printed_comes_back_from_the_file(tmp_path):
    store(compact(raw_of()), tmp_path / 'soak')
    text = page_of(stored(tmp_path / 'soak'), tmp_path, ('stiff_flop', 'spatial_cc'))
    assert (
        '| [stiff_flop](soak/stiff_flop.json) | 2026-11-20 | 30.2 min | 3 | 2 | 700 '
        '| 5000 (467 ms), 0 refused | 2, 1 missed | 0.03 s | 2, 1 lost | 0.28 s | 0 | 1 of 21 |'
    ) in text
    assert '| stiff_flop | driver | 100.0 | +0.00 | 20 (+0) | 25 (+0) | flat |' in text
    assert 'on x86_64, 2 cores, Python 3.11.7.' in text
    assert 'Not run: spatial_cc.' in text
    assert '- stiff_flop: estop: not noticed (2 times)' in text
    assert (tmp_path / 'img/reliability_soak.png').stat().st_size > 0


def test_every_robot_has_its_own_run_in_the_table(tmp_path):
    other = {'minutes': 10.0, 'seed': 7, 'together': 1, 'began': '2026-12-01T00:00:00+00:00'}
    for raw in (
        raw_of(problems={}),
        raw_of('spatial_cc', 6.5, **other, problems={}, machine='aarch64', tracebacks=1),
    ):
        store(compact(raw), tmp_path / 'soak')
    text = page_of(stored(tmp_path / 'soak'), tmp_path)
    assert '(soak/stiff_flop.json) | 2026-11-20 | 30.2 min | 3 | 2 |' in text
    assert '(soak/spatial_cc.json) | 2026-12-01 | 6.5 of 10 min | 7 | 1 |' in text
    assert 'aarch64 (spatial_cc); x86_64, 2 cores, Python 3.11.7 (stiff_flop)' in text
    assert 'Not run' not in text
    assert '- spatial_cc: an error printed with its traceback (1 times)' in text


@pytest.mark.parametrize('hours', [0.5, 8])
def test_a_file_stays_small(hours, tmp_path):
    rng = random.Random(1)
    raw = raw_of(
        lasted=60 * hours,
        samples=samples_of(60 * hours, lambda k: rng.randrange(20 * MEBI, 400 * MEBI)),
    )
    store(compact(raw), tmp_path)
    assert (tmp_path / 'stiff_flop.json').stat().st_size < 10_000


@pytest.mark.parametrize('count', [1, 2, MOST_ROWS - 1, MOST_ROWS, MOST_ROWS + 1, 901, 14401])
def test_rows_are_thinned_evenly_and_keep_their_ends(count):
    rows = thinned(list(range(count)))
    assert len(rows) == min(count, MOST_ROWS)
    assert rows[0] == 0 and rows[-1] == count - 1
    steps = {b - a for a, b in zip(rows, rows[1:], strict=False)}
    assert not steps or max(steps) - min(steps) <= 1


def test_growth_is_judged_from_all_samples():
    kept = set(thinned(list(range(901))))
    memory = [100 * MEBI if k in kept else (100 + 0.05 * k) * MEBI for k in range(901)]
    samples = samples_of(30, memory.__getitem__)
    assert verdict(thinned(samples), 'driver') == 'flat'  # what the thinned ones would say
    found = {p['process']: p for p in compact(raw_of(samples=samples))['processes']}
    before, more = growth(samples, 'driver', 0)
    assert found['driver']['verdict'] == verdict(samples, 'driver') == 'memory grow'
    assert found['driver']['memory'] == [round(before / 1024), round(more / 1024)]


def test_helpers_that_come_and_go_are_in_the_curves_only():
    samples = samples_of(1)
    samples[3][1]['driver child 1'] = [50 * MEBI, 1, 4]
    result = compact(raw_of(samples=samples))
    assert [p['process'] for p in result['processes']] == sorted(PROCESSES)
    assert result['curves'][2:4] == [[4.0, 600 * 1024, 150], [6.0, 650 * 1024, 154]]


def test_a_short_run_replaces_a_long_one_only_when_asked(tmp_path):
    store(compact(raw_of()), tmp_path)
    short = compact(raw_of(lasted=2.3, minutes=2.0, seed=9))
    why = objection(short, tmp_path)
    assert 'stiff_flop.json stays, 30.2 min of 2026-11-20: this run was 2.3 min' in why
    assert 'instead of 30.2 min of 2026-11-20' in store(short, tmp_path)
    assert stored(tmp_path)['stiff_flop']['seed'] == 9
    assert objection(compact(raw_of()), tmp_path) == ''


def test_a_run_that_was_cut_short_is_not_stored_unasked(tmp_path):
    assert objection(compact(raw_of(lasted=14.9)), tmp_path) == (
        'not stored: this run was cut short, 14.9 of 30 min'
    )
    assert objection(compact(raw_of(lasted=15.1)), tmp_path) == ''
    store(compact(raw_of()), tmp_path)
    assert 'this run was 14.9 of 30 min' in objection(compact(raw_of(lasted=14.9)), tmp_path)
    assert objection(compact(raw_of('spatial_cc')), tmp_path) == ''


def test_a_run_without_figures_is_told_until_the_next_one(tmp_path):
    folder = tmp_path / 'soak'
    note_without_figures('spatial_cc', '2026-12-02T00:00:00+00:00', folder)
    assert 'Not run yet' in page_of(stored(folder), tmp_path)
    store(compact(raw_of()), folder)
    note_without_figures('stiff_flop', '2026-12-03T00:00:00+00:00', folder)
    text = page_of(stored(folder), tmp_path)
    assert '\nspatial_cc: its last run, 2026-12-02, left no figures: not active in time' in text
    assert '\nstiff_flop: its last run, 2026-12-03, left no figures' in text
    assert '| 2026-11-20 | 30.2 min |' in text and 'those of the run before' in text
    store(compact(raw_of(seed=4)), folder)
    assert 'stiff_flop: its last run' not in page_of(stored(folder), tmp_path)


def test_a_raw_file_of_a_whole_run_says_what_was_asked_of_each_robot(tmp_path):
    raw, run = raw_of(), {}
    for key in ('minutes', 'together', 'machine'):  # older files have them once
        run[key] = raw.pop(key)
    file = tmp_path / 'soak.json'
    file.write_text(json.dumps({**run, 'seed': 3, 'robots': [raw], 'missing': []}))
    assert [compact(r) for r in raw_results(file)] == [compact(raw_of())]
    file.write_text(json.dumps(raw_of()))
    assert [compact(r) for r in raw_results(file)] == [compact(raw_of())]


def test_a_file_has_its_rows_on_lines_of_their_own(tmp_path):
    store(compact(raw_of()), tmp_path)
    lines = (tmp_path / 'stiff_flop.json').read_text().splitlines()
    assert '[0.0, 614400, 150],' in lines and '"targets": 700,' in lines


def test_writing_one_section_keeps_the_others(tmp_path):
    page = tmp_path / 'reliability.md'
    matrix = '## Fault matrix\n\nOld.\n\n### 1. Cable pulled\n\n| a |\n|---|'
    page.write_text(f'# Reliability\n\nOld words.\n\n\n## Soak\n\nTable.\n\n{matrix}\n')
    write_section(soak_section({'stiff_flop': compact(raw_of())}, (), tmp_path / 'evidence'), page)
    text = page.read_text()
    assert text.startswith(HEAD) and text.endswith(f'\n\n{matrix}\n')
    assert 'Table.' not in text and '30.2 min' in text
    soak = sections_of(text)['Soak']
    write_section(matrix_section({}), page)
    text = page.read_text()
    assert sections_of(text)['Soak'] == soak and 'Old.' not in text
    write_section(matrix_section({}), page)
    assert page.read_text() == text


def test_a_section_comes_to_its_place(tmp_path):
    page = tmp_path / 'reliability.md'
    write_section(['\n## Fault matrix\n', 'M'], page)
    write_section(['\n## Soak\n', 'S'], page)
    assert page.read_text() == HEAD + '\n## Soak\n\nS\n\n## Fault matrix\n\nM\n'


def test_a_soak_that_was_not_run_is_not_made_up(tmp_path):
    assert 'Not run yet' in page_of({}, tmp_path)


def test_growth_is_a_problem_of_the_page_and_of_a_long_run_only():
    grows = {'samples': samples_of(30.2, memory=lambda k: (100 + 0.1 * k) * MEBI)}
    assert 'driver: memory grow' in grown(raw_of(**grows))
    assert grown(raw_of()) == []
    assert grown(raw_of(lasted=2.0, **grows)) == []


def test_the_page_says_what_was_refused_lost_and_grew(tmp_path):
    samples = samples_of(30.2, memory=lambda k: (100 + 0.1 * k) * MEBI)
    result = compact(raw_of(service_refusals=7, samples=samples))
    text = page_of({'stiff_flop': result}, tmp_path)
    assert '5000 (467 ms), 7 refused' in text and '| 2, 1 lost |' in text
    assert '3 problems other than growth:' in text
    assert '- stiff_flop: stop missed: late (1 times)' in text
    assert '- stiff_flop: driver: memory grow' in text


def test_the_page_says_when_a_problem_was_seen_and_what_was_done_and_said_before(tmp_path):
    moments = [
        {'problem': 'estop: not noticed', 'after': t, 'late': 0.314, 'stolen': 0.0}
        for t in (40.2, 900.4)
    ]
    moments[1]['said'] = ['-0.250 s driver: armed', '-0.100 s emulator: rebooted']
    text = page_of({'stiff_flop': compact(raw_of(moments=moments))}, tmp_path)
    assert '  - before 900 s: `-0.250 s driver: armed`; `-0.100 s emulator: rebooted`' in text
    assert 'before 40 s' not in text
    assert 'not noticed (2 times, at 40 s (0.31 s), 900 s (0.31 s); in brackets how late' in text
    assert 'stop missed: late (1 times)' in text
