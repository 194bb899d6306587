# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Calibration of all flex sensors of a device, and the file that keeps it.

The fit (see `flex_fit`) relates counts to node rotations of the model. The file states it in
metres of elongation of the strip: ``gain * (counts - offset) = sum(weight * rotation of node)``.
Only the product is identifiable, so the strip's distance from the neutral fibre, a number of the
robot file, sets the scale: a pure bend between two nodes elongates it by lever times angle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import yaml

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_fit import fit_sensor, MAX_NODES, PoorFit, SensorFit
from soro_mechanics.robot_file.atomic_write import write_whole
from soro_mechanics.robot_file.reader import read_yaml
from soro_mechanics.robot_file.section import Section

SCHEMA = 1
UNKNOWN_MATERIAL = 0.15  # relative, of a modulus that no weight has shown; printed, assumed


@dataclass(frozen=True, eq=False)
class FlexRecording:
    """What a calibration run recorded."""

    names: tuple[str, ...]  #: sensors
    #: (samples, nodes) [rad]; per sensor: rotations of the nodes under it, from the model at the
    #: same motor angles
    rotations: tuple[Array, ...]
    counts: Array  #: (samples, sensors); readings of the converter
    #: (nodes,) [m]; Per sensor: where those nodes are along the rod. Empty: not known.
    places: tuple[Array, ...] = ()


@dataclass(frozen=True, eq=False)
class SensorCalibration:
    """How to use one sensor."""

    name: str
    offset: float  #: counts at zero elongation
    gain: float  #: [m/count]
    nodes: tuple[int, ...]  #: nodes under the sensor, as the recording counted them
    weights: Array  #: [m/rad]; of their rotations; the row of H (16)
    #: standard deviation of the elongation, noise and misfit together, play apart [m]
    deviation: float
    error_share: float  #: mean absolute error over the range, on held-out data
    #: [m]; Where those nodes are along the rod; empty in files that do not say it. Node numbers of
    #: another mesh, or of a strip glued elsewhere, mean other places.
    places: tuple[float, ...] = ()
    play: float = 0.0  #: half the dead band with which the strip follows its leg [m]

    def elongation(self, counts: float | Array) -> float | Array:
        """Return the elongation [m] of a reading."""
        return self.gain * (counts - self.offset)


@dataclass(frozen=True)
class FlexCalibration:
    """Calibration of all sensors of one robot.

    `material` is the stiffness of its material over that of the robot file (`known_weight`), with
    a relative standard deviation.
    """

    robot: str
    created: str
    sensors: tuple[SensorCalibration, ...]
    material: float = 1.0
    material_deviation: float = UNKNOWN_MATERIAL

    def sensor(self, name: str) -> SensorCalibration:
        """Return one sensor by name."""
        for sensor in self.sensors:
            if sensor.name == name:
                return sensor
        raise UnknownName('sensor', name, [s.name for s in self.sensors])


@dataclass(frozen=True, eq=False)
class CalibrationReport:
    """Fits of all sensors, good and bad."""

    robot: str
    fits: tuple[SensorFit, ...]
    lever: float  #: distance of the strips from the neutral fibre [m]
    #: [m]; where the nodes under each sensor are along the rod, as far as that is known
    places: dict[str, Array] = field(default_factory=dict)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that speaks against the calibration; empty: it can be used."""
        return tuple(reason for fit in self.fits for reason in fit.reasons)

    def calibration(self) -> FlexCalibration:
        """Return the calibration.

        Raises
        ------
        PoorFit
            With the reasons, when any fit is refused.
        """
        if self.reasons:
            raise PoorFit(self.reasons)
        now = datetime.now(timezone.utc).isoformat(timespec='seconds')
        sensors = tuple(
            _in_metres(fit, self.lever, self.places.get(fit.name)) for fit in self.fits
        )
        return FlexCalibration(self.robot, now, sensors)

    def text(self) -> str:
        """Return a table for people."""
        lines = [
            f'{"sensor":10s} {"nodes":8s} {"offset":>8s} {"range":>7s} {"error":>7s} {"share":>6s}'
            f' {"largest":>8s} {"drift":>7s} {"play":>6s}  [counts]'
        ]
        for fit in self.fits:
            nodes = ' '.join(str(n) for n in fit.nodes) or '-'
            lines.append(
                f'{fit.name:10s} {nodes:8s} {fit.offset:8.1f} {fit.range:7.0f} {fit.error:7.1f}'
                f' {fit.error_share:6.1%} {fit.largest:8.1f} {fit.drift:7.1f} {fit.play:6.1f}'
                f'  {"refused" if fit.reasons else "good"}'
            )
        return '\n'.join([*lines, *(f'refused: {reason}' for reason in self.reasons)])


def calibrate(
    robot: str, recording: FlexRecording, lever: float, method: str = 'exact'
) -> CalibrationReport:
    """Fit every sensor of a recording.

    Raises
    ------
    InvalidInput
        A recording whose parts do not fit together, or a lever that is not a length.
    """
    counts = np.asarray(recording.counts, float)
    count = len(recording.names)
    if counts.ndim != 2 or counts.shape[1] != count or len(recording.rotations) != count:
        expected = f'one column and one array of rotations for each of {count} names'
        raise InvalidInput('recording', counts.shape, expected, Code.INVALID_SIZE)
    if not (lever > 0.0 and np.isfinite(lever)):
        raise InvalidInput('lever', lever, 'a length greater than zero')
    fits = tuple(
        fit_sensor(name, rotations, counts[:, i], method)
        for i, (name, rotations) in enumerate(
            zip(recording.names, recording.rotations, strict=True)
        )
    )
    places = dict(zip(recording.names, recording.places, strict=False))
    return CalibrationReport(robot, fits, lever, places)


def save_calibration(calibration: FlexCalibration, path: Path | str) -> Path:
    """Write a calibration file, whole or not at all.

    Returns
    -------
    Path
        Absolute.
    """
    path = Path(path).resolve()
    data = {
        'schema': SCHEMA,
        'robot': calibration.robot,
        'created': calibration.created,
        'material': float(calibration.material),
        'material_deviation': float(calibration.material_deviation),
        'sensors': [
            {
                'name': s.name,
                'offset': s.offset,
                'gain': f'{s.gain!r} m',
                'nodes': [_written_node(s, k) for k in range(len(s.nodes))],
                'deviation': f'{s.deviation!r} m',
                'play': f'{s.play!r} m',
                'error_share': s.error_share,
            }
            for s in calibration.sensors
        ],
    }
    head = '# gain * (counts - offset) = sum of weight (m/rad) * rotation of node; see docs.\n'
    text = head + yaml.safe_dump(data, sort_keys=False)
    write_whole(path, lambda file: file.write(text.encode()))
    return path


def read_calibration(path: Path | str, robot: str | None = None) -> FlexCalibration:
    """Read a calibration file; `robot` is whose it must be.

    Raises
    ------
    RobotFileError
        With the path to the field, the value found and the remedy.
    """
    file = str(path)
    root = Section(read_yaml(Path(path)), '', file)
    with root:
        if root.integer('schema') != SCHEMA:
            raise root.error('schema', f'this version reads schema {SCHEMA}; calibrate again')
        owner = root.text('robot')
        if robot is not None and owner != robot:
            raise root.error('robot', f'this file is not for {robot}; calibrate it')
        created = root.text('created')
        material = root.number('material', 1.0, minimum=0.01, maximum=100.0)
        deviation = root.number('material_deviation', UNKNOWN_MATERIAL, minimum=0.0, maximum=1.0)
        sensors = tuple(_read_sensor(item) for item in root.sections('sensors'))
        if not sensors:
            raise root.error('sensors', 'write at least one sensor')
        names = [s.name for s in sensors]
        if len(set(names)) != len(names):
            raise root.error('sensors', 'a name stands twice')
    return FlexCalibration(owner, created, sensors, material, deviation)


def _written_node(sensor: SensorCalibration, k: int) -> dict[str, object]:
    entry: dict[str, object] = {
        'node': sensor.nodes[k],
        'weight': f'{float(sensor.weights[k])!r} m',
    }
    if sensor.places:
        entry['place'] = f'{float(sensor.places[k])!r} m'
    return entry


def _read_sensor(item: Section) -> SensorCalibration:
    with item:
        name = item.text('name')
        offset = item.number('offset')
        gain = item.quantity('gain', 'm')
        if gain == 0.0:
            raise item.error('gain', 'must not be zero')
        nodes: list[int] = []
        weights, places = [], []
        for part in item.sections('nodes'):
            with part:
                nodes.append(part.integer('node', minimum=0))
                weights.append(part.quantity('weight', 'm'))
                if 'place' in part:
                    places.append(part.quantity('place', 'm', minimum=0.0))
        if not 1 <= len(nodes) <= MAX_NODES or len(set(nodes)) != len(nodes):
            raise item.error('nodes', f'write one to {MAX_NODES} different nodes')
        if places and len(places) != len(nodes):
            raise item.error('nodes', 'write the place of every node, or of none')
        deviation = item.quantity('deviation', 'm', positive=True)
        play = item.quantity('play', 'm', 0.0, minimum=0.0)
        share = item.number('error_share', minimum=0.0)
    return SensorCalibration(
        name, offset, gain, tuple(nodes), np.array(weights), deviation, share, tuple(places), play
    )


def _in_metres(fit: SensorFit, lever: float, places: Array | None) -> SensorCalibration:
    # Of two nodes that see a pure bend the coefficients are c and -c: half their sum is c.
    size = float(np.abs(fit.coefficients).sum()) / len(fit.nodes)
    gain = lever / size
    # The converter's own step is a floor: a perfect fit still has it.
    deviation = float(gain * max(fit.rms, 1.0 / np.sqrt(12.0)))
    return SensorCalibration(
        fit.name,
        fit.offset,
        gain,
        fit.nodes,
        gain * fit.coefficients,
        deviation,
        fit.error_share,
        () if places is None else tuple(float(places[n]) for n in fit.nodes),
        gain * fit.play,
    )
