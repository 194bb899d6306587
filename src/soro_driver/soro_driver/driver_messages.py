# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From ticks of the control loop to ROS messages. Nothing is decided here."""

from __future__ import annotations

import math

from builtin_interfaces.msg import Time

from soro_driver.device import Array, SensorReading
from soro_driver.loop.tick import Tick
from soro_driver.safety.command_gate import CommandGate
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState

SECOND = 1_000_000_000  # ns


def state_message(tick: Tick, gate: CommandGate, stamp: Time) -> ActuatorState:
    """Return the state of all actuators; NaN where nothing is known.

    `gate`: names and quantities; `stamp`: when the measurement reached this computer.
    """
    message = ActuatorState()
    message.header.stamp = stamp
    message.name = list(gate.names)
    message.quantity = [a.quantity_code for a in gate.actuators]
    message.commanded = tick.commanded.tolist()
    message.applied = tick.applied.tolist()
    message.measured = tick.measured.tolist()
    message.flags = tick.flags.tolist()
    message.device_state = int(tick.state)
    message.faults = tick.faults
    message.stops = tick.stops
    if tick.command is not None:
        message.command_source = tick.command.source
        seconds, nanoseconds = divmod(tick.command.stamp, SECOND)
        message.command_stamp = Time(sec=seconds, nanosec=nanoseconds)
    return message


def flex_message(sensors: SensorReading, stamp: Time, value: Array | None = None) -> FlexState:
    """Return the readings of the flex sensors; a driver knows no calibration, `value` is NaN.

    `stamp`: when the measurement reached this computer; `value`: elongations [m].
    """
    message = FlexState(name=list(sensors.names))
    message.header.stamp = stamp
    message.raw = sensors.raw.tolist()
    message.value = [math.nan] * len(sensors.names) if value is None else value.tolist()
    message.flags = sensors.flags.tolist()
    return message


def stamp_nanoseconds(command: ActuatorCommand) -> int:
    """Return the stamp of a command [ns]."""
    stamp = command.header.stamp
    return int(stamp.sec) * SECOND + int(stamp.nanosec)
