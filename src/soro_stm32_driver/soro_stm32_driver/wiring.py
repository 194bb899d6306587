# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.stm32`` of a robot file: port, valves, budgets, curves of the muscles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_driver.channels import read_channels
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import Section
from soro_stm32_driver.muscle_curves import Array, MuscleCurve
from soro_stm32_driver.pairing import MAX_MUSCLES, MAX_VALVES, Pairing
from soro_stm32_driver.protocol import MAX_ACTION, MIN_ACTION

PER_MODULE = 3  # where the file says nothing
PULSE = MIN_ACTION * 1e-3, MAX_ACTION * 1e-3  # s: shortest and longest of a valve
DEFAULT = 'default'


@dataclass(frozen=True, kw_only=True)
class Stm32Wiring:
    """How the valves are connected and what their times mean."""

    port: str = given()
    baudrate: int = given(default=115200, minimum=9600)
    serial: int = given(default=0, minimum=0)  #: the board that belongs to this robot; 0: any
    names: tuple[str, ...]  #: of the muscles
    pairing: Pairing  #: the valves of every muscle
    #: muscles side by side around one backbone that keeps its length; 1: each is alone
    per_module: int
    length_sensors: bool = given(default=False)  #: whether the board measures muscles' lengths
    #: by how much the shortest muscle of a module stays longer than completely deflated
    preload: float = given('m', 0.0, minimum=0.0)
    #: (float, float); Relay-on time that does not act, per inflation and per deflation [s]
    dead_time: tuple[float, float]
    #: shorter corrections wait until they have grown
    shortest_pulse: float = given('s', PULSE[0], minimum=PULSE[0], maximum=PULSE[1])
    #: muscles inflated at once, at most: what the supply feeds
    simultaneous: int = given(default=MAX_MUSCLES, minimum=1)
    #: net inflation of one muscle, at most
    budget: float = given('s', positive=True, maximum=60.0)
    #: leak_time, leak_length: a muscle goes to this length by itself with this time constant
    leak_time: float = given('s', 1e6, positive=True)
    leak_length: float = given('m', 0.1, positive=True)
    #: part of a difference between measured and estimated length taken over per measurement
    correction: float = given('1', 0.3, minimum=0.0, maximum=1.0)
    #: after this long a vented robot is vented again before it is armed
    vented_for: float = given('s', 300.0, positive=True)
    rest: Array  #: (m,) [m]; lengths in the straight robot
    curves: tuple[MuscleCurve, ...]  #: one per muscle


def read_wiring(section: Section, robot: RobotDescription) -> Stm32Wiring:
    """Read and check ``driver.stm32``.

    RobotFileError: with the path to the field, the value found and the remedy.
    """
    with section:
        names = tuple(a.name for a in robot.actuators)
        if len(names) > MAX_MUSCLES or {a.quantity for a in robot.actuators} != {'length'}:
            raise section.error('port', f'the board drives 1 to {MAX_MUSCLES} lengths')
        per_module = section.integer('per_module', PER_MODULE, minimum=1)
        if len(names) % per_module:
            raise section.error('per_module', f'write a divisor of the {len(names)} muscles')
        inflate = section.quantity('inflate_dead_time', 's', 0.0, minimum=0.0, maximum=0.1)
        deflate = section.quantity('deflate_dead_time', 's', 0.0, minimum=0.0, maximum=0.1)
        return read_record(
            section,
            Stm32Wiring,
            names=names,
            pairing=_read_pairing(section, robot),
            per_module=per_module,
            dead_time=(inflate, deflate),
            rest=robot.rest,
            curves=_read_curves(section, names),
        )


def _read_pairing(section: Section, robot: RobotDescription) -> Pairing:
    """Read ``valves: {muscle: inflate deflate}``, or ``channels``: pairs of valves in order."""
    if 'valves' not in section:
        found = read_channels(section, robot.actuators)
        return Pairing(tuple((2 * c, 2 * c + 1) for c in found))
    if 'channels' in section:
        raise section.error('channels', 'write channels or valves, not both')
    with section.section('valves') as table:
        pairs = [table.vector(a.name, '1', 2) - 1.0 for a in robot.actuators]
    pairing = Pairing(tuple((int(a), int(b)) for a, b in pairs))
    if not pairing.valid or np.any(np.array(pairs) != pairing.pairs):
        remedy = f'each muscle two valves of its own, 1 to {MAX_VALVES}: inflate deflate'
        raise section.error('valves', remedy)
    return pairing


def _read_curves(section: Section, names: tuple[str, ...]) -> tuple[MuscleCurve, ...]:
    """Read ``curves``: one entry per muscle; `default` serves those that have none."""
    with section.section('curves') as table:
        for key in table.keys:
            if key not in (*names, DEFAULT):
                raise table.error(key, f'no muscle has this name; write one or {DEFAULT}')
        read = {key: _read_curve(table, key) for key in table.keys}
        for name in names:
            if name not in read and DEFAULT not in read:
                raise table.error(name, f'has no curve; identify it, or give one as {DEFAULT}')
        return tuple(read.get(name, read.get(DEFAULT)) for name in names)  # type: ignore[misc]


def _read_curve(table: Section, key: str) -> MuscleCurve:
    with table.section(key) as item:
        columns = [
            _column(item, name, unit)
            for name, unit in (
                ('inflate_time', 's'),
                ('inflate_length', 'm'),
                ('deflate_time', 's'),
                ('deflate_length', 'm'),
            )
        ]
        try:
            return MuscleCurve(*columns)
        except InvalidInput as error:
            raise item.error('inflate_time', str(error)) from None


def _column(item: Section, key: str, unit: str) -> Array:
    """Read numbers with one unit behind them, as many as there are."""
    text = item.raw(key)
    size = len(text.split()) - 1 if isinstance(text, str) else 0
    if size < 3:
        raise item.error(key, f'write at least three numbers and a unit, 0 0.1 0.2 {unit}')
    return item.vector(key, unit, size)
