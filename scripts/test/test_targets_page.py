# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Targets are read from what is stored, judged, and never vanish in silence."""

import json
from pathlib import Path
import re

import house_rules
from measured_numbers import measured, Place, Quantity, stored, values_at
from page_tables import NotOnPage, section
import pytest
import targets_page
from targets_page import TargetError

ROOT = Path(__file__).resolve().parents[2]
SPEED = """# Speed

## src/bench_rods.py

2026-11-22, two cores

```
# no heading
median       p99     least processor    target
rods: forward            1.1 ms   1.2 ms    900 us    950 us      1 ms ok  28000 / s
rods: forward, loaded    1.2 ms   1.3 ms      1 ms   1.15 ms      1 ms MISSED
  n=10    4.0e-03    1 ms
  n=20    1.0e-03    2 ms
```

## Loop

Written on 2026-11-20 from run_2026-11-19_10-00.

| ms | median | 99 % |
|---|---|---|
| **computation** | 0.310 | 0.518 |
| period | 2.000 | 2.100 |

| Robot | Model | Stops | Verdict |
|---|---|---|---|
| a | one | 7, 0 missed | flat |
| a | two | 5, 1 missed | memory grow |
| b | one | 6, 2 missed | flat |
"""
KEPT = {
    'benchmarks/a/bench_rods.py': {
        'date': '2026-11-22',
        'lines': SPEED.splitlines()[6:14],
        'rows': {'rods: forward': {'median': 1.1e-3, 'p99': 1.2e-3, 'processor': 9.5e-4}},
    },
    'loop': {
        'date': '2026-11-20',
        'runs': [{'missed': 0}, {'missed': 1}, {'missed': 2}],
        'computation': 0.310,
    },
}
TARGETS = """
sources:
  rods:
    page: docs/speed.md
    section: bench_rods
    command: make bench ARGS=bench_rods
    data: docs/speed.json
    stored: bench_rods
  loop: {page: docs/speed.md, section: Loop, command: make loop,
         data: docs/speed.json, stored: loop}
subjects:
  rods:
    - {what: forward, target: at most 1 ms, source: rods, read: {benchmark: 'rods: forward'}}
  loop:
    - {what: stops missed, target: exactly 0, source: loop, cause: It rained., next: A roof.,
       read: {key: runs/*/missed, take: sum}}
    - {what: computation, target: stated in ms, source: loop, cause: None., next: None.,
       read: {key: computation, unit: ms}}
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes targets, with one change, into a tree with one page.

    It returns the file in which what is measured is stored.
    """
    (tmp_path / 'docs').mkdir()
    (tmp_path / 'docs/speed.md').write_text(SPEED)
    (tmp_path / 'docs/speed.json').write_text(json.dumps(KEPT))
    monkeypatch.setattr(targets_page, 'ROOT', tmp_path)
    monkeypatch.setattr(targets_page, 'TARGETS', tmp_path / 'targets.yaml')
    monkeypatch.setattr(targets_page, 'PAGE', tmp_path / 'docs/targets.md')

    def write(old: str = '', new: str = '') -> Path:
        assert old in TARGETS
        targets_page.TARGETS.write_text(TARGETS.replace(old, new))
        return tmp_path / 'docs/speed.json'

    return write


CHECKS = {
    'date': '2026-11-21',
    'checks': [
        {'robot': 'a', 'model': 'one', 'error': 1e-6, 'verdict': 'met', 'text': '0.5'},
        {'robot': 'a', 'model': 'two', 'error': 3e-6, 'verdict': 'near', 'text': '0.25'},
        {'robot': 'b', 'model': 'one', 'error': 2e-6, 'verdict': 'met', 'text': '-'},
    ],
    'loop': {'missed': 87, 'ticks': 299914, 'seconds': 600.0},
}


@pytest.mark.parametrize(
    ('place', 'found'),
    [
        ({'key': 'checks[robot=b]/error', 'unit': 'm'}, '2e-06 m'),
        ({'key': 'checks[robot=a]/error', 'take': 'largest'}, '3e-06'),
        ({'key': 'checks[robot=a][model=two]/text'}, '0.25'),
        ({'key': 'checks/*/error', 'take': 'mean', 'scale': 1e6}, '2'),
        ({'key': 'checks/*/verdict', 'count': '^(?!met$)'}, '1'),
        ({'key': 'loop/missed | loop/ticks', 'take': 'share', 'unit': '%'}, '0.029 %'),
        ({'key': 'loop/seconds', 'scale': 1 / 60, 'unit': 'min'}, '10 min'),
    ],
)
def test_numbers_are_found_in_what_is_stored(place, found):
    quantity = stored(CHECKS, Place(**place))
    assert f'{quantity.text} {quantity.unit}'.strip() == found


@pytest.mark.parametrize(
    ('place', 'why'),
    [
        ({'key': 'checks[robot=c]/error'}, 'no such value'),
        ({'key': 'checks[robot=a]/errors'}, 'no such value'),
        ({'key': 'checks[robot=a]/error'}, 'found 2 times'),
        ({'key': 'checks[robot=b]/text'}, 'no numbers'),
        ({'key': 'checks[robot=b]/verdict'}, 'no numbers'),
    ],
)
def test_what_is_not_stored_is_an_error(place, why):
    with pytest.raises(NotOnPage, match=why):
        stored(CHECKS, Place(**place))


def test_a_benchmark_is_found_by_its_row_and_by_what_it_printed():
    run = KEPT['benchmarks/a/bench_rods.py']
    place = Place(benchmark='rods: forward')
    assert str(stored(run, place).value('us')) == '950.0'
    assert stored(run, Place(benchmark='rods: forward', column='median')).text == '1.1'
    printed = Place(pattern=r'n=10 +(\S+).*\n  n=20 +(\S+)', take='order')
    assert stored(run, printed).text == '2'
    with pytest.raises(NotOnPage, match='no such row'):
        stored(run, Place(benchmark='rods'))
    assert list(values_at(run, ['rows', '*', 'p99'])) == [1.2e-3]


def read(heading: str, **place: str) -> str:
    found = measured(section(SPEED, heading)[1], Place(**place))
    return f'{found.text} {found.unit}'.strip()


@pytest.mark.parametrize(
    ('heading', 'place', 'found'),
    [
        ('rods', {'benchmark': 'rods: forward'}, '950 us'),
        ('rods', {'benchmark': 'rods: forward, loaded', 'column': 'median'}, '1.2 ms'),
        ('rods', {'pattern': r'^rods: forward .* (\d+ /) s'}, '28000 /'),
        ('rods', {'pattern': r'n=10 +(\S+).*\n  n=20 +(\S+)', 'take': 'order'}, '2'),
        ('Loop', {'table': 'computation', 'column': '99 %'}, '0.518'),
        ('Loop', {'table': '*', 'column': 'median', 'take': 'largest'}, '2.000'),
        ('Loop', {'table': '*', 'column': 'median', 'take': 'least'}, '0.310'),
        ('Loop', {'table': 'a | two', 'column': 'Stops', 'part': r'(\d+) m'}, '1'),
        ('Loop', {'table': 'a', 'column': 'Stops', 'take': 'difference'}, '2'),
        ('Loop', {'table': '*', 'column': 'Verdict', 'count': 'grow'}, '1'),
        ('Loop', {'table': '*', 'column': 'Verdict', 'count': 'leaks'}, '0'),
    ],
)
def test_numbers_are_found(heading, place, found):
    assert read(heading, **place) == found


@pytest.mark.parametrize(
    ('heading', 'place', 'why'),
    [
        ('rods', {'benchmark': 'rods'}, '0 such rows'),
        ('Loop', {'benchmark': 'rods: forward'}, 'no head'),
        ('Loop', {'table': 'jitter', 'column': 'median'}, 'no such row'),
        ('Loop', {'table': 'period', 'column': 'mean'}, 'no such row'),
        ('Loop', {'table': '*', 'column': 'Ending', 'count': 'x'}, 'no such row'),
        ('Loop', {'table': '*', 'column': 'median'}, 'found 2 times'),
        ('Loop', {'table': 'b', 'column': 'Verdict'}, "'flat' is no number"),
        ('Loop', {'table': '*', 'column': 'Stops', 'part': 'x', 'take': 'sum'}, 'no such row'),
        ('heading', {'pattern': 'x'}, '0 headings'),
    ],
)
def test_what_is_not_there_is_an_error(heading, place, why):
    with pytest.raises(NotOnPage, match=why):
        read(heading, **place)


@pytest.mark.parametrize(
    'place',
    [
        {},
        {'table': 'a'},
        {'pattern': 'x', 'column': 'y'},
        {'pattern': 'x', 'take': 'median'},
        {'benchmark': 'a', 'table': 'b', 'column': 'c'},
        {'benchmark': 'a', 'column': 'mean'},
        {'key': 'a', 'table': 'b', 'column': 'c'},
        {'pattern': 'a', 'unit': 'm'},
    ],
)
def test_places_that_say_too_little_or_too_much(place):
    with pytest.raises(ValueError):
        Place(**place)


def test_units_are_converted_never_guessed():
    assert Quantity.read('950 us').value('ms') == pytest.approx(0.95)
    assert Quantity.read('0.310').value('ms') == 0.31
    assert Quantity.read('9.0% (wanted)').value('%') == 9.0
    with pytest.raises(NotOnPage):
        Quantity.read('3 mm').value('%')


@pytest.mark.parametrize(
    ('target', 'text', 'holds'),
    [
        ('at most 1 ms', '1000 us', True),
        ('below 1 ms', '1000 us', False),
        ('at least 30 min', '2.2 min', False),
        ('above 1e-3', '0.01', True),
        ('exactly 0', '0', True),
        ('72.9 +- 0.5', '73.5', False),
        ('110 +- 0.5', '109.6', True),
        ('stated in /s', '280', True),
    ],
)
def test_verdicts(target, text, holds):
    source = targets_page.Source('docs/speed.md', 'make loop', data='docs/speed.json')
    made = targets_page.Target('it', target, source, Place(pattern='x'))
    assert made.holds(Quantity.read(text)) is holds


def test_the_page_says_what_is_met_and_explains_only_what_is_missed(write):
    write()
    text = targets_page.page()
    assert '| forward | at most 1 ms | 950 us | met | `make bench ARGS=bench_rods` ' in text
    assert '[speed](speed.md#srcbench_rodspy) | 2026-11-22 |' in text
    assert '| stops missed | exactly 0 | [3](speed.md#loop) | It rained. | A roof. |' in text
    assert '| **all** | 3 | 2 | 1 | 0 |' in text
    assert 'None.' not in text


def test_the_page_is_never_read(write, tmp_path):
    data = write()
    text = SPEED.replace('950 us', '5 us').replace('2026-11-22', '2026-01-01')
    (tmp_path / 'docs/speed.md').write_text(text)
    assert '| at most 1 ms | 950 us | met |' in targets_page.page()
    assert '| 2026-11-22 |' in targets_page.page()
    data.write_text('{}')
    with pytest.raises(TargetError, match='docs/speed.json: no bench_rods'):
        targets_page.page()
    data.unlink()
    with pytest.raises(TargetError, match='forward: there is no docs/speed.json'):
        targets_page.page()


def test_a_folder_of_results_is_read_by_their_names(write, tmp_path):
    write('data: docs/speed.json, stored: loop', 'data: docs/loops')
    text = (
        targets_page.TARGETS.read_text()
        .replace('key: ', 'key: "*/')
        .replace('/missed,', '/missed",')
    )
    targets_page.TARGETS.write_text(text.replace('computation, unit', 'computation", unit'))
    (tmp_path / 'docs/loops').mkdir()
    for name, day in (('a', '2026-11-19T10:00'), ('b', '2026-11-21T10:00')):
        one = (
            {**KEPT['loop'], 'began': day}
            if name == 'a'
            else {'runs': [{'missed': 4}], 'began': day}
        )
        (tmp_path / f'docs/loops/{name}.json').write_text(json.dumps(one))
    assert '| stops missed | exactly 0 | 7 | **missed** | `make loop` ' in targets_page.page()
    assert '| 2026-11-21 |' in targets_page.page()


def test_a_renamed_row_names_target_file_and_place(write):
    write().write_text(json.dumps(KEPT).replace('rods: forward', 'rods: statics'))
    expected = r"forward: docs/speed\.json: benchmark 'rods: forward': no such row"
    with pytest.raises(TargetError, match=expected):
        targets_page.page()
    assert re.search(expected, '\n'.join(targets_page.check([])))


@pytest.mark.parametrize(
    ('old', 'new', 'why'),
    [
        ('cause: It rained., next: A roof.,', '', r'stops missed: missed \(3\), without cause'),
        ('page: docs/speed.md, section: Loop', 'page: docs/loop.md', 'there is no docs/loop.md'),
        ('data: docs/speed.json, stored: loop', 'stored: loop', 'stores nothing'),
        ('section: Loop', 'section: Loops', "0 headings contain 'Loops'"),
        ('source: rods', 'source: rod', 'forward: no such source: rod'),
        ('at most 1 ms', 'some 1 ms', "forward: 'some 1 ms' is no target"),
        ('at most 1 ms', 'at most 1 m', '950 us is no number in m'),
        ('take: sum', 'tale: sum', 'stops missed: .*tale'),
        ('command: make loop', 'commend: make loop', 'loop: .*commend'),
        ('subjects:', '  x: {page: a, command: b}\nsubjects:', 'nothing is read from: x'),
    ],
)
def test_wrong_targets_are_refused(write, old, new, why):
    write(old, new)
    with pytest.raises(TargetError, match=why):
        targets_page.page()


def test_what_is_not_measured_says_why_until_its_section_exists(write):
    data = write('section: Loop', 'section: Fast loop')
    page = data.with_suffix('.md')
    text = targets_page.TARGETS.read_text()
    targets_page.TARGETS.write_text(
        text.replace('source: loop,', 'source: loop, not_measured: Not yet,')
    )
    assert '- loop: stops missed: Not yet.' in targets_page.page()
    page.write_text(SPEED.replace('## Loop', '## Fast loop'))
    assert '## Not measured' not in targets_page.page()
    data.write_text(json.dumps(KEPT).replace('missed', 'lost'))
    with pytest.raises(TargetError, match='no such value'):
        targets_page.page()


def test_lint_notices_an_old_page(write):
    data = write()
    assert list(targets_page.check([])) != []
    assert targets_page.main() == 0
    assert list(targets_page.check([])) == []
    data.write_text(json.dumps(KEPT).replace('0.00095', '0.00096'))
    assert 'older than what it reads' in next(targets_page.check([]))
    assert house_rules.places(targets_page.PAGE.read_text()) >= {'missed', 'rods', 'loop'}


def test_commands_of_the_targets_exist():
    subjects = targets_page.read_targets(ROOT / 'scripts/targets.yaml')
    commands = {t.source.command for targets in subjects.values() for t in targets}
    made = set(re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE))
    for command in commands:
        benchmark = re.search(r'ARGS=(bench_\w+)', command)
        module = re.search(r'python -m (soro_\w+)\.([\w.]+)', command)
        file = re.search(r'python3? (?:-m pytest )?(\S+\.py)', command)
        if benchmark:
            assert list(ROOT.glob(f'benchmarks/*/{benchmark[1]}.py')), command
        elif module:
            place = 'studies' if module[1] == 'soro_studies' else f'src/{module[1]}'
            place = ROOT / place / module[1] / module[2].replace('.', '/')
            assert place.with_suffix('.py').is_file() or (place / '__main__.py').is_file(), command
        elif file:
            assert (ROOT / file[1]).is_file(), command
        else:
            assert command.split()[0] == 'docker' or command.split()[1] in made, command
