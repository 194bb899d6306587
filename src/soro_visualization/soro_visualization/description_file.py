# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The robot description: found by the robot's name, made of its xacro file."""

from __future__ import annotations

from pathlib import Path
from xml.parsers.expat import ExpatError

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError

from soro_visualization.drawing.rigid_parts import UrdfError


def find_description(robot: str, path: str = '') -> Path | None:
    """Return the xacro file of a robot; None where it has no rigid parts.

    - `robot`: name of the robot, as in its file.
    - `path`: looked at first; launch files derive it from the robot's name, so it may name
      nothing. Else urdf/<robot>.urdf.xacro of soro_description.
    """
    if path and Path(path).is_file():
        return Path(path)
    try:
        share = Path(get_package_share_directory('soro_description'))
    except PackageNotFoundError:
        return None
    file = share / 'urdf' / f'{robot}.urdf.xacro'
    return file if file.is_file() else None


def expand(file: Path, prefix: str) -> str:
    """Return the URDF of a xacro file, links and joints named with a frame prefix.

    UrdfError: xacro is not installed or refuses the file, or it is no XML.
    """
    try:
        import xacro
    except ImportError:
        raise UrdfError('xacro is not installed (apt: ros-<distro>-xacro)') from None
    try:
        return str(xacro.process_file(str(file), mappings={'prefix': prefix}).toxml())
    except (xacro.XacroException, ExpatError, OSError) as error:
        raise UrdfError(f'{file}: {error}') from None
