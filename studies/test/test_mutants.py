# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots that are wrong on purpose, which rows notice them, and what the page makes of it."""

from functools import cache

import pytest

from soro_mechanics import InvalidInput
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import describe_robot, read_yaml
from soro_studies.validation import boundary, Kind, mutation_score, number, statement, Verdict
from soro_studies.validation.mutant_list import MUTANTS, REQUIRED
from soro_studies.validation.mutants import Change, Mutant, MutantLoader, mutated
from soro_studies.validation.power import blind_spots, by_power, counted, Power, shown_kind
from soro_studies.validation.registry import ROBOTS
from soro_studies.validation.report import page, robot_section
from soro_studies.validation.results import row_data
from soro_studies.validation.row import NotExplained
from soro_studies.validation.spatial_cc import _table
from soro_studies.validation.tolerances import frozen, NotFrozen, require_frozen, written


@cache
def robot_file(robot):
    return find_robot_file(robot)


def test_changes_multiply_replace_and_exchange():
    file = str(robot_file('stiff_flop_two_segment'))
    before = read_yaml(robot_file('stiff_flop_two_segment'))
    first, second, turned = (
        Mutant('x', (change,))
        for change in (
            Change('body.segments.*.chambers.*.offset', 1.1),
            Change('gravity', value='0 0 0 m/s^2'),
            Change(
                'body.segments.1.chambers.0.drive', exchange='body.segments.1.chambers.2.drive'
            ),
        )
    )
    offsets = [
        float(chamber['offset']['value'].split()[0])
        for segment in mutated(file, first)['body']['segments']
        for chamber in segment['chambers']
    ]
    assert offsets == pytest.approx([1.1 * 9.048] * 6)
    assert mutated(file, second)['gravity']['value'] == '0 0 0 m/s^2'
    drives = [c['drive'] for c in mutated(file, turned)['body']['segments'][1]['chambers']]
    assert drives == ['pair_6', 'pair_5', 'pair_4']
    place = 'body.segments.*.chambers'
    every = Mutant('x', (Change(f'{place}.0.angle', exchange=f'{place}.1.angle'),))
    angles = [
        [c['angle']['value'] for c in segment['chambers']]
        for segment in mutated(file, every)['body']['segments']
    ]
    assert angles == [['120 deg', '0 deg', '240 deg']] * 2
    assert before['body']['segments'][1]['chambers'][0]['drive'] == 'pair_4'


def test_a_change_that_changes_nothing_is_refused():
    file = str(robot_file('stiff_flop'))
    for change in (Change('body.legs.*.length', 2.0), Change('gravity', exchange='a.b')):
        with pytest.raises(InvalidInput, match='path'):
            mutated(file, Mutant('x', (change,)))


@pytest.mark.parametrize('robot', MUTANTS)
def test_every_mutant_is_another_robot_that_can_be_read(robot):
    names = [mutant.name for mutant in MUTANTS[robot]]
    assert len(names) >= 12 and len(set(names)) == len(names)
    original = read_yaml(robot_file(robot))
    for mutant in MUTANTS[robot]:
        data = mutated(str(robot_file(robot)), mutant)
        assert data != original, mutant.name
        describe_robot(data, str(robot_file(robot)))


def test_every_robot_of_a_paper_has_mutants():
    assert set(MUTANTS) == set(ROBOTS) - {'one_rod'}
    for robot, mutants in MUTANTS.items():
        missing = set(REQUIRED) - {m.name for m in mutants}
        assert missing == ({'gravity off'} if robot == 'stewart_gough' else set())


def test_mutants_are_loaded_by_name_and_model():
    load = MutantLoader(Mutant('longer', (Change('body.segments.*.length', 1.05),)))
    one = load('spatial_cc')
    assert one.description.structure['segments'].segments[0].length == pytest.approx(0.18018)
    assert load('spatial_cc', 'ncm').model == 'ncm'


def few(*names):
    return [m for m in MUTANTS['spatial_cc'] if m.name in names]


def test_rows_catch_what_the_paper_can_tell_and_nothing_else():
    chosen = few('gravity off', 'offset of the actuators +15 %', 'linear elongation -15 %')
    kept = {'spatial_cc': mutation_score.score('spatial_cc', chosen, [_table])}
    power = Power.of('spatial_cc', kept)
    rows = _table(MutantLoader(Mutant('none', ())))
    caught = {r.quantity: power.caught(r.quantity) for r in rows}
    for bar in (0.4, 0.6, 0.8):
        assert caught[f'Table 1, y at {bar} bar'] == [m.name for m in chosen[1:]]
    assert not any('gravity off' in names for names in caught.values())
    first, *_ = blind_spots(rows, power)
    assert first.startswith('*gravity off*: what the paper prints cannot tell; none')


def test_what_breaks_down_counts_for_no_row(monkeypatch):
    def broken(load):
        if isinstance(load, MutantLoader):
            raise RuntimeError('no  equilibrium')
        return [number('a', 1.0, 1.0, 'm', 0.1)]

    def not_a_number(load):
        value = float('nan') if isinstance(load, MutantLoader) else 1.0
        return [number('b', 1.0, value, 'm', 0.1)]

    monkeypatch.setattr(mutation_score, 'require_frozen', lambda robot, rows: None)
    kept = mutation_score.score('spatial_cc', few('gravity off'), [broken, not_a_number])
    (mutant,) = kept['mutants']
    assert mutant['broken'] == ['RuntimeError: no equilibrium', 'b: no number']
    assert mutant['became'] == {}


def test_a_tolerance_that_has_moved_is_not_scored():
    (quantity, (paper, within, _)), *_ = frozen()['spatial_cc'].items()
    assert (quantity, paper, within) == ('Table 1, y at 0.4 bar', '23.2 mm', '1.5 %')
    row = number(quantity, 23.2, 23.2, 'mm', 0.015, Kind.FITTED)
    require_frozen('spatial_cc', [row])
    for other in (
        number(quantity, 23.2, 23.2, 'mm', 0.02, Kind.FITTED),
        number(quantity, 23.2, 23.2, 'mm', 0.015, Kind.PREDICTED),
        number('new', 23.2, 23.2, 'mm', 0.015),
    ):
        with pytest.raises(NotFrozen, match='spatial_cc'):
            require_frozen('spatial_cc', [other])
    assert written({'a': {'b': ['c', 'd', 'e']}}).count('\n') == 5


ROWS = [
    number('strong', 1.0, 1.0, 'm', 0.1),
    number('weak', 1.0, 1.0, 'm', 0.1),
    number('missed', 1.0, 2.0, 'm', 0.1, note='why'),
    statement('words', 'rises', 'rises', True),
    boundary('chosen', 'about 1', 1.0, 'm', 0.0, 2.0, Kind.CHOSEN),
    number('check', 1.0, 1.0, 'm', 0.1, Kind.CHECK),
]


def scored(**became):
    mutants = [
        {'name': name.replace('_', ' '), 'changes': [], 'became': changed, 'broken': []}
        for name, changed in became.items()
    ]
    verdicts = {r.quantity: r.verdict.value for r in ROWS}
    return {'stiff_flop': {'mutants': mutants, 'verdicts': verdicts, 'date': 'today'}}


KEPT = scored(
    gravity_off={'strong': 'not met', 'words': 'not met', 'check': 'not met', 'weak': 'near'},
    gravity_sideways={'strong': 'not met', 'chosen': 'not met', 'words': 'not met'},
    EI_more={'missed': 'met'},
)


def test_what_cannot_fail_does_not_count():
    power = Power.of('stiff_flop', KEPT)
    assert [len(power.caught(r.quantity)) for r in ROWS] == [2, 0, 0, 2, 1, 1]
    # A row that was missed has failed; one that stays near enough has not.
    assert [r.quantity for r in counted(ROWS, power)] == ['strong', 'missed', 'words']
    assert shown_kind(ROWS[1], power) == 'yardstick (predicted, catches nothing)'
    assert shown_kind(ROWS[5], power) == 'own check'
    ordered = [r.quantity for r in by_power(ROWS, power)]
    assert ordered == ['strong', 'words', 'missed', 'chosen', 'check', 'weak']


def test_the_section_says_what_the_paper_cannot_tell():
    power = Power.of('stiff_flop', KEPT)
    off, sideways, stiffer = blind_spots(ROWS, power)
    told = '*gravity off*: what the paper prints cannot tell; 2 of its rows notice, '
    assert off == told + '1 of our own checks.'
    assert (
        sideways == '*gravity sideways*: caught by 3 of the rows that hold ours against the paper.'
    )
    assert 'no such mutant' in stiffer
    text = '\n'.join(robot_section('stiff_flop', ROWS, power))
    assert '**3 can fail: 2 met, 0 near, 1 not met**' in text
    assert '| EI more | 0 | 0 | **4 (+1)** | - |' in text  # the paper prefers the mutant
    assert '| gravity off | 3 | 2 | 0 (-3) | - |' in text
    assert 'with an older robot file' in text


def test_the_page_is_made_of_results_alone():
    kept = {
        'date': '2026-01-02',
        'command': 'the command',
        'computed_with': {'a.yaml': 'abc'},
        'rows': {'stiff_flop': [row_data(r) for r in ROWS]},
    }
    text = page(kept, KEPT, {})
    assert '2026-01-02 by `the command`' in text and '| a.yaml | `abc` |' in text
    line = next(line for line in text.splitlines() if line.startswith('| stiff_flop |'))
    cells = [cell.strip() for cell in line.split('|')[1:-1]]
    assert cells[1:] == ['6', '4', '**3**', '2', '0', '1', '2', '1', '3', '2', 'EI more']
    assert '| all | 6 | 4 | **3** | 2 | 0 | 1 | 2 | 1 | 3 | 2 | |' in text
    unscored = page(kept, {}, {})  # what was missed has failed, the others are not known to
    assert '| stiff_flop | 6 | 4 | **1** | 0 | 0 | 1 | 1 | 0 | 0 | 0 | - |' in unscored
    assert 'nothing was scored' in unscored


def test_a_row_without_reason_is_refused_only_of_the_robot_itself():
    from soro_studies.validation.row import explained

    silent = number('x', 1.0, 2.0, 'm', 0.1)
    assert silent.verdict is Verdict.NOT_MET  # a mutant may do that to any row
    with pytest.raises(NotExplained):
        explained([silent])
