# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs a launch file with the real ROS 2 launch, and returns an exit code that tells the truth."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
import os
from pathlib import Path
from typing import Any

from soro_launch.supervision import worst_exit_code
from soro_node.process.parent_death import LAUNCHER

_MODULES = ('launch', 'launch_xml', 'launch_ros')


def is_available() -> bool:
    """Whether ROS 2 launch can be imported."""
    return all(find_spec(name) is not None for name in _MODULES)


def run_real_launch(file: Path, arguments: Mapping[str, str]) -> int:
    """Run a launch file and return the worst exit code of its processes.

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
