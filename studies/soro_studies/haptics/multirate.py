# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The paper's two rates: the model is solved at 20 Hz beside a loop of 500 Hz.

What the loop gets is what was measured a period of the model ago, linearised there: as where a
second thread takes all of that period for one solution.
"""

from __future__ import annotations

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.loop import HapticLoop
from soro_mechanics.haptics.rendering import RenderingSetup
from soro_mechanics.haptics.sensing import SensingSetup
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment


class SlowModel(HapticLoop):
    """A loop whose model is solved every few ticks, and comes as late.

    Parameters
    ----------
    device, sensing, rendering, environment
        As for `HapticLoop`.
    ticks : int
        Of the loop, for one solution: 25 for the published 20 Hz at 500 Hz.
    """

    def __init__(
        self,
        device: HapticDevice,
        sensing: SensingSetup,
        rendering: RenderingSetup,
        environment: VirtualEnvironment | None = None,
        ticks: int = 25,
    ) -> None:
        super().__init__(device, sensing, rendering, environment)
        self.ticks, self._count = ticks, 0
        self._solved = device.snapshot()

    def start(self, encoder: Array) -> None:
        """Solve the model at measured motor angles and forget everything else."""
        super().start(encoder)
        self._count = 0
        self._solved = self.device.snapshot()  # `ports` of the device will be overwritten
        self.law.linearise(self._solved)

    def advance(self) -> Code:
        """Every few ticks: take what was solved meanwhile, and begin to solve at the estimate."""
        self._count += 1
        sensing = self.law.sensing
        if self._count % self.ticks or sensing.code is not Code.NONE:
            return sensing.code
        force = self.device.ports.axes.T @ sensing.wrench
        code = self.device.update(sensing.angle(), force)
        self.law.linearise(self._solved)
        self._solved = self.device.snapshot()
        return code
