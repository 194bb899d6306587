# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check what the validation reads of other studies, and its rows."""

import json

import pytest

from soro_studies.validation import provenance, stored, Verdict
from soro_studies.validation.provenance import robot_digests, source_digest
from soro_studies.validation.registry import rows_of
from soro_studies.validation.results import row_data, row_from
from soro_studies.validation.row import number
from soro_studies.validation.stored import (
    assumed_order,
    benchmarked,
    NOT_MEASURED,
    NotStored,
    span,
)


def test_rows_survive_the_way_there_and_back():
    row = number('x', 10.0, 9.1, 'm', 0.05, note='why')
    assert row_from(json.loads(json.dumps(row_data(row)))) == row


def test_a_digest_follows_the_file(tmp_path, monkeypatch):
    file = tmp_path / 'one_more.yaml'
    monkeypatch.setenv('SORO_ROBOT_PATH', str(tmp_path))
    found = set()
    for text in ('length: 1 mm', 'length: 2 mm', 'length: 1 mm'):
        file.write_text(text, encoding='utf-8')
        found.add(robot_digests()['one_more'])
    assert len(found) == 2


def test_the_digest_of_the_sources_follows_them(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, 'PACKAGE', tmp_path)
    found = set()
    for name, text in (('a.py', 'x = 1'), ('a.py', 'x = 2'), ('b.py', ''), ('b.txt', 'x')):
        (tmp_path / name).write_text(text, encoding='utf-8')
        found.add(source_digest())
    assert len(found) == 3


@pytest.fixture
def evidence(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, 'workspace', lambda: tmp_path)
    folder = tmp_path / 'docs' / 'evidence'
    folder.mkdir(parents=True)
    return folder


def test_numbers_are_read_from_beside_the_page(evidence):
    (evidence / 'page.json').write_text('{"error": 0.3}')
    assert stored.stored('docs/evidence/page.md') == {'error': 0.3}
    with pytest.raises(NotStored, match=r'docs/evidence/other\.json'):
        stored.stored('docs/evidence/other.md')


def test_a_benchmark_is_read_by_its_row(evidence):
    rows = {'A: one': {'median': 1e-4, 'p99': 2e-4}}
    kept = {'benchmarks/x/bench_a.py': {'rows': rows}}
    (evidence / 'performance.json').write_text(json.dumps(kept))
    assert benchmarked('bench_a', 'A: one') == 1e-4
    for place in (('bench_b', 'A: one'), ('bench_a', 'A')):
        with pytest.raises(NotStored, match='no row'):
            benchmarked(*place)


def test_a_span_shows_least_and_largest():
    assert span([0.3, 0.05], 'mm', 2) == '0.05 to 0.30 mm'
    assert span([2.0, 2.0], '', 3) == '2.000'
    assert span([], 'mm', 2) == NOT_MEASURED


def test_a_stored_study_decides_a_row_that_is_an_assumption():
    row = assumed_order('x', 'grows', [1.0, 2.0], '1, 2', True, 'why')
    assert row.verdict is Verdict.MET and row.kind.value == 'assumption'
    assert assumed_order('x', 'falls', [1.0], '1', False, 'why').verdict is Verdict.NOT_MET


def test_without_a_workspace_nothing_is_claimed_to_be_measured(monkeypatch):
    monkeypatch.setattr(stored, 'workspace', lambda: None)
    assert benchmarked('bench_a', 'A: one') is None
    rows = {r.quantity: r for r in rows_of('pam_continuum')}
    for curve in ('circle', 'square', 'cardioid'):
        assert rows[f'{curve}: error'].ours == NOT_MEASURED
        assert rows[f'{curve}: error against load'].verdict is Verdict.NOT_COMPARABLE
