# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a recording of an emulated robot holds, made without processes: as fast as it computes.

Regulators, monitors and body are those of the emulators; the body's numbers are the robot file's
times known factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from soro_emulation.analog_input import AnalogInputs, AnalogProperties
from soro_emulation.emulated_body import EmulatedBody
from soro_emulation.perturbation import BodyProperties
from soro_mechanics.actuator_models.regulator import RegulatorBank, RegulatorProperties
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.numerics.lie import so3_exp
from soro_recording.identify_tip import Measured
from soro_recording.run_data import Actuation

RATE = 25.0  # Hz, of truth and states
RAMP, HOLD = 1.0, 1.5  # s per posture
PA_PER_VOLT = 0.5e5
POSITION_NOISE, TURN_NOISE = 0.2e-3, 3e-3  # m, rad: an optical tracker


@dataclass(frozen=True)
class EmulatedRun:
    """The part of a run that identification reads."""

    actuators: tuple[Actuator, ...]
    actuation: Actuation  #: what the driver said

    def shapes(self, topic: str) -> None:
        """Return nothing: no solver ran."""
        return None


def record(
    space: ParameterSpace,
    model: str,
    factors: np.ndarray,
    seed: int,
    reach: float,
    count: int = 25,
    hysteresis: float = 0.0,
    zeros: Sequence[float] = (),
    marker: Sequence[float] = (0.0, 0.0, 0.0),
) -> tuple[EmulatedRun, Measured]:
    """Return a recording of postures that are approached slowly and held.

    The monitors say `zeros` [Pa] more than there is, and the tracker sees a marker at `marker`
    [m] in the frame of the tip.
    """
    random = np.random.default_rng(seed)
    actuators = space.description.actuators
    low = np.array([a.minimum for a in actuators])
    span = np.array([a.maximum for a in actuators]) - low
    body = EmulatedBody(space.description, BodyProperties(model, hysteresis, ()))
    body.robot = space.robot(factors.tolist(), model)
    bank = RegulatorBank(len(span), RegulatorProperties(), random)
    inputs = AnalogInputs(len(span), AnalogProperties(), random)
    more = np.array(zeros) if len(zeros) else np.zeros(len(span))
    here, rows = low.copy(), []
    for _ in range(count):
        goal = low + reach * span * random.uniform(size=len(span))
        while not body.robot.feasible(goal):
            goal = low + reach * span * random.uniform(size=len(span))
        ramp = here + np.linspace(0.0, 1.0, int(RAMP * RATE))[:, None] * (goal - here)
        for command in [*ramp, *[goal] * int(HOLD * RATE)]:
            bank.advance(command, 1.0 / RATE)
            tip = body.configuration(bank.pressure.copy()).tip
            seen = tip[:3, :3] @ so3_exp(TURN_NOISE * random.standard_normal(3))
            place = tip[:3, 3] + tip[:3, :3] @ marker + POSITION_NOISE * random.standard_normal(3)
            monitors = (bank.pressure + more) / PA_PER_VOLT
            measured = inputs.convert(monitors) * PA_PER_VOLT
            rows.append((command, measured, [*place, *Rotation.from_matrix(seen).as_quat()]))
        here = goal
    commanded, measured, poses = (np.array(column) for column in zip(*rows, strict=True))
    time = np.arange(len(rows)) / RATE
    names = tuple(a.name for a in actuators)
    states = Actuation(names, time, commanded, commanded, measured)
    return EmulatedRun(actuators, states), Measured('emulator/configuration', time, poses)
