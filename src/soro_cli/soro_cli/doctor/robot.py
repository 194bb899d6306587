# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of one robot file: that it loads, where its numbers come from, what is implausible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import entry_points
import math
from typing import TYPE_CHECKING

import numpy as np

from soro_cli.doctor.findings import fail, Finding, merged, ok, warn
from soro_cli.doctor.models import check_ancf, check_models
from soro_cli.doctor.network import check_network
from soro_mechanics.core.errors import RobotFileError, SoroError, UnknownName
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_node.display_units import limits

if TYPE_CHECKING:
    from soro_driver.settings import DriverSettings

# Smallest and largest values [SI] such robots have; outside a unit was probably mistaken.
PLAUSIBLE = {
    'pressure': (1e3, 2e6),
    'length': (1e-4, 2.0),
    'angle': (1e-3, 4.0 * math.pi),
    'stretch': (1e-3, 4.0),
    'curvature': (1e-2, 1e3),
    'force': (1e-2, 1e3),
}
EARTH = 9.81  # m/s^2
SLOWEST, FASTEST = 120.0, 0.01  # s for the whole range; outside a rate was probably mistaken


def robot_findings(robot: str) -> Iterator[Finding]:
    """Check a robot by name or path, what takes long last."""
    try:
        path = find_robot_file(robot)
        description = read_robot_file(path)
    except (RobotFileError, UnknownName) as error:
        yield fail('file', str(error), 'correct it; docs/describe_your_own_robot.md')
        return
    yield ok('file', f'{path}: {description.title}')
    yield from merged(actuators(description))
    checks = (provenance, coupled_limits, gravity, hardware)
    for check in (*checks, check_models, check_ancf, check_network):
        yield from check(description)


def provenance(robot: RobotDescription) -> Iterator[Finding]:
    """Count where the numbers come from."""
    counts = Counter(origin.source for origin in robot.origins)
    text = ', '.join(f'{number} {source}' for source, number in counts.most_common())
    few = warn('provenance', text, 'say `source:` for more of them')
    said = ok('provenance', text or 'no number says where it comes from')
    yield few if counts['unstated'] > len(robot.origins) / 2 else said


def actuators(robot: RobotDescription) -> Iterator[Finding]:
    """Ranges and rates."""
    for a in robot.actuators:
        seconds = (a.maximum - a.minimum) / a.rate
        size = max(abs(a.minimum), abs(a.maximum))
        smallest, largest = PLAUSIBLE[a.quantity]
        if not smallest <= size <= largest:
            yield warn(a.name, f'{a.quantity} {limits(a)}', 'is the unit right?')
        elif not FASTEST <= seconds <= SLOWEST:
            yield warn(a.name, f'the whole range takes {seconds:g} s', 'is the rate right?')
        else:
            yield ok(a.name, f'{a.quantity} {limits(a)}, whole range in {seconds:.3g} s')


def coupled_limits(robot: RobotDescription) -> Iterator[Finding]:
    """Limits that never act, or that forbid the rest position."""
    for limit in robot.coupled_limits:
        c = limit.coefficients
        largest = float(np.where(c > 0.0, c * robot.maximum, c * robot.minimum).sum())
        if float(c @ robot.rest) > limit.maximum:
            yield fail(limit.name, 'forbids the rest position', 'raise it, or move the rest')
        elif largest <= limit.maximum:
            yield warn(limit.name, 'can never be exceeded', 'remove it, or lower it')
    if robot.coupled_limits:
        yield ok('coupled limits', f'{len(robot.coupled_limits)}')


def gravity(robot: RobotDescription) -> Iterator[Finding]:
    """Size and direction of gravity."""
    size = float(np.linalg.norm(robot.gravity))
    text = ' '.join(f'{g:g}' for g in robot.gravity) + ' m/s^2'
    odd = warn('gravity', text, f'its size is {size:.3g}, on earth {EARTH}')
    yield ok('gravity', text) if size == 0.0 or abs(size - EARTH) < 0.05 else odd


def hardware(robot: RobotDescription) -> Iterator[Finding]:
    """Sections that the driver and the emulator read; no device is touched."""
    from soro_driver import devices  # imports no ROS
    from soro_driver.settings import read_driver_settings, SIMULATED

    driver = robot.foreign_section('driver')
    try:
        if driver is not None:
            devices.load(driver.text('device'))  # an unknown name, before its section is missed
        settings = read_driver_settings(robot)
        terminals: dict[str, str] = {}
        if settings.device == SIMULATED:
            settings.section.close()
        else:
            kind = devices.load(settings.device)
            terminals = kind.from_section(settings.section, robot, None).terminals()
    except SoroError as error:
        yield fail('driver', str(error), 'correct it; docs/hardware.md')
        return
    except ImportError as error:  # what the device needs besides, such as a vendor's client
        yield fail('driver', str(error), 'install it; docs/hardware.md')
        return
    yield ok('driver', f'{settings.device} at {settings.rate:g} Hz')
    for name, terminal in terminals.items():
        yield ok('wiring', f'{name}: {terminal}')
    if settings.device != SIMULATED and all(a.quantity == 'pressure' for a in robot.actuators):
        yield from unguarded(settings)
    yield from emulation(robot, settings)


def unguarded(settings: DriverSettings) -> Iterator[Finding]:
    """Name what a driver of pressures would not notice, as its section is written."""
    limits = settings.plausibility
    for key, time, unnoticed, proposed in (
        ('follow_time_constant', limits.follow_time_constant, 'a burst line', '100 ms'),
        ('frozen_for', limits.frozen_for, 'a frozen sensor', '1 s'),
    ):
        if time == 0.0:
            yield warn(
                f'driver.supervision.{key}',
                f'0 s: {unnoticed} is not noticed',
                f'write {proposed}; docs/hardware.md',
            )
    if settings.device == 'nidaq' and 'heartbeat' not in settings.section:
        yield warn(
            'driver.nidaq.heartbeat',
            'none: nothing vents when the computer stops',
            'wire the relay; docs/hardware.md',
        )


def emulation(robot: RobotDescription, driver: DriverSettings) -> Iterator[Finding]:
    """Section that the emulator of a device reads, and what it changes of the robot."""
    from soro_driver.devices import load
    from soro_driver.endpoint import derive
    from soro_emulation.device_emulator import EmulatorContext, GROUP
    from soro_emulation.emulator_settings import read_emulator_settings  # loads the solvers
    from soro_emulation.event_log import EventLog
    from soro_emulation.perturbation import changed_data

    try:
        settings = read_emulator_settings(robot, driver.device)
        changed_data(robot, settings.body)
        if settings.body.model not in ('', *robot.models):
            raise UnknownName('emulator.body.model', settings.body.model, robot.models)
        if driver.device in {point.name for point in entry_points(group=GROUP)}:
            own, endpoint = settings.device, derive('doctor', driver.device)
            log = EventLog('')
            context = EmulatorContext(robot, driver.section, own, endpoint, settings.seed, log)
            load(driver.device, GROUP)(context, 0.0).stop()  # it has not begun to listen
    except SoroError as error:
        yield fail('emulator', str(error), 'correct it; docs/nodes/emulator.md')
        return
    text = f'hysteresis {settings.body.hysteresis:.0%} of each range, changes of the body: '
    yield ok('emulator', text + str(len(settings.body.changes)))
