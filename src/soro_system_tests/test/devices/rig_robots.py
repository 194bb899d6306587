# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One robot per device for tests that ask the same of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import functools
from pathlib import Path

import can_robot
from can_robot import CanRobot
from channel_robots import ChannelRobot, controlled_robot, drive_robot, servo_robot
from fault_counts import ZEROS
import numpy as np
from robot_processes import BAR, BENCH, NAMES, RobotProcesses
import valve_robot
from valve_robot import quick_file, ValveRobot

from soro_driver.device import DeviceState
from soro_mechanics.robot_file.reader import read_robot_file

DSPACE = Path(__file__).with_name('dspace_bench.yaml')
# The wall clock that the driver compares stamps with is stepped by what a file says. The system's
# own clock, which other programs on this computer use, stays as it is.
CLOCK = """
import os, time
from soro_driver.loop.law import CommandArbiter
def wall(file={file!r}):
    return time.time() + (float(open(file).read() or 0.0) if os.path.exists(file) else 0.0)
CommandArbiter.__init__.__defaults__ = (wall,)
"""


# Drives that one can buy: the file of an arm of six tendons on them, and for how long the device
# goes on without commands at most [s].
DRIVES = {
    'cia402': (drive_robot, 0.2),
    'dynamixel': (servo_robot, 0.4),
    'ros2_control': (controlled_robot, 0.8),
}


@dataclass
class Rig:
    """A robot, how it is driven, and what its commands look like.

    Attributes
    ----------
    drive : callable
        Brings it away from rest and keeps the stream of commands going.
    watchdog : float
        Longest time from the last command on the wire to a device that is safe by itself [s].
    names, quantity
        Of a command.
    clock : Path
        A number in it steps the driver's wall clock [s].
    stall : float
        Of the driver's loop, that it has to survive [s].
    pieces : float
        That a driver finds at least in a byte, or frame, of garbage, on average.
    """

    robot: RobotProcesses
    drive: Callable[[], None]
    watchdog: float
    names: tuple[str, ...]
    quantity: int
    clock: Path
    stall: float = 0.05
    pieces: float = 0.5 * ZEROS

    @property
    def limits(self) -> np.ndarray:
        """Smallest and largest of every actuator, shape (m, 2)."""
        actuators = read_robot_file(self.robot.robot).actuators
        return np.array([(a.minimum, a.maximum) for a in actuators])

    @property
    def pause(self) -> float:
        """How long a source that a person has stopped must be silent to begin again [s]."""
        return self.robot.pause

    def rearmed(self, since: float) -> list[dict]:
        """Return what the device's log has of a device that began to move after a time."""
        armed = [e for e in self.robot.events('state', since) if e['state'] == 'ARMED']
        opened = [e for e in self.robot.events('valve', since) if e['action'] == 'inflate']
        armed += [e for e in self.robot.events('commands', since) if e['stream']]
        return [*armed, *(e for e in opened if e['on']), *self.robot.raised_after(since)]


def make_bench(device: str, folder: Path) -> Rig:
    """Make the rig of a device, or of `DEVICE-firmware`; its robot is not started."""
    device, _, firmware = device.partition('-')
    host = 'firmware: host'
    clock = folder / 'clock_step'
    robot: RobotProcesses
    if device == 'can':
        serial = '    serial: 5\n'
        changes = [(serial, f'{serial}    {host}\n')] if firmware else []
        robot = CanRobot(folder, *changes)
        made = Rig(
            robot,
            lambda: again(robot, lambda: robot.turn(0.5)),
            0.2,
            can_robot.NAMES,
            can_robot.ANGLE,
            clock,
            pieces=0.9,
        )
    elif device == 'stm32':
        noise = '    sensor_noise: 0.05 mm\n'
        changes = [(noise, f'{noise}    {host}\n')] if firmware else []
        robot = ValveRobot(folder, quick_file(folder, *changes))
        names, kind = valve_robot.NAMES, valve_robot.LENGTH
        made = Rig(
            robot,
            lambda: again(robot, lambda: _bend(robot)),
            valve_robot.SILENCE,
            names,
            kind,
            clock,
            stall=0.15,
        )
    elif device in DRIVES:
        write, watchdog = DRIVES[device]
        robot = arm = ChannelRobot(folder, write(folder), 0.02)
        span = np.array([a.maximum - a.minimum for a in arm.actuators])
        goal = arm.rest + 0.3 * span * np.linspace(1.0, 0.2, len(span))
        names = tuple(a.name for a in arm.actuators)
        made = Rig(
            robot,
            lambda: again(robot, lambda: arm.go(goal)),
            watchdog,
            names,
            can_robot.ANGLE,
            clock,
            pieces=0.0,
        )
    else:
        file = BENCH
        if device == 'dspace':
            file = folder / 'dspace_bench.yaml'
            serial = '    serial: 12\n'
            more = f'{serial}    {host}\n' if firmware else serial
            file.write_text(DSPACE.read_text(encoding='utf-8').replace(serial, more))
        robot = RobotProcesses(folder, file)
        press = functools.partial(robot.move, 0.8 * BAR, 0.4 * BAR, 0.0)
        watchdog = 0.4 if device == 'dspace' else 0.2
        made = Rig(robot, lambda: again(robot, press), watchdog, NAMES, 1, clock)
    robot.driver_options['prelude'] = CLOCK.format(file=str(clock))
    return made


def again(robot: RobotProcesses, drive: Callable[[], None]) -> None:
    """Drive, and once more where a busy computer has tripped the robot on the way."""
    try:
        drive()
    except AssertionError:
        if robot.state.device_state == DeviceState.ACTIVE:
            raise
        robot.recover()
        drive()


def _bend(robot: ValveRobot) -> None:
    robot.bend(4e-3)
    robot.wait_for(
        lambda: (
            robot.state.device_state == DeviceState.ACTIVE
            and robot.state.command_source == robot.source
        ),
        5.0,
        'in control',
    )
    robot.arrive()
