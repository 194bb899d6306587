# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The executable `check_launch`: refuses, before any node is started, what could never run.

A launch file runs it with its arguments as ``name:=value``; one line on standard error and exit
code 1 make either launcher give up.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import sys

from soro_driver import devices
from soro_driver.endpoint import derive
from soro_driver.settings import read_driver_settings
from soro_mechanics.core.errors import InvalidInput, SoroError, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, read_yaml


def check(arguments: Mapping[str, str]) -> None:
    """Check the arguments of robot.launch.xml that name something.

    SoroError: which of them is wrong, and what would be right.
    """
    robot = read_robot_file(find_robot_file(arguments['robot']))
    model = arguments.get('model', '')
    if model and model not in robot.models:
        raise UnknownName('model', model, robot.models, Code.UNKNOWN_MODEL)
    settings = read_driver_settings(robot)
    emulated = _is_true(arguments, 'use_emulator')
    endpoint = derive(arguments.get('namespace', ''), settings.device) if emulated else None
    devices.load(settings.device).from_section(settings.section, robot, endpoint)
    if arguments.get('emulator_log'):
        _check_writable(Path(arguments['emulator_log']))
    displays = arguments.get('rviz_config', '')
    if _is_true(arguments, 'rviz') and not Path(displays).is_file():
        raise InvalidInput('rviz_config', displays, 'a file of RViz that exists')
    if arguments.get('nodes'):
        for file in sorted(Path(arguments['nodes']).glob('*.yaml')):
            _check_parameters(file)


def _is_true(arguments: Mapping[str, str], name: str) -> bool:
    return arguments.get(name, '').lower() in ('true', '1')


def _check_writable(file: Path) -> None:
    folder = file.absolute().parent
    while not folder.exists():  # the emulator makes folders that are missing
        folder = folder.parent
    wrong = file.is_dir() or not folder.is_dir()
    if wrong or not os.access(file if file.exists() else folder, os.W_OK):
        raise InvalidInput('emulator_log', str(file), 'a file that can be written')


def _check_parameters(file: Path) -> None:
    if not isinstance(read_yaml(file), dict):
        raise InvalidInput('parameter file', str(file), 'node names with ros__parameters')


def main() -> None:
    """Check the words of the command line."""
    words = (word.partition(':=') for word in sys.argv[1:])
    try:
        check({name: value for name, _, value in words})
    except SoroError as error:
        sys.exit(f'error: {error}')
