# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated robot with its inertia: the perturbed network in motion. The ground truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from soro_emulation.body_time import BodyClock, BodyTime
from soro_emulation.emulated_body import EmulatedBody
from soro_emulation.perturbation import BodyProperties, NETWORK
from soro_mechanics.core.configuration import Array, Configuration, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.snapshot import snapshot
from soro_mechanics.dynamics.stepper import Options
from soro_mechanics.robot_file.reader import RobotDescription

PARTS = 8  # of a step that had no solution, in the second try


class MovingBody(EmulatedBody):
    """Follows the clock in steps of one length, as far as this computer can.

    - `description`: the robot as its file describes it.
    - `properties`: how the emulated one differs and moves.
    """

    usual_law = 'bouc_wen'

    def __init__(self, description: RobotDescription, properties: BodyProperties) -> None:
        super().__init__(description, replace(properties, model=NETWORK))
        p = properties.motion
        self._step = p.step
        self.stepper = stepper(
            self.robot,
            None,
            Options(p.elements, p.retardation, drag=p.drag, incompressible=p.incompressible),
        )
        self._felt = description.rest
        self._clock = BodyClock(p.step)
        self._restarts = 0
        self._advance(self._felt)  # compiles, and sets the code

    def configuration(self, actuation: Array, now: float | None = None) -> Configuration:
        """Return the shape at `now` [s, CLOCK_MONOTONIC]; without a time, as it is.

        It rests at the first actuation (m,); from then on these are joined by straight lines.
        """
        begins = self._clock.time(0).wall == 0.0
        steps = 0 if now is None else self._clock.due(now)
        felt = self._felt
        if steps or begins:
            felt = self.friction.felt(self._hysteresis.apply(actuation))
        if begins:
            self._rest(felt)
        for value in _way(self._felt, felt, steps):
            self._advance(value)
        q = snapshot(self.stepper, self._felt, self._load, self._code)
        self.friction.see(q)
        return q

    @property
    def time(self) -> BodyTime:
        """How far it has come, against the clock."""
        return self._clock.time(self._restarts)

    @property
    def _load(self) -> LoadCase:
        return LoadCase(self._wrench, gravity=self.robot.gravity)

    def _advance(self, felt: Array) -> None:
        for parts in (1, PARTS):
            for value in _way(self._felt, felt, parts):
                length = self._step / parts
                if not self._stepped(length, value):
                    break
                self._felt = value
            else:
                self._code = Code.NONE
                return
        self._restarts += 1
        self._rest(felt)

    def _stepped(self, length: float, felt: Array) -> bool:
        try:
            return self.stepper.step(length, felt, self._load).taken
        except InvalidInput:  # more than its sections bear
            return False

    def _rest(self, felt: Array) -> None:
        """Put the body at rest, or leave it as it is where there is no equilibrium."""
        try:
            self.stepper.rest(felt, self._load)
            self._felt, self._code = felt, Code.NONE
        except InvalidInput:
            self._code = Code.NOT_CONVERGED


def _way(start: Array, end: Array, steps: int) -> Iterable[Array]:
    """Return where equal steps lead, without the start; mostly there is one."""
    return [end] if steps == 1 else np.linspace(start, end, steps + 1)[1:]
