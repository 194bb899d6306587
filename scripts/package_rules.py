# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rules for package.xml: valid, format 3, this project's licence, what is imported declared."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
import re
import sys

from catkin_pkg.package import InvalidPackage, parse_package
from project_files import imports_in
import tomllib

ROOT = Path(__file__).resolve().parent.parent
WEBSITE = 'https://soro.example.org'  # not there yet, as the address of the maintainers
SCHEMA = 'href="http://download.ros.org/schema/package_format3.xsd"'

# Keys of rosdep that are in use here; each stands in rosdistro's rosdep/python.yaml or base.yaml.
ROSDEP_KEYS = {
    'canopen-pip',
    'python3-can',
    'python3-cantools-pip',
    'python3-cvxpy-pip',
    'python3-grpcio',
    'python3-hypothesis',
    'python3-jsonschema',
    'python3-matplotlib',
    'python3-numba',
    'python3-numpy',
    'python3-pil',
    'python3-protobuf',
    'python3-psutil',
    'python3-pytest',
    'python3-pytest-timeout',
    'python3-rich',
    'python3-rosbags-pip',
    'python3-ruamel.yaml',
    'python3-scipy',
    'python3-serial',
    'python3-transforms3d',
    'python3-yaml',
}
# Not installed: on the path of shells of this workspace and of its tests.
NOT_INSTALLED = {'soro_rigs', 'soro_studies'}
# Where the name that is imported is not that of its key.
KEYS = {
    'PIL': 'python3-pil',
    'can': 'python3-can',
    'canopen': 'canopen-pip',
    'cantools': 'python3-cantools-pip',
    'cvxpy': 'python3-cvxpy-pip',
    'google': 'python3-protobuf',
    'grpc': 'python3-grpcio',
    'rosbags': 'python3-rosbags-pip',
    'ruamel': 'python3-ruamel.yaml',
}
# No key of rosdep brings these, or one as new as is used here (python3-websockets: viser brings
# a newer one); whoever needs one says where it comes from.
PIP_ONLY = {
    'dask',
    'elastica',
    'exudyn',
    'mujoco',
    'lz4',
    'mcap',
    'msgspec',
    'nidaqmx',
    'session_pb2',
    'trimesh',
    'viser',
    'websockets',
    'zstandard',
}
PIP_NAMES = {'ruamel': 'ruamel.yaml', 'yaml': 'pyyaml'}  # module -> what pip calls it
# What a package needs without importing it, by the name of package or robot.
FOUND_BY_NAME = {
    'soro_cli': {'soro_bringup'},
    'soro_flex_calibration': {'python3-cvxpy-pip'},  # of soro_mechanics, for calibrations alone
    'soro_launch': {'launch_ros', 'launch_xml', 'soro_bringup'},
    'soro_visualization': {'soro_description'},
}
# ROS packages that soro may depend on; released in Jazzy and newer.
ROS_PACKAGES = {
    'action_msgs',
    'ament_cmake',
    'ament_copyright',
    'ament_flake8',
    'ament_index_python',
    'ament_pep257',
    'builtin_interfaces',
    'control_msgs',
    'diagnostic_msgs',
    'dynamixel_sdk',
    'geometry_msgs',
    'interactive_markers',
    'launch',
    'launch_ros',
    'launch_xml',
    'lifecycle_msgs',
    'nav_msgs',
    'rcl_interfaces',
    'rclcpp',
    'rclpy',
    'rosgraph_msgs',
    'robot_state_publisher',
    'ros2launch',
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
        if [url.url for url in package.urls] != [WEBSITE]:
            yield f'{where}: write <url type="website">{WEBSITE}</url>'
        used = {
            dependency.name
            for kind in package
            if kind.endswith('_depends')
            for dependency in getattr(package, kind)
        }
        for name in sorted(used - own - ROS_PACKAGES - ROSDEP_KEYS):
            yield f'{where}: {name} is no package here, no known ROS package or rosdep key'
        needed = {d.name for d in (*package.exec_depends, *package.build_export_depends)}
        for kind, folder, declared in (('exec', package.name, needed), ('test', 'test', used)):
            for name in sorted(_imported(file.parent / folder, own) - declared - {package.name}):
                yield f'{where}: {name} is imported and no {kind}_depend'
        if package.name == 'soro_bringup':
            for name in sorted(_launched(files) & (own | ROS_PACKAGES) - used):
                yield f'{where}: {name} is started by a launch file and no exec_depend'
        if (file.parent / 'setup.py').exists():  # messages are used by what is generated
            imported = _imported(file.parent / package.name, own)
            unused = {d.name for d in package.exec_depends} - imported
            for name in sorted(unused - FOUND_BY_NAME.get(package.name, set())):
                yield f'{where}: {name} is an exec_depend and nothing imports it'
    for file in files:
        if file.name == 'pyproject.toml' and (file.parent / 'package.xml') in manifests:
            yield from (f'{file.relative_to(ROOT)}: {text}' for text in _check_pip(file))


def _check_pip(file: Path) -> Iterator[str]:
    """Compare what pip installs beside a package with what the package imports."""
    project = tomllib.loads(file.read_text())['project']
    extras = project.get('optional-dependencies', {})
    needed = {_pip_name(text) for text in project['dependencies']}
    offered = {_pip_name(text) for texts in extras.values() for text in texts}
    modules = _modules(file.parent / project['name']) - {project['name']}
    used = {PIP_NAMES.get(name, name) for name in modules}
    for name in sorted(used - needed - offered):
        yield f'{name} is imported and neither a dependency nor in an extra'
    for name in sorted(needed - used):
        yield f'{name} is a dependency and nothing imports it'


def _pip_name(requirement: str) -> str:
    return re.split(r'[<>=!~; \[]', requirement, maxsplit=1)[0].lower()


def _imported(folder: Path, own: set[str]) -> set[str]:
    """Return the packages and keys of what the modules in a folder import."""
    modules = _modules(folder) - PIP_ONLY - NOT_INSTALLED
    modules -= {file.stem for file in folder.rglob('*.py')} - own
    known = {name: name for name in own | ROS_PACKAGES} | KEYS
    return {known.get(name, f'python3-{name.replace("_", "-")}') for name in modules}


def _modules(folder: Path) -> set[str]:
    """Return what the modules in a folder import, without what Python brings."""
    modules: set[str] = set()
    for file in folder.rglob('*.py'):
        for node in imports_in(file.read_text(encoding='utf-8')):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules.add((node.module or '').partition('.')[0])
    return modules - sys.stdlib_module_names


def _launched(files: list[Path]) -> set[str]:
    """Return the packages whose nodes the launch files start."""
    launch = [f.read_text() for f in files if f.name.endswith('.launch.xml')]
    return {name for text in launch for name in re.findall(r'<node\b[^>]*\bpkg="(\w+)"', text)}
