# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a launch is found before its first node: in every file, by every argument.

The nodes are probes that write down that they were started; the check of the arguments is real.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import subprocess
import sys

from probe_prefix import environment_with, install_probe_packages, LAUNCH_FILES, read_records
import pytest

from soro_launch.arguments import declared_arguments
from soro_launch.errors import LaunchError
from soro_launch.packages import INDEX as PACKAGES
from soro_launch.packages import package_executable
from soro_launch.run import is_available, run_launch_file
from soro_launch.xml_reader import read_launch_file

FILES = sorted(path.name for path in LAUNCH_FILES.glob('*.launch.xml'))
RUNNERS = ['soro', *(['ros2'] if is_available() else [])]
# A value by which a launch cannot succeed, with what makes the argument count.
BROKEN = {
    'robot': {'robot': 'nonsense', 'namespace': 'ns'},
    'namespace': {'namespace': '9 lives'},
    'model': {'model': 'nonsense'},
    'urdf': {'urdf': '/nowhere/rigid.urdf.xacro', 'rviz': 'true'},
    'rviz_config': {'rviz_config': '/nowhere/displays.rviz', 'rviz': 'true'},
    'emulator_log': {'emulator_log': '/dev/null/log'},
}
REAL = """
import sys
from pathlib import Path
from soro_launch.run import run_real_launch
sys.exit(run_real_launch(Path(sys.argv[1]), dict(a.split(':=', 1) for a in sys.argv[2:])))
"""
ALL_TRUE = {'viewer': 'true', 'record': 'true', 'rviz': 'true'}


def broken(name: str, choices: tuple[str, ...]) -> dict[str, str]:
    """Return arguments of which one is wrong."""
    return {name: 'nonsense'} if choices else BROKEN[name]


def cases() -> list[tuple[str, str, dict[str, str]]]:
    """Return (file, argument, values) for every argument that any file declares."""
    return [
        (file, a.name, broken(a.name, a.choices))
        for file in FILES
        for a in declared_arguments(read_launch_file(LAUNCH_FILES / file), os.environ)
    ]


@pytest.fixture(scope='module')
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with probes instead of nodes, RViz among them."""
    folder = tmp_path_factory.mktemp('probes')
    check = package_executable('soro_driver', 'check_launch', os.environ)
    prefix = install_probe_packages(folder, check)
    for package in ('robot_state_publisher', 'rviz2'):
        (prefix / PACKAGES / package).touch()
        (prefix / 'lib' / package).mkdir()
        (prefix / 'lib' / package / package).symlink_to(prefix / 'lib/soro_driver/driver')
    share = prefix / 'share' / 'soro_description'
    for name in ('urdf', 'rviz'):
        folder_of = {'urdf': 'urdf', 'rviz': 'config/rviz'}
        (share / name).symlink_to(LAUNCH_FILES.parent / folder_of[name])
    return folder


@pytest.fixture
def probes(installed: Path) -> Iterator[Path]:
    """Return that folder, with nothing started yet."""
    for record in (installed / 'records').iterdir():
        record.unlink()
    yield installed


def launch(
    folder: Path, runner: str, file: str, arguments: dict[str, str], without: str = ''
) -> tuple[int, str]:
    """Launch a file to its end; its exit code and what it printed.

    `without` names a package that is nowhere on the path.
    """
    environment = {
        **environment_with(folder / 'prefix'),
        'ROS_LOG_DIR': str(folder / 'log'),
        'PROBES': '1',
    }
    if without:
        paths = environment['AMENT_PREFIX_PATH'].split(os.pathsep)
        kept = [p for p in paths if not (Path(p) / PACKAGES / without).exists()]
        environment['AMENT_PREFIX_PATH'] = os.pathsep.join(kept)
    if runner == 'soro':
        try:
            return run_launch_file(LAUNCH_FILES / file, arguments, environment), ''
        except LaunchError as error:
            return 1, str(error)
    done = subprocess.run(
        [
            sys.executable,
            '-c',
            REAL,
            str(LAUNCH_FILES / file),
            *(f'{k}:={v}' for k, v in arguments.items()),
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize('runner', RUNNERS)
@pytest.mark.parametrize(
    ('file', 'name', 'arguments'), cases(), ids=[f'{c[0].split(".")[0]}-{c[1]}' for c in cases()]
)
def test_a_wrong_argument_is_refused_before_any_node(probes, runner, file, name, arguments):
    code, said = launch(probes, runner, file, arguments)
    assert (code, read_records(probes)) == (1, [])
    assert arguments[name] in said


@pytest.mark.parametrize('runner', RUNNERS)
@pytest.mark.parametrize(
    'package',
    [
        'soro_driver',
        'soro_emulation',
        'soro_kinematics',
        'soro_compliance',
        'soro_trajectory',
        'soro_visualization',
        'soro_recording',
        'robot_state_publisher',
        'rviz2',
    ],
)
def test_a_missing_package_is_noticed_before_any_node(probes, runner, package):
    index, programs = probes / 'prefix' / PACKAGES / package, probes / 'prefix/lib' / package
    index.rename(probes / 'index')
    programs.rename(probes / 'programs')
    try:
        code, said = launch(probes, runner, 'stiff_flop.launch.xml', ALL_TRUE, package)
    finally:
        (probes / 'index').rename(index)
        (probes / 'programs').rename(programs)
    assert (code, read_records(probes)) == (1, [])
    assert package in said


@pytest.mark.parametrize('runner', RUNNERS)
def test_right_arguments_start_the_nodes(probes, runner):
    """Else the tests above would show nothing."""
    launch(probes, runner, 'stiff_flop.launch.xml', ALL_TRUE)
    assert len(read_records(probes)) > 0
