# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What one pass of a control loop found and did."""

from __future__ import annotations

from dataclasses import dataclass

from soro_driver.device import Array, DeviceState, Flags, Reading
from soro_driver.loop.law import Command


@dataclass(slots=True)
class Tick:
    """What one pass of the loop found and did; arrays of shape (m,) in SI."""

    time: float  #: when the measurement reached this computer [s, steady clock]
    #: commanded, applied, measured: NaN where there is nothing: before the first command, without
    #: a device
    commanded: Array
    applied: Array
    measured: Array
    flags: Flags  #: uint16
    state: DeviceState
    faults: int
    reason: str  #: why the state is what it is; empty while nothing is wrong
    command: Command | None  #: the one that was acted on
    reading: Reading | None  #: None without a device
    due: float  #: when the next slot begins [s, steady clock]
    stops: int  #: changes whenever the outputs were made safe for a reason (`Latches.stops`)
