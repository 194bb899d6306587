# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sample the actuation space within bounds, describe and save what the tip reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import json
import math
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from soro_mechanics.analysis.workspace import within_coupled, Workspace
from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.atomic_write import write_whole

MAX_SAMPLES = 1_000_000
SUFFIXES = {'.npz': b'actuator_name.npy', '.csv': b'# robot: '}  # and how files of ours begin


def bounds(robot: Robot, lower: Any, upper: Any) -> tuple[Array, Array]:
    """Return the box that is sampled: the robot's limits where a bound is empty.

    InvalidInput: wrong size, not finite, outside the robot's limits, or upper below lower.
    """
    limits = robot.limits
    count = len(limits)
    low = finite_array('lower', lower, (count,)) if len(lower) else limits[:, 0]
    high = finite_array('upper', upper, (count,)) if len(upper) else limits[:, 1]
    for i, a in enumerate(robot.actuators):
        expected = f'within {a.minimum:g} to {a.maximum:g} {a.unit}, lower not above upper'
        if not a.minimum <= low[i] <= high[i]:
            raise InvalidInput(f'lower of {a.name}', float(low[i]), expected)
        if not high[i] <= a.maximum:
            raise InvalidInput(f'upper of {a.name}', float(high[i]), expected)
    return low, high


def random_samples(
    robot: Robot,
    low: Array,
    high: Array,
    count: int,
    seed: int,
    told_to_end: Callable[[], bool] = lambda: False,
) -> Array:
    """Return `count` actuations uniform in a box, without those beyond a coupled limit.

    InvalidInput: coupled limits leave next to nothing of the box.
    SoroError: CANCELED: `told_to_end` has become True.
    """
    rng = np.random.default_rng(seed)
    found = np.empty((0, len(low)))
    for _ in range(1000):  # batches: a box of which less than 1/1000 is feasible is a mistake
        if told_to_end():
            drawn = f'cancelled after {len(found)} of {count} samples were drawn'
            raise SoroError(drawn, Code.CANCELED)
        batch = rng.uniform(low, high, (count, len(low)))
        found = np.concatenate([found, batch[within_coupled(robot.description, batch)]])
        if len(found) >= count:
            return found[:count]
    raise InvalidInput('upper', high.tolist(), 'a box that coupled limits leave something of')


def grid_samples(robot: Robot, low: Array, high: Array, count: int) -> Array:
    """Return the largest regular grid of at most `count` points, its infeasible points left out.

    An actuator whose bounds coincide takes one value.

    InvalidInput: `count` leaves less than two values for each actuator.
    """
    free = int(np.count_nonzero(high > low))
    if count < 2**free:
        expected = f'at least 2^{free} = {2**free} for a GRID of {free} actuators, or use RANDOM'
        raise InvalidInput('samples', count, expected)
    per_axis = int(np.floor(count ** (1.0 / free) * (1 + 1e-12))) if free else 1
    axes = [
        np.linspace(a, b, per_axis) if b > a else np.array([0.5 * (a + b)])
        for a, b in zip(low, high, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, len(axes))
    return points[within_coupled(robot.description, points)]


def _hull(points: Array) -> Any:
    """Return the convex hull; None where the points are too few or lie in one plane (line)."""
    from scipy.spatial import ConvexHull, QhullError  # half a second of a node's start

    try:
        return ConvexHull(points)
    except (QhullError, ValueError):
        return None


def hull_volume(points: Array) -> float:
    """Return the volume of the convex hull [m^3]; zero when the points span none."""
    hull = _hull(points)
    return 0.0 if hull is None else float(hull.volume)


def longest_extent(points: Array) -> float:
    """Return the largest distance between two points [m]; zero for fewer than two."""
    if len(points) < 2:
        return 0.0
    hull = _hull(points)
    if hull is None:
        return _flat_extent(points)
    corners = points[hull.vertices]
    return float(max(np.linalg.norm(corners - p, axis=1).max() for p in corners))


def _flat_extent(points: Array) -> float:
    """Return the largest distance between points of one plane or one line."""
    centred = points - points.mean(axis=0)
    flat = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    hull = _hull(flat[:, :2])
    if hull is None:
        return float(np.ptp(flat[:, 0]))
    corners = flat[hull.vertices, :2].tolist()
    # Rotating calipers: the farthest corners are antipodal ones of the polygon, which may be as
    # many as there are points (an arc), too many to compare all.
    longest, far, count = 0.0, 1, len(corners)
    for i, (x, y) in enumerate(corners):
        u, v = corners[(i + 1) % count]
        for _ in range(count):
            a, b = corners[far], corners[(far + 1) % count]
            if (u - x) * (b[1] - a[1]) <= (v - y) * (b[0] - a[0]):
                break
            far = (far + 1) % count
        a = corners[far]
        longest = max(longest, math.dist(a, (x, y)), math.dist(a, (u, v)))
    return longest


def check_file(save_to: str) -> Path | None:
    """Return where to save, or None for an empty name; refuse before any work is done.

    InvalidInput: another suffix than .npz or .csv, a folder that is not there or cannot be
    written, or a file there that is no workspace: what others have measured is not replaced.
    """
    if not save_to:
        return None
    try:
        path = Path(save_to).expanduser().resolve()
        there = _beginning(path) if path.exists() else None
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such user, a zero byte
        raise InvalidInput('save_to', save_to, f'the name of a file ({error})') from None
    if path.suffix not in SUFFIXES:
        raise InvalidInput('save_to', save_to, 'a file name that ends with .npz or .csv')
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InvalidInput('save_to', save_to, f'a folder that can be written, not {path.parent}')
    if there is not None and SUFFIXES[path.suffix] not in there:
        raise InvalidInput('save_to', save_to, f'another name: {path.name} is no saved workspace')
    return path


def _beginning(path: Path) -> bytes:
    with path.open('rb') as file:
        return file.read(100)


def save(cloud: Workspace, names: list[str], path: Path, origin: Mapping[str, Any]) -> None:
    """Write a cloud; the file appears complete or not at all.

    `names`: of the actuators; `path`: .npz or .csv; `origin`: what was computed, with which robot:
    JSON in `origin` of an .npz, lines that begin with # before the header of a .csv.

    InvalidInput: the disk does not take it.
    """
    as_suffix = _save_npz if path.suffix == '.npz' else _save_csv
    write_whole(path, lambda file: as_suffix(cloud, names, origin, file), 'save_to')


def _save_npz(
    cloud: Workspace, names: list[str], origin: Mapping[str, Any], file: BinaryIO
) -> None:
    np.savez_compressed(
        file,
        actuator_name=names,
        actuation=cloud.actuation,
        tip=cloud.tip,
        code=cloud.codes,
        warnings=cloud.warnings,
        principal_compliance=cloud.compliance,
        eigenstiffness=cloud.eigenstiffness,
        origin=json.dumps(dict(origin)),
    )


def _save_csv(
    cloud: Workspace, names: list[str], origin: Mapping[str, Any], file: BinaryIO
) -> None:
    file.writelines(f'# {key}: {json.dumps(value)}\n'.encode() for key, value in origin.items())
    status = np.column_stack([cloud.codes, cloud.warnings]).astype(float)
    columns = [cloud.actuation, cloud.tip[:, :3, 3], status]
    header = [*names, 'x [m]', 'y [m]', 'z [m]', 'code', 'warnings']
    if len(cloud.compliance):
        columns += [cloud.compliance, cloud.eigenstiffness]
        header += ['min_compliance [m/N]', 'max_compliance [m/N]']
        header += ['min_eigenstiffness [N]', 'max_eigenstiffness [N]']
    np.savetxt(file, np.column_stack(columns), '%.9g', ',', header=','.join(header), comments='')
