# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Muscles that are all alike, of a length that is a straight line of the pressure."""

from soro_stm32_driver.emulator.muscle_bank import MuscleProperties

PLAIN = MuscleProperties(
    supply=1e5,
    vacuum=-7e4,
    inflate_time=4.0,
    deflate_time=0.4,
    leak_time=1800.0,
    open_delay=0.012,
    close_delay=0.008,
    shortest=0.08,
    longest=0.12,
    curvature=0.0,
    sag=0.002,
    spread=0.0,
    radius=0.012,
)
