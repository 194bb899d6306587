# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The project's own rules find what they forbid and nothing else."""

import xml.etree.ElementTree as ElementTree

import house_rules
import import_circles
import launch_rules
import package_rules
import pytest

HEADER = '\n'.join(house_rules.HEADER) + '\n'
# Put together here so that these lines do not break the rule that they test.
NAP = 'time.' + 'sleep(1)'
MANY = 'def f(a, b, c, d, e, f, g, h, i):\n    return a\n'
SOURCE = '"""Sums.\n\nSource: school.\n"""\n'
BARE = '@kernel\ndef f(x):\n    pass\n'
KERNEL = '@kernel\ndef f(x, y):\n    """%s."""\n'
REGISTRY = 'https://py' + 'pi.org/simple'


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Return a function that writes files into a tree of their own and lists them."""
    for rules in (house_rules, import_circles, launch_rules, package_rules):
        monkeypatch.setattr(rules, 'ROOT', tmp_path)

    def write(**texts: str) -> list:
        files = []
        for name, text in texts.items():
            file = tmp_path / name.replace('__', '/').replace('_DOT_', '.')
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            files.append(file)
        return files

    return write


@pytest.mark.parametrize(
    ('name', 'text', 'complaint'),
    [
        ('src__a_DOT_py', 'x = 1\n', 'licence header'),
        ('src__utils_DOT_py', HEADER, 'does not say'),
        ('src__test__test_a_DOT_py', HEADER + NAP, 'not sleep'),
        ('src__a_kernels_DOT_py', HEADER + MANY, 'f has more than 8 arguments'),
        ('src__a_DOT_py', HEADER + MANY, 'f has more than 8 arguments'),
        ('src__a_kernels_DOT_py', HEADER + SOURCE + BARE, 'no docstring'),
        ('src__a_kernels_DOT_py', HEADER + SOURCE + KERNEL % 'Add x', 'kernel f lacks y'),
        ('src__a_kernels_DOT_py', HEADER + KERNEL % 'Add x to y', 'Source'),
        ('README_DOT_md', f'see {REGISTRY}', 'registry'),
        ('README_DOT_md', 'see [this](docs/gone.md#part)', 'docs/gone.md leads nowhere'),
        ('README_DOT_md', '# Here\n[that](#there)', 'this page has no heading #there'),
        ('README_DOT_md', '```\n# No heading\n```\n[it](README.md#no-heading)', '#no-heading'),
        ('README_DOT_md', '# Twice\n# Twice\n[1](#twice), [2](#twice-1), [3](#twice-2)', 'e-2'),
        ('src__m__msg__A_DOT_msg', 'float64 x\n', 'without a comment'),
    ],
)
def test_house_rules_find_what_they_forbid(tree, name, text, complaint):
    found = list(house_rules.check(tree(**{name: text})))
    assert len(found) == 1
    assert complaint in found[0]


def test_house_rules_let_good_files_pass(tree):
    files = tree(
        src__a_DOT_py='#!/usr/bin/env python3\n' + HEADER,
        src__loop_DOT_py=HEADER + NAP,
        src__a_kernels_DOT_py=HEADER + SOURCE + KERNEL % 'Add x to y',
        src__long_DOT_py=HEADER + MANY.replace('f(', 'f(*, '),
        README_DOT_md='# `Here`, [it](src/a.py) is\n'
        '[up](#here-it-is), [there](src/a.py#line), [far](https://example.org/x#y)',
        src__m__msg__A_DOT_msg='# A thing.\nfloat64 x  # m\n',
    )
    assert list(house_rules.check(files)) == []


CIRCLE = {
    'src__soro_a__soro_a__rod_DOT_py': 'from soro_a.end import Clamp\n',
    'src__soro_a__soro_a__end_DOT_py': 'def f():\n    from soro_a.load import Load\n',
    'src__soro_a__soro_a__load_DOT_py': 'from soro_a import rod\n',
}


def test_a_circle_of_imports_is_told_once_and_in_order(tree):
    (complaint,) = import_circles.check(tree(**CIRCLE))
    assert complaint == 'soro_a.end imports soro_a.load imports soro_a.rod imports soro_a.end'


def test_a_circle_for_annotations_only_is_one(tree):
    load = 'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from soro_a import rod\n'
    files = tree(**{**CIRCLE, 'src__soro_a__soro_a__load_DOT_py': load})
    assert len(list(import_circles.check(files))) == 1


@pytest.mark.parametrize('load', ['from soro_a.load import Load\n', 'import soro_b.rod\n'])
def test_what_only_looks_like_a_circle_passes(tree, load):
    files = tree(**{**CIRCLE, 'src__soro_a__soro_a__load_DOT_py': load})
    assert list(import_circles.check(files)) == []


def test_a_circle_through_a_package_and_a_relative_import_is_found(tree):
    (rod,) = tree(src__soro_a__soro_a__rod_DOT_py='import os\nfrom soro_a import Rod\n')
    package = rod.with_name('__init__.py')
    package.write_text('from .rod import Rod\n')
    found = list(import_circles.check([rod, package]))
    assert found == ['soro_a imports soro_a.rod imports soro_a']


@pytest.mark.parametrize(
    ('line', 'complaint'),
    [
        ('<arg name="a" default="1"/>', 'no description'),
        ('<node pkg="p" exec="e"><param name="a" value="1e-3"/></node>', 'no type'),
        ('<lifecycle_node pkg="p"/>', 'not in the subset'),
        ('<node name="driver" pkg="p" exec="driver" respawn="true"/>', 'resume by itself'),
        ('<node name="n" pkg="p" exec="e" args="--log-level debug"/>', 'ros_args'),
    ],
)
def test_launch_rules_find_what_they_forbid(line, complaint):
    found = list(launch_rules.check_launch(ElementTree.fromstring(f'<launch>{line}</launch>')))
    assert len(found) == 1
    assert complaint in found[0]


def test_launch_rules_let_a_good_file_pass(tree):
    text = (
        '<launch><arg name="a" description="d"/>'
        '<include file="f"><arg name="a" value="1"/></include>'
        '<node pkg="p" exec="e"><param name="a" value="true"/>'
        '<param name="b" value="1.0" type="float"/></node></launch>'
    )
    assert list(launch_rules.check(tree(a_DOT_launch_DOT_xml=text))) == []


def test_broken_xml_is_reported(tree):
    (complaint,) = launch_rules.check(tree(a_DOT_launch_DOT_xml='<launch>'))
    assert complaint.startswith('a.launch.xml: no element found')


MANIFEST = """<?xml version="1.0"?>
<?xml-model href="http://download.ros.org/schema/package_format3.xsd" schematypens="x"?>
<package format="3">
  <name>soro_a</name><version>0.1.0</version><description>d</description>
  <maintainer email="a@example.org">a</maintainer><license>Apache-2.0</license>
  <url type="website">https://soro.example.org</url>
  <exec_depend>python3-numpy</exec_depend><exec_depend>rclpy</exec_depend>
</package>
"""


@pytest.mark.parametrize(
    ('old', 'new', 'complaint'),
    [
        ('python3-numpy', 'python3-nunpy', 'python3-nunpy is no package'),
        ('Apache-2.0', 'MIT', 'not Apache-2.0'),
        ('soro_a', 'soro_b', 'differs from its folder'),
        ('<version>0.1.0</version>', '', 'version'),
    ],
)
def test_package_rules_find_what_they_forbid(tree, old, new, complaint):
    assert list(package_rules.check(tree(soro_a__package_DOT_xml=MANIFEST))) == []
    changed = MANIFEST.replace(old, new)
    found = list(package_rules.check(tree(soro_a__package_DOT_xml=changed)))
    assert len(found) == 1
    assert complaint in found[0]


def test_bringup_names_every_package_that_a_launch_file_starts(tree):
    launch = '<launch><node pkg="soro_a" exec="x"/><node pkg="soro_b" exec="y"/></launch>'
    bringup = MANIFEST.replace('soro_a', 'soro_bringup')
    files = {
        'soro_a__package_DOT_xml': MANIFEST,
        'soro_bringup__package_DOT_xml': bringup,
        'soro_b__package_DOT_xml': MANIFEST.replace('soro_a', 'soro_b'),
        'a_DOT_launch_DOT_xml': launch,
    }
    complaints = list(package_rules.check(tree(**files)))
    for complaint, name in zip(complaints, ('soro_a', 'soro_b'), strict=True):
        assert f'{name} is started by a launch file and no exec_depend' in complaint
