# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS ends a process that it cannot make a log file for: no reason for a robot to be without one.

Drivers start, and robots are stopped, also where the disk is full or the home is read only.
"""

from __future__ import annotations

from collections.abc import Iterable
import os
from pathlib import Path
import sys
import tempfile

NO_LOG_FILES = ('--ros-args', '--disable-external-lib-logs')


def log_folder() -> Path:
    """Return where ROS writes the log files of this process."""
    named = os.environ.get('ROS_LOG_DIR')
    home = os.environ.get('ROS_HOME') or '~/.ros'
    return Path(named or Path(home, 'log')).expanduser()


def ros_arguments(given: Iterable[str] | None = None) -> list[str]:
    """Return arguments for `rclpy.init` (default: those of the process).

    Where no log file can be written they ask for none, and stderr is told.
    """
    arguments = list(sys.argv if given is None else given)
    folder = log_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return arguments
    except OSError as error:
        remedy = 'ROS_LOG_DIR names another folder for logs'
        print(f'no log files: {folder}: {error.strerror}; {remedy}', file=sys.stderr, flush=True)
        return [*arguments, *NO_LOG_FILES]
