# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is typed: poses alike for ik and move, units checked first, completion, order of verbs."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

from soro_cli.main import main, SAFETY, verb_parser, verbs
from soro_cli.verbs.completion import candidates, SCRIPTS
from soro_cli.verbs.pose_options import typed_pose
from soro_mechanics.robot_file.catalogue import find_robot_file, robot_files
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node import display_units
from soro_node.user_errors import UserError

PAIRS = read_robot_file(find_robot_file('stiff_flop')).actuators


def parsed(verb: str, *words: str) -> argparse.Namespace:
    return verb_parser(verb, verbs()[verb]).parse_intermixed_args(list(words))


def test_a_robot_may_be_named_in_front(capsys):
    asked, answers = ('0.5bar', '0', '0', '--offline', '--json'), []
    for words in (('stiff_flop', *asked), (*asked, '--robot', 'stiff_flop')):
        assert main(['fk', *words]) == 0
        answers.append(json.loads(capsys.readouterr().out)['configuration']['tip'])
    assert answers[0] == answers[1]


@pytest.mark.parametrize('word', ['nan', 'inf', 'NaN', 'Infinity', '1e999bar'])
def test_a_number_in_front_is_no_robot(capsys, word):
    assert main(['fk', word, '0', '0', '--offline', '--robot', 'stiff_flop']) == 1
    assert f"pair_1 = '{word}': not a finite number" in capsys.readouterr().err


@pytest.mark.parametrize('word', ['nan', 'inf', '1e999'])
def test_no_option_takes_a_number_that_is_none(capsys, word):
    looked_at = 0
    for verb, point in verbs().items():
        parser = verb_parser(verb, point)
        for action in (one for one in parser._actions if one.type is float):
            value = parser._get_value(action, '0.5')
            assert type(value) is float and value == 0.5
            with pytest.raises(argparse.ArgumentError):
                parser._get_value(action, word)
            looked_at += 1
    assert looked_at > 8


TIMES = {
    ('record', '--duration'): (),
    ('move', '--timeout'): ('--rest',),
    ('protocol', '--duration'): ('step', 'a.csv'),
}


@pytest.mark.parametrize(('verb', 'option'), TIMES)
@pytest.mark.parametrize(
    ('word', 'seconds'), [('25', 25.0), ('25s', 25.0), ('0.2 s', 0.2), ('200ms', 0.2), ('0', 0.0)]
)
def test_times_are_typed_alike_with_or_without_their_unit(verb, option, word, seconds):
    found = parsed(verb, *TIMES[verb, option], option, word)
    assert getattr(found, option.strip('-')) == pytest.approx(seconds)


@pytest.mark.parametrize(('verb', 'option'), TIMES)
@pytest.mark.parametrize('word', ['nan', 'inf', '1e999', '1e999s', '2mm', '2min', 's', ''])
def test_what_is_no_time_is_refused_in_one_line(capsys, verb, option, word):
    with pytest.raises(SystemExit):
        parsed(verb, *TIMES[verb, option], option, word)
    said = capsys.readouterr().err
    assert f'{option}: {word!r}' in said and said.count('\n') == 1


@pytest.mark.parametrize('verb', ['ik', 'move'])
@pytest.mark.parametrize('flag', [(), ('--pose',)])
def test_ik_and_move_take_a_pose_the_same_way(verb, flag):
    pose = typed_pose(parsed(verb, *flag, '1cm', '0', '45mm'))
    assert (pose.position, pose.quaternion, pose.task) == ([0.01, 0.0, 0.045], None, 0)
    turned = ('--quaternion', '0', '0', '0', '2')
    pose = typed_pose(parsed(verb, *flag, '1cm', '0', '45mm', *turned))
    assert (pose.quaternion, pose.task) == ([0.0, 0.0, 0.0, 1.0], 2)
    assert typed_pose(parsed(verb, *flag, '0', '0', '1mm', *turned, '--task', 'axis')).task == 1


@pytest.mark.parametrize(
    'words',
    [
        ('1mm', '2mm'),
        ('1mm', '2mm', '3mm', '4mm'),
        ('1mm', '0', '0', '--pose', '1mm', '0', '0'),
        ('1mm', '0', '0', '--task', 'pose'),
        ('--quaternion', '0', '0', '0', '1'),
    ],
)
def test_half_a_pose_is_refused(words):
    with pytest.raises(UserError):
        typed_pose(parsed('ik', *words))


@pytest.mark.parametrize(
    'words', [(), ('--rest', '1mm', '0', '0'), ('1mm', '0', '0', '--actuation', '0')]
)
def test_move_takes_exactly_one_target(words):
    assert main(['move', *words]) == 2


def test_a_limit_is_said_in_the_unit_that_was_typed():
    robot = read_robot_file(find_robot_file('stiff_flop'))

    def beyond(*words):
        values = display_units.actuation(words, robot.actuators)
        return display_units.beyond_limits(words, values, robot)

    assert '150 kPa' in beyond('200kPa', '0', '0')[0]
    assert '1500 mbar' in beyond('pair_2=2000mbar')[0]
    together = beyond('1.4bar', '1.2bar', '0')  # 1.4 + 0.25 * 1.2
    assert any('1.7 bar' in words and '1.5 bar' in words for words in together)
    assert beyond('pair_2=1.5bar') == ()


@pytest.mark.parametrize(
    ('read', 'verb'),
    [
        (lambda: display_units.actuation(['10mm', '0', '0'], PAIRS), 'soro ik'),
        (lambda: display_units.actuation(['10mm', '0'], PAIRS), 'soro ik'),
        (lambda: display_units.position(['0', '1bar', '0']), 'soro fk'),
        (lambda: display_units.position(['5deg', '0', '0']), 'soro fk'),
    ],
)
def test_values_of_another_verb_name_it(read, verb):
    with pytest.raises(UserError, match=verb):
        read()
    with pytest.raises(UserError) as refused:
        display_units.actuation(['1bar', '0'], PAIRS)
    assert 'soro ik' not in str(refused.value)


@pytest.mark.parametrize(
    'words',
    [
        ('fk', '0.9bra', '0', '0'),
        ('move', '--actuation', 'pair_1=0.9bra'),
        ('jacobian', '0.9bra', '0', '0'),
        ('compare', '0.9bra', '0', '0'),
        ('move', '--actuation', '0.9kg', '0', '0'),
        ('ik', '9mmm', '0', '0'),
        ('move', '9mmm', '0', '0'),
        ('fk', '0', '0', '0', '--wrench', '1kg', '0', '0'),
    ],
)
def test_units_are_refused_before_a_robot_is_looked_for(words, monkeypatch, capsys):
    def looked(arguments):
        raise AssertionError('a robot is looked for')

    monkeypatch.setattr('soro_cli.robot_choice.running_robot', looked)
    assert main(list(words)) == 1
    wrong = next(w for w in words if w[-1] in 'amg' and w[0] in 'p0123456789')
    assert wrong in capsys.readouterr().err


@pytest.mark.parametrize(
    'word', ['0.9bar', '1e-3 m', 'a=5deg', '0.5 1/m', '-2N', '5 %', '0', '1.2']
)
def test_units_that_exist_pass(word):
    bare = display_units.check_units([word])
    assert bare == ([word] if word == '1.2' else [])  # right for a stretch only


@pytest.mark.parametrize('words', [['a=0,3bar'], ['20,5mm', '0', '0']])
def test_a_decimal_comma_is_named(words):
    with pytest.raises(UserError, match='a point and no comma'):
        display_units.check_units(words)


def test_a_value_that_is_given_twice_is_refused():
    with pytest.raises(UserError, match='pair_1'):
        display_units.actuation(['pair_1=1bar', 'pair_2=0bar', 'pair_1=2bar'], PAIRS)


def test_safety_comes_first_in_the_list(capsys):
    assert main(['--help']) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == '  ']
    assert tuple(listed[: len(SAFETY)]) == SAFETY
    assert set(listed) == set(verbs())


def test_words_are_completed():
    assert candidates(['mo']) == ['move']
    assert set(candidates([''])) == set(verbs())
    assert candidates(['ik', '--ta']) == ['--task']
    assert candidates(['ik', '--task', '']) == ['axis', 'pose', 'position']
    assert set(candidates(['launch', ''])) == set(robot_files())
    assert candidates(['haptics', 'w']) == ['wall']
    assert candidates(['fk', '0', '--robot', 'stew']) == ['stewart_gough']
    assert candidates(['fly', '']) == candidates(['plot', 'ba']) == []


COMPLETED = {
    'bash': 'COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _soro; '
    'eval "printf \\"%%s\\n\\" ${COMPREPLY[*]}"',
    'zsh': 'words=(%s); CURRENT=$#words; _soro',
    'fish': "complete -C '%s'",
}
ZSH = 'compdef() {}; compadd() { print -rl -- $found }; _files() { print file }\n'


# Those that are installed; bash always is. Files are their own to find.
SHELLS = [shell for shell in SCRIPTS if shell == 'bash' or shutil.which(shell)]


def completed(shell: str, folder: Path, typed: str) -> str:
    """Return what a shell completes in a folder, which has robots too; bash as it is typed."""
    python = f'{sys.executable} -m soro_cli.main'
    body = ('function soro; ', ' $argv; end') if shell == 'fish' else ('soro() { ', ' "$@"; }')
    start = f'{python.join(body)}\n{ZSH if shell == "zsh" else ""}{SCRIPTS[shell]}'
    words = typed if shell == 'fish' or typed[-1] != ' ' else f"{typed}''"
    option = '--no-config' if shell == 'fish' else '--norc' if shell == 'bash' else '-f'
    done = subprocess.run(
        [shell, option, '-c', start + COMPLETED[shell] % words],
        cwd=folder,
        env={**os.environ, 'SORO_ROBOT_PATH': str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


@pytest.mark.parametrize('shell', SHELLS)
def test_a_shell_completes_by_its_script(shell, tmp_path):
    (tmp_path / 'file').touch()
    for typed, expected in (
        ('soro com', {'compare', 'completion', 'compliance'}),
        ('soro ik --task ', {'axis', 'pose', 'position'}),
        ('soro new --', {'--help', '--kind', '--set', '--yes', '--output'}),
        ('soro plot ', set() if shell == 'bash' else {'file'}),  # there bash does it by itself
    ):
        done = completed(shell, tmp_path, typed)
        assert {line.split('\t')[0] for line in done.split('\n')} - {''} == expected, done


@pytest.mark.parametrize('shell', SHELLS)
def test_no_shell_runs_what_a_file_is_called(shell, tmp_path):
    names = {'$(touch run)', '`touch run`', 'a;touch run', '*'}
    for name in names:
        (tmp_path / f'{name}.yaml').touch()
    assert names <= set(completed(shell, tmp_path, 'soro launch ').split('\n'))
    assert {file.stem for file in tmp_path.iterdir()} == names
