# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Data that soro did not record, for identification: a mapping file says what is what.

A *source* is the header of a column of a CSV file, or ``TOPIC.field.field`` of a bag, elements of
arrays by their number: ``/plc/valves.data.0``. docs/recording.md shows a mapping. A unit may be a
quantity, of a sensor in volts ``0.3 bar``; a rotation is a rotation vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from soro_mechanics.core.errors import UnknownName
from soro_mechanics.identification.fit import Observations
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, read_yaml
from soro_mechanics.robot_file.section import Section
from soro_mechanics.robot_file.unit_table import read_unit_table
from soro_node.user_errors import UserError
from soro_recording.bag_reader import NANOSECONDS
from soro_recording.identify_postures import postures
from soro_recording.identify_tip import APART, Measured, UPRIGHT
from soro_recording.open_bag import open_bag
from soro_recording.run_data import Actuation
from soro_recording.series import Array, at, clock_fault

Columns = dict[str, tuple[Array, Array]]  # of each source its times [s] and values, (n,) each


class MappedRun:
    """One robot in a CSV file or a foreign bag; what `RunData` is to `postures`.

    Raises UserError, RobotFileError, UnknownName, InvalidInput: with the entry of the mapping, or
    the line of the table, that is wrong.
    """

    def __init__(self, path: Path, mapping: Path, robot: str) -> None:
        self.description = read_robot_file(find_robot_file(robot))
        self.actuators = self.description.actuators
        table = path.suffix.lower() == '.csv'
        with Section(read_yaml(mapping), '', str(mapping)) as root:
            with root.section('actuators') as section:
                each = [section.section(a.name) for a in self.actuators]
                said = any('commanded' in part for part in each)  # of all or of none
                asked = [part.text('commanded') for part in each] if said else []
                drives = [_source(p, a.unit) for p, a in zip(each, self.actuators, strict=True)]
            with root.section('tip') as tip:
                place, unit = _axes(tip, 'position', 'xyz'), _unit(tip, 'm')
                turn = _axes(tip, 'orientation', 'xyzw') if 'orientation' in tip else []
                base = np.zeros(3), Rotation.identity()
                if 'frame' in tip:
                    with tip.section('frame') as frame:
                        rotation = frame.vector('rotation', 'rad', 3, np.zeros(3))
                        base = frame.vector('position', 'm', 3), Rotation.from_rotvec(rotation)
            clock = _source(root.section('time'), 's') if table and 'time' in root else None
        self.timed = clock is not None or not table
        sources = [*(source for source, _, _ in drives), *asked, *place, *turn]
        found = _of_table(path, sources, clock) if table else _of_bag(path, sources)
        names, factor, zero = zip(*drives, strict=True)
        both = _joined(found, (*names, *asked)).reshape(-1, 2 if asked else 1, len(names))
        values, unknown = both * factor - zero, np.full(both[:, 0].shape, np.nan)
        sent, names = values[:, 1] if asked else unknown, tuple(a.name for a in self.actuators)
        # what the actuators did, at the times of the first
        self.actuation = Actuation(names, found[sources[0]][0], sent, unknown, values[:, 0])
        self.tip = _measured(found, place, turn, unit, base)

    def shapes(self, topic: str) -> None:
        """Return what a solver said: there was none."""

    def observations(self, speed: float, settling: float) -> Observations:
        """Return the postures at rest, as `identify_postures.postures`."""
        if self.timed:
            return postures(self, self.tip, speed, settling)
        poses = np.tile(np.eye(4), (len(self.tip.time), 1, 1))
        poses[:, :3, 3] = self.tip.poses[:, :3]
        poses[:, :3, :3] = Rotation.from_quat(self.tip.poses[:, 3:]).as_matrix()
        values, unloaded = self.actuation.measured, np.zeros((len(poses), 6))
        return Observations(values, poses, unloaded, self.tip.oriented)


def _source(section: Section, si: str) -> tuple[str, float, float]:
    """Return a source, and what one and zero of it are in SI."""
    with section:
        return section.text('from'), _unit(section, si), section.quantity('zero', si, 0.0)


def _unit(section: Section, si: str) -> float:
    text = str(section.raw('unit', 1) if si == '1' else section.raw('unit'))  # never assumed
    try:
        return quantity.parse(text if text[:1].isdigit() else f'1 {text}', si)[0]
    except quantity.QuantityError as error:
        raise section.error('unit', str(error)) from None


def _axes(section: Section, key: str, axes: str) -> list[str]:
    """Return the sources of a vector: written one by one, or its fields."""
    value = section.raw(key)
    if isinstance(value, str):
        return [f'{value}.{axis}' for axis in axes]
    if not isinstance(value, list) or len(value) != len(axes):
        raise section.error(key, f'write one source, or {len(axes)} in the order {axes}')
    return [str(x) for x in value]


def _of_table(
    path: Path, sources: Sequence[str], clock: tuple[str, float, float] | None
) -> Columns:
    table = read_unit_table(path)
    for name in [*sources, *([clock[0]] if clock else [])]:
        if name not in table.header:
            raise UnknownName('from', name, table.header)
        if table.header.count(name) > 1:
            raise UserError(f'{path}: {name} is the header of two columns')

    def column(name: str, factor: float = 1.0) -> Array:
        where = table.header.index(name), factor
        return np.array([table.number(line, cells, where) for line, cells in table.body])

    time = column(*clock[:2]) if clock else np.arange(len(table.body), dtype=float)
    if (np.diff(time) <= 0.0).any():
        raise UserError(f'{path}: the times of {clock and clock[0]} do not increase')
    return {source: (time, column(source)) for source in sources}


def _of_bag(path: Path, sources: Sequence[str]) -> Columns:
    with open_bag(path) as bag:
        of = {}
        for source in sources:
            of[source] = max(
                (t for t in bag.topics if source.startswith(f'{t}.')), key=len, default=''
            )
            if not of[source]:
                raise UnknownName('from', source, [f'{topic}.FIELD' for topic in bag.topics])
        times: dict[str, list[tuple[int, int]]] = {topic: [] for topic in of.values()}
        values: dict[str, list[float]] = {source: [] for source in sources}
        for entry in bag.messages(times):
            stamp = getattr(getattr(entry.message, 'header', None), 'stamp', None)
            sent = entry.stamp if stamp is None else stamp.sec * 10**9 + stamp.nanosec
            times[entry.topic].append((sent, entry.stamp))
            for source, topic in of.items():
                if topic == entry.topic:
                    values[source].append(_field(entry.message, source, len(topic) + 1))
        clocks, delays = {}, []
        for topic, stamps in times.items():
            if not stamps:
                raise UserError(f'{path}: {topic} has no message')
            since = (np.array(stamps, dtype=np.int64).reshape(-1, 2) - bag.start) * NANOSECONDS
            fault = clock_fault(since[:, 0], -bag.start * NANOSECONDS)
            clocks[topic] = since[:, 1 if fault else 0]
            delays.append(float(np.median(since[:, 1] - clocks[topic])))
        if np.ptp(delays) > APART:
            raise UserError(f'{path}: clocks of its topics differ by {np.ptp(delays):.2f} s')
    return {source: (clocks[of[source]], np.array(values[source])) for source in sources}


def _field(message: Any, source: str, begin: int) -> float:
    node = message
    for key in source[begin:].split('.'):
        try:
            node = node[int(key)] if key.isdecimal() else getattr(node, key)
        except (AttributeError, LookupError, TypeError):
            known = [n for n in getattr(node, '__dataclass_fields__', ()) if n[:1] != '_']
            raise UnknownName('from', source, known or ['NUMBER']) from None
    if not isinstance(node, (int, float, np.number)):
        raise UserError(f'from = {source}: {type(node).__name__} is no number')
    return float(node)


def _joined(found: Columns, sources: Sequence[str]) -> Array:
    """Return the columns (n, k) of sources at the times of the first."""
    time = found[sources[0]][0]
    return np.column_stack([at(found[s][0], found[s][1][:, None], time) for s in sources])


def _measured(
    found: Columns, place: list[str], turn: list[str], unit: float, base: tuple[Array, Rotation]
) -> Measured:
    time = found[place[0]][0]
    poses = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (len(time), 1))
    poses[:, :3] = base[1].apply(unit * _joined(found, place)) + base[0]
    if turn:
        seen = _joined(found, turn)
        if not seen.any(axis=1).all():
            raise UserError(f'{turn[0]}: 0 0 0 0 is no orientation; leave out what was not seen')
        if (np.abs(seen[:, :3]) > UPRIGHT).any():  # else positions alone were measured
            poses[:, 3:] = (base[1] * Rotation.from_quat(seen)).as_quat()
    return Measured(place[0], time, poses)
