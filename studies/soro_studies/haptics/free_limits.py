# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How free a device with sliding strips can be at best, whatever estimates the hand.

No noise, no lag, no loop: the device as built, linearised in many postures. What strips conceal is
felt where the hand turns back, unless the motors move without a sign of it. And six readings that
are not exact all at once contradict no drift of one of them, so that the motors are on a leash.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
import json
from pathlib import Path
from typing import Any

import numpy as np

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.motor_leash import MotorLeash
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.page_table import page_table
from soro_studies.haptics.virtual_bench import make_plant
from soro_studies.json_rows import store_rows

POSTURES, TRAVEL, SOLUTIONS = 100, 2.0 / 3.0, 12
DIRECTIONS = 'x', 'y', 'z', 'turn 1', 'turn 2'
WAYS = np.array([0.02, 0.02, 0.02, 0.3, 0.3])  # m, rad: as they are led in free space
RATE, THERE_AND_BACK = 100.0, 4.0  # Hz, s


@dataclass(frozen=True)
class FreeLimits:
    """One posture.

    Attributes
    ----------
    concealed : list of float
        Per direction: the force that no strip shows where the hand turns back, as a share of what
        the legs alone give at the end of the way.
    leashed : list of float
        Per direction: the share that is felt when the hand is known exactly and the motors are on
        the leash.
    shake : list of float
        Per strip: how far motors turn to either side to take it through its dead band, with the
        handle where it is [rad].
    torque : list of float
        What that takes [N m].
    allowed : int
        Strips that are taken through within travel and torque.
    """

    concealed: list[float]
    leashed: list[float]
    shake: list[float]
    torque: list[float]
    allowed: int


def free_limits(ports: CondensedPorts, half: float, limits: Array, strongest: float) -> FreeLimits:
    """Compute the limits in one posture.

    `half` of the dead band [m]; `limits` of the motors, shape (na, 2) [rad]; `strongest`: their
    torque [N m].
    """
    torques = np.linalg.inv(ports.aa)  # of a turn without a hand
    turned = ports.sa @ torques
    change, alone = ports.se - turned @ ports.ae, natural_stiffness(ports)
    natural = 1.0 / np.diag(np.linalg.inv(alone))
    concealed = 2.0 * half / np.abs(change).max(axis=0) / (natural * WAYS)
    still = np.linalg.svd(ports.ea @ torques)[2][-1]
    shake = half / np.abs(turned @ still)
    turn, torque = shake[:, None] * np.abs(still), shake[:, None] * np.abs(torques @ still)
    room = np.minimum(ports.angle - limits[:, 0], limits[:, 1] - ports.angle)
    fits = (turn <= room) & (torque <= strongest - np.abs(ports.torque))
    return FreeLimits(
        concealed.tolist(),
        [leashed(ports, axis, way) for axis, way in enumerate(WAYS)],
        turn.max(axis=1).tolist(),
        torque.max(axis=1).tolist(),
        int(fits.all(axis=1).sum()),
    )


def leashed(ports: CondensedPorts, axis: int, way: float) -> float:
    """Return the share of the legs' force that a leash leaves, with all else as it should be."""
    moved = ports.ea @ np.linalg.inv(ports.aa)
    alone, follow = natural_stiffness(ports), np.linalg.pinv(moved)[:, axis]
    leash, forces = MotorLeash(1.0 / RATE), [0.0]
    leash.shorten(np.zeros(len(follow)), ports)
    places = way * (1.0 - np.abs(np.linspace(-1.0, 1.0, round(THERE_AND_BACK * RATE))))
    for place in places:
        command = place * follow
        leash.shorten(command, ports)
        forces.append(float(alone[axis] @ (place * np.eye(5)[axis] - moved @ command)))
    return float(np.ptp(forces) / (alone[axis, axis] * way))


def measure_limits(robot: Robot, store: Path) -> None:
    """Compute all postures."""
    errors, random, found = PlantErrors(), np.random.default_rng(0), []
    plant, zero, _ = make_plant(robot, errors)
    limits = robot.limits
    strongest = float(np.min(plant.motor_limits().torque_maximum))
    for k in range(POSTURES):
        angle = zero + min(k, 1) * TRAVEL * random.uniform(limits[:, 0], limits[:, 1])
        plant.restart(np.zeros(len(angle)))
        for share in np.linspace(0.0, 1.0, SOLUTIONS):
            plant.update(share * angle, np.zeros(5))
        found.append(free_limits(plant.ports, errors.play, limits, strongest))
    store_rows(store, (_short(asdict(limit)) for limit in found))


def _short(row: dict[str, Any]) -> dict[str, Any]:
    lists = {k: [float(f'{x:.4g}') for x in v] for k, v in row.items() if isinstance(v, list)}
    return {**row, **lists}


def read_limits(store: Path) -> list[FreeLimits]:
    """Return what was computed."""
    return [FreeLimits(**row) for row in json.loads(store.read_text(encoding='utf-8'))]


def limits_text(found: list[FreeLimits]) -> str:
    """Return the table of the page, and what it means."""
    rows = []
    for name, what in (('concealed', 'what strips conceal'), ('leashed', 'motors on a leash')):
        values = np.array([getattr(limits, name) for limits in found]).T
        rows.append((what, *(f'{min(v):.2f}, {np.median(v):.2f}, {max(v):.2f}' for v in values)))
    shake = np.degrees(np.median(np.sort([f.shake for f in found], axis=1), axis=0))
    whole, count = sum(f.allowed == len(f.shake) for f in found), len(found)
    least = min(min(f.leashed) for f in found)
    return (
        f'{page_table(("share of natural, at least", *DIRECTIONS), rows)}\n\n'
        f'Computed without loop, lag or noise in {count} postures (least, median, largest). *What '
        'strips conceal*: where the hand turns back no reading changes before the legs have moved '
        'by the whole dead band. Motors that move sooner push a hand that rests by what they '
        'spare one that returns, and no reading tells the two apart: one of them feels half of it '
        'at least. *Motors on a leash*: the hand is known exactly, but the motors add no more '
        'than the leash allows. It is there because five exact readings fit any force, so that '
        'nothing contradicts a drift; only all six at once would. Its 1 N is what a drift may '
        'feel like unseen, its length is a choice: with this one, whatever estimates the hand, '
        f'**at least {least:.2f} is felt** where 0.4 was asked for. With none the first row would '
        'remain, and nothing would cap what a drift does. Motors may shake the legs along the one '
        'motion that leaves the handle where it is: that takes a strip through its band and shows '
        'its leg. '
        f'From the easiest strip to the hardest it needs +-{_list(shake)} deg (medians); travel '
        f'and torque let all six be shown in {whole} of {count} postures, half of them in '
        f'{sum(f.allowed >= 3 for f in found)}.'
    )


def _list(values: Array) -> str:
    return ', '.join(f'{value:.0f}' for value in values)
