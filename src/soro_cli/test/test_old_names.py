# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old public names work, warn with new name and release, and are not in the reference."""

from __future__ import annotations

import ast
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core import old_names

IN_MODULES = sorted(old for old in old_names.NEW_NAMES if not old.startswith('Robot.'))
OF_ROBOTS = sorted(set(old_names.NEW_NAMES) - set(IN_MODULES))


@pytest.fixture(scope='module')
def robot():
    return load_robot('stewart_gough')


def taken(name, find):
    """Return what `find` gets by an old name, after a look at the warning."""
    with pytest.warns(DeprecationWarning) as said:
        found = find()
    (warning,) = said
    new = old_names.NEW_NAMES.get(name, 'multistart=')
    assert new in str(warning.message) and old_names.GONE_WITH in str(warning.message)
    assert warning.filename == __file__
    return found


@pytest.mark.parametrize('old', IN_MODULES)
def test_a_name_of_a_module(old):
    module, _, name = old.rpartition('.')
    new, _, attribute = old_names.NEW_NAMES[old].rpartition('.')
    found = taken(old, lambda: getattr(import_module(module), name))
    assert found is getattr(import_module(new), attribute)


def test_another_name_of_such_a_module_is_missing():
    with pytest.raises(ImportError):
        from soro_node.lane import Line  # noqa: F401


@pytest.mark.parametrize('old', OF_ROBOTS)
def test_a_name_of_a_robot(old, robot):
    found = taken(old, lambda: getattr(robot, old.removeprefix('Robot.')))
    expected = attrgetter(old_names.NEW_NAMES[old].removeprefix('Robot.'))(robot)
    assert found.__func__ is expected.__func__


def test_the_argument_of_the_inverse(robot):
    target = robot.forward([a.rest for a in robot.actuators]).tip[:3, 3]
    found = taken('', lambda: robot.inverse(target, elsewhere=False))
    expected = robot.inverse(target, multistart=False)
    np.testing.assert_array_equal(found.actuation, expected.actuation)


def test_the_release_is_the_next_major_one():
    package = Path(old_names.__file__).parents[2] / 'package.xml'
    version = ElementTree.parse(package).findtext('version')
    assert old_names.GONE_WITH == f'{int(version.split(".")[0]) + 1}.0'


def test_the_api_reference_has_none_of_them():
    # It is read from the sources, without this module: docs/conf.py.
    root = Path(old_names.__file__).parents[1]
    tree = ast.parse((root / 'robot.py').read_text())
    (robot,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == 'Robot')
    defined = {n.name for n in robot.body if isinstance(n, ast.FunctionDef)}
    defined |= {n.arg for n in ast.walk(robot) if isinstance(n, ast.arg)}
    assert not defined & {'elsewhere', *(old.removeprefix('Robot.') for old in OF_ROBOTS)}
    settings = ast.parse((Path(__file__).parents[3] / 'docs/conf.py').read_text())
    (ignored,) = (
        ast.literal_eval(n.value)
        for n in settings.body
        if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == 'autoapi_ignore'
    )
    assert any(Path(old_names.__file__).match(pattern) for pattern in ignored)
