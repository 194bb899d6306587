# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Find robot files: by path, in $SORO_ROBOT_PATH, in the installed workspace, in this library."""

from __future__ import annotations

import os
from pathlib import Path

from soro_mechanics.core.errors import InvalidInput, MissingFile, UnknownName

OWN = Path(__file__).resolve().parents[1] / 'robots'  # config/robots of the workspace leads here
EXAMPLES = OWN / 'examples'


def _places() -> tuple[Path, ...]:
    """Return every folder that may hold robots, in the order of the search."""
    own = [Path(p) for p in os.environ.get('SORO_ROBOT_PATH', '').split(os.pathsep) if p]
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    installed = [Path(p) / 'share' / 'soro_description' / 'robots' for p in prefixes]
    return (*own, *(p for p in installed if p.is_dir()), OWN)


def search_path() -> tuple[Path, ...]:
    """Return the folders searched for ``<name>.yaml``, in this order."""
    return tuple(p for p in _places() if p.is_dir())


def searched() -> str:
    """Say where a robot's name was looked up, and how one is found elsewhere."""
    places = [f'{p}{"" if p.is_dir() else " (no such folder)"}' for p in _places()]
    return (
        f'searched in {", ".join(places)}; for another robot give the path of its file, '
        'or put the folder of the file into SORO_ROBOT_PATH'
    )


def robot_files() -> dict[str, Path]:
    """Return every robot that can be named, the first one found of each name."""
    found: dict[str, Path] = {}
    for folder in search_path():
        for file in sorted(folder.glob('*.yaml')):
            found.setdefault(file.stem, file)
    return found


def find_robot_file(robot: str | os.PathLike[str]) -> Path:
    """Return the file of a robot given by name or by path.

    Raises UnknownName: with the names that are valid and the folders that were searched, when it
    is neither. `MissingFile` where a path leads to no file.
    """
    if not isinstance(robot, str | os.PathLike):
        raise InvalidInput('robot', robot, 'the name of a robot, or the path of its file')
    text = os.fsdecode(robot)
    # Those of os.path: they answer for any text, also for one that can be no path.
    if '\0' in text:  # expanduser alone does not
        raise UnknownName('robot', text, tuple(robot_files()), remedy=searched())
    path = Path(os.path.expanduser(text))
    is_file = os.path.isfile(path)
    if path.suffix in ('.yaml', '.yml') or is_file:
        if is_file:
            return path
        raise MissingFile('robot', text, os.path.abspath(path))
    files = robot_files()
    if text not in files:
        raise UnknownName('robot', text, tuple(files), remedy=searched())
    return files[text]
