# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files changed at random: a robot, or an error that names the field; nothing else, ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import copy
import datetime
import os
from pathlib import Path
import resource
import signal
from typing import Any

from hypothesis import example, given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
import yaml

from soro_mechanics import load_robot, RobotFileError
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file, robot_files
from soro_mechanics.robot_file.quantity import parse, QuantityError, UNITS
from soro_mechanics.robot_file.reader import describe_robot, read_robot_file

# SORO_FUZZ=20: twenty times as many examples, every time others.
EFFORT = int(os.environ.get('SORO_FUZZ', '0'))
FUZZ = settings(
    max_examples=80 * max(EFFORT, 1),
    deadline=None,
    derandomize=EFFORT == 0,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LONGEST = 20  # s, of one file, on a machine that does other things too
MEMORY = 2**30  # bytes, beyond what the process has
ROBOTS = {name: yaml.safe_load(p.read_text()) for name, p in sorted(robot_files().items())}

NUMBERS = [
    '0', '-1', '1', '1e-300', '1e300', '1e999', '1e-999', 'nan', 'inf', '-0', '1_000', '0x10',
    '1' * 500, '.5', '5.', '1e', '--1', '1 2', '1 2 3', '',
]  # fmt: skip
JUNK: list[Any] = [
    None, True, False, 0, -1, 1, 7, 10**6, 10**9, 10**12, 10**30, 16**5000, float('nan'),
    float('inf'), -float('inf'), 1e308, 5e-324, '', ' ', '\0', 'x', '~', '[]', '../../x',
    'x' * 100_000, '9' * 100_000, '1 ' * 50_000, '1' + ' ' * 50_000 + '!', [], [[]], {}, [None],
    {'value': None}, {'value': 1, 'source': []}, {'value': 1, 'source': 'guessed'},
    {'value': 1, 2: 3, 'a': 4}, {1: 2}, {(1, 2): 3}, {None: None}, [1] * 1000, ['a', 'a'],
    b'bytes', datetime.date(2026, 1, 1), {'a', 1}, [{}], [[1, 2], [3]], {'value': {'value': 1}},
]  # fmt: skip
junk = st.one_of(
    st.sampled_from(JUNK),
    st.builds('{} {}'.format, st.sampled_from(NUMBERS), st.sampled_from(sorted(UNITS))),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the path of everything inside a parsed file."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in entries:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def holder(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        tree = tree[key]
    return tree


@st.composite
def changed_files(draw: st.DrawFn) -> Any:
    """Return a real robot file with one to three changes."""
    name = draw(st.sampled_from(sorted(ROBOTS)))
    tree = copy.deepcopy(ROBOTS[name])
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(tree))))
        inside, key = holder(tree, path), path[-1]
        what = draw(st.sampled_from(['replace', 'replace', 'remove', 'double', 'rename', 'swap']))
        if what == 'remove':
            del inside[key]
        elif what == 'double' and isinstance(inside, list):
            inside.extend([copy.deepcopy(inside[key])] * draw(st.integers(1, 3)))
        elif what == 'rename' and isinstance(inside, dict):
            inside[draw(st.sampled_from(['x', 'value', 'name', '', 1, None]))] = inside.pop(key)
        elif what == 'swap':
            other = draw(st.sampled_from(list(places(tree))))
            inside[key] = copy.deepcopy(holder(tree, other)[other[-1]])
        else:
            inside[key] = draw(junk)
        if not tree:
            break
    return tree


@contextmanager
def bounded() -> Iterator[None]:
    """Let one example end late, or take too much memory, as an error."""

    def late(*_: object) -> None:
        raise AssertionError(f'no answer within {LONGEST} s')

    with open('/proc/self/statm') as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def try_to_build(tree: Any) -> None:
    """Build every model that a file describes; RobotFileError is the one way to fail."""
    with bounded():
        try:
            description = describe_robot(tree, 'changed.yaml')
            for model in description.models:
                Robot(description, model)
        except RobotFileError as error:
            assert error.path and error.remedy and error.file == 'changed.yaml'
            assert len(str(error)) < 10_000


@given(changed_files())
@FUZZ
def test_a_changed_file_is_a_robot_or_names_its_field(tree):
    try_to_build(tree)


# What once ended in another exception, or in all of the memory.
FOUND = {
    'text in a mesh': ('haptic_5dof', ('models', 'network', 'mesh'), ['0 .39247198', 1]),
    'a list in a mesh': ('haptic_5dof', ('models', 'network', 'mesh'), [0, [1], 1]),
    'no mesh': ('haptic_5dof', ('models', 'network', 'mesh'), []),
    'endless pieces': ('haptic_5dof', ('models', 'network', 'mesh'), 10**12),
    'endless elements': ('stiff_flop', ('models', 'ncm', 'elements'), 10**12),
    'endless mesh': ('stiff_flop', ('models', 'network', 'mesh'), 10**30),
    'endless schema': ('stiff_flop', ('schema',), 16**5000),
    'endless vector': ('stiff_flop', ('gravity',), [16**5000, 0, 0]),
    'mixed keys': ('stiff_flop', ('gravity',), {'value': '0 0 0 m/s^2', 2: 3, 'a': 4}),
    'endless key': ('stiff_flop', ('models', 'ncm', 'compensation'), {16**5000: 1}),
}


@pytest.mark.parametrize('name', FOUND)
def test_what_was_found_stays_refused(name):
    robot, path, value = FOUND[name]
    tree = copy.deepcopy(ROBOTS[robot])
    holder(tree, path)[path[-1]] = value
    with bounded(), pytest.raises(RobotFileError) as caught:
        describe_robot(tree, 'x.yaml')
    assert str(path[-1]) in caught.value.path


@given(junk)
@FUZZ
def test_anything_at_all_is_refused_by_name(tree):
    with bounded(), pytest.raises(RobotFileError) as caught:
        describe_robot(tree, 'x.yaml')
    assert caught.value.path


def lists_of_lists(depth: int) -> str:
    rows = [f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 10)}]' for i in range(1, depth)]
    return '\n'.join(['a0: &a0 [x, x]', *rows])


TEXTS = {
    'ten to the ninth': 'schema: 1\n' + lists_of_lists(9),
    'in a name': lists_of_lists(9) + '\nschema: *a8\n',
    'holds itself': 'schema: &a [*a]\nname: x\n',
    'merged into itself': '&a {schema: 1, <<: *a}\n',
    'merges of merges': 'schema: 1\n'
    + '\n'.join(
        [
            'm0: &m0 {k: 1}',
            *(f'm{i}: &m{i} {{<<: [{", ".join([f"*m{i - 1}"] * 10)}]}}' for i in range(1, 9)),
        ]
    ),
    'deep': '[' * 5000 + ']' * 5000,
    'deep mapping': '{a: ' * 3000 + '1' + '}' * 3000,
    'many digits': 'schema: ' + '9' * 10_000,
    'hexadecimal': 'schema: 0x' + 'f' * 10_000,
    'sexagesimal': 'schema: ' + ':'.join(['59'] * 4000),
    'date that is none': 'schema: 2026-99-99',
    'tag': '!!python/object/apply:os.system ["true"]',
    'binary': 'schema: !!binary "%%%"',
    'set': 'schema: !!set {a, b}',
    'pairs': 'schema: !!pairs [a]',
    'list as key': '? [a, b]\n: 1\n',
    'mapping as key': '? {a: b}\n: 1\n',
    'two documents': 'schema: 1\n---\nschema: 1\n',
    'nothing': '',
    'nul': 'schema: \0',
    'surrogate': 'schema: "\\ud800"',
    'tab': 'schema:\t1\n\t- x',
}


@pytest.mark.parametrize('text', TEXTS.values(), ids=TEXTS)
def test_hostile_yaml_is_refused(tmp_path, text):
    file = tmp_path / 'x.yaml'
    file.write_text(text, encoding='utf-8')
    with bounded(), pytest.raises(RobotFileError) as caught:
        load_robot(file)
    assert caught.value.path
    assert len(str(caught.value)) < 10_000


def test_a_file_without_end_is_refused():
    with bounded(), pytest.raises(RobotFileError, match='longer than'):
        read_robot_file('/dev/zero')


@st.composite
def cut_texts(draw: st.DrawFn) -> bytes:
    """Return the bytes of a real file, cut, spliced and sprinkled with others."""
    data = bytearray(Path(find_robot_file(draw(st.sampled_from(sorted(ROBOTS))))).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        data[start:end] = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(
                    [b'&a ', b'*a', b'{', b'[', b'}', b'\n', b'!!', b'? ', b': ', b'- ']
                ),
            )
        )
    return bytes(data)


@given(cut_texts())
@settings(FUZZ, suppress_health_check=list(HealthCheck))
def test_damaged_bytes_are_a_robot_or_an_error(tmp_path, data):
    file = tmp_path / 'damaged.yaml'
    file.write_bytes(data)
    with bounded():
        try:
            load_robot(file)
        except RobotFileError as error:
            assert error.path and error.file == str(file)


@given(junk, st.sampled_from(['1', 'm', 'Pa', 'rad', 'N m^2']), st.integers(1, 6))
@example('9' * 100_000 + ' /', 'm', 1)
@example('1 ' * 50_000 + '/', 'm', 1)
@example(16**5000, '1', 1)
@FUZZ
def test_a_quantity_is_read_or_refused_at_once(text, unit, size):
    with bounded():
        try:
            assert len(parse(text, unit, size)) == size
        except QuantityError as error:
            assert len(str(error)) < 1000


@given(st.one_of(st.text(max_size=50), st.sampled_from(['x' * 5000, '\0', '~nobody/x', '', '/'])))
@example('x' * 5000)
@example('~no_such_user/robot.yaml')
@example('a\0b.yaml')
@FUZZ
def test_a_name_of_a_robot_is_found_or_refused(name):
    with pytest.raises((InvalidInput, RobotFileError)):
        load_robot(name)
