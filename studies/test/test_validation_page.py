# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check what the validation page reads from other pages, and that it is as new as the robots."""

import numpy as np
import pytest

from soro_studies.validation import measured_page, provenance, Verdict
from soro_studies.validation.__main__ import default_target
from soro_studies.validation.measured_page import (
    benchmarked,
    measured,
    measured_statement,
    PAGES,
    span,
)
from soro_studies.validation.page_tables import NotOnPage
from soro_studies.validation.provenance import (
    page_digests,
    recorded_digests,
    recorded_page_digests,
    robot_digests,
    source_digest,
)
from soro_studies.validation.registry import ROBOTS
from soro_studies.validation.report import rows_of

PAGE = """\
# A page

| what | error | share |
|---|---|---|
| one | 0.30 mm | 0.3% |

## Errors of the hand

| what | way | error |
|---|---|---|
| free | x | 0.30 mm |
| free | y | 0.05 mm |
| **held** | x | **1.5 mm** |
| paper | x | - |
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    (tmp_path / 'page.md').write_text(PAGE, encoding='utf-8')
    monkeypatch.setattr(measured_page, 'workspace', lambda: tmp_path)
    return 'page.md'


def test_the_page_is_as_new_as_the_robot_files(monkeypatch):
    monkeypatch.delenv('SORO_ROBOT_PATH', raising=False)
    recorded = recorded_digests(default_target().read_text(encoding='utf-8'))
    now = robot_digests()
    changed = sorted({name for name, _ in set(now.items()) ^ set(recorded.items())})
    assert not changed, f'validation.md is older than {", ".join(changed)}: make validate'


def test_the_page_is_as_new_as_the_pages_that_it_reads():
    recorded = recorded_page_digests(default_target().read_text(encoding='utf-8'))
    now = page_digests(PAGES)
    assert set(now) == set(PAGES)
    changed = sorted({name for name, _ in set(now.items()) ^ set(recorded.items())})
    assert not changed, f'validation.md is older than {", ".join(changed)}: make validate'


def test_the_digest_of_a_page_follows_what_is_read_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, 'workspace', lambda: tmp_path)
    names, found = ('page.md', 'page.md#bench_one', 'gone.md'), []
    for one, two in (('1 us', '2 us'), ('1 us', '3 us'), ('4 us', '3 us')):
        text = f'## bench_one.py\n\n{one}\n\n## bench_two.py\n\n{two}\n'
        (tmp_path / 'page.md').write_text(text, encoding='utf-8')
        digests = page_digests(names)
        report = '\n'.join(provenance.provenance(names))
        assert recorded_page_digests(report) == digests and set(digests) == set(names[:2])
        found.append(digests)
    assert len({digests['page.md'] for digests in found}) == 3
    whole = [digests['page.md#bench_one'] for digests in found]
    assert whole[0] == whole[1] != whole[2]


def test_a_benchmark_is_read_with_its_unit(tmp_path, monkeypatch):
    monkeypatch.setattr(measured_page, 'workspace', lambda: tmp_path)
    (tmp_path / 'docs/evidence').mkdir(parents=True)
    page = tmp_path / 'docs/evidence/performance.md'
    rows = 'median  p99\nA: one    104 us   150 us\nA: one more   2 s   3 s\nnothing   -\n'
    page.write_text(f'## src/bench_a.py\n\n```\n{rows}```\n', encoding='utf-8')
    assert benchmarked('bench_a', 'A: one') == ['0.104 ms']
    assert benchmarked('bench_a', 'A: one more') == ['2000 ms']
    for place in (('bench_b', 'A: one'), ('bench_a', 'A'), ('bench_a', 'nothing')):
        with pytest.raises(NotOnPage, match='performance.md'):
            benchmarked(*place)
    page.unlink()
    with pytest.raises(NotOnPage, match='performance.md'):
        benchmarked('bench_a', 'A: one')


def test_a_digest_follows_the_file(tmp_path, monkeypatch):
    file = tmp_path / 'one_more.yaml'
    monkeypatch.setenv('SORO_ROBOT_PATH', str(tmp_path))
    found = set()
    for text in ('length: 1 mm', 'length: 2 mm', 'length: 1 mm'):
        file.write_text(text, encoding='utf-8')
        found.add(robot_digests()['one_more'])
        assert recorded_digests('\n'.join(provenance.provenance())) == robot_digests()
    assert len(found) == 2


def test_the_digest_of_the_sources_follows_them(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, 'PACKAGE', tmp_path)
    found = set()
    for name, text in (('a.py', 'x = 1'), ('a.py', 'x = 2'), ('b.py', ''), ('b.txt', 'x')):
        (tmp_path / name).write_text(text, encoding='utf-8')
        found.add(source_digest())
    assert len(found) == 3


def test_cells_are_found_by_heading_row_and_column(page):
    assert measured(page, 'of the hand', 'free', 'error') == ['0.30 mm', '0.05 mm']
    assert measured(page, 'of the hand', 'free | y', 'error') == ['0.05 mm']
    assert measured(page, 'of the hand', '*', 'error') == ['0.30 mm', '0.05 mm', '1.5 mm']
    assert measured(page, '', '*', 'share') == ['0.3%']


@pytest.mark.parametrize(
    'place',
    [
        ('other.md', '', 'one', 'error'),
        ('page.md', 'of the foot', 'free', 'error'),
        ('page.md', 'of the hand', 'one', 'error'),
        ('page.md', 'of the hand', 'free', 'share'),
        ('page.md', 'of the hand', 'paper', 'error'),
    ],
)
def test_what_is_not_on_its_page_is_an_error(page, place):
    with pytest.raises(NotOnPage, match=place[0]):
        measured(*place)


def test_a_span_shows_least_and_largest():
    assert span(['0.30 mm', '0.05 mm']) == '0.05 to 0.30 mm'
    assert span(['0.3%']) == '0.3 %' and span(['2.000', '2.000']) == '2.000'


def test_a_page_decides_a_statement(page):
    cells = measured(page, 'of the hand', '*', 'error')
    row = measured_statement('x', 'grows', cells, 'at {}', lambda e: e[0] < e[-1], 'why')
    assert row.verdict is Verdict.MET and row.ours == 'at 0.30 mm, 0.05 mm, 1.5 mm'
    row = measured_statement('x', 'falls', cells, '{}', lambda e: e[0] > e[-1], 'why')
    assert row.verdict is Verdict.NOT_MET


def test_without_a_workspace_nothing_is_claimed_to_be_measured(monkeypatch):
    monkeypatch.setattr(measured_page, 'workspace', lambda: None)
    cells = measured('page.md', '', 'one', 'error')
    row = measured_statement('x', 'grows', cells, '{}', lambda e: bool(np.all(e)), 'why')
    assert row.ours == span(cells) == 'not measured'
    assert row.verdict is Verdict.NOT_COMPARABLE
    rows = {r.quantity: r for r in rows_of('pam_continuum')}
    for curve in ('circle', 'square', 'cardioid'):
        assert rows[f'{curve}: error'].ours == 'not measured'
        assert rows[f'{curve}: error against load'].verdict is Verdict.NOT_COMPARABLE


def test_the_page_has_a_section_for_every_robot():
    text = default_target().read_text(encoding='utf-8')
    assert all(f'## {title}\n' in text for title, _, _ in ROBOTS.values())
