# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is fixed in one valve board: its number, its limits, its clock."""

from __future__ import annotations

from dataclasses import dataclass

from soro_stm32_driver.protocol import WATCHDOG


@dataclass(frozen=True)
class BoardProperties:
    """What is burnt into the board."""

    serial: int = 1
    vent_time: int = 6000  #: how long everything is deflated by VENT_ALL [ms]
    budget: int = 6000  #: net inflation of a muscle, at most [ms]
    simultaneous: int = 16  #: muscles inflated at once, at most
    sensors: bool = False  #: whether it sends LENGTHS
    drift: float = 0.0  #: of its clock, as a part
    first_tick: int = 0  #: its clock at the start [ms]; near 2^32 it wraps soon
    watchdog: int = WATCHDOG  #: longest silence of the host [ms]
