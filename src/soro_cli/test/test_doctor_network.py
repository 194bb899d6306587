# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
import pytest

from soro_cli.doctor.findings import Level
from soro_cli.doctor.models import check_models
from soro_cli.doctor.network import check_network
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

CHAIN = find_robot_file('config/robots/examples/planar_chain.yaml')


# The right strip holds a body of its own, which is not the tip's.
ASIDE = [
    ('to: {body: pin, rotation: 0 0 90 deg, joint: revolute, axis: 1 0 0}', 'to: {body: aside}'),
    ('mass: 10 g}', 'mass: 10 g}\n    aside: {}'),
]
# Both actuators stretch the left strip.
STRETCH = (
    'drives: stretch, rods: [left], curve: [{at: -1 rad, value: 0.9}, {at: 1 rad, value: 1.1}]'
)
TWINS = [(f'drives: angle, rods: [{name}]', STRETCH) for name in ('left', 'right')]


def findings(tmp_path, *changes):
    text = CHAIN.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / 'chain.yaml'
    file.write_text(text)
    robot = read_robot_file(file)
    return [*check_models(robot), *check_network(robot)]


def test_a_sound_network_has_nothing_to_complain_of(tmp_path):
    found = findings(tmp_path)
    assert [f for f in found if f.level is not Level.OK] == []
    subjects = {f.subject for f in found}
    assert {
        'rods',
        'mass',
        'F L^2 / (E I)',
        'rest',
        'network mesh',
        'jacobian',
        'reach',
    } <= subjects
    force = next(f.text for f in found if f.subject == 'F L^2 / (E I)')
    # two strips: 2 E b t^3 / 12 / L^2
    assert f'{2 * 70e9 * 0.012 * 0.001**3 / 12 / 0.25**2:.3g} N' in force


def test_tendons_are_more_than_the_directions_in_which_they_move():
    file = find_robot_file('config/robots/examples/tendon_arm.yaml')
    found = list(check_network(read_robot_file(file)))
    assert [f for f in found if f.level is not Level.OK] == []
    assert any('6 tendons move the tip in 4 directions' in f.text for f in found)


@pytest.mark.parametrize(
    ('changes', 'level', 'words'),
    [
        ([('70 GPa', '70 Pa')], Level.WARN, 'Young modulus 70 Pa'),
        ([('2700 kg/m^3', '2.7 kg/m^3')], Level.WARN, 'density 2.7'),
        ([('thickness: 1 mm', 'thickness: 40 mm')], Level.WARN, 'as long as thick'),
        ([('2700 kg/m^3', '0 kg/m^3'), (', mass: 10 g', '')], Level.WARN, 'there is gravity'),
        ([('mass: 10 g', 'mass: 10 kg')], Level.WARN, 'bodies weigh'),
        (ASIDE, Level.WARN, 'right cannot move the tip'),
        (TWINS, Level.WARN, '2 actuators move the tip from rest in 1 direction'),
    ],
)
def test_what_is_suspicious_is_said(tmp_path, changes, level, words):
    found = findings(tmp_path, *changes)
    said = [f for f in found if f.level is level and words in f'{f.text} {f.remedy}']
    assert len(said) == 1, found  # one line, of however many rods


def test_tendons_that_are_slack_at_rest_are_not_called_idle():
    robot = read_robot_file(find_robot_file('config/robots/examples/tendon_arm_servos.yaml'))
    found = [f for f in check_network(robot) if f.subject == 'jacobian']
    assert [f.level for f in found] == [Level.OK]


def test_tendons_that_a_motor_may_pay_out_are_not_called_idle(tmp_path):
    text = find_robot_file('config/robots/examples/tendon_arm_servos.yaml').read_text()
    assert text.count('minimum: 0 rad') == 6
    file = tmp_path / 'arm.yaml'
    file.write_text(text.replace('minimum: 0 rad', 'minimum: -0.8 rad, rest: 0 rad'))
    found = [f for f in check_network(read_robot_file(file)) if f.subject == 'jacobian']
    assert [f.level for f in found] == [Level.OK]


def test_robots_without_a_network_are_left_alone():
    assert list(check_network(read_robot_file(find_robot_file('spatial_cc')))) == []


ENDING = STRETCH.replace('at: -1 rad', 'at: -60 deg').replace('at: 1 rad', 'at: LAST')


@pytest.mark.parametrize(('last', 'said'), [('10 deg', True), ('60 deg', False)])
def test_a_curve_that_ends_before_the_limits_is_said(tmp_path, last, said):
    change = ('drives: angle, rods: [left]', ENDING.replace('LAST', last))
    found = [f for f in findings(tmp_path, change) if f.subject == 'curve']
    assert bool(found) is said
    if said:
        assert '... 10 deg of -' in found[0].text and found[0].level is Level.WARN
