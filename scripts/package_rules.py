# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rules for package.xml: valid, format 3, this project's licence, dependencies that exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re

from catkin_pkg.package import InvalidPackage, parse_package

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = 'href="http://download.ros.org/schema/package_format3.xsd"'

# Keys of rosdep that are in use here; each stands in rosdistro's rosdep/python.yaml or base.yaml.
ROSDEP_KEYS = {
    'python3-can',
    'python3-cantools-pip',
    'python3-cvxpy-pip',
    'python3-grpcio',
    'python3-hypothesis',
    'python3-matplotlib',
    'python3-mcap-pip',
    'python3-numba',
    'python3-numpy',
    'python3-pil',
    'python3-protobuf',
    'python3-pytest',
    'python3-pytest-timeout',
    'python3-rich',
    'python3-rosbags-pip',
    'python3-scipy',
    'python3-serial',
    'python3-transforms3d',
    'python3-yaml',
}
# ROS packages that soro may depend on; released in Jazzy and newer.
ROS_PACKAGES = {
    'action_msgs',
    'ament_cmake',
    'ament_index_python',
    'builtin_interfaces',
    'diagnostic_msgs',
    'geometry_msgs',
    'launch',
    'launch_ros',
    'launch_xml',
    'lifecycle_msgs',
    'nav_msgs',
    'rcl_interfaces',
    'rclpy',
    'robot_state_publisher',
    'rosidl_default_generators',
    'rosidl_default_runtime',
    'rviz2',
    'sensor_msgs',
    'std_msgs',
    'std_srvs',
    'tf2_msgs',
    'tf_transformations',
    'trajectory_msgs',
    'visualization_msgs',
    'xacro',
}


def check(files: list[Path]) -> Iterator[str]:
    """Yield what is wrong with the package files."""
    manifests = [f for f in files if f.name == 'package.xml']
    own = {f.parent.name for f in manifests}
    for file in manifests:
        where = file.relative_to(ROOT)
        try:
            package = parse_package(str(file), warnings=(warnings := []))
        except InvalidPackage as error:
            yield f'{where}: {error}'
            continue
        yield from (f'{where}: {warning}' for warning in warnings)
        if SCHEMA not in file.read_text():
            yield f'{where}: the xml-model line with {SCHEMA} is missing'
        if package.package_format != 3:
            yield f'{where}: format is {package.package_format}, not 3'
        if package.name != file.parent.name:
            yield f'{where}: name {package.name} differs from its folder'
        if package.licenses != ['Apache-2.0']:
            yield f'{where}: license is {package.licenses}, not Apache-2.0'
        used = {
            dependency.name
            for kind in package
            if kind.endswith('_depends')
            for dependency in getattr(package, kind)
        }
        for name in sorted(used - own - ROS_PACKAGES - ROSDEP_KEYS):
            yield f'{where}: {name} is no package here, no known ROS package or rosdep key'
        if package.name == 'soro_bringup':
            for name in sorted(_launched(files) & own - used - {'soro_cli'}):  # it depends on us
                yield f'{where}: {name} is started by a launch file and no exec_depend'


def _launched(files: list[Path]) -> set[str]:
    """Return the packages whose nodes the launch files start."""
    launch = [f.read_text() for f in files if f.name.endswith('.launch.xml')]
    return {name for text in launch for name in re.findall(r'<node\b[^>]*\bpkg="(\w+)"', text)}
