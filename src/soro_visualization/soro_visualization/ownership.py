# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""When a robot is taken away from whoever moved it."""

from __future__ import annotations

from soro_visualization.page.readout import ACTIVE, ActuatorReadout, NO_STATE


class Ownership:
    """Compares each state of the device with the one before."""

    def __init__(self) -> None:
        self._state, self._owner = NO_STATE, ''
        self._stops: int | None = None

    def taken_away(self, readout: ActuatorReadout) -> bool:
        """Whether the device was stopped, or has left ACTIVE or its owner, since the last call.

        Taking control is no such change. A stop is one in every state: it also ends what waits
        for a robot that is SAFE already.
        """
        state, owner, stops = self._state, self._owner, self._stops
        self._state, self._owner = readout.device_state, readout.source
        self._stops = readout.stops
        if stops is not None and stops != readout.stops:
            return True
        return state == ACTIVE and (
            readout.device_state != ACTIVE or owner not in ('', readout.source)
        )
