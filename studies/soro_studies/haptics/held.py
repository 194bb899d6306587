# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether what is rendered at defaults is quiet: environments, hands, plants.

On the bench with inertia, with the limits, the energy monitor, the rest rule and the watch over
oscillations of the renderer. A hand runs into the object and stays, or taps, or lets go; from a
second later the true place of the handle and the true force of the hand have no components above
5 Hz worth mentioning, after the hand's own motion was removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from scipy.signal import butter, sosfiltfilt

from soro_haptics.haptic_parameters import PARAMETERS
from soro_mechanics.haptics.flex_calibration import FlexCalibration
from soro_mechanics.haptics.flex_signal import FlexSignal
from soro_mechanics.haptics.hand_impedance import (
    FINGERTIP,
    FIRM_GRIP,
    HandImpedance,
    LIGHT_GRIP,
    NO_HAND,
)
from soro_mechanics.haptics.rendering import RenderingSetup
from soro_mechanics.haptics.stable_limits import stable_limits, StableLimits
from soro_mechanics.haptics.virtual_environment import PRESETS, published_environment, Shape
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.moving_bench import MovingBench, REAL_MOTOR
from soro_studies.haptics.virtual_bench import BenchSetup

DEFAULTS = {parameter.name: parameter.default for parameter in PARAMETERS}
CONTACT, EVENT, AFTER, LOOK = 0.2, 0.9, 1.0, 1.0  # s: contact, letting go, wait, and look
CORNER = 5.0  # Hz
TAPS, STROKE = 2.0, 0.5  # Hz; part of the way that a tap goes back
PUSH = 1.0  # N, on a handle that nobody holds, until the contact
MOTION, FORCE = 1e-3, 0.2  # m, N: what is asked for
# Where the hand wants to be.
REACH = {
    'free': (0.01, 0.0, 0.01, 0.1, 0.0),
    'hold': (0.008, 0.0, 0.008, 0.1, 0.0),
    'wall': (-0.02, 0.0, 0.0, 0.0, 0.0),
    'box': (0.02, 0.0, 0.02, 0.0, 0.0),
    'line': (0.01, 0.01, 0.01, 0.0, 0.0),
    'circle': (0.035, 0.0, 0.005, 0.0, 0.0),
    'angle': (0.0, 0.0, 0.0, 0.35, 0.0),
}
HANDS: dict[str, tuple[HandImpedance, str]] = {
    'none': (NO_HAND, 'pushed'),
    'fingertip': (FINGERTIP, 'stays'),
    'light grip': (LIGHT_GRIP, 'stays'),
    'firm grip': (FIRM_GRIP, 'stays'),
    'tapping': (FINGERTIP, 'taps'),
    'letting go': (LIGHT_GRIP, 'lets go'),
}
AS_BUILT = 'as built, real motors'
DRIFT = 10.0  # counts/s, of the first sensor: a fifth of the emulated fault
PLANTS: dict[str, BenchSetup] = {
    'E': BenchSetup(material=1.0),
    'E -20 %': BenchSetup(material=0.8),
    'E +25 %': BenchSetup(material=1.25),
    'backlash 0.5 deg': BenchSetup(material=1.0, backlash=math.radians(0.25)),
    'lag 10 ms': BenchSetup(material=1.0, delay=7),
    'drift': BenchSetup(material=1.0),
    'real motors': BenchSetup(material=1.0, motor=REAL_MOTOR),
    AS_BUILT: BenchSetup(errors=PlantErrors(), motor=REAL_MOTOR),
}


@dataclass(frozen=True)
class Held:
    """One cell of the table.

    Attributes
    ----------
    environment, hand, plant : str
    motion, force : float
        Largest component above 5 Hz of the handle [m] and of the hand's force [N].
    stiffness : float
        Rendered [N/m], of an angle limit [N m/rad]; None in free space.
    slowed : bool
        Whether the watch over oscillations has acted.
    failures : int
        Ticks without a command or a model.
    """

    environment: str
    hand: str
    plant: str
    motion: float
    force: float
    stiffness: float | None
    slowed: bool
    failures: int

    @property
    def quiet(self) -> bool:
        """Whether it is what is asked for."""
        return self.motion < MOTION and self.force < FORCE and not self.failures


def held_bench(
    robot: Robot,
    calibration: FlexCalibration,
    signals: Sequence[FlexSignal],
    environment: str,
    hand: str,
    plant: str,
    expected: str = DEFAULTS['expected_hand'],
) -> Held:
    """Measure one cell; `expected` is the softest expected hand."""
    grip, does = HANDS[hand]
    setup = replace(PLANTS[plant], energy=DEFAULTS['energy'], step=5e-4)
    if plant == 'drift':
        signals = [replace(signals[0], drift=DRIFT), *signals[1:]]
    rig = MovingBench(robot, calibration, signals, (), setup, grip)
    rig.rest_force = DEFAULTS['rest_force']
    rig.guarded(calibration)
    limits = limits_of(rig, expected)
    law = rig.loop.law
    law.environment, _ = limits.environment(published_environment(environment, np.eye(4)))
    reach, rows, hands = np.array(REACH[environment]), [], []
    event = EVENT if does == 'lets go' else CONTACT
    for tick in range(round((event + AFTER + LOOK) * setup.rate)):
        time = tick / setup.rate
        way = smooth(min(1.0, time / CONTACT))
        if does == 'taps':
            way *= 1.0 - STROKE * math.sin(math.pi * TAPS * time) ** 2
        elif does == 'lets go' and time >= event:
            rig.hand = NO_HAND
        push = np.sign(reach) * [PUSH, PUSH, PUSH, 0.05, 0.05]
        pushed = push if does == 'pushed' and time < CONTACT else np.zeros(5)
        rig.step(way * reach, pushed)
        rows.append(np.concatenate([rig.x[:3], rig.hand_force[:3]]))
        hands.append(way * reach[:3])
    data = np.array(rows)
    data[:, :3] -= np.array(hands) if rig.hand is not NO_HAND else 0.0
    fast = sosfiltfilt(butter(4, CORNER, 'high', fs=setup.rate, output='sos'), data, axis=0)
    seen = np.abs(fast[round((event + AFTER) * setup.rate) :])
    things = law.environment.objects
    return Held(
        environment,
        hand,
        plant,
        float(seen[:, :3].max()),
        float(seen[:, 3:].max()),
        _stiffness(things[0]) if things else None,
        law.oscillation.episodes > 0,
        rig.failures,
    )


def smooth(share: float) -> float:
    """Return how far a hand has come after a share of its time (Flash and Hogan 1985)."""
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


def _stiffness(thing: object) -> float:
    return thing.rotational_stiffness if thing.shape is Shape.ANGLE_LIMIT else thing.stiffness


_known: dict[tuple[str, str, float], StableLimits] = {}


def limits_of(rig: MovingBench, expected: str) -> StableLimits:
    """Return the limits of the model of a bench, as the renderer computes them."""
    setup: RenderingSetup = rig.loop.law.setup
    key = rig.robot.name, expected, setup.period
    if key not in _known:
        _known[key] = stable_limits(rig.loop.device, setup, expected)
    return _known[key]


def cells(
    environments: Sequence[str] = PRESETS,
    hands: Sequence[str] = tuple(HANDS),
    plants: Sequence[str] = tuple(PLANTS),
) -> Iterator[tuple[str, str, str]]:
    """Yield what is measured, in the order of the table."""
    yield from ((e, h, p) for p in plants for e in environments for h in hands)
