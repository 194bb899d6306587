# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The command as a user calls it: exit codes, one-line errors, JSON."""

from __future__ import annotations

from importlib.metadata import entry_points
import json
import math
import os
import subprocess
import sys

import pytest

from soro_cli.answers import Pose
from soro_cli.main import GROUP
from soro_cli.verbs.mechanics_options import solved
from soro_mechanics.robot import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_rigs.domains import own_domain

OFFLINE = ('--offline', '--robot', 'stiff_flop')
PATIENCE = 240.0  # s: a verb takes one or two of processor time, which others use too


def command(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(own_domain()), **variables}
    return subprocess.run(
        [sys.executable, '-m', 'soro_cli.main', *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_every_verb_has_a_summary_and_explains_itself(soro):
    overview = command('--help')
    assert overview.returncode == 0
    for point in entry_points(group=GROUP):
        assert f'  {point.name} ' in overview.stdout
        parser_help = soro(point.name, '--help')
        assert parser_help.returncode == 0
        assert point.load().SUMMARY in ' '.join(parser_help.stdout.split())


def test_without_a_verb_the_overview_is_shown_and_the_code_is_not_zero():
    done = command()
    assert done.returncode == 2
    assert 'verbs:' in done.stdout


def test_an_unknown_verb_names_the_near_one():
    done = command('lunch')
    assert done.returncode == 2
    assert "Did you mean 'launch'" in done.stderr


def test_forward_and_inverse_agree_offline():
    forward = command('fk', '0.6bar', '0.2bar', '0', *OFFLINE, '--json')
    assert forward.returncode == 0, forward.stderr
    tip = json.loads(forward.stdout)['configuration']['tip']
    words = [f'{x!r}m' for x in tip['position']]
    inverse = command('ik', *words, *OFFLINE, '--json')
    assert inverse.returncode == 0, inverse.stderr
    answer = json.loads(inverse.stdout)
    assert answer['error_code'] == 0
    assert math.dist(answer['configuration']['tip']['position'], tip['position']) < 2e-5


def test_what_is_not_solved_bends_by_no_angle():
    nothing = [math.nan] * 4
    assert math.isnan(Pose(nothing[:3], nothing).bending)


def test_jacobian_offline_agrees_with_differences(soro):
    at = [4.0e4, 1.0e4, 0.0]
    done = soro('jacobian', *(f'{x!r}Pa' for x in at), *OFFLINE, '--json')
    matrix = json.loads(done.stdout)['matrix']
    step = 200.0

    def tip(values: list[float]) -> list[float]:
        words = [f'{x!r}Pa' for x in values]
        done = soro('fk', *words, *OFFLINE, '--json')
        return json.loads(done.stdout)['configuration']['tip']['position']

    high, low = tip([at[0] + step, *at[1:]]), tip([at[0] - step, *at[1:]])
    difference = [(a - b) / (2 * step) for a, b in zip(high, low, strict=True)]
    assert [matrix[i][0] for i in range(3)] == pytest.approx(difference, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize('verb', ['fk', 'jacobian', 'compliance', 'compare'])
def test_limits_that_are_exceeded_are_said_offline(soro, verb):
    models = ('--models', 'lpcc') if verb == 'compare' else ('--model', 'lpcc')
    inside, beyond = (soro(verb, air, '0', '0', *OFFLINE, *models) for air in ('1bar', '2bar'))
    assert inside.returncode == 0 and inside.stderr == ''
    assert beyond.stderr.startswith('soro: beyond the limits: pair_1 above')
    assert beyond.returncode == 0 and beyond.stdout


def test_what_is_not_solved_has_no_table(soro):
    assert solved(0.0, 1.0) and not solved(0.0, math.nan)
    done = soro('fk', '0', '0', '0', '--wrench', '1000N', '0', '0', '0', '50Nm', '0', *OFFLINE)
    assert done.returncode == 1 and done.stdout == ''
    assert 'nan' not in done.stderr


@pytest.mark.parametrize('along', [(), ('--along',)])
def test_the_compliance_of_what_is_not_solved_is_unknown_and_said(soro, along):
    words = ('compliance', '0', '0', '0', '--wrench', '1000N', '0', '0', '0', '50Nm', '0', *along)
    done = soro(*words, *OFFLINE)
    assert done.returncode == 1 and done.stdout == ''
    assert 'the compliance there is not known' in done.stderr
    assert len(done.stderr.splitlines()) == 1
    answer = json.loads(soro(*words, *OFFLINE, '--json').stdout)
    assert answer['error_code'] == 200 and answer['error_message'] in done.stderr
    assert answer['points'] == []


def test_compliance_offline_is_what_a_load_does(soro):
    done = soro('compliance', '0.5bar', '0', '0', *OFFLINE, '--json')
    assert done.returncode == 0, done.stderr
    point = json.loads(done.stdout)['points'][0]
    loaded = []
    for force in ('0.001N', '-0.001N'):
        done = soro('fk', '0.5bar', '0', '0', '--wrench', '0', force, '0', *OFFLINE, '--json')
        loaded.append(json.loads(done.stdout)['configuration']['tip']['position'])
    difference = [(a - b) / 2e-3 for a, b in zip(*loaded, strict=True)]
    assert [point['matrix'][i][1] for i in range(3)] == pytest.approx(
        difference, rel=1e-3, abs=1e-6
    )
    assert point['principal_compliance'] == sorted(point['principal_compliance'], reverse=True)


def test_pulls_on_a_robot_are_held_against_its_model(soro, tmp_path):
    table = tmp_path / 'pulls.csv'
    lines = ['fx [N],fy [N],fz [N],x [mm],y [mm],z [mm]']
    robot = load_robot('stiff_flop')
    for force in ([0, 0, 0], [1e-3, 0, 0], [0, 1e-3, 0], [0, 0, 1e-3], [0, 0, -1e-3]):
        place = robot.forward([9e4, 9e4, 0.0], [*force, 0, 0, 0]).tip[:3, 3]
        lines.append(','.join(map(str, (*force, *(1e3 * place)))))
    table.write_text('\n'.join(lines), encoding='utf-8')
    words = ('compliance', '0.9bar', '0.9bar', '0', '--measured', str(table), *OFFLINE)
    done = soro(*words, '--json')
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer['measured']['pulls'] == 4
    assert abs(answer['measured']['norm_error']) < 1e-3
    assert answer['measured']['difference'] < 2e-3
    shown = soro(*words, '--model', 'lcm').stdout
    assert float(shown.split('error of the norm')[1].split('%')[0]) < -30.0
    refused = soro(*words, '--along')
    assert refused.returncode == 1 and 'leave out --along' in refused.stderr
    table.write_text(lines[0], encoding='utf-8')
    refused = soro(*words)
    assert refused.returncode == 1 and 'at least one row' in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_a_bad_pull_is_named_and_a_reversed_table_refused(soro, tmp_path):
    robot, rows = load_robot('stiff_flop'), []
    rest = robot.forward([9e4, 9e4, 0.0])
    for i, size in enumerate([0.0, *(s * f for f in (0.05, 0.1) for s in (1, 1, 1, -1, -1, -1))]):
        force = [size * (i % 3 == k) for k in range(3)]
        q = robot.forward([9e4, 9e4, 0.0], [*force, 0, 0, 0], rest)
        rows.append([*force, *(1e3 * q.tip[:3, 3])])
    table = tmp_path / 'pulls.csv'

    def written(rows):
        lines = ['fx [N],fy [N],fz [N],x [mm],y [mm],z [mm]']
        table.write_text('\n'.join([*lines, *(','.join(map(str, row)) for row in rows)]))

    words = ('compliance', '0.9bar', '0.9bar', '0', '--measured', str(table), *OFFLINE)
    spoilt = [list(row) for row in rows]
    spoilt[5][4] += 2.0
    written(spoilt)
    done = soro(*words)
    assert done.returncode == 0, done.stderr
    assert 'line 7 of the table' in done.stderr
    (named,) = [line for line in done.stdout.splitlines() if 'not expected by the others' in line]
    assert named.split()[0] == '7'
    answer = json.loads(soro(*words, '--json').stdout)['measured']
    assert answer['outliers'] == [7] and len(answer['predicted']) == 12
    written([[-x for x in row[:3]] + row[3:] for row in rows])
    refused = soro(*words)
    assert refused.returncode == 1 and 'against every force' in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_tables_are_for_people_and_carry_units(soro):
    done = soro('fk', '0', '0', '0', *OFFLINE)
    assert done.returncode == 0
    assert 'x 0 mm  y 0 mm  z ' in done.stdout
    assert 'bending      0 deg' in done.stdout


def test_an_unreachable_target_is_no_success(soro):
    done = soro('ik', '2m', '0', '0', *OFFLINE, '--json')
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer['error_code'] in (201, 202)
    assert answer['position_error'] > 1.0
    assert done.stderr.startswith('soro: ')
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (('fk', '0.9', '0', '0', *OFFLINE), 'the unit is missing'),
        (('fk', '1bar', *OFFLINE), 'values for 3 actuators'),
        (('fk', '1bar', '0', '0', '--offline'), '--robot NAME'),
        (('fk', '0', '0', '0', '--offline', '--robot', 'spatial'), "did you mean 'spatial_cc'"),
        (('fk', '0', '0', '0', '--offline', '--robot', 'no.yaml'), 'no such file'),
        (('fk', '0', '--robot', 'arm.yaml'), '--namespace NAME (soro list --running), or add'),
        (('jacobian', '--robot', './arm'), 'or add --offline'),
        (('stop', '--robot', 'my/arm.yml'), 'named by its namespace'),
        (('stop', 'lab/left_2'), 'nobody offers /lab/left_2/driver/stop'),
        (('estop', '/lab/left/'), 'no driver under /lab/left'),
        (('estop', '--robot', 'lab/left'), 'no driver under /lab/left'),
        (('estop', '/'), 'no driver under /'),
        (('fk', 'lab/left', '0', '0', '0'), 'no robot runs under /lab/left; start one'),
        (('fk', '0', '0', '0', *OFFLINE, '--model', 'ncn'), "did you mean 'ncm'"),
        (('jacobian', *OFFLINE), 'no present actuation'),
        (('ik', '0', '0', '1m', *OFFLINE, '--task', 'pose'), 'needs --quaternion'),
        (('launch', 'nobody'), "there is no robot 'nobody'"),
        (('launch', 'nobody.yaml'), 'no robot file'),
        (('launch', 'nobody.launch.xml'), 'no launch file'),
        (('launch', 'soro_bringup', 'nobody.launch.xml'), 'robot.launch.xml'),
        (('launch', 'soro_bringup', '/robot.launch.xml'), 'soro launch /robot.launch.xml'),
        (('launch', 'soro_bringup', '*.launch.xml'), 'no launch file *.launch.xml'),
        (('launch', 'soro_bringup', ''), 'robot.launch.xml'),
        (('launch', 'soro_bringup', 'launch'), 'no launch file launch;'),
        (('launch', 'stiff_flop', 'use_emulatr:=false'), 'Did you mean use_emulator?'),
        (('launch', 'stiff_flop', 'use_emulator:=maybe'), 'choose one of true, false'),
        (('launch', 'robot:=stiff_flop'), 'name what to launch'),
        (('launch', 'stiff_flop', 'viewer=true'), "'viewer=true': neither"),
        (('launch', 'stiff_flop', 'viewer:=', 'true'), "'true': neither"),
        (('launch', 'stiff_flop', 'model:=ncn', '--dry-run'), "did you mean 'ncm'"),
        (('ik', '-8', '3mm', '0', *OFFLINE), "x = '-8': the unit"),
        (('ik', '-8mm', '-3mm', *OFFLINE), "'-8mm -3mm' is no position"),
        (('simulate', 'stiff_flop', '0', '0', '0', '--elements', '0'), 'elements = 0'),
        (('simulate', 'stiff_flop', '0', '0', '0', '--duration', '0'), 'duration = 0'),
        (('curves', 'identify', 'runs.csv', '--tolerance', '0.5'), "--tolerance = '0.5'"),
        (('curves', 'record', 'runs.csv', '--emulator', 'nobody'), 'could not open port'),
    ],
)
def test_errors_are_one_line_with_the_remedy(soro, words, said):
    done = soro(*words)
    assert done.returncode == 1
    assert done.stdout == ''
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith('soro: ')
    assert said in done.stderr


@pytest.mark.parametrize(
    ('words', 'field', 'valid'),
    [
        (('info',), 'bag', '--help'),
        (('ik', '--task', 'poes'), '--task', 'position'),
        (('list', '--runing'), '--runing', '--help'),
        (('workspace', '--samples', '-5'), '--samples', str(2**32 - 1)),
        (('workspace', '--seed', '4294967296'), '--seed', str(2**32 - 1)),
        (('track', 'line', '--repetitions', '70000'), '--repetitions', str(2**16 - 1)),
        (('protocol', 'step', 'a.csv', '--count', '1e1'), '--count', str(2**16 - 1)),
        (('calibrate', '--poses', '-1'), '--poses', str(2**16 - 1)),
        (('identify', 'bag', '--seed', '-1'), '--seed', str(2**16 - 1)),
        (('view', 'bag', '--port', '99999'), '--port', str(2**16 - 1)),
    ],
)
def test_a_wrong_command_line_is_one_line_that_names_option_and_values(soro, words, field, valid):
    done = soro(*words)
    assert done.returncode == 2
    assert done.stdout == '' and len(done.stderr.splitlines()) == 1
    assert field in done.stderr and valid in done.stderr and words[-1] in done.stderr


@pytest.mark.parametrize('words', [('bench', 'stiff_flop', '--hardware'), ('new', 'my_arm')])
def test_a_question_that_nobody_answers_is_an_error(words):
    done = command(*words)
    assert done.returncode == 1
    assert '--yes' in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    'words', [('record', '--everything', '-o'), ('demo', '--output')], ids=lambda words: words[0]
)
def test_a_folder_that_cannot_be_made_is_named(words, tmp_path):
    (tmp_path / 'file').touch()
    folder = tmp_path / 'file' / 'run'  # nobody can make it, root neither
    done = command(*words, str(folder))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f'soro: {folder}: Not a directory']


RECORDED = (('plot',), ('identify',), ('view',), ('simulate', 'stiff_flop', '--bag'))


@pytest.mark.parametrize('words', RECORDED, ids=lambda words: words[0])
def test_a_recording_that_is_missing_is_said_before_much_is_loaded(words):
    script = 'import sys; from soro_cli.main import main; main(sys.argv[1:]); print(*sys.modules)'
    words = (sys.executable, '-c', script, *words, '/nowhere')
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stderr == 'soro: there is no recording at /nowhere\n'
    assert not {'matplotlib', 'numba', 'scipy', 'viser', 'rclpy'} & set(done.stdout.split())


def test_errors_are_json_too_when_asked(soro):
    done = soro('fk', '1bar', *OFFLINE, '--json')
    assert done.returncode == 1
    assert json.loads(done.stdout)['error_code'] == 1


def test_a_robot_file_that_is_empty_is_named(soro, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.touch()
    done = soro('launch', str(file))
    assert done.returncode == 1
    assert str(file) in done.stderr and 'namespace' not in done.stderr


def test_without_a_running_robot_the_remedy_is_said():
    done = command('fk', '0', '0', '0')
    assert done.returncode == 1
    assert 'no robot runs' in done.stderr
    assert '--offline' in done.stderr


def test_the_catalogue_is_listed():
    done = command('list', '--json')
    names = [robot['name'] for robot in json.loads(done.stdout)['robots']]
    assert 'spatial_cc' in names
    assert 'stiff_flop' in names


def test_show_args_describes_every_argument():
    done = command('launch', 'stiff_flop', '--show-args')
    assert done.returncode == 0
    assert '  use_emulator\n' in done.stdout
    assert 'one of: true, false' in done.stdout
    assert 'no description' not in done.stdout


def test_two_robots_are_one_too_many():
    done = command('fk', 'stiff_flop', '0', '0', '0', '--offline', '--robot', 'spatial_cc')
    assert done.returncode == 2 and 'two robots' in done.stderr


def test_a_schema_is_not_written_over_what_is_none(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('schema: 2\n')
    for words in (('--json-schema', str(file)), ('stiff_flop', '--json-schema', 'here.json')):
        done = command('doctor', *words)
        assert done.returncode == 1 and '--json-schema FILE.json' in done.stderr
    assert file.read_text() == 'schema: 2\n'
    assert command('doctor', '--json-schema', str(tmp_path / 'robot.schema.json')).returncode == 0


def test_an_error_of_the_library_is_one_line_whatever_its_class(tmp_path):
    text, file = find_robot_file('soft_parallel').read_text(), tmp_path / 'hard.yaml'
    soft = 'penalty: {value: 8 N,'
    assert soft in text
    file.write_text(text.replace(soft, 'penalty: {value: 100 kN,'))
    done = command('fk', '0', '0', '0', '--offline', '--robot', str(file))
    assert done.returncode != 0 and 'Traceback' not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_load_that_cannot_be_computed_is_the_value_that_is_shown():
    done = command('fk', '0', '0', '0', '--wrench', '0', '0', '-1e5N', *OFFLINE)
    assert done.returncode != 0 and '-100000.0' in done.stderr
