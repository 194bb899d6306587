# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the strict reader of one mapping."""

import numpy as np
import pytest

from soro_mechanics import RobotFileError
from soro_mechanics.robot_file.section import Section


def section(**data):
    return Section(data, 'part', 'robot.yaml')


def test_values_come_out_in_si():
    with section(
        length='40 mm', n=3, ok=True, kind='a', names=['x', 'y'], g='0 0 -9.81 m/s^2', ratio='5 %'
    ) as s:
        assert s.quantity('length', 'm') == pytest.approx(0.04)
        assert s.integer('n') == 3 and s.boolean('ok') is True
        assert s.text('kind', choices=('a', 'b')) == 'a'
        assert s.texts('names') == ('x', 'y')
        assert s.number('ratio') == pytest.approx(0.05)
        np.testing.assert_array_equal(s.vector('g', 'm/s^2', 3), [0, 0, -9.81])


def test_a_unit_in_a_list_is_of_its_entry_only():
    s = section(mesh=[0, 0.5, '100 %'], at=['5 cm', '0 m', '10 mm'])
    np.testing.assert_allclose(s.vector('mesh', '1', 3), [0.0, 0.5, 1.0])
    np.testing.assert_allclose(s.vector('at', 'm', 3), [0.05, 0.0, 0.01])
    with pytest.raises(RobotFileError, match='every entry: the unit is missing') as caught:
        section(at=[0.05, 0, '10 mm']).vector('at', 'm', 3)
    assert caught.value.path == 'part.at'
    with pytest.raises(RobotFileError, match='2 entries given; write 3'):
        section(at=[0, 1]).vector('at', '1', 3)


def test_a_key_nobody_asked_for_is_refused_with_the_nearest():
    with pytest.raises(RobotFileError, match="did you mean 'length'") as caught:
        with section(length='1 m', lenght='1 m') as s:
            s.quantity('length', 'm')
    assert caught.value.path == 'part.lenght'


def test_a_misspelt_required_key_is_named():
    with pytest.raises(RobotFileError, match="is 'lenght' meant"):
        section(lenght='1 m').quantity('length', 'm')


def test_an_error_inside_is_not_hidden_by_unread_keys():
    with pytest.raises(ZeroDivisionError):
        with section(unread=1):
            raise ZeroDivisionError


def test_bounds_are_inclusive_and_positive_is_not():
    assert section(x='2 m').quantity('x', 'm', minimum=2.0, maximum=2.0) == 2.0
    with pytest.raises(RobotFileError, match='at least 3 m'):
        section(x='2 m').quantity('x', 'm', minimum=3.0)
    with pytest.raises(RobotFileError, match='at most 1 m'):
        section(x='2 m').quantity('x', 'm', maximum=1.0)
    with pytest.raises(RobotFileError, match='greater than zero'):
        section(x='0 m').quantity('x', 'm', positive=True)


@pytest.mark.parametrize(
    ('read', 'value', 'says'),
    [
        ('integer', 2.0, 'whole number'),
        ('integer', True, 'whole number'),
        ('boolean', 1, 'true or false'),
        ('text', 4, 'write a text'),
        ('texts', 'x', 'list of names'),
        ('texts', ['x', 'x'], 'twice'),
        ('texts', [], 'at least one name'),
        ('sections', {}, 'write a list'),
        ('text', None, 'empty'),
    ],
)
def test_wrong_kinds_are_refused(read, value, says):
    with pytest.raises(RobotFileError, match=says):
        getattr(section(x=value), read)('x')


def test_defaults_stand_in_for_what_is_missing():
    s = section()
    assert s.quantity('x', 'm', 0.5) == 0.5 and s.integer('n', 3) == 3
    assert s.sections('parts', ()) == []


def test_origins_are_kept_with_their_path():
    s = section(x={'value': '1 m', 'source': 'published', 'note': 'Fig. 1'})
    assert s.quantity('x', 'm') == 1.0
    (origin,) = s.origins
    assert (origin.path, origin.source, origin.note) == ('part.x', 'published', 'Fig. 1')


def test_paths_go_down_through_lists():
    parts = section(parts=[{'x': '1 m'}, {'x': '1 s'}]).sections('parts')
    assert parts[0].quantity('x', 'm') == 1.0
    with pytest.raises(RobotFileError) as caught:
        parts[1].quantity('x', 'm')
    assert caught.value.path == 'part.parts[1].x' and caught.value.file == 'robot.yaml'


def test_only_mappings_with_text_keys_are_sections():
    for data in ([1], None, {1: 2}):
        with pytest.raises(RobotFileError):
            Section(data)


def test_a_missing_number_is_said_with_its_unit_and_no_other_key_is_blamed():
    s = section(bending_stiffness='1 N m^2')
    with pytest.raises(RobotFileError) as refused:
        s.quantity('axial_stiffness', 'N')
    assert refused.value.remedy.startswith('required, but missing; write 1 number with a unit (N,')
    with pytest.raises(RobotFileError, match=r'missing; write 3 numbers with a unit \(m, '):
        s.vector('position', 'm', 3)
    with pytest.raises(RobotFileError, match='missing; write 1 number$'):
        s.number('part')
