# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The Python environment of the workspace: made, filled from the lock files, mended."""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time

from workspace_layout import digest, SetupError, Workspace

# The wheels' CMake exports name folders of the machine that built them, or of an environment that
# shared their files through uv's cache.
INCLUDE = r'[^;"\s]*/include/python{d}(?=[;"])'
NUMPY_INCLUDE = r'[^;"\s]*/lib/python{d}/site-packages/numpy/_core/include(?=[;"])'

PERIOD = 10.0  # s between two lines about an installation


class Environment:
    """The virtual environment of a workspace."""

    def __init__(self, workspace: Workspace, say: Callable[[str], None]) -> None:
        self.workspace = workspace
        self.say = say
        self.log = workspace.venv / 'setup.log'
        self.stamp = workspace.venv / '.soro_stamp.json'
        self.uv = False
        self.second: _Installation | None = None

    # ---- what is due

    def _identity(self) -> dict[str, str]:
        """Return what an environment can never be reused across."""
        return {
            'world': self.workspace.world,
            'root': str(self.workspace.root),
            'python': '.'.join(map(str, sys.version_info[:3])) + ' ' + sys.base_prefix,
        }

    def _locks(self, half: int) -> list[Path]:
        folder = self.workspace.root / 'requirements'
        if self.workspace.installed:
            return [folder / 'installed-ros.txt'] if half == 1 else []
        if half == 2:
            return [folder / 'python.txt']
        locks = [folder / f'{self.workspace.distribution}.txt', folder / 'build.txt']
        return locks if shutil.which('cmake') else [*locks, folder / 'cmake.txt']

    def _lock_hash(self, half: int) -> str:
        return digest(f.read_bytes() for f in self._locks(half) if f.name != 'cmake.txt')

    def _read_stamp(self) -> dict[str, str]:
        try:
            return json.loads(self.stamp.read_text())
        except (OSError, ValueError):
            return {}

    def _write_stamp(self, **values: str) -> None:
        self.stamp.write_text(json.dumps({**self._read_stamp(), **values}, indent=2))

    def _misfits(self) -> list[str]:
        """Return in which respects the environment is none for this shell."""
        stamp, wanted = self._read_stamp(), self._identity()
        return [key for key in wanted if _essence(stamp.get(key, '')) != _essence(wanted[key])]

    def due(self) -> list[str]:
        """Return what is missing or outdated, in words."""
        stamp = self._read_stamp()
        if self._misfits():
            return ['environment']
        if any(stamp.get(f'lock {h}') != self._lock_hash(h) for h in (1, 2)):
            return ['Python packages']
        return []

    # ---- doing it

    def prepare(self) -> None:
        """Make the environment, and install what the build of the messages needs.

        The installation of the rest goes on beside that build, until `finish`.
        """
        self._check_machine()
        venv = self.workspace.venv
        if self._misfits():
            self._check_not_in_use()
            if venv.exists():
                self.say(f'{venv.name} belongs to another place or Python, making it anew')
                shutil.rmtree(venv)
            self._forget_builds()
            self.say(f'making {venv.name} with Python {sys.version.split()[0]}')
            options = ['--system-site-packages'] if self.workspace.installed else []
            subprocess.run([sys.executable, '-m', 'venv', *options, venv], check=True)
            self._write_stamp(**self._identity())
        first_due = self._read_stamp().get('lock 1') != self._lock_hash(1)
        if self.due():
            self._fetch_uv()
        first = self._start_install(1, 'ROS and build tools') if first_due else None
        # The halves share no package.
        self.second = self._start_second_half()
        if first is not None:
            try:
                self._finish_install(first)
            except BaseException:
                if self.second is not None:
                    self.second.process.kill()
                raise
            if self.workspace.installed:
                prefer_own_toolkits(self._site_packages())
            else:
                self._mend_cmake_paths()
            self._write_stamp(**{'lock 1': self._lock_hash(1)})

    def _start_second_half(self) -> _Installation | None:
        if self._read_stamp().get('lock 2') == self._lock_hash(2):
            return None
        if not self._locks(2):
            self._write_stamp(**{'lock 2': self._lock_hash(2)})
            return None
        return self._start_install(2, 'numerics, devices, viewer, test tools')

    def finish(self) -> None:
        """Wait for the rest."""
        second, self.second = self.second, None
        if second is not None:
            self._finish_install(second)
            self._write_stamp(**{'lock 2': self._lock_hash(2)})

    def _check_not_in_use(self) -> None:
        """Raise rather than remove a finished environment that fits another shell.

        Making it anew takes minutes and the package index, and a robot may be running in it.
        """
        stamp, wanted, misfits = self._read_stamp(), self._identity(), self._misfits()
        if 'root' in misfits or 'lock 2' not in stamp:
            return  # copied here from another place, where it cannot work, or never finished
        differ = [f'  - made with {stamp[key]}, this shell has {wanted[key]}' for key in misfits]
        raise SetupError(
            f'{self.workspace.venv} was made in another kind of shell\n'
            + '\n'.join(differ)
            + '\n  use a shell like that one (ROS sourced or not, the same Python),\n'
            '  or remove it with `make distclean` and call this again'
        )

    def _forget_builds(self) -> None:
        """Remove builds made for another place or ROS: their paths are baked in."""
        for name in ('build', 'install'):
            folder = self.workspace.build_root / name
            if folder.exists():
                self.say(f'removing {folder.name}/, made for another environment')
                shutil.rmtree(folder)

    def _check_machine(self) -> None:
        """Raise with everything that is missing at once."""
        missing = []
        for what, variable, names in (
            ('a C compiler', 'CC', ('cc', 'gcc', 'clang')),
            ('a C++ compiler', 'CXX', ('c++', 'g++', 'clang++')),
        ):
            if not any(shutil.which(n) for n in (os.environ.get(variable, ''), *names) if n):
                missing.append(f'{what} (apt install build-essential)')
        header = Path(sysconfig.get_path('include'), 'Python.h')
        if not header.is_file():
            missing.append(f'the Python headers, {header} (apt install python3-dev)')
        try:
            import ensurepip  # noqa: F401 - Debian and Ubuntu split it off
        except ImportError:
            missing.append('the venv module (apt install python3-venv)')
        if self.workspace.installed and not shutil.which('cmake'):
            missing.append('cmake (apt install cmake)')
        if missing:
            raise SetupError('this machine lacks\n  - ' + '\n  - '.join(missing))
        if not self.workspace.installed and not shutil.which('cmake'):
            self.say('no cmake on this machine, taking the one on the package index')

    def _fetch_uv(self) -> None:
        """Install uv, which takes a third of pip's time; without it pip goes on alone."""
        self.uv = subprocess.run(
            [*self._pip(), '-r', self.workspace.root / 'requirements/uv.txt'],
            env=_without_python_path(),
            capture_output=True,
        ).returncode == 0  # fmt: skip

    def _pip(self) -> list[str | Path]:
        command = [self.workspace.python, '-m', 'pip', 'install', '--disable-pip-version-check']
        return [*command, '--no-input', '--no-compile', '--progress-bar', 'off']

    def _uv(self) -> list[str | Path]:
        folder = self.workspace.python.parent
        return [folder / 'uv', 'pip', 'install', '--python', self.workspace.python]

    def _start_install(self, half: int, what: str, with_pip: bool = False) -> _Installation:
        locks = self._locks(half)
        total = sum(
            1 for f in locks for line in f.read_text().splitlines() if line and line[0] != '#'
        )
        tool = self._uv() if self.uv and not with_pip else self._pip()
        self.say(f'installing {total} Python packages: {what}')
        # The locks are complete, hence no resolver. Byte code is made on first import. empy comes
        # as source only, and is pure Python.
        options = ['--no-deps', '--only-binary', ':all:', '--no-binary', 'empy']
        command = [*tool, *options, *(word for file in locks for word in ('-r', file))]
        again = None if tool == self._pip() else lambda: self._start_install(half, what, True)
        variables = {} if again is None else self._index_of_pip()
        return _Installation(command, variables, self.log, self.say, what, again)

    def _index_of_pip(self) -> dict[str, str]:
        """Return what tells uv of the index that pip is set to, which it does not ask pip for."""
        asked = [self.workspace.python, '-m', 'pip', 'config', 'list']
        done = subprocess.run(asked, env=_without_python_path(), capture_output=True, text=True)
        found = dict(re.findall(r"^([\w:.]*)\.index-url='(.+)'$", done.stdout, re.MULTILINE))
        own = found.get(':env:') or next(reversed(found.values()), None)
        return {'UV_DEFAULT_INDEX': own} if own else {}

    def _finish_install(self, installation: _Installation) -> None:
        if installation.wait() == 0:
            return
        if installation.again is not None:
            # Another index, certificate or proxy that only pip is told of.
            self.say(f'uv: {installation.errors()[-1]}; once more with pip')
            self._finish_install(installation.again())
            return
        tail = '\n'.join('  ' + line for line in installation.errors()[-12:])
        raise SetupError(f'pip failed:\n{tail}\n  all of it: {self.log}')

    def _site_packages(self) -> Path:
        version = '{}.{}'.format(*sys.version_info[:2])
        return self.workspace.venv / 'lib' / f'python{version}' / 'site-packages'

    def _mend_cmake_paths(self) -> None:
        numpy = subprocess.run(
            [self.workspace.python, '-c', 'import numpy; print(numpy.get_include())'],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        mend_cmake_paths(self.workspace.venv / 'share', numpy)


def mend_cmake_paths(share: Path, numpy_include: str) -> None:
    """Put this machine's include folders where the wheels name others.

    uv links the files of its cache: they are replaced, as writing into them would change them
    for every other environment of the user.
    """
    dotted = '{}.{}'.format(*sys.version_info[:2])
    replacements = {
        NUMPY_INCLUDE.format(d=re.escape(dotted)): numpy_include,
        INCLUDE.format(d=re.escape(dotted)): sysconfig.get_path('include'),
    }
    for file in share.rglob('*.cmake'):
        text = mended = file.read_text()
        for pattern, folder in replacements.items():
            mended = re.sub(pattern, lambda _, own=folder: own, mended)
        if mended != text:
            file.unlink()
            file.write_text(mended)


def prefer_own_toolkits(site_packages: Path) -> None:
    """Let Matplotlib find its own `mpl_toolkits` beside a system that has an older Matplotlib.

    Debian and Ubuntu bind that name to the system's folder as soon as Python starts; the 3D axes
    in there do not go with another Matplotlib.
    """
    folder = site_packages / 'mpl_toolkits'
    (site_packages / 'soro_toolkits.pth').write_text(
        'import sys, types; '
        "sys.modules.setdefault('mpl_toolkits', types.ModuleType('mpl_toolkits'))"
        f'.__dict__.setdefault("__path__", []).insert(0, {str(folder)!r})\n'
    )


def _essence(value: str) -> str:
    """Return an identity without the last part of Python's version: updates change it."""
    return re.sub(r'^(\d+\.\d+)\.\d+ ', r'\1 ', value)


def _without_python_path() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}


class _Installation:
    """A running uv or pip: its output goes to a log, what it does now and then to the screen."""

    def __init__(
        self,
        command: list,
        variables: dict[str, str],
        log: Path,
        say: Callable[[str], None],
        what: str,
        again: Callable[[], _Installation] | None,
    ) -> None:
        self.lines: list[str] = []
        self.say, self.what, self.log, self.again = say, what, log, again
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**_without_python_path(), **variables},
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        last = time.monotonic()
        with self.log.open('a') as log:
            for line in self.process.stdout:
                log.write(line)
                self.lines.append(line.rstrip())
                if time.monotonic() - last > PERIOD:
                    self.say(f'{self.what}: {line.strip()[:60]}')
                    last = time.monotonic()

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        self.reader.join()
        return self.process.wait()

    def errors(self) -> list[str]:
        """Return the lines that say what went wrong, else the last ones."""
        lines = [line for line in self.lines if line.startswith(('ERROR', 'error'))]
        return lines or self.lines or ['no word']
