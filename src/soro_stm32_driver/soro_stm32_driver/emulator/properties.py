# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is fixed in one valve board: its number, its limits, its clock."""

from __future__ import annotations

from dataclasses import dataclass

from soro_stm32_driver.protocol import WATCHDOG


@dataclass(frozen=True)
class BoardProperties:
    """What is burnt into the board.

    Attributes
    ----------
    serial : int
    vent_time : int
        How long everything is deflated by VENT_ALL [ms].
    budget : int
        Net inflation of a muscle, at most [ms].
    simultaneous : int
        Muscles inflated at once, at most.
    sensors : bool
        Whether it sends LENGTHS.
    drift : float
        Of its clock, as a part.
    first_tick : int
        Its clock at the start [ms]; near 2^32 it wraps soon.
    watchdog : int
        Longest silence of the host [ms].
    """

    serial: int = 1
    vent_time: int = 6000
    budget: int = 6000
    simultaneous: int = 16
    sensors: bool = False
    drift: float = 0.0
    first_tick: int = 0
    watchdog: int = WATCHDOG
