# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The wiring of a board with six motors, or more, as tests of the CAN device need it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_can_driver.wiring import CanWiring

RATIO = 6.42
_WIRING = CanWiring(
    interface='socketcand', channel='can0', host='127.0.0.1', port=1, bitrate=1_000_000,
    data_bitrate=5_000_000, framing='classic', ratio=RATIO, zero=np.zeros(6),
    direction=np.ones(6), minimum=np.full(6, -1.0), maximum=np.full(6, 1.0),
    speed=np.full(6, 20.0), step=np.full(6, 2.0), tracking=0.2,
    motors=tuple(f'motor_{i}' for i in range(6)), sensors=(), serial=0,
)  # fmt: skip


def six_motors(**changes) -> CanWiring:
    """Return the wiring, other in the fields named."""
    return replace(_WIRING, **changes)


def any_motors(count: int, sensors: int = 0, **changes) -> CanWiring:
    """Return the wiring of a board of any size."""
    one = np.ones(count)
    return six_motors(
        zero=0.0 * one, direction=one, minimum=-one, maximum=one, speed=20.0 * one,
        step=0.2 * one, motors=tuple(f'motor_{i}' for i in range(1, count + 1)),
        sensors=tuple(f'flex_{i}' for i in range(1, sensors + 1)), **changes,
    )  # fmt: skip
