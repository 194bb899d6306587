#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Make the workspace usable: environment, messages, packages, kernels. Does only what is missing.

Needs python3 (3.10 or newer), a C and C++ compiler and the package index; see README.md.
Where a ROS installation is sourced it is used, otherwise ROS comes as wheels (requirements/).
Safe to call at the same time from several shells: one works, the others wait and find it done.
"""

import argparse
import contextlib
import fcntl
import os
import sys

if sys.version_info < (3, 10):  # noqa: UP036 - what it would be called with on an old machine
    sys.exit('set-up failed: this machine lacks Python 3.10 or newer')

import time

from workspace_build import Build
from workspace_environment import Environment
from workspace_layout import check_place, ROOT, SetupError, Workspace

LIBRARY = 'soro_mechanics'


class Progress:
    """Print lines with the seconds since the start."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def __call__(self, text: str) -> None:
        """Print one line."""
        print(f'[{time.monotonic() - self.start:6.1f} s] {text}', flush=True)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--distribution',
        choices=('kilted', 'jazzy'),
        default='kilted',
        help='which ROS wheels to use where no ROS installation is sourced (default: kilted)',
    )
    parser.add_argument(
        '--warm',
        metavar='ROBOT',
        help='compile the kernels of this robot too, by name or file; all: of the catalogue',
    )
    parser.add_argument(
        '--beside',
        action='store_true',
        help='only beside a build that is due: else the nodes compile, and say so on the page',
    )
    parser.add_argument(
        '--all', action='store_true', help='also what a robot runs without: control_msgs'
    )
    parser.add_argument('--check', action='store_true', help='only say whether anything is due')
    return parser.parse_args()


def set_up(workspace: Workspace, say: Progress, robots: list[str]) -> None:
    """Do what is due, also for the kernels of the first robot; the caller holds the lock.

    Kernels need the library and the rest of the Python packages only: they are compiled beside the
    messages, whose build is the longest.
    """
    environment, build = Environment(workspace, say), Build(workspace, say)
    environment.prepare()
    packages = workspace.packages()
    due = build.due({**workspace.message_packages(), LIBRARY: packages[LIBRARY]})
    with contextlib.ExitStack() as stack:

        def compile_kernels() -> None:
            environment.finish()
            for robot in filter(build.kernels_due, robots[:1]):
                stack.enter_context(build.kernels_warming(robot))

        try:
            build.run(due, {LIBRARY: compile_kernels})
        finally:
            environment.finish()
        if LIBRARY not in due:
            compile_kernels()
        build.run(build.due(packages))


def main() -> int:
    """Set up the workspace; return the exit code."""
    arguments = parse_arguments()
    say = Progress()
    try:
        check_place(ROOT)
    except SetupError as error:
        say(f'set-up failed: {error}')
        return 1
    workspace = Workspace(ROOT, arguments.distribution, arguments.all)
    build = Build(workspace, say)

    def is_due() -> list[str]:
        return Environment(workspace, say).due() + build.everything_due()

    robots = [arguments.warm] if arguments.warm else []
    if arguments.warm == 'all':
        robots = [file.stem for file in sorted(ROOT.glob('config/robots/*.yaml'))]
    alone = [] if arguments.beside else robots
    due = is_due() + [f'kernels of {robot}' for robot in alone if build.kernels_due(robot)]
    if arguments.check or not due:
        if due:
            say('due: ' + ', '.join(due))
        return 1 if due else 0
    try:
        with open(ROOT / '.setup.lock', 'w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say('another set-up is running in this workspace, waiting for it')
                fcntl.flock(lock, fcntl.LOCK_EX)
            if is_due():
                say(f'set-up of {ROOT} with {workspace.world_in_words()}')
                set_up(workspace, say, robots)
                say('the workspace is ready:  source scripts/env.sh')
            for robot in filter(build.kernels_due, alone):
                with build.kernels_warming(robot):
                    pass
    except SetupError as error:
        say(f'set-up failed: {error}')
        return 1
    except PermissionError as error:
        say(f'set-up failed: {error.filename} cannot be written: whoever owns it has to do it')
        return 1
    except KeyboardInterrupt:
        say('set-up interrupted; call it again to continue')
        return 130
    return 0


if __name__ == '__main__':
    os.environ.pop('MAKEFLAGS', None)  # a job server of make would be inherited by cmake's builds
    os.environ.pop('MAKELEVEL', None)
    sys.exit(main())
