# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a robot file's ``control`` says of feedback on the measured tip: defaults of a planner."""

from __future__ import annotations

from dataclasses import dataclass

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.section import Section

MODES = ('feedforward', 'feedback')


@dataclass(frozen=True)
class ClosedLoop:
    """Zero: not stated."""

    mode: str = MODES[0]
    gain: float = 0.0  # of the integral [1/s]
    damping: float = 0.0  # of the lowest mode, part of the critical one
    step: float = 0.0  # a drive moves by so much of its range, or not at all


def read_closed_loop(root: Section, actuators: tuple[Actuator, ...]) -> ClosedLoop:
    """Read ``mode``, ``gain``, ``damping`` and ``step``."""
    with root.section('control') as s:
        return ClosedLoop(
            s.text('mode', MODES[0], choices=MODES),
            s.quantity('gain', '1/s', 0.0, minimum=0.0, maximum=100.0),
            s.number('damping', 0.0, minimum=0.0, maximum=1.0),
            s.number('step', 0.0, minimum=0.0, maximum=0.1),
        )
