# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine: building the workspace, nodes that meet, devices that open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import subprocess
import sys
import sysconfig

from soro_cli.doctor.findings import fail, Finding, ok, warn
from soro_mechanics.core.missing_package import how_to_install
from soro_node.middleware import Reach, reach
from soro_node.process.process_sockets import dds_ports, sockets_of_processes

OLDEST_PYTHON = (3, 10)
LAST_SAFE_DOMAIN = 101  # above it the DDS ports reach those the kernel hands out
CAN_HARDWARE_TYPE = '280'  # ARPHRD_CAN of linux/if_arp.h
SERIAL, WANTED = ('ttyUSB*', 'ttyACM*', 'rfcomm*'), os.R_OK | os.W_OK


def machine_findings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Run every check, one after the other."""
    yield from python()
    yield from compiler(environment)
    yield from ros(environment)
    yield from workspace(environment)
    yield from domain(environment)
    yield from open_sockets(environment)
    yield from kernel_cache()
    yield from serial_devices(Path('/dev'))
    yield from can_devices(Path('/sys/class/net'))
    yield from ni_driver()


def python() -> Iterator[Finding]:
    """Version and headers of the interpreter."""
    text = f'Python {sys.version.split()[0]} ({sys.executable})'
    old = sys.version_info[:2] < OLDEST_PYTHON
    yield fail('python', text, 'Python 3.10 or newer is needed') if old else ok('python', text)
    header = Path(sysconfig.get_path('include')) / 'Python.h'
    none = warn('headers', f'{header} is missing', 'install python3-dev to build messages')
    yield ok('headers', str(header)) if header.is_file() else none


def compiler(environment: Mapping[str, str]) -> Iterator[Finding]:
    """C and C++ compiler and cmake, which building the messages needs."""
    for name, variable, package in (
        ('cc', 'CC', 'build-essential'),
        ('c++', 'CXX', 'build-essential'),
        ('cmake', '', 'cmake (or pip install cmake)'),
    ):
        path = shutil.which(environment.get(variable) or name, path=environment.get('PATH'))
        none = warn(name, 'not found', f'install {package} to build the workspace')
        yield ok(name, path) if path else none


def ros(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which ROS this is, and that there is only one."""
    spec = find_spec('rclpy')
    if spec is None or spec.origin is None:
        yield fail('ros', 'rclpy cannot be imported', 'run `make setup`, or source a ROS setup')
        return
    origin = Path(spec.origin)
    from_wheels = origin.is_relative_to(sys.prefix) and sys.prefix != sys.base_prefix
    if from_wheels:
        try:
            yield ok('ros', f'wheels, ros-rclpy {version("ros-rclpy")} in {sys.prefix}')
        except PackageNotFoundError:
            yield ok('ros', f'rclpy in {sys.prefix}')
    else:
        name = environment.get('ROS_DISTRO', 'of unknown name')
        yield ok('ros', f'installation {name}, rclpy in {origin.parent}')
    paths = environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    others = [p for p in paths if p.startswith('/opt/ros/')]
    if from_wheels and others:
        yield fail(
            'ros',
            f'wheels and {others[0]} are mixed in one environment',
            'open a new shell and source only one of them',
        )


def workspace(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether what is installed was built from what lies there."""
    root = environment.get('SORO_WORKSPACE', '')
    script = Path(root) / 'scripts' / 'setup_workspace.py'
    if not root or not script.is_file():
        yield ok('workspace', 'not a source workspace; nothing to compare')
        return
    done = subprocess.run(
        [sys.executable, str(script), '--check'], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        yield ok('workspace', f'{root} is up to date')
    else:
        said = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ['']
        yield warn('workspace', f'stale, {said[-1].split("] ")[-1]}', 'run `make setup`')


def domain(environment: Mapping[str, str]) -> Iterator[Finding]:
    """ROS_DOMAIN_ID and how far discovery reaches."""
    text = environment.get('ROS_DOMAIN_ID', '0')
    if not text.isdigit():
        yield fail('domain', f'ROS_DOMAIN_ID={text!r}', 'write a number from 0 to 101')
    elif int(text) > LAST_SAFE_DOMAIN:
        yield warn('domain', f'ROS_DOMAIN_ID={text}', 'its ports may be taken; 0 to 101 is safe')
    else:
        yield ok('domain', f'ROS_DOMAIN_ID={text}; every terminal needs the same')
    found = reach(environment)
    if found is Reach.MACHINE:
        yield ok('discovery', f'nodes of this machine only: {found.value}')
    elif found is Reach.OFF:
        yield fail('discovery', 'ROS_AUTOMATIC_DISCOVERY_RANGE=OFF', 'nodes will not meet')
    else:
        remedy = 'unless other machines take part: docs/security.md, other machines'
        yield warn('discovery', found.value, remedy)
    if 'ROS_LOCALHOST_ONLY' in environment:
        yield warn('discovery', 'ROS_LOCALHOST_ONLY is set', 'it is deprecated; unset it')


def open_sockets(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Name the processes of this user whose middleware other machines reach."""
    text = environment.get('ROS_DOMAIN_ID', '0')
    ports = dds_ports(int(text) if text.isdigit() else 0)
    found = [s for s in sockets_of_processes() if s.port in ports and not s.address.is_loopback]
    for socket in found:
        yield warn('sockets', f'open to others: {socket}', 'docs/security.md, other machines')
    if not found:
        yield ok('sockets', 'no DDS of your processes listens to other machines in this domain')


def kernel_cache() -> Iterator[Finding]:
    """Whether the kernels are compiled."""
    from soro_mechanics.compilation.kernel_cache import cache_root, kernel_hash

    root = cache_root()
    folder = root / kernel_hash()
    compiled = len(list(folder.rglob('*.nbc'))) if folder.is_dir() else 0
    none = warn('kernels', 'none compiled yet', 'the first start takes a minute')
    yield ok('kernels', f'{compiled} compiled in {folder}') if compiled else none
    old = [p for p in root.glob('*') if p.is_dir() and p != folder] if root.is_dir() else []
    if len(old) > 4:
        yield warn('kernels', f'{len(old)} old caches in {root}', 'they may be deleted')


def serial_devices(folder: Path) -> Iterator[Finding]:
    """Look for serial ports and whether this user may open them."""
    ports = sorted(p for pattern in SERIAL for p in folder.glob(pattern))
    if not ports:
        yield ok('serial', 'no port present (none is needed with the emulator)')
    for port in ports:
        remedy = 'sudo usermod -aG dialout $USER, then log in again'
        closed = warn('serial', f'{port} may not be opened by this user', remedy)
        yield ok('serial', f'{port} can be opened') if os.access(port, WANTED) else closed


def can_devices(folder: Path) -> Iterator[Finding]:
    """CAN interfaces and whether they are up."""
    found = [p for p in sorted(folder.glob('*')) if _first_line(p / 'type') == CAN_HARDWARE_TYPE]
    if not found:
        yield ok('can', 'no interface present (none is needed with the emulator)')
    for interface in found:
        state = _first_line(interface / 'operstate')
        remedy = f'sudo ip link set {interface.name} up type can bitrate 1000000'
        down = warn('can', f'{interface.name} is {state}', remedy)
        yield ok('can', f'{interface.name} is up') if state in ('up', 'unknown') else down


def ni_driver() -> Iterator[Finding]:
    """Look for the client and the driver of National Instruments cards."""
    from ctypes.util import find_library

    if find_spec('nidaqmx') is None:
        yield warn('nidaqmx', 'the Python client is missing', how_to_install('nidaqmx[grpc]'))
    elif find_library('nidaqmx'):
        yield ok('nidaqmx', 'client and driver present')
    else:
        yield ok('nidaqmx', "client present; NI's driver is not, which real cards here would need")


def _first_line(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ''
