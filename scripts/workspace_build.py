# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The colcon build of the workspace: only packages whose inputs changed since they were built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import contextlib
import json
import os
from pathlib import Path
import shutil
import subprocess

from workspace_layout import digest, INSTALLED_DATA, SetupError, Workspace

PROGRESS_PERIOD = 20.0  # s between two lines about something that says nothing itself


class Build:
    """Builds of one workspace, stamped package by package."""

    def __init__(self, workspace: Workspace, say: Callable[[str], None]) -> None:
        self.workspace = workspace
        self.say = say
        self.build = workspace.build_root / 'build'
        self.install = workspace.build_root / 'install'
        self.log = workspace.build_root / 'log'
        self.stamps = self.build / '.soro_stamps.json'

    # ---- what is due

    def _read_stamps(self) -> dict[str, str]:
        try:
            return json.loads(self.stamps.read_text())
        except (OSError, ValueError):
            return {}

    def due(self, packages: dict[str, Path]) -> dict[str, Path]:
        """Return those packages that were not built from what now lies in their folders."""
        stamps = self._read_stamps()
        return {
            name: folder
            for name, folder in packages.items()
            if stamps.get(name) != self.workspace.package_state(folder)
            or not (self.install / name / 'share' / name / 'package.xml').exists()
        }

    def everything_due(self) -> list[str]:
        """Return what is due, in words."""
        return list(self.due(self.workspace.packages()))

    # ---- doing it

    def run(
        self, packages: dict[str, Path], then: Mapping[str, Callable[[], None]] | None = None
    ) -> None:
        """Build these packages; those that are up to date are left alone.

        `then`: what is done as soon as a package is built, while the others are going on.
        """
        if not packages:
            return
        self._remove_gone_packages()
        states = {name: self.workspace.package_state(p) for name, p in packages.items()}
        for name in packages:
            (self.build / name / 'colcon_build.rc').unlink(missing_ok=True)
            self._remove_dangling_links(self.build / name)
            self._remove_gone_messages(name, packages[name])
        self.say(f'building {len(packages)} packages: ' + ' '.join(packages))
        self._colcon(packages, then or {})
        for name in INSTALLED_DATA:
            self._remove_dangling_links(self.install / name)
        built = {name: state for name, state in states.items() if self._succeeded(name)}
        self.stamps.write_text(json.dumps({**self._read_stamps(), **built}, indent=2))
        failed = [name for name in packages if name not in built]
        if failed:
            names = ' '.join(failed)
            raise SetupError(f'these packages did not build: {names}{self._why(failed)}')

    def _colcon(self, packages: dict[str, Path], then: Mapping[str, Callable[[], None]]) -> None:
        workspace = self.workspace
        command = [workspace.python, '-m', 'colcon', '--log-base', self.log, 'build']
        command += ['--base-paths', workspace.root / 'src']
        command += workspace.underlay_packages().values()
        command += ['--build-base', self.build, '--install-base', self.install]
        command += ['--metas', workspace.root / 'colcon.meta', '--symlink-install']
        command += ['--continue-on-error', '--packages-select', *packages]
        command += ['--event-handlers', 'console_stderr-', 'status-', 'desktop_notification-']
        command += ['--cmake-args', '-DBUILD_TESTING=OFF']
        command += [f'-DPython3_EXECUTABLE={workspace.python}']
        command += [f'-DSORO_FOR_PYTHON={"OFF" if workspace.installed else "ON"}']
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=workspace.build_root if workspace.build_root.exists() else workspace.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        began, said = False, []
        try:
            for line in process.stdout:
                began |= line.startswith('Starting >>>')
                said.append(line.rstrip())
                if line.startswith(('Finished <<<', 'Failed   <<<')):
                    self.say(line.strip())
                if line.startswith('Finished <<<') and (name := line.split()[2]) in then:
                    then[name]()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if process.wait() != 0 and not began:
            raise SetupError('colcon did not begin:\n' + '\n'.join(said[-15:]))

    def environment(self) -> dict[str, str]:
        """Return the variables with which colcon runs."""
        result = dict(os.environ)
        venv = self.workspace.venv
        result['VIRTUAL_ENV'] = str(venv)
        result['PATH'] = f'{venv / "bin"}{os.pathsep}{result.get("PATH", "")}'
        # Else colcon starts one compiler only while the load is that of the number of cores.
        result['MAKEFLAGS'] = f'-j{os.cpu_count() or 1}'
        if not self.workspace.installed:
            # Libraries or modules of another environment must not leak in.
            for name in ('_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH', 'PYTHONPATH'):
                result.pop(name, None)
            result['AMENT_PREFIX_PATH'] = result['CMAKE_PREFIX_PATH'] = str(venv)
        # Generators read each message once in all, see sitecustomize.py there.
        paths = [str(self.workspace.root / 'scripts/message_generation')]
        paths += [p for p in [result.get('PYTHONPATH')] if p]
        result['PYTHONPATH'] = os.pathsep.join(paths)
        result['SORO_MESSAGE_CACHE'] = str(self.build / '.messages')
        return result

    def _succeeded(self, name: str) -> bool:
        try:
            return (self.build / name / 'colcon_build.rc').read_text().strip() == '0'
        except OSError:
            return False

    def _why(self, failed: list[str]) -> str:
        text = ''
        for name in failed:
            log = self.log / 'latest_build' / name / 'stdout_stderr.log'
            if log.is_file():
                lines = log.read_text(errors='replace').splitlines()[-15:]
                text += f'\n--- {log}\n' + '\n'.join(lines)
        return text

    def _remove_gone_packages(self) -> None:
        """Remove builds of packages whose folder is gone: they would still be found."""
        present = self.workspace.packages()
        stamps = self._read_stamps()
        gone = [name for name in stamps if name not in present and name[0] != '.']
        for name in gone:
            self.say(f'removing the build of {name}, which is gone')
            shutil.rmtree(self.build / name, ignore_errors=True)
            shutil.rmtree(self.install / name, ignore_errors=True)
            del stamps[name]
        if gone:
            self.stamps.write_text(json.dumps(stamps, indent=2))

    def _remove_gone_messages(self, name: str, folder: Path) -> None:
        """Remove the build of a package that has lost a message: its code would stay there."""
        share = self.install / name / 'share' / name
        for kind in ('msg', 'srv', 'action'):
            if any(not (folder / kind / f.name).exists() for f in share.glob(f'{kind}/*.{kind}')):
                self.say(f'building {name} anew, a message is gone')
                shutil.rmtree(self.build / name, ignore_errors=True)
                shutil.rmtree(self.install / name)
                return

    def _remove_dangling_links(self, folder: Path) -> None:
        """Remove files whose source was deleted; colcon leaves them, or fails on those to install.

        Not the whole folder: a robot that runs right now goes on finding its files.
        """
        for link in folder.rglob('*'):
            if link.is_symlink() and not link.exists():
                link.unlink()

    # ---- kernels

    def _kernel_state(self, robot: str) -> str:
        sources = sorted((self.workspace.root / 'src/soro_mechanics').rglob('*kernels*.py'))
        named = self.workspace.root / f'config/robots/{robot}.yaml'
        files = [f for f in (*sources, named, Path(robot)) if f.is_file()]
        return digest([self.workspace.world, *(f.read_bytes() for f in files)])

    def kernels_due(self, robot: str) -> bool:
        """Return whether a robot's kernels changed since they were compiled here."""
        return self._read_stamps().get(f'.kernels {robot}') != self._kernel_state(robot)

    @contextlib.contextmanager
    def kernels_warming(self, robot: str) -> Iterator[None]:
        """Compile a robot's kernels into their cache, beside what is done meanwhile.

        What goes wrong here is reported and left to the nodes: they say it better.
        """
        self.say(f'compiling the kernels of {robot}, once, about a minute')
        state = self._kernel_state(robot)
        environment = self.environment()
        # Under the paths that the nodes import from: Numba keeps one cache per path of a source.
        paths = [str(self.build / 'soro_mechanics'), str(self.workspace.root / 'src/soro_node')]
        environment['PYTHONPATH'] = os.pathsep.join(paths)
        child = subprocess.Popen(
            [str(self.workspace.python), '-m', 'soro_node.process.warm_up', robot],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield
        except BaseException:
            child.kill()
            raise
        complaints = self._wait_for_compiler(child)
        if child.returncode:
            self.say('not compiled: ' + (complaints.strip().splitlines() or ['?'])[-1])
            return
        stamps = {**self._read_stamps(), f'.kernels {robot}': state}
        self.stamps.write_text(json.dumps(stamps, indent=2))

    def _wait_for_compiler(self, child: subprocess.Popen[str]) -> str:
        """Wait, say now and then that it goes on, and return what it complained about."""
        while True:
            try:
                return child.communicate(timeout=PROGRESS_PERIOD)[1]
            except subprocess.TimeoutExpired:
                self.say('still compiling')
            except BaseException:
                child.kill()
                raise
