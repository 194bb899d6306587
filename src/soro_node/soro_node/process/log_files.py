# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS ends a process that it cannot make a log file for: no reason for a robot to be without one.

Drivers start, and robots are stopped, also where the disk is full or the home is read only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import os
from pathlib import Path
import sys
import tempfile

NO_LOG_FILES = ('--ros-args', '--disable-external-lib-logs')
REMEDY = 'ROS_LOG_DIR names another folder for logs'


def log_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where ROS writes the log files of a process."""
    home = environment.get('ROS_HOME') or '~/.ros'
    return Path(environment.get('ROS_LOG_DIR') or Path(home, 'log')).expanduser()


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
        print(f'no log files: {folder}: {error.strerror}; {REMEDY}', file=sys.stderr, flush=True)
        return [*arguments, *NO_LOG_FILES]
