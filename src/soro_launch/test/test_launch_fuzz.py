# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Launch files changed at random: a plan, or an error with file and line; nothing else, ever."""

from __future__ import annotations

import copy
import os
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

from hypothesis import example, given, HealthCheck, settings
from hypothesis import strategies as st
from launch_rig import LaunchRig
import pytest

from soro_launch.errors import LaunchError
from soro_launch.evaluation import plan_launch
from soro_launch.run import describe_arguments
from soro_launch.substitution_text import parse_text, SubstitutionError
from soro_launch.xml_reader import ACTIONS, read_launch_file, RULES

EFFORT = int(os.environ.get('SORO_FUZZ', '0'))
FUZZ = settings(
    max_examples=80 * max(EFFORT, 1),
    deadline=None,
    derandomize=EFFORT == 0,
    database=None,
    suppress_health_check=list(HealthCheck),
)
LAUNCH_FILES = sorted((Path(__file__).resolve().parents[3] / 'launch').glob('**/*.launch.xml'))
BODIES = [ElementTree.parse(f).getroot() for f in LAUNCH_FILES]
# Commands are run when a file is planned: the only program that may be named here is `true`.
WORDS = [
    '', ' ', 'true', 'false', '1', '0', 'nan', 'inf', '1e999', '-1', 'x', '/', '//', '~', '..',
    '$(', '$(var', '$(var )', '$(var x)', '$(var x y)', '$(var $(var $(var x)))', '$(env HOME)',
    '$(env)', '$(dirname)', '$(dirname) x', '$(find-pkg-share pkg)', '$(find-pkg-share ..)',
    '$(equals a b)', '$(not x)', '$(not [)', '$(and true {)', '$(or 1 0)', '$(eval 1)', '$(x)',
    "$(command 'true')", "$(command '')", "$(command '\"')", "$(command 'true' nonsense)",
    "$(command 'true \\\\')", '[', ']', '[1, 2', '[1, a]', '{', '{a: b}', ': :', '&a [*a]', '*a',
    '!!python/object/apply:os.system ["true"]', '"', "'", '\\', '\\\\', '\t', '\u2028', '\u0660',
    'x' * 5000, '$(' * 3000, '$(var ' * 3000, '(' * 100, '[' * 3000, '9' * 5000,
    'pkg', 'run', 'screen', 'both', 'shutdown', 'int', 'float', 'bool', 'str', 'list_of_int',
]  # fmt: skip
words = st.one_of(
    st.sampled_from(WORDS), st.text(st.characters(blacklist_categories=('Cs', 'Cc')), max_size=12)
)
ATTRIBUTES = sorted({a for r in RULES.values() for a in (*r.required, *r.optional)})


@st.composite
def changed_files(draw: st.DrawFn) -> str:
    """Return a launch file of the workspace with one to four changes."""
    root = copy.deepcopy(draw(st.sampled_from(BODIES)))
    for _ in range(draw(st.integers(1, 4))):
        element = draw(st.sampled_from(list(root.iter())))
        what = draw(st.sampled_from(['value', 'value', 'attribute', 'tag', 'child', 'remove']))
        if what == 'value' and element.attrib:
            element.set(draw(st.sampled_from(sorted(element.attrib))), draw(words))
        elif what == 'attribute':
            element.set(draw(st.sampled_from(ATTRIBUTES)), draw(words))
        elif what == 'tag':
            element.tag = draw(st.sampled_from(sorted(RULES)))
        elif what == 'child':
            element.append(copy.deepcopy(draw(st.sampled_from(list(root.iter())))))
        elif what == 'remove' and len(element):
            element.remove(draw(st.sampled_from(list(element))))
    return ElementTree.tostring(root, encoding='unicode')


@st.composite
def small_files(draw: st.DrawFn) -> str:
    """Return elements of the subset with any values at all."""

    def element(tag: str, depth: int) -> str:
        rule = RULES[tag]
        names = [
            *rule.required,
            *draw(
                st.lists(st.sampled_from(sorted(rule.optional)), max_size=2, unique=True)
                if rule.optional
                else st.just([])
            ),
        ]
        made = ElementTree.Element(tag, {name: draw(words) for name in names})
        text = ElementTree.tostring(made, encoding='unicode').removesuffix(' />')
        inside = (
            ''.join(
                element(child, depth - 1)
                for child in draw(st.lists(st.sampled_from(rule.children), max_size=2))
            )
            if rule.children and depth
            else ''
        )
        return f'{text}>{inside}</{tag}>'

    tags = draw(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=4))
    return '<launch>' + ''.join(element(tag, 2) for tag in tags) + '</launch>'


@pytest.fixture
def rig(tmp_path):
    rig = LaunchRig(tmp_path)
    (tmp_path / 'parameters').mkdir()
    return rig


def try_to_plan(rig: LaunchRig, data: bytes) -> None:
    """Plan a file; LaunchError, naming the file and a line, is the one way to fail."""
    file = rig.folder / 'fuzz.launch.xml'
    file.write_bytes(data)
    for attempt in (
        lambda: plan_launch(file, {}, rig.environment, rig.folder / 'parameters'),
        lambda: describe_arguments(file, rig.environment),
    ):
        try:
            attempt()
        except LaunchError as error:
            assert error.message
            assert error.file == '' or error.line > 0
            assert len(str(error)) < 20_000


@given(text=changed_files())
@FUZZ
def test_a_changed_file_is_a_plan_or_an_error(rig, text):
    try_to_plan(rig, re.sub(r'xacro|\bsoro\b', 'true', text).encode())


@given(text=small_files())
@example(text=f'<launch><node pkg="{"n" * 300}" exec="x"/></launch>')
@example(text=f'<launch><node pkg="pkg" exec="{"n" * 300}"/></launch>')
@FUZZ
def test_any_value_gives_a_plan_or_an_error(rig, text):
    try_to_plan(rig, text.encode())


@given(data=st.binary(max_size=300))
@FUZZ
def test_any_bytes_give_a_plan_or_an_error(rig, data):
    try_to_plan(rig, data)


@given(text=st.text(st.sampled_from('$()\'" \\ab'), max_size=40))
@example(text='$(a ' * 5000)
@FUZZ
def test_any_text_is_parsed_or_refused(text):
    try:
        parse_text(text)
    except SubstitutionError as error:
        assert len(str(error)) < 1000


FILES = {
    'billion laughs': '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">'
    + ''.join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip('abcdefgh', 'bcdefghi', strict=True)
    )
    + ']><launch><log message="&i;"/></launch>',
    'entity': '<!DOCTYPE l [<!ENTITY a "x">]><launch><log message="&a;"/></launch>',
    'file entity': '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><launch>&a;</launch>',
    'deep groups': '<launch>' + '<group>' * 5000 + '</group>' * 5000 + '</launch>',
    'unknown encoding': '<?xml version="1.0" encoding="x-no-such"?><launch/>',
    'namespace': '<launch xmlns:a="b"><a:node/></launch>',
    'nul': '<launch>\0</launch>',
    'two roots': '<launch/><launch/>',
    'empty': '',
    'includes itself': '<launch><include file="$(dirname)/fuzz.launch.xml"/></launch>',
    'endless retries': '<launch><node pkg="pkg" exec="run" respawn_max_retries="inf"/></launch>',
    'endless delay': '<launch><node pkg="pkg" exec="run" respawn_delay="inf"/></launch>',
    'open quote': '<launch><node pkg="pkg" exec="run" launch-prefix="\'"/></launch>',
    'open quote in a command': '<launch><log message="$(command &quot;&apos;&quot;)"/></launch>',
    'empty command': '<launch><log message="$(command &apos;&apos;)"/></launch>',
    'broken truth': '<launch><log message="$(not [)"/></launch>',
    'broken parameter': '<launch><set_parameter name="a" value="["/></launch>',
    'long file name': f'<launch><include file="/{"x" * 5000}"/></launch>',
    'endless list': '<launch><node pkg="pkg" exec="run">'
    f'<param name="a" type="list_of_int" value="{"[" * 3000}"/></node></launch>',
    'many digits': '<launch><node pkg="pkg" exec="run">'
    f'<param name="a" type="int" value="{"9" * 5000}"/></node></launch>',
}


@pytest.mark.parametrize('text', FILES.values(), ids=FILES)
def test_hostile_files_are_refused(rig, text):
    file = rig.folder / 'fuzz.launch.xml'
    file.write_text(text)
    with pytest.raises(LaunchError) as caught:
        plan_launch(file, {}, rig.environment, rig.folder / 'parameters')
    assert caught.value.file.endswith('.launch.xml') and caught.value.line > 0


def test_includes_that_double_at_every_level_are_refused(rig):
    for i in range(40):
        line = f'<include file="$(dirname)/level_{i + 1}.launch.xml"/>'
        rig.file(line * 2, f'level_{i}.launch.xml')
    rig.file('', 'level_40.launch.xml')
    with pytest.raises(LaunchError, match='includes'):
        plan_launch(
            rig.folder / 'level_0.launch.xml', {}, rig.environment, rig.folder / 'parameters'
        )
    with pytest.raises(LaunchError, match='includes'):
        describe_arguments(rig.folder / 'level_0.launch.xml', rig.environment)


def test_every_launch_file_is_well_formed_before_it_is_changed():
    assert len(LAUNCH_FILES) > 5
    for file in LAUNCH_FILES:
        assert read_launch_file(file).tag == 'launch'
