# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of the CAN motor board: identifiers, states, bits, parameters."""

from __future__ import annotations

from enum import IntEnum, IntFlag

PROTOCOL_MAJOR = 1
FIRST_MOTORS, FIRST_SENSORS = 6, (0, 6)  # all that version 1.0 knows
MAX_MOTORS, PER_GROUP = 32, 3
MAX_GROUPS = -(-MAX_MOTORS // PER_GROUP)
FLEX_MASK = 0x0FFF
ESTOP_MAGIC = 0x5AA5  # on the wire A5 5A


class BoardState(IntEnum):
    """State of the board (bits 0-2 of every status byte)."""

    BOOT = 0
    SAFE = 1
    ARMED = 2
    HOLDING = 3  # commands lost: position held at reduced current, then SAFE
    FAULT = 4
    ESTOP = 5


class Status(IntFlag):
    """Further bits of a status byte."""

    SATURATED = 1 << 3  # a set-point was clamped to position, speed or step limit
    EXPIRED = 1 << 4  # time to live passed since the last command
    TORN = 1 << 5  # the groups carried different seq: command not applied


class FlexFlag(IntFlag):
    """Bits 12-15 beside a flex sample."""

    STUCK = 1 << 12
    OUT_OF_RANGE = 1 << 13
    FRESH = 1 << 14  # converted since the last frame


class Mode(IntEnum):
    """What the motors of a group shall do."""

    POSITION = 0
    HOLD = 1
    COAST = 2


TTL_MS = (4, 10, 20, 50, 100, 150, 200, 200)  # by code in the control byte


class EmergencyCode(IntEnum):
    """Reasons of an EMCY frame; also the bits (1 << value) of the fault parameter."""

    NONE = 0
    POSITION_LIMIT = 1
    SPEED_LIMIT = 2
    OVER_CURRENT = 3
    TRACKING = 4
    ENCODER_JUMP = 5
    FLEX = 6
    COMMAND_LOST = 7
    BUS_OFF = 8
    ESTOP = 9
    REVERSED = 10
    FIRST_COMMAND = 11  # not where the motors are


class Parameter(IntEnum):
    """Indices of parameter frames; `sub` is the motor where there is one per motor."""

    SESSION = 0x1000  # write: opens a session; the reply carries the boot id
    PROTOCOL = 0x1001  # read: major << 8 | minor
    SERIAL = 0x1002
    FIRMWARE = 0x1003
    CHANNELS = 0x1004
    FLEX_INPUTS = 0x1005  # since 1.1
    MINIMUM_ANGLE = 0x2000  # 0.1 deg
    MAXIMUM_ANGLE = 0x2001  # 0.1 deg
    MAXIMUM_SPEED = 0x2002  # deg/s
    MAXIMUM_STEP = 0x2003  # 0.1 deg per command number
    MAXIMUM_ERROR = 0x2004  # 0.1 deg between set-point and encoder
    ARM = 0x3000  # write: the session
    DISARM = 0x3001
    RESET = 0x3002  # write: the session
    FRAMING = 0x3003  # 0 classic, 1 FD
    FAULTS = 0x4000  # read: bits 1 << EmergencyCode; sub: motor, or 255 for all


class Access(IntEnum):
    """First byte of a parameter frame."""

    WRITE = 0x23
    READ = 0x40
    VALUE = 0x43
    DONE = 0x60
    ABORT = 0x80


class Abort(IntEnum):
    """Value of an ABORT reply."""

    UNKNOWN_PARAMETER = 1
    READ_ONLY = 2
    OUT_OF_RANGE = 3
    WRONG_SESSION = 4
    WRONG_STATE = 5


class CanId(IntEnum):
    """Identifiers. `A` is motors 1-3; the next group has the next identifier, up to `K`."""

    ESTOP = 0x010
    SYNC = 0x080
    EMERGENCY = 0x081
    EMERGENCY_WIDE = 0x082
    COMMAND_A = 0x101
    COMMAND_FD = 0x110
    POSITION_A = 0x181
    FEEDBACK_FD = 0x190
    VELOCITY_A = 0x191
    FLEX_A = 0x1A1
    PARAMETER_REPLY = 0x581
    PARAMETER_REQUEST = 0x601
    HOST_HEARTBEAT = 0x700
    BOARD_HEARTBEAT = 0x701


def groups_of(count: int) -> int:
    """Return how many groups so many motors, or flex sensors, fill."""
    return -(-count // PER_GROUP)


def minor_for(motors: int, sensors: int) -> int:
    """Return the oldest minor version that speaks of such a board."""
    return 0 if motors == FIRST_MOTORS and sensors in FIRST_SENSORS else 1


def flex_groups_of(motors: int, sensors: int) -> int:
    """Return how many `Flex` frames answer a SYNC: its counter comes back at least once."""
    return groups_of(sensors if minor_for(motors, sensors) else FIRST_MOTORS) or 1
