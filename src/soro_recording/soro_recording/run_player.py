# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded run as one HTML page that plays it: no server, no network, no library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.models.network.description.spec import GROUND
from soro_node.display_units import SHOWN
from soro_node.file_errors import writing
from soro_recording.run_data import COMMANDED, PRESENT, RunData, Shapes, TRUTH
from soro_recording.series import Array, at, near

PLAYER = 'player.html'
FRAMES = 1500  # at most; the page stays below some megabytes
STATIONS = 24  # points of a backbone that are kept


def write_player(run: RunData, path: Path, bodies: Mapping[str, Array] | None = None) -> bool:
    """Write the page; False where the recording holds no shape.

    `bodies`: corners (n, 3) [m] of what is rigid, in the frames of the bodies of that name.
    """
    shapes = run.shapes(PRESENT)
    if shapes is None:
        return False
    page = files('soro_recording').joinpath('player.html').read_text(encoding='utf-8')
    # The only way out of the script element that holds the data.
    data = json.dumps(_data(run, shapes, bodies or {}), allow_nan=False).replace('</', '<\\/')
    title = escape(run.description.title, quote=False)
    page = page.replace('"RUN_DATA"', data).replace('RUN_TITLE', title)
    with writing(path):
        path.write_text(page, encoding='utf-8')
    return True


def _data(run: RunData, shapes: Shapes, bodies: Mapping[str, Array]) -> dict[str, Any]:
    step = max(1, -(-len(shapes.time) // FRAMES))
    keep = np.arange(0, len(shapes.time), step)
    time = shapes.time[keep]
    actuation = run.actuation
    unit, zero, size = _scale(run.actuators)
    limits = (np.array([(a.minimum, a.maximum) for a in run.actuators]).T - zero) / size
    companions = {}
    for name, topic in (('commanded', COMMANDED), ('plant', TRUTH)):
        other = run.shapes(topic)
        if other is not None:
            index, there = near(other.time, time)
            if topic == COMMANDED:
                there &= run.commanded_at(other.time[index])
            companions[name] = _lines(run, topic, index, there)
    paths = run.paths()
    return {
        'time': _numbers(time - time[0], 3),
        'shapes': _lines(run, PRESENT, keep, np.full(len(keep), True)),
        'source': actuation.source,
        'radii': [_numbers([1e3 * r], 2)[0] for r in shapes.radii],
        'bodies': [
            {
                'corners': _numbers(1e3 * corners, 2),
                'poses': None if name == GROUND else run.body_poses(name, keep),
            }
            for name, corners in bodies.items()
        ],
        **companions,
        'desired': [_numbers(1e3 * p.desired, 2) for p in paths],
        'actuators': [a.name for a in run.actuators],
        'unit': unit,
        'limits': [limits.min(), limits.max()],
        'measured': _series(actuation.time, (actuation.measured - zero) / size, time),
        'applied': _series(actuation.time, (actuation.stand_in - zero) / size, time),
        'asked': _series(actuation.time, (actuation.commanded - zero) / size, time),
        'tip': _numbers(1e3 * shapes.tip[keep, :3], 2),
    }


def _scale(actuators: Sequence[Actuator]) -> tuple[str, Array, Array]:
    """Return the unit of the curves, and what is zero and one in it for every actuator.

    Where quantities differ it is the range of each.
    """
    if len({a.unit for a in actuators}) == 1:
        unit, size = SHOWN[actuators[0].unit]
        return unit, np.zeros(len(actuators)), np.full(len(actuators), size)
    low, high = np.array([(a.minimum, a.maximum) for a in actuators]).T
    return '% of the range', low, (high - low) / 100.0


def _lines(
    run: RunData, topic: str, keep: NDArray[np.int_], there: NDArray[np.bool_]
) -> list[Any]:
    """Return, per backbone, per frame, the flat list of x, y, z [mm]; None: not `there`."""
    frames = run.backbones(topic, keep)
    return [
        [_thinned(line) if seen else None for line, seen in zip(lines, there, strict=True)]
        for lines in zip(*frames, strict=False)
    ]


def _thinned(line: Array) -> Any:
    stations = np.unique(np.linspace(0, len(line) - 1, STATIONS).astype(int))
    return _numbers(1e3 * line[stations].ravel(), 2)


def _series(time: Array, values: Array, wanted: Array) -> list[Any]:
    """Return each column at the wanted times; None where nothing is known."""
    columns = np.round(at(time, values, wanted), 4).T.tolist()
    return [[None if x != x else x for x in column] for column in columns]


def _numbers(values: Any, digits: int) -> Any:
    return np.round(np.nan_to_num(np.asarray(values, dtype=float)), digits).tolist()
