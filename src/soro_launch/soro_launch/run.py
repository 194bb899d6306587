# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Plans a launch file and runs it: the runner as a whole, or the real ROS 2 launch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import sys
import tempfile
from typing import Any

from soro_launch.arguments import declared_arguments
from soro_launch.evaluation import plan_launch
from soro_launch.output import launch_log_folder, LaunchOutput
from soro_launch.supervision import Supervisor, worst_exit_code
from soro_launch.xml_reader import read_launch_file
from soro_node.process.parent_death import LAUNCHER

PREFIX = 'soro_launch_'
_MODULES = ('launch', 'launch_xml', 'launch_ros')


def run_launch_file(
    file: Path, arguments: Mapping[str, str], environment: Mapping[str, str]
) -> int:
    """Run a launch file to its end and return the worst exit code of its processes.

    LaunchError: before anything is started.
    """
    _remove_left_behind()
    with _folder() as folder:
        plan = plan_launch(file, arguments, _for_processes(environment), Path(folder))
        output = LaunchOutput(launch_log_folder(environment, datetime.now()))
        try:
            output.notice(f'log: {output.log_file}')
            for message in plan.messages:
                output.notice(message)
            return Supervisor(plan.processes, output.line, output.notice).run()
        finally:
            output.close()


def command_lines(
    file: Path, arguments: Mapping[str, str], environment: Mapping[str, str]
) -> list[list[str]]:
    """Return the command lines a launch file would start; parameter files show their content."""
    with _folder() as folder:
        plan = plan_launch(file, arguments, environment, Path(folder))
        return [[_shown(word, folder) for word in p.command] for p in plan.processes]


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for parameter files, named after this process."""
    return tempfile.TemporaryDirectory(prefix=f'{PREFIX}{os.getpid()}_')


def _remove_left_behind() -> None:
    """Remove the folders of launchers that were killed (Linux); those of others stay."""
    process_list = Path('/proc')
    if not (process_list / 'self').exists():
        return
    for folder in Path(tempfile.gettempdir()).glob(f'{PREFIX}*_*'):
        number = folder.name.removeprefix(PREFIX).partition('_')[0]
        if number.isdecimal() and not (process_list / number).exists():
            shutil.rmtree(folder, ignore_errors=True)  # another user's cannot be removed


def describe_arguments(file: Path, environment: Mapping[str, str]) -> str:
    """Return the text of ``--show-args``."""
    arguments = declared_arguments(read_launch_file(file), environment)
    lines = [f'Arguments of {file.name} (give them as name:=value):']
    for a in arguments:
        lines.append(f'\n  {a.name}{"*" if a.conditional else ""}')
        lines.append(f'      {a.description or "no description"}')
        if a.choices:
            lines.append(f'      one of: {", ".join(a.choices)}')
        lines.append('      must be given' if a.default is None else f'      default: {a.default}')
    if any(a.conditional for a in arguments):
        lines.append('\n* used under conditions only')
    return '\n'.join(lines)


def _for_processes(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the processes.

    They know their launcher; lines appear at once, in colour on a terminal.
    """
    prepared = {**environment, LAUNCHER: str(os.getpid())}
    prepared.setdefault('PYTHONUNBUFFERED', '1')
    if sys.stdout.isatty():
        prepared.setdefault('RCUTILS_COLORIZED_OUTPUT', '1')
    return prepared


def _shown(word: str, folder: str) -> str:
    if not word.startswith(folder + os.sep):
        return word
    return ' '.join(Path(word).read_text(encoding='utf-8').split())


def is_available() -> bool:
    """Whether ROS 2 launch can be imported."""
    return all(find_spec(name) is not None for name in _MODULES)


def run_real_launch(file: Path, arguments: Mapping[str, str]) -> int:
    """Run a launch file with ROS 2 launch and return the worst exit code of its processes.

    ``ros2 launch`` itself returns 0 however its processes ended.
    """
    from launch.actions import IncludeLaunchDescription, RegisterEventHandler
    from launch.event_handlers import OnProcessExit
    from launch.launch_description_sources import AnyLaunchDescriptionSource

    from launch import LaunchDescription, LaunchService

    os.environ[LAUNCHER] = str(os.getpid())  # also where no file of ours is included
    codes: list[int] = []

    def note_exit(event: Any, context: Any) -> None:
        code = event.returncode
        codes.append(128 - code if code < 0 else code)

    watch = RegisterEventHandler(OnProcessExit(on_exit=note_exit))
    include = IncludeLaunchDescription(
        AnyLaunchDescriptionSource(str(file)), launch_arguments=list(arguments.items())
    )
    service = LaunchService()
    service.include_launch_description(LaunchDescription([watch, include]))
    return max(service.run(), worst_exit_code(codes))
