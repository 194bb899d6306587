# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What motors may do to a hand while a sensor could drift unseen.

Motors that stay leave the hand the legs alone, whatever the sensors say. So an error that nothing
contradicts can do no more than the motors add to that.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.core.configuration import Array

MAX_FORCE, MAX_MOMENT = 1.0, 0.05  # N, N m
# rad/s: some 2 mm/s of the handle, slow enough for a hand to lead it back. Assumed.
CREEP = 0.02


class MotorLeash:
    """Keeps a command near a resting place, which creeps after it; `period` of the loop [s]."""

    def __init__(self, period: float) -> None:
        self._step = CREEP * period
        self._rest: Array | None = None

    def reset(self) -> None:
        """Rest where the motors are at the next tick."""
        self._rest = None

    def shorten(self, command: Array, ports: CondensedPorts) -> None:
        """Shorten a command, shape (na,) [rad], in place.

        A handle that is held feels at most `MAX_FORCE`, `MAX_MOMENT` more than of motors at rest.
        """
        if self._rest is None:
            self._rest = command.copy()
        ahead = command - self._rest
        turned = ports.ea @ np.linalg.inv(ports.aa)
        wrench = ports.axes @ np.linalg.solve(ports.ee - turned @ ports.ae, turned @ ahead)
        force, moment = np.linalg.norm(wrench[:3]), np.linalg.norm(wrench[3:])
        size = max(1.0, float(force) / MAX_FORCE, float(moment) / MAX_MOMENT)
        self._rest += np.clip((1.0 - 1.0 / size) * ahead, -self._step, self._step)
        command[:] = self._rest + ahead / size
