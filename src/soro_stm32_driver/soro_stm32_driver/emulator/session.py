# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a valve board remembers of the host that talks to it, and of what it has answered."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from soro_driver.serial.frame import Body
from soro_stm32_driver.protocol import WINDOW


@dataclass
class Session:
    """What the board knows of its host."""

    number: int = 0
    heard: int = 0  # ms, last valid frame
    done: deque[int] = field(default_factory=lambda: deque(maxlen=WINDOW))
    answers: dict[int, Body] = field(default_factory=dict)
    last_seq: int = 0
