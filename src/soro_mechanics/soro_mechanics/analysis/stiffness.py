# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Read a compliance matrix: ellipsoids, eigenscrews, stiffness along a direction, other points.

Matrices (6, 6) take a wrench (force first) to a twist (translation first); stiffness is the
inverse. A tip moment makes the tangent unsymmetric (a dead moment is not conservative), so
ellipsoids and eigenscrews use the symmetric part and say how much was left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_mechanics.core.array_input import finite_array, pose_array, shape_of
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.numerics import lie

DEFINITE = 'a symmetric part that is positive definite (a stable equilibrium)'
REGULAR = 'a compliance of full rank: this one is rigid in some direction'
ROUND_OFF = 1e-12  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Principal compliances of one (3, 3) block, the most compliant first."""

    values: Array  #: (3,); [m/N] for translation, [rad/(N m)] for rotation
    axes: Array  #: (3, 3); unit vectors in columns, right-handed
    asymmetry: float  #: norm of the skew part over the norm of the block


@dataclass(frozen=True, eq=False)
class Eigenscrews:
    """Eigenscrews of a stiffness (Shi 2023, 2.4.2; Huang and Schimmels 2000).

    ``K Delta x = tau x`` with Delta the swap of the halves: x is a wrench whose twist Delta x has
    the same axis and pitch.
    """

    values: Array  #: (6,) [N]; eigenstiffness, largest first: three positive, three negative
    wrenches: Array  #: (6, 6); in columns, with unit force
    pitches: Array  #: (6,) [m]
    points: Array  #: (6, 3) [m]; point of each axis nearest the origin of the compliance
    directions: Array  #: (6, 3)
    asymmetry: float  #: as in `Ellipsoid`, of the whole matrix in comparable units


def ellipsoids(compliance: Any) -> tuple[Ellipsoid, Ellipsoid]:
    """Return the translational and the rotational ellipsoid of a compliance (6, 6)."""
    matrix = finite_array('compliance', compliance, (6, 6))
    return _ellipsoid(matrix[:3, :3]), _ellipsoid(matrix[3:, 3:])


def eigenscrews(compliance: Any) -> Eigenscrews:
    """Return the eigenscrews of the stiffness of a compliance (6, 6).

    Raises
    ------
    InvalidInput
        The symmetric part is not positive definite: no stable equilibrium has such a compliance.
    """
    matrix = finite_array('compliance', compliance, (6, 6))
    symmetric = 0.5 * (matrix + matrix.T)
    lower = _cholesky(symmetric)
    # Delta x = tau C x with C = L L': the symmetric problem L^-1 Delta L^-T y = tau y has the
    # inertia of Delta, three of each sign.
    half = np.linalg.solve(lower, np.roll(np.eye(6), 3, axis=0))
    values, vectors = np.linalg.eigh(np.linalg.solve(lower, half.T))
    wrenches = np.linalg.solve(lower.T, vectors[:, ::-1])
    wrenches = wrenches / np.linalg.norm(wrenches[:3], axis=0)
    force, moment = wrenches[:3].T, wrenches[3:].T
    return Eigenscrews(
        values[::-1],
        wrenches,
        np.sum(force * moment, axis=1),
        np.cross(force, moment),
        force,
        asymmetry(matrix),
    )


def asymmetry(compliance: Any) -> float:
    """Return the norm of the skew part over the norm, lengths in units of the compliance's own."""
    matrix = finite_array('compliance', compliance, (6, 6))
    unit = _comparable(matrix)
    return _skew_part(matrix * np.outer(unit, unit))


def stiffness_along(compliance: Any, direction: Any, others: str = 'free') -> float:
    """Return the stiffness of a push along a direction.

    Parameters
    ----------
    compliance : array_like, shape (6, 6)
    direction : array_like, shape (3,) or (6,)
        Of the force, or of a wrench; any length.
    others : 'free' or 'held'
        'free': force over the deflection along it, everything else free to move (what pulling on
        a wire measures). 'held': the same with all other motions prevented.

    Returns
    -------
    float
        [N/m] for a force, [N m/rad] for a moment.
    """
    matrix = finite_array('compliance', compliance, (6, 6))
    size = (3,) if shape_of(direction) == (3,) else (6,)
    given = finite_array('direction', direction, size)
    length = float(np.linalg.norm(given))
    if not length > 0.0:
        raise InvalidInput('direction', direction, 'a direction that is not zero')
    unit = np.zeros(6)
    unit[: size[0]] = given / length
    if others == 'free':
        return float(1.0 / (unit @ matrix @ unit))
    if others == 'held':
        scale = _comparable(matrix)
        sizes = np.linalg.svd(matrix * np.outer(scale, scale), compute_uv=False)
        if sizes[-1] <= ROUND_OFF * sizes[0]:
            raise InvalidInput('compliance', matrix, REGULAR)
        return float(unit @ np.linalg.solve(matrix, unit))
    raise InvalidInput('others', others, "'free' or 'held'")


def transport(compliance: Any, offset: Any) -> Array:
    """Return the compliance at another point of the same rigid body, same axes.

    Parameters
    ----------
    compliance : array_like, shape (6, 6)
    offset : array_like, shape (3,) [m]
        From the point of `compliance` to the new one.
    """
    matrix = finite_array('compliance', compliance, (6, 6))
    move = np.eye(6)
    move[:3, 3:] = -lie.hat3(finite_array('offset', offset, (3,)))
    return move @ matrix @ move.T


def change_frame(compliance: Any, g: Any) -> Array:
    """Return Ad_g C Ad_g': the compliance in the parent frame of the pose g, about its origin."""
    matrix = finite_array('compliance', compliance, (6, 6))
    adjoint = lie.adjoint(pose_array('g', g))
    return adjoint @ matrix @ adjoint.T


def deflection(compliance: Any, pose: Any, wrench: Any) -> Array:
    """Return the deflected pose under a wrench at the point itself, to first order in SE(3).

    Parameters
    ----------
    compliance : array_like, shape (6, 6)
        At the origin of `pose`, axes of its parent frame.
    pose : array_like, shape (4, 4)
    wrench : array_like, shape (6,) [N, N m]
        Shi 2023, (19): turned about the tip, displaced by V(om) v.
    """
    matrix = finite_array('compliance', compliance, (6, 6))
    twist = matrix @ finite_array('wrench', wrench, (6,))
    start = pose_array('pose', pose)
    step = lie.se3_exp(twist)
    out = start.copy()
    out[:3, :3] = step[:3, :3] @ start[:3, :3]
    out[:3, 3] += step[:3, 3]
    return out


def _cholesky(symmetric: Array) -> Array:
    """Return the Cholesky factor of a matrix that is regular beyond round-off.

    The factor alone may pass a matrix without full rank, as round-off has it.
    """
    unit = _comparable(symmetric)
    values = np.linalg.eigvalsh(symmetric * np.outer(unit, unit))
    if values[0] > ROUND_OFF * values[-1]:
        return np.asarray(np.linalg.cholesky(symmetric), dtype=float)
    stable = bool(values[0] > -ROUND_OFF * values[-1])
    raise InvalidInput('compliance', symmetric, REGULAR if stable else DEFINITE)


def _comparable(matrix: Array) -> Array:
    """Return factors (6,) that give rows and columns of a compliance comparable units."""
    linear, angular = abs(np.trace(matrix[:3, :3])), abs(np.trace(matrix[3:, 3:]))
    length = np.sqrt(linear / angular) if linear > 0.0 and angular > 0.0 else 1.0
    return np.repeat([1.0, length], 3)


def _ellipsoid(block: Array) -> Ellipsoid:
    values, axes = np.linalg.eigh(0.5 * (block + block.T))
    values, axes = values[::-1], axes[:, ::-1]
    if np.linalg.det(axes) < 0.0:
        axes = axes * [1.0, 1.0, -1.0]
    return Ellipsoid(values, axes, _skew_part(block))


def _skew_part(matrix: Array) -> float:
    """Return the norm of the skew part over the norm; 0 of a clamped place, which never moves."""
    size = float(np.linalg.norm(matrix))
    return float(np.linalg.norm(matrix - matrix.T)) / (2.0 * size) if size > 0.0 else 0.0
