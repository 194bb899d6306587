# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a robot file's ``control`` says of feedback on the measured tip: defaults of a planner."""

from __future__ import annotations

from dataclasses import dataclass

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.record import given, read_section
from soro_mechanics.robot_file.section import Section

MODES = ('feedforward', 'feedback')


@dataclass(frozen=True)
class ClosedLoop:
    """Zero: not stated."""

    mode: str = given(default=MODES[0], choices=MODES)
    gain: float = given('1/s', 0.0, minimum=0.0, maximum=100.0)  #: of the integral
    #: of the lowest mode, part of the critical one
    damping: float = given('1', 0.0, minimum=0.0, maximum=1.0)
    #: a drive moves by so much of its range, or not at all
    step: float = given('1', 0.0, minimum=0.0, maximum=0.1)


def read_closed_loop(root: Section, actuators: tuple[Actuator, ...]) -> ClosedLoop:
    """Read ``mode``, ``gain``, ``damping`` and ``step``."""
    return read_section(root, 'control', ClosedLoop)
