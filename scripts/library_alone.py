#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Install soro_mechanics with pip into an empty environment and run the README's snippet there.

    python3 scripts/library_alone.py [--dependencies FOLDER]

Outside of the repository, without ROS, with no compiled kernels: what a newcomer to the library
does, with the seconds of each step. The package index brings the dependencies; with
--dependencies they are taken from the site-packages of an environment that has them.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / 'src' / 'soro_mechanics'
GENERATED = shutil.ignore_patterns('build', '*.egg-info', '__pycache__', 'test')
OWN_FILE = """
import soro_mechanics, sys
from pathlib import Path
from soro_mechanics.robot_file.catalogue import OWN
from soro_mechanics import load_robot, UnknownName

assert Path(soro_mechanics.__file__).is_relative_to(sys.prefix), soro_mechanics.__file__
assert OWN.with_name('py.typed').is_file() and OWN.with_name('robot.schema.json').is_file()
Path('mine.yaml').write_text((OWN / 'spatial_cc.yaml').read_text())
robot = load_robot('mine.yaml')
assert robot.forward(robot.limits.mean(axis=1)).status.converged
try:
    load_robot('nobody')
except UnknownName as error:
    assert str(OWN) in str(error) and 'SORO_ROBOT_PATH' in str(error), error
assert 'rclpy' not in sys.modules
"""


def snippet() -> str:
    """Return the first Python example of the library's README."""
    return re.findall(r'```python\n(.*?)```', (LIBRARY / 'README.md').read_text(), re.DOTALL)[0]


class Newcomer:
    """An empty environment in a folder, and a user without a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / 'environment' / 'bin' / 'python'
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(('PIP_', 'LANG', 'LC_', 'SSL_')) or name == 'PATH'
        }
        self._variables = {**kept, 'HOME': str(folder), 'TMPDIR': str(folder)}

    def run(self, what: str, *command: str | Path) -> str:
        """Run a program in the folder; return what it prints, with its errors."""
        start = time.monotonic()
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env=self._variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=900,
        )
        print(f'{time.monotonic() - start:7.1f} s  {what}', flush=True)
        if done.returncode:
            raise SystemExit(f'{what} failed:\n{done.stdout}')
        return done.stdout

    def install(self, dependencies: str | Path | None) -> None:
        """Install the library from a copy of its folder alone."""
        source = self.folder / 'soro_mechanics'
        shutil.copytree(LIBRARY, source, ignore=GENERATED)
        venv = ['-m', 'venv', '--without-pip'] if dependencies else ['-m', 'venv']
        self.run('empty environment', sys.executable, *venv, self.python.parents[1])
        pip = [self.python, '-m', 'pip', 'install', '--disable-pip-version-check']
        if dependencies:
            site = next(self.python.parents[1].glob('lib/python*/site-packages'))
            (site / 'dependencies.pth').write_text(f'{Path(dependencies).resolve()}\n')
            # Not --no-deps: pip says where one that is declared is not there.
            pip += ['--no-index', '--no-build-isolation']
        self.run('pip install', *pip, source)

    def use(self) -> str:
        """Run the snippet, then a robot file of one's own; return what the snippet printed."""
        said = self.run('snippet of the README', self.python, '-c', snippet())
        self.run("a robot file of one's own", self.python, '-c', OWN_FILE)
        return said


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--dependencies', type=Path, metavar='FOLDER')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(Path(folder))
        newcomer.install(arguments.dependencies)
        print(newcomer.use())


if __name__ == '__main__':
    main()
