# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the marker of a tracker sits on the tip, and where the tracker stands, from postures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.numerics import lie

LEVEL = 0.95
LEAST = 6  # equations beyond the unknowns (assumed)
SINGULAR = 1e-10  # of the largest eigenvalue of the scaled normal equations
LIMIT = 2e-3  # m (assumed): half interval of the marker's position that is still of use
ROUNDS = 30  # of Gauss-Newton steps and variance components
TURN_MORE = 'more postures, in which the tip turns more, about several axes'


@dataclass(frozen=True, eq=False)
class TrackerCalibration:
    """What was found; `half`: of intervals that hold 95 % each if errors vary like noise."""

    marker: Array  # (4, 4) in the tip; not turned where the tracker sees positions alone
    base: Array  # (4, 4); the tracker's frame in base_link
    half: Array  # (6,) of the marker: position, axes of the tip [m], turn about its axes [rad]
    covariance: Array  # of steps of marker and base along their own axes [m, rad]
    left: Array  # (2,) RMS of what the fit leaves [m, rad]


def calibrate_tracker(
    tips: Array, seen: Array, base: Array | None = None, limit: float = LIMIT
) -> TrackerCalibration:
    """Find ``seen = base^-1 tip marker`` by least squares on SE(3).

    Parameters
    ----------
    tips : ndarray, shape (n, 4, 4)
        The model's tips in base_link.
    seen : ndarray, shape (n, 4, 4)
        The marker in the tracker's frame; never turned: positions alone.
    base : ndarray, shape (4, 4), optional
        The tracker's frame in base_link; None: sought too.
    limit : float
        Half interval of the marker's position [m] that is still accepted.

    Raises
    ------
    InvalidInput
        Too few postures, or such that they cannot tell (POOR_FIT).
    """
    from scipy.stats import t as student

    tips = finite_array('tips', tips, (len(tips), 4, 4))
    seen = finite_array('seen', seen, tips.shape)
    oriented = bool(np.any(seen[:, :3, :3] != np.eye(3)))
    view = _first_view(tips, seen, oriented) if base is None else lie.inverse(base)
    marker = lie.inverse(view @ tips[0]) @ seen[0] if oriented else np.eye(4)
    size = float(np.ptp(tips[:, :3, 3], axis=0).max()) or 1.0
    kept = [c for c in range(12 if base is None else 6) if oriented or not 3 <= c < 6]
    scales = np.where(np.array(kept) % 6 < 3, size, 1.0)
    rows = np.flatnonzero(np.tile(np.repeat([True, oriented], 3), len(tips)))
    if len(rows) - len(kept) < LEAST:
        expected = f'enough for {len(kept)} unknowns: {TURN_MORE}'
        raise InvalidInput('postures', len(tips), expected, Code.INVALID_SIZE)
    turns = rows % 6 >= 3
    sigma = np.where(turns, 1.0, size)
    for _ in range(ROUNDS):
        error, design = _linearised(view, tips, marker, seen, oriented)
        e, a = error[rows] / sigma, design[rows][:, kept] * scales / sigma[:, None]
        values, axes = np.linalg.eigh(a.T @ a)
        if values[0] < SINGULAR * values[-1]:
            raise InvalidInput('postures', len(tips), TURN_MORE, Code.POOR_FIT)
        inverse, step = (axes / values) @ axes.T, np.zeros(12)
        found = inverse @ (a.T @ e)
        step[kept] = scales * found
        marker, view = marker @ lie.se3_exp(step[:6]), view @ lie.se3_exp(step[6:])
        left, free = e - a @ found, np.ones(2)
        for kind in {*turns}:  # Foerstner's variance components
            of = turns == kind
            free[int(kind)] = of.sum() - np.trace(inverse @ (a[of].T @ a[of]))
            sigma[of] *= max(np.sqrt(left[of] @ left[of] / free[int(kind)]), 1e-12)
    covariance = scales[:, None] * inverse * scales
    half, turn = np.zeros(6), marker[:3, :3]
    half[:3] = np.sqrt(np.diag(turn @ covariance[:3, :3] @ turn.T))
    half[3:] = np.sqrt(np.diag(covariance)[3:6]) if oriented else 0.0
    half *= np.repeat(student.ppf(0.5 + 0.5 * LEVEL, free), 3)
    if half[:3].max() > limit:
        told = f'marker +-{1e3 * half[:3].max():.2g} mm along {"xyz"[half[:3].argmax()]}'
        expected = f'at most {1e3 * limit:.2g} mm: {TURN_MORE}'
        raise InvalidInput('postures', told, expected, Code.POOR_FIT)
    rms = np.sqrt(np.mean(np.sum(error.reshape(-1, 2, 3) ** 2, axis=2), axis=0))
    return TrackerCalibration(marker, lie.inverse(view), half, covariance, rms)


def mean_pose(poses: Array) -> Array:
    """Return the mean (4, 4) of poses (n, 4, 4) that lie near each other."""
    mean: Array = np.mean(poses, axis=0)
    mean[:3, :3] = _nearest_rotation(mean[:3, :3])
    return mean


def _linearised(
    view: Array, tips: Array, marker: Array, seen: Array, oriented: bool
) -> tuple[Array, Array]:
    """Return errors (6 n,) in axes of the marker, and how they follow steps (6 n, 12)."""
    error, design = np.zeros((len(tips), 6)), np.zeros((len(tips), 6, 12))
    for i, (tip, pose) in enumerate(zip(tips, seen, strict=True)):
        expected = view @ tip @ marker
        error[i, :3] = expected[:3, :3].T @ (pose[:3, 3] - expected[:3, 3])
        if oriented:
            error[i, 3:] = lie.so3_log(expected[:3, :3].T @ pose[:3, :3])
        design[i] = np.hstack([np.eye(6), lie.adjoint_inverse(tip @ marker)])
    return error.ravel(), design.reshape(-1, 12)


def _first_view(tips: Array, seen: Array, oriented: bool) -> Array:
    """Return about where base_link is in the tracker's frame: Shah 2013 (10.1115/1.4024473).

    Where nothing is turned: as if the marker were at the tip.
    """
    a, b = (poses[:, :3, 3] - poses[:, :3, 3].mean(axis=0) for poses in (tips, seen))
    guess = b.T @ a
    if oriented:
        pairs = zip(seen[:, :3, :3], tips[:, :3, :3], strict=True)
        guess = np.linalg.svd(sum(np.kron(m, t) for m, t in pairs))[0][:, 0].reshape(3, 3)
        guess *= np.sign(np.linalg.det(guess))
    view = np.eye(4)
    view[:3, :3] = _nearest_rotation(guess)
    view[:3, 3] = (seen[:, :3, 3] - tips[:, :3, 3] @ view[:3, :3].T).mean(axis=0)
    return view


def _nearest_rotation(matrix: Array) -> Array:
    u, _, vt = np.linalg.svd(matrix)
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
