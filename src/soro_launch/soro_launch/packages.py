# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds packages and executables where colcon and the ROS distributions install them."""

from __future__ import annotations

from collections.abc import Mapping
import difflib
import os
from pathlib import Path

INDEX = Path('share') / 'ament_index' / 'resource_index' / 'packages'


class NotFound(LookupError):
    """A package or an executable is not installed; the message says what is."""


def prefixes(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders of AMENT_PREFIX_PATH, in order."""
    return [Path(p) for p in environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]


def package_prefix(package: str, environment: Mapping[str, str]) -> Path:
    """Return the folder a package is installed under.

    NotFound: with the nearest installed name, and the command that sets the workspace up.
    """
    for prefix in prefixes(environment):
        if os.path.isfile(prefix / INDEX / package):  # Path.is_file raises for a name too long
            return prefix
    installed = sorted({p.name for prefix in prefixes(environment) for p in _listed(prefix)})
    near = difflib.get_close_matches(package, installed, n=1)
    hint = f'; did you mean {near[0]!r}?' if near else ''
    raise NotFound(
        f'package {package!r} is not installed{hint} '
        '(build the workspace with `make setup`, or source its install/setup.bash)'
    )


def package_share(package: str, environment: Mapping[str, str]) -> Path:
    """Return the share folder of a package."""
    return package_prefix(package, environment) / 'share' / package


def package_executable(package: str, executable: str, environment: Mapping[str, str]) -> Path:
    """Return the path of an executable of a package, be it ament_python or ament_cmake."""
    folder = package_prefix(package, environment) / 'lib' / package
    path = folder / executable
    if os.path.isfile(path) and os.access(path, os.X_OK):
        return path
    found = sorted(p.name for p in folder.glob('*') if p.is_file() and os.access(p, os.X_OK))
    listing = ', '.join(found) if found else 'none'
    raise NotFound(f'package {package!r} has no executable {executable!r} in {folder}: {listing}')


def _listed(prefix: Path) -> list[Path]:
    folder = prefix / INDEX
    return list(folder.iterdir()) if folder.is_dir() else []
