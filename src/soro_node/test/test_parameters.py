# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The parameter table, in a node: declared, refused, applied, documented."""

from array import array
import math

import pytest
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_dict_from_yaml_file
import yaml

from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_node.parameters import Parameter, ParameterTable
from soro_rigs.parameter_table import markdown_table
from soro_rigs.ros_session import RosSession

TABLE = (
    Parameter('rate', 100.0, 'Hz', 'how often', minimum=1.0, maximum=500.0),
    Parameter('count', 3, '', 'how many', minimum=1),
    Parameter('task', 'pose', '', 'what', choices=('pose', 'position')),
    Parameter('gravity', [], 'm/s^2', 'mounting', sizes=(0, 3)),
    Parameter('names', ['a'], '', 'of things'),
    Parameter('enabled', True, '', 'or not', read_only=True),
    Parameter('tolerance', 1e-3, 'm', 'how near'),
    Parameter('smallest', 1e-5, 'm', 'at start only', read_only=True),
    Parameter('mounting', [0.0, 1e-5], 'm', 'at start only', read_only=True),
    Parameter('marker', [], 'm', 'at start only', sizes=(0, 6), read_only=True),
)


@pytest.fixture(scope='module')
def ros():
    with RosSession() as session:
        yield session


class Holder(Node):
    """A node with the table; `low` must stay below `count`."""

    def __init__(self, **kwargs):
        super().__init__('holder', **kwargs)
        self.applied = []
        self.table = ParameterTable(self, TABLE, self._validate, self.applied.append)

    def _validate(self, values):
        if values['count'] > values['rate']:
            raise InvalidInput('count', values['count'], 'no more than rate')
        if 'later' in values['names']:
            raise SoroError('not now')


@pytest.fixture
def holder(ros):
    node = Holder(context=ros.context)
    yield node
    node.destroy_node()


def change(node, **values):
    items = [RosParameter(n, value=v) for n, v in values.items()]
    return node.set_parameters_atomically(items)


@pytest.mark.parametrize(
    ('index', 'value', 'code'),
    [
        (0, math.nan, Code.NOT_FINITE),
        (0, math.inf, Code.NOT_FINITE),
        (0, 0.5, Code.OUT_OF_RANGE),
        (0, 501.0, Code.OUT_OF_RANGE),
        (0, 'x', Code.OUT_OF_RANGE),
        (0, True, Code.OUT_OF_RANGE),
        (1, 0, Code.OUT_OF_RANGE),
        (1, 2.5, Code.OUT_OF_RANGE),
        (1, True, Code.OUT_OF_RANGE),
        (2, 'posse', Code.OUT_OF_RANGE),
        (3, [1.0], Code.INVALID_SIZE),
        (3, [0.0, math.nan, 0.0], Code.NOT_FINITE),
        (3, 'abc', Code.OUT_OF_RANGE),
        (4, [1.0], Code.OUT_OF_RANGE),
        (5, 1, Code.OUT_OF_RANGE),
    ],
)
def test_wrong_values_are_refused(index, value, code):
    with pytest.raises(InvalidInput, match=TABLE[index].name) as caught:
        TABLE[index].checked(value)
    assert caught.value.code is code


def test_whole_numbers_are_taken_for_floats():
    value = TABLE[0].checked(50)
    assert (value, type(value)) == (50.0, float)
    assert TABLE[3].checked([0, 0, -9]) == [0.0, 0.0, -9.0]


def test_values_are_attributes_and_keys(holder):
    assert holder.table.rate == holder.table['rate'] == 100.0
    assert holder.table.gravity == []
    with pytest.raises(AttributeError):
        holder.table.speed  # noqa: B018


def test_accepted_changes_are_applied_once(holder):
    assert change(holder, rate=20, task='position').successful
    assert (holder.table.rate, holder.table.task) == (20.0, 'position')
    assert holder.applied == [{'rate', 'task'}]
    assert change(holder, task='position').successful  # no change
    assert len(holder.applied) == 1


@pytest.mark.parametrize(
    'values',
    [
        {'rate': math.nan},
        {'rate': 1e9},
        {'task': 'x'},
        {'gravity': [1.0, 2.0]},
        {'count': 200},  # coupled with rate
        {'rate': 50.0, 'count': 60},
        {'names': ['later']},  # nothing wrong with it, but not now
        {'enabled': False},  # at start only
    ],
)
def test_refused_changes_change_nothing(holder, values):
    before = holder.table.values()
    result = change(holder, **values)
    assert not result.successful
    assert result.reason
    assert holder.table.values() == before
    assert holder.applied == []


@pytest.mark.parametrize(
    'values', [{'rate': math.nan}, {'rate': 0.0}, {'task': 'x'}, {'count': 200}]
)
def test_wrong_values_at_start_are_refused_with_their_name(ros, values):
    overrides = [RosParameter(n, value=v) for n, v in values.items()]
    with pytest.raises(SoroError, match=next(iter(values))):
        Holder(context=ros.context, parameter_overrides=overrides)


def test_descriptors_carry_unit_and_range(holder):
    descriptor = holder.describe_parameter('rate')
    assert descriptor.description == 'how often [Hz]'
    assert descriptor.floating_point_range[0].to_value == 500.0
    assert holder.describe_parameter('count').integer_range[0].from_value == 1
    assert holder.describe_parameter('enabled').read_only


def test_the_rendered_table_has_every_parameter():
    lines = markdown_table(TABLE).splitlines()
    assert lines[2] == '| `rate` | float | `100.0` | Hz | [1, 500] | how often |'
    assert [line.split('`')[1] for line in lines[2:]] == [p.name for p in TABLE]
    assert '0 or 3 elements' in lines[5]
    assert 'at start only' in lines[7]


def test_what_ros_dumps_it_loads_again(holder, tmp_path):
    change(holder, tolerance=1e-5, count=4, names=['b', 'c'])
    names = [p.name for p in TABLE if not p.read_only]
    kept = {n: holder.get_parameter(n).value for n in names}
    kept = {n: list(v) if isinstance(v, list | array) else v for n, v in kept.items()}
    file = tmp_path / 'dumped.yaml'
    file.write_text(yaml.dump({'/holder': {'ros__parameters': kept}}), encoding='utf-8')
    change(holder, tolerance=1.0, count=9, names=['a'], gravity=[0.0, 0.0, 9.81])
    loaded = parameter_dict_from_yaml_file(str(file), target_nodes=['/holder'])
    assert loaded['tolerance'].value.type != ParameterType.PARAMETER_DOUBLE  # what this is about
    results = holder.set_parameters([RosParameter.from_parameter_msg(p) for p in loaded.values()])
    assert [r.successful for r in results] == [True] * len(names)
    for name, value in kept.items():
        found = holder.get_parameter(name)
        assert holder.table[name] == (list(found.value) if name == 'gravity' else found.value)
        assert holder.table[name] == value
    assert holder.get_parameter('tolerance').type_ is RosParameter.Type.DOUBLE


def test_all_that_ros_dumps_is_loaded_what_is_at_start_only_too_unless_it_differs(tmp_path):
    with RosSession() as session:
        node = session.node(Holder)
        kept = {p.name: p.default for p in TABLE} | {'use_sim_time': False}
        file = tmp_path / 'dumped.yaml'
        for smallest in (1e-5, 2e-5):
            kept['smallest'] = smallest
            text = yaml.dump({'/holder': {'ros__parameters': kept}})
            file.write_text(text, encoding='utf-8')
            loaded = parameter_dict_from_yaml_file(str(file), target_nodes=['/holder'])
            request = SetParameters.Request(parameters=list(loaded.values()))
            answer = session.call(SetParameters, '/holder/set_parameters', request)
            refused = [n for n, r in zip(loaded, answer.results, strict=True) if not r.successful]
            assert refused == ([] if smallest == 1e-5 else ['smallest'])
        assert node.table.smallest == 1e-5
        assert node.applied == []


def test_an_empty_list_of_numbers_is_an_array_of_doubles(holder):
    assert holder.get_parameter('gravity').type_ is RosParameter.Type.DOUBLE_ARRAY
    assert change(holder, gravity=[0, 0, 9]).successful
    assert holder.get_parameter('gravity').type_ is RosParameter.Type.DOUBLE_ARRAY
    assert holder.table.gravity == [0.0, 0.0, 9.0]


@pytest.mark.parametrize('text', ['one', '1e', 'e5', '0x1e5', 'nan', '1,0e5', '100'])
def test_other_texts_are_no_numbers(holder, text):
    assert not change(holder, tolerance=text).successful
    assert holder.table.tolerance == 1e-3
