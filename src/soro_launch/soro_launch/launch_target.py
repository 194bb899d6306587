# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a user may launch: a robot by name or file, a launch file, or one of a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import glob
import os
from pathlib import Path
import re

from soro_launch.errors import LaunchError
from soro_launch.packages import NotFound, package_share

BRINGUP = 'soro_bringup'
MACHINERY = 'robot.launch.xml'


@dataclass(frozen=True)
class LaunchTarget:
    """A launch file and the arguments that belong to it."""

    file: Path
    arguments: tuple[str, ...]


def find_launch_target(words: Sequence[str], environment: Mapping[str, str]) -> LaunchTarget:
    """Understand the words after ``soro launch``.

    Known forms: ``stiff_flop``, ``my_robot.yaml``, ``some.launch.xml``,
    ``package file.launch.xml``, each with ``name:=value`` arguments behind it.

    LaunchError: nothing of that name exists; the message lists what does.
    """
    names = [w for w in words if ':=' not in w]
    arguments = tuple(w for w in words if ':=' in w)
    if len(names) == 2:
        return LaunchTarget(_in_package(names[0], names[1], environment), arguments)
    if len(names) != 1:
        raise LaunchError(
            'name what to launch: a robot (`soro list`), the path of a robot file or of a launch '
            'file, or a package and one of its launch files; then name:=value without blanks'
        )
    return _single(names[0], arguments, environment)


def _single(name: str, arguments: tuple[str, ...], environment: Mapping[str, str]) -> LaunchTarget:
    path = Path(name).expanduser()
    if name.endswith('.xml'):
        if not os.path.isfile(path):  # Path.is_file raises for a name too long
            raise LaunchError(f'there is no launch file {name}')
        return LaunchTarget(path, arguments)
    if path.suffix in ('.yaml', '.yml'):
        return _robot_file(path, arguments, environment)
    own = _launch_folder(environment) / f'{name}.launch.xml'
    if os.path.isfile(own):
        return LaunchTarget(own, arguments)
    from soro_mechanics.robot_file.catalogue import robot_files, searched  # rarely

    robots = robot_files()
    if name not in robots:
        known = ', '.join(sorted(robots)) or 'none'
        raise LaunchError(f'there is no robot {name!r}; known: {known}; {searched()}')
    machinery = _launch_folder(environment) / MACHINERY
    return LaunchTarget(machinery, (f'robot:={name}', *_haptics(robots[name]), *arguments))


def _robot_file(
    path: Path, arguments: tuple[str, ...], environment: Mapping[str, str]
) -> LaunchTarget:
    if not os.path.isfile(path):
        raise LaunchError(f'there is no robot file {path}')
    if not any(a.startswith('namespace:=') for a in arguments):
        token = re.sub(r'[^a-zA-Z0-9_]|^(?=[0-9])', '_', path.stem)
        arguments = (f'namespace:={token}', *arguments)
    machinery = _launch_folder(environment) / MACHINERY
    return LaunchTarget(machinery, (f'robot:={path.resolve()}', *_haptics(path), *arguments))


def _haptics(file: Path) -> tuple[str, ...]:
    """Return what starts the renderer of a robot that a hand holds; later arguments win."""
    from soro_mechanics.core.errors import RobotFileError  # rarely
    from soro_mechanics.robot_file.reader import read_yaml

    try:
        text = read_yaml(file)
    except RobotFileError:
        return ()  # what is started says what is wrong with it
    if not isinstance(text, dict):
        return ()
    control = text.get('control')
    held = 'haptic' in text or (isinstance(control, dict) and 'haptic' in control)
    return ('haptics:=direct',) if held else ()


def _launch_folder(environment: Mapping[str, str]) -> Path:
    try:
        return package_share(BRINGUP, environment) / 'launch'
    except NotFound as error:
        raise LaunchError(str(error)) from None


def _in_package(package: str, file: str, environment: Mapping[str, str]) -> Path:
    try:
        share = package_share(package, environment)
    except NotFound as error:
        argument = f'{file!r}: neither a launch file nor name:=value without blanks'
        raise LaunchError(str(error) if file.endswith('.xml') else argument) from None
    if Path(file).is_absolute():
        raise LaunchError(
            f'{file} is a path, not a launch file of {package}; leave the package out: '
            f'soro launch {file}'
        )
    found = sorted(path for path in share.rglob(glob.escape(file)) if path.is_file())
    if not found:
        known = ', '.join(sorted(p.name for p in share.rglob('*.launch.xml'))) or 'none'
        raise LaunchError(f'package {package} has no launch file {file}; it has: {known}')
    return found[0]
