# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where things lie, which ROS is used, and what the packages depend on for being up to date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import hashlib
import os
from pathlib import Path
import re

ROOT = Path(__file__).resolve().parent.parent

# Data that these packages install from the top of the workspace.
INSTALLED_DATA = {
    'soro_description': ('config/robots', 'urdf', 'config/rviz'),
    'soro_bringup': ('launch', 'config/nodes'),
}
# Stand-ins that a robot runs without: `make run` does not wait for their build.
OPTIONAL = ('control_msgs',)
# Files of a package that its build reads; Python modules are linked, not copied.
BUILD_INPUTS = (
    'package.xml',
    'setup.py',
    'setup.cfg',
    'CMakeLists.txt',
    'resource/*',
    'msg/*',
    'srv/*',
    'action/*',
)


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


def digest(items: Iterable[str | bytes]) -> str:
    """Return a hash over texts and bytes, in order."""
    result = hashlib.sha256()
    for item in items:
        data = item.encode() if isinstance(item, str) else item
        result.update(len(data).to_bytes(8, 'little'))
        result.update(data)
    return result.hexdigest()


def check_place(root: Path) -> None:
    """Raise where the path of a workspace has a character that what it uses cannot bear.

    The scripts of an environment, CMake, lists of paths and shell lines; they would fail, after
    minutes, with messages about something else.
    """
    bad = sorted(set(re.sub(r'[A-Za-z0-9/._+@~-]', '', str(root))))
    if bad:
        listing = ' '.join(ascii(c) for c in bad)
        raise SetupError(
            f'the path of the workspace is {ascii(str(root))}; tools cannot work '
            f'with {listing} in it: move it to a path of letters (a-z), digits and / . _ - + @ ~'
        )


def installed_ros_prefixes() -> list[str]:
    """Return the prefixes of a sourced ROS installation; none where no ROS is among them.

    Left out are those of this workspace, and of another checkout of it: what that one has built
    goes with its own environment.
    """
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    found = [p for p in prefixes if p and Path(p, 'share').is_dir() and not _ours(Path(p))]
    return found if any(map(_has_rclpy, found)) else []


def _ours(prefix: Path) -> bool:
    """Whether a prefix is an environment or a build of this or another checkout."""
    if Path(prefix, 'pyvenv.cfg').exists():
        return True
    prefix = prefix.resolve()
    if prefix.is_relative_to(ROOT):
        return True
    return any((folder / 'src/soro_msgs/package.xml').is_file() for folder in prefix.parents)


def _has_rclpy(prefix: str) -> bool:
    return Path(prefix, 'share/rclpy').is_dir()


class Workspace:
    """Folders of one build of this workspace, and the packages in it."""

    def __init__(self, root: Path, distribution: str, optional: bool = False) -> None:
        self.root = root
        self.optional = optional
        self.distribution = distribution
        self.prefixes = [] if distribution == 'jazzy' else installed_ros_prefixes()
        self.installed = bool(self.prefixes)
        suffix = '' if distribution == 'kilted' else '-' + distribution
        self.venv = root / f'.venv{suffix}'
        self.build_root = root if distribution == 'kilted' else root / f'.{distribution}'
        self.python = self.venv / 'bin' / 'python'

    @property
    def world(self) -> str:
        """Where ROS comes from; two worlds never share an environment or a build.

        What else is sourced beside an installed ROS makes no other world.
        """
        if self.installed:
            return 'installed:' + next(filter(_has_rclpy, self.prefixes))
        return 'wheels:' + self.distribution

    def world_in_words(self) -> str:
        """Return the world for people."""
        if self.installed:
            return f'the ROS installation in {self.prefixes[-1]}'
        name = self.distribution.capitalize()
        return f'ROS 2 {name} from wheels (no ROS installation is sourced)'

    def underlay_packages(self) -> dict[str, Path]:
        """Return the stand-ins for packages that this world lacks."""
        found = {}
        for folder in sorted((self.root / 'underlay').glob('*/package.xml')):
            name = folder.parent.name
            wanted = self.optional or name not in OPTIONAL
            if not (wanted or (self.build_root / 'install' / name).is_dir()):
                continue
            if not any(Path(p, 'share', name).is_dir() for p in self.prefixes):
                found[name] = folder.parent
        return found

    def packages(self) -> dict[str, Path]:
        """Return every package to build: name and folder."""
        own = {f.parent.name: f.parent for f in sorted((self.root / 'src').glob('*/package.xml'))}
        return {**self.underlay_packages(), **own}

    def message_packages(self) -> dict[str, Path]:
        """Return the packages that generate messages."""
        return {name: p for name, p in self.packages().items() if (p / 'msg').is_dir()}

    def package_state(self, folder: Path) -> str:
        """Return a hash over everything that makes a build of this package necessary."""
        return digest([self.world, str(self.root), *self._inputs(folder)])

    def _inputs(self, folder: Path) -> Iterator[str | bytes]:
        for pattern in BUILD_INPUTS:
            for file in sorted(folder.glob(pattern)):
                if file.is_file():
                    yield file.relative_to(folder).as_posix()
                    yield file.read_bytes()
        if (folder / 'CMakeLists.txt').exists():
            yield (self.root / 'colcon.meta').read_bytes()
        else:
            # Which modules exist matters (links per package folder), what is in them does not.
            yield from sorted(p.parent.name for p in folder.glob('*/__init__.py'))
            yield from self._data_files(folder)
        for data in INSTALLED_DATA.get(folder.name, ()):
            for file in sorted((self.root / data).rglob('*')):
                yield file.relative_to(self.root).as_posix()

    def _data_files(self, folder: Path) -> Iterator[str]:
        """Yield the names of what a Python package may install beside its modules."""
        for file in sorted(folder.glob('*/**/*')):
            path = file.relative_to(folder)
            generated = any(p[0] in '._' or p.endswith('.egg-info') for p in path.parts)
            if path.parts[0] != 'test' and path.suffix != '.py' and not generated:
                yield path.as_posix()
