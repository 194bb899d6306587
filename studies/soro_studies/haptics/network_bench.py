# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is assumed of the haptic device, and the stiffest spring it then renders at rest.

    python -m soro_studies.haptics.network_bench --write docs/evidence/plant_assumptions.md

Bench, loop and criterion of the Z-width; but the plant is the moving network of the emulator, with
all modes of its legs, in place of masses condensed to the handle.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.flex_calibration import FlexCalibration
from soro_mechanics.haptics.flex_signal import FlexSignal
from soro_mechanics.haptics.hand_impedance import FINGERTIP, HandImpedance, NO_HAND
from soro_mechanics.haptics.held_handle import HeldHandle, STEP
from soro_mechanics.haptics.linear_loop import STIFFEST
from soro_mechanics.haptics.stable_limits import DAMPING_RATIO, MOTOR_LAG
from soro_mechanics.haptics.virtual_environment import VirtualObject
from soro_mechanics.robot import Robot
from soro_studies.haptics.moving_bench import MovingBench
from soro_studies.haptics.virtual_bench import bench_signals, BenchSetup, calibrated_report, SOFTER
from soro_studies.haptics.z_width import z_width
from soro_studies.system.measured_section import keep_values, replace_section

ROBOT, RATE, DELAY = 'haptic_5dof', 500.0, 1  # Hz; sample from a measurement to the command
# What nobody holds rests again with springs far beyond those it rings on: no limit to find.
HANDS = (FINGERTIP,)


@dataclass(frozen=True)
class HapticAssumption:
    """How a plant differs: its material, its damping, factor of the motors' lag, free play."""

    material: float = SOFTER
    damping: float = DAMPING_RATIO
    lag: float = 1.0
    backlash: float = 0.0  # rad, half


PLANTS = {
    'as the robot file says': HapticAssumption(),
    'stiffness + 20 %': HapticAssumption(material=1.2),
    'stiffness - 20 %': HapticAssumption(material=0.8),
    'damping 2 %': HapticAssumption(damping=0.02),
    'stiffness + 25 %, damping 2 %': HapticAssumption(material=1.25, damping=0.02),
    'damping 10 %': HapticAssumption(damping=0.1),
    'motors twice as slow': HapticAssumption(lag=2.0),
    'play of 0.1 deg at a motor': HapticAssumption(backlash=math.radians(0.05)),
}


class NetworkBench(MovingBench):
    """A bench whose legs move by themselves, with all their modes; `lag`: factor of the motors'.

    `x` and `v` are of the handle, as before; `mass`, `damping` and `stiffness` those of theory.
    `slip`: what is read beside the legs' elongation, by a fault [m].
    """

    def __init__(
        self,
        robot: Robot,
        calibration: FlexCalibration,
        signals: Sequence[FlexSignal],
        objects: Sequence[VirtualObject] = (),
        setup: BenchSetup | None = None,
        held_by: HandImpedance = NO_HAND,
        damping_ratio: float = DAMPING_RATIO,
        lag: float = 1.0,
    ) -> None:
        super().__init__(robot, calibration, signals, objects, setup, held_by, damping_ratio)
        self.moving, self._lag = HeldHandle(self.plant, damping_ratio), lag * MOTOR_LAG
        self.slip = np.zeros(len(signals))

    @property
    def place(self) -> Array:
        """Where the handle truly is, shape (5,)."""
        return self.moving.place if hasattr(self, 'moving') else super().place

    def step(self, hand: Array, press: Array | None = None) -> None:
        """Advance one tick with a hand that wants to be at `hand`, and presses beside it."""
        target, grip = self._queue.popleft(), self.hand
        push = np.zeros(5) if press is None else press
        pieces = max(1, round(self.dt / STEP))
        part, speed = self.dt / pieces, (hand - self._last_hand) / self.dt
        kept = math.exp(-part / self._lag)
        for k in range(1, pieces + 1):
            self.angle = target + kept * (self.angle - target)
            self.turned = self._gear.follow(self.angle) + self.zero
            held = SimpleNamespace(
                place=self._last_hand + k / pieces * (hand - self._last_hand),
                speed=speed,
                stiffness=grip.stiffness,
                damping=grip.damping,
                mass=grip.mass,
                force=push,
            )
            self.moving.advance(self.turned, held, part)
        self._last_hand = hand.copy()
        self.x, self.v = self.moving.place, self.moving.speed
        self.force = self.hand_force = self.moving.hand_force
        self.failures += self.moving.restarts
        self._sense()

    def counts(self) -> Array:
        """Return what the converter reads."""
        slid = self._play.follow(self.moving.elongation()) + self.slip
        return self.signals.counts(slid, self.time, self.random)


def rows() -> list[dict[str, Any]]:
    """Return the stiffest springs [N/m]: of the linear loop, of condensed masses, of networks."""
    robot, signals = load_robot(ROBOT), bench_signals(6)
    calibration = calibrated_report(robot, signals, 0.3).calibration()
    found = []
    for name, plant in PLANTS.items():

        def network(
            objects: Sequence[VirtualObject],
            setup: BenchSetup,
            hand: HandImpedance,
            plant: HapticAssumption = plant,
        ) -> MovingBench:
            built = _built(setup, plant)
            more = hand, plant.damping, plant.lag
            return NetworkBench(robot, calibration, signals, objects, built, *more)

        for hand in HANDS:
            width = z_width(network, hand, RATE, DELAY)
            row: dict[str, Any] = {'plant': name, 'hand': hand.name}
            stiffest = None if math.isnan(width.stiffest) else min(width.stiffest, STIFFEST)
            row |= {'predicted': min(width.predicted, STIFFEST), 'stiffest': stiffest}
            print(row, flush=True)
            found.append(row)
    return found


def _built(setup: BenchSetup, plant: HapticAssumption) -> BenchSetup:
    return BenchSetup(
        setup.rate, setup.delay, setup.energy, material=plant.material, backlash=plant.backlash
    )


def section(found: list[dict[str, Any]]) -> str:
    """Write the table as a section of a page."""
    out = [
        f'## {ROBOT}',
        '',
        f'Written on {date.today()}. The stiffest spring that comes to rest, {RATE:g} Hz, one '
        'sample late, without monitor and watch ([Z-width](haptic_5dof_z_width.md)); loop: of '
        'theory, with the same material and damping. The controller is the same everywhere.',
        '',
        '| Plant | Hand | Loop, N/m | Network in motion, N/m |',
        '|---|---|---|---|',
    ]
    for row in found:
        cells = ' | '.join(_shown(row[key]) for key in ('predicted', 'stiffest'))
        out.append(f'| {row["plant"]} | {row["hand"]} | {cells} |')
    return '\n'.join(out) + '\n'


def _shown(stiffness: float | None) -> str:
    if stiffness is None:
        return 'rings at 1.02 of the natural stiffness'
    return f'above {STIFFEST:.0f}' if stiffness >= STIFFEST else f'{stiffness:.0f}'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    arguments = parser.parse_args()
    found = rows()
    if arguments.write:
        page = Path(arguments.write)
        keep_values(page, {ROBOT: {'date': date.today().isoformat(), 'rows': found}})
        replace_section(page, section(found))
    else:
        print(section(found))


if __name__ == '__main__':
    main()
