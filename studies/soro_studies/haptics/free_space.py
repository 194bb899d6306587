# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How free free space is, and whether a handle stays that is let go of, on the moving bench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
import json
import math
from pathlib import Path

import numpy as np

from soro_mechanics.haptics.flex_calibration import FlexCalibration
from soro_mechanics.haptics.flex_signal import FlexSignal
from soro_mechanics.haptics.hand_impedance import LIGHT_GRIP, NO_HAND
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.held import DEFAULTS
from soro_studies.haptics.moving_bench import MovingBench, REAL_MOTOR
from soro_studies.haptics.page_table import page_table
from soro_studies.haptics.virtual_bench import bench_signals, BenchSetup, calibrated_report

WAYS = (('x', 0, 0.02), ('z', 2, 0.02), ('turn 1', 3, 0.3))  # direction, and how far [m, rad]
DEVICES = {
    'as its model': None,
    'as built, strips follow at once': PlantErrors(play=0.0),
    'as built': PlantErrors(),
}
SETTLE, THERE_AND_BACK, ASIDE, FREE, RINGING = 0.5, 4.0, 1.0, 10.0, 1.0  # s


@dataclass(frozen=True)
class FreeSpace:
    """One direction of one device.

    Attributes
    ----------
    device, direction : str
    natural, felt : float
        With the motors held; largest change of force over that of place [N/m, N m/rad].
    mean : float
        Of the force without its sign [N, N m].
    concealed : float
        Force along the direction that bends the legs back and forth without any strip to show
        it [N, N m].
    shake, strain : float
        How far the motors turn to either side, and with what torque, along the one motion that
        leaves the handle where it is, to take every strip through its dead band [rad, N m].
    drift : float
        Of the handle, in ten seconds after it was let go of and its ringing was over [m].
    failures : int
    """

    device: str
    direction: str
    natural: float
    felt: float
    mean: float
    drift: float
    failures: int
    concealed: float = 0.0
    shake: float = 0.0
    strain: float = 0.0


def free_space(
    robot: Robot,
    calibration: FlexCalibration,
    signals: Sequence[FlexSignal],
    device: str,
    way: tuple[str, int, float],
    free: float = FREE,
) -> FreeSpace:
    """Lead the handle there and back in a light grip, aside again, and let it go."""
    direction, axis, reach = way
    errors = DEVICES[device]
    motor = None if errors is None else REAL_MOTOR
    setup = BenchSetup(errors=errors, energy=DEFAULTS['energy'], step=5e-4, motor=motor)
    rig = MovingBench(robot, calibration, signals, (), setup, LIGHT_GRIP)
    rig.rest_force = DEFAULTS['rest_force']
    rig.guarded(calibration)
    start, rows = rig.place.copy(), []

    def lead(shares: np.ndarray) -> None:
        for share in shares:
            hand = start.copy()
            hand[axis] += share * reach
            rig.step(hand)
            rows.append((rig.x[axis], rig.hand_force[axis]))

    count = round(THERE_AND_BACK * setup.rate)
    lead(np.zeros(round(SETTLE * setup.rate)))
    rows.clear()
    lead(1.0 - np.abs(np.linspace(-1.0, 1.0, count)))
    place, force = np.array(rows).T
    lead(np.minimum(1.0, np.linspace(0.0, 2.0, round(ASIDE * setup.rate))))
    rig.hand, places = NO_HAND, []
    for _ in range(round((RINGING + free) * setup.rate)):
        rig.step(np.zeros(5))
        places.append(rig.x[:3].copy())
    return FreeSpace(
        device,
        direction,
        1.0 / float(np.linalg.inv(rig.stiffness())[axis, axis]),
        float(np.ptp(force) / np.ptp(place)),
        float(np.abs(force).mean()),
        float(np.ptp(places[round(RINGING * setup.rate) :], axis=0).max()),
        rig.failures,
        concealed(rig, axis),
        *shaking(rig),
    )


def concealed(rig: MovingBench, axis: int) -> float:
    """Return the force along a direction that takes the legs through a strip's dead band."""
    errors, (_, change) = rig.setup.errors, rig.loop.law.sensing.without_hand()
    return 0.0 if errors is None else 2.0 * errors.play / float(np.abs(change[:, axis]).max())


def shaking(rig: MovingBench) -> tuple[float, float]:
    """Return `shake` and `strain` of a device, linearised where it is."""
    if rig.setup.errors is None or not rig.setup.errors.play:
        return 0.0, 0.0
    p = rig.plant.ports
    torque = np.linalg.inv(p.aa)  # of a turn
    still = np.linalg.svd(p.ea @ torque)[2][-1]
    turn = still * rig.setup.errors.play / np.abs(p.sa @ torque @ still).min()
    return float(np.abs(turn).max()), float(np.abs(torque @ turn).max())


def measure_free_space(robot: Robot, store: Path) -> None:
    """Measure all devices and directions."""
    signals, found = bench_signals(6), []
    for device, errors in DEVICES.items():
        calibration = calibrated_report(robot, signals, errors=errors).calibration()
        found += [asdict(free_space(robot, calibration, signals, device, way)) for way in WAYS]
    store.write_text(json.dumps(found, indent=1) + '\n', encoding='utf-8')


def read_free_space(store: Path) -> list[FreeSpace]:
    """Return what was measured."""
    return [FreeSpace(**row) for row in json.loads(store.read_text(encoding='utf-8'))]


def write_free_page(name: str, store: Path, page: Path) -> None:
    """Write the page of what the store has."""
    rows = []
    for f in read_free_space(store):
        unit, force = ('N/m', f'{f.mean:.2f} N')
        if f.direction.startswith('turn'):
            unit, force = 'N m/rad', f'{1e3 * f.mean:.0f} mN m'
        felt, natural = f'{f.felt:.3g} {unit}', f'{f.natural:.3g} {unit}'
        share, drift = f'{f.felt / f.natural:.2f}', f'{1e3 * f.drift:.2f} mm'
        rows.append((f.device, f.direction, felt, natural, share, force, drift))
    far = {direction: reach for direction, _, reach in WAYS}
    slid = [f for f in read_free_space(store) if f.concealed > 0.0]
    least = ', '.join(
        f'{1e3 * f.concealed:.0f} mN m in a turn'
        if f.direction.startswith('turn')
        else f'{f.concealed:.1f} N along {f.direction}'
        for f in slid
    )
    floor = ', '.join(f'{f.concealed / far[f.direction] / f.natural:.2f}' for f in slid)
    shake = f'{math.degrees(max(f.shake for f in slid)):.0f}'
    strain = f'{max(f.strain for f in slid):.2f}'
    head = (
        'device',
        'direction',
        'felt',
        'motors held',
        'share',
        'mean force',
        'drift, let go of',
    )
    page.write_text(
        f'# {name}: free space\n\n'
        '<!-- Generated by `python -m soro_studies.haptics free`; do not edit. -->\n\n'
        'On the bench with inertia of [the Z-width]'
        f'({name}_z_width.md), with the rest rule of the renderer, a light grip leads the handle '
        f'20 mm or 0.3 rad there and back in {THERE_AND_BACK:g} s. *Felt*: largest change of its '
        'force over that of the place, as in [the three cases]'
        f'({name}_rendering.md#motors-held-free-space-position-control). Then it leads it there '
        f'once more and lets go; drift is that of the next {FREE:g} s, '
        f'after at most {RINGING:g} s. '
        f'Devices [as built]({name}_rendering.md#a-device-as-built) have '
        f'[real motors]({name}_dynamic.md); every number: '
        f'[{store.name}]({store.name}).\n\n{page_table(head, rows)}\n\n'
        f'Strips that slide by +-0.21 mm put the motors on a [leash]({name}_drift.md) and set the '
        'limit of the last rows: the other way, no reading changes before the legs have moved '
        f'back by 0.42 mm of elongation. That takes {least}. A force that nothing shows is felt '
        f'whatever the motors do: over these ways it alone is a share of {floor}, where at most '
        '0.4 was asked for; the leash gives away the rest. The published sensors have '
        'hysteresis, of a size that is not published: this one explains all that is left of the '
        'published error of the calibration, so it is about the most that it can be, and the '
        'rows above are the least. The motors do not measure their torque, which would show it. A '
        'strip that is fixed better would show a hand earlier. Motors that shake the legs against '
        'each other would not: the one motion that leaves the handle where it is has to turn them '
        f'by +-{shake} deg of their +-60, with {strain} N m of their 0.3, to take every strip '
        'through its dead band.\n\n'
        f'One strip alone is no hand, so that [one that drifts]({name}_drift.md) moves nothing. '
        'That rule costs freedom.\n',
        encoding='utf-8',
    )
