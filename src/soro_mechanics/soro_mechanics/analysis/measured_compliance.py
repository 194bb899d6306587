# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The translational compliance of a tip from pulls on it, beside a model's (Shi 2023, 5.3, 5.4).

Known forces, one after the other and in different directions, and where the tip went: C in
``displacement = C force``, (41), and the error of a model against it by Frobenius norms, (42).
"""

from __future__ import annotations

from dataclasses import dataclass
import os
from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.core.array_input import finite_array, finite_rows, shape_of
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot_file.unit_table import read_unit_table

FLAT = 1e-3  # of the largest: forces that point no farther out of a plane than this
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # entries of a symmetric matrix
WANTED = {'fx': 'N', 'fy': 'N', 'fz': 'N', 'x': 'm', 'y': 'm', 'z': 'm'}


@dataclass(frozen=True, eq=False)
class MeasuredCompliance:
    """A fit to pulls."""

    matrix: Array  # (3, 3) symmetric [m/N]
    # (3, 3) standard deviation of its entries by the scatter of the pulls; NaN where nothing is
    # over [m/N]
    deviation: Array
    residual: float  # root mean square of what the fit leaves, per coordinate [m]
    # norm of the skew part of the fit without symmetry, over its norm: a compliance has none, so
    # much more than the scatter says that force or place were not those in the table
    asymmetry: float
    pulls: int

    def norm_error(self, model: Any) -> float:
        """Return by how much the norm of a model's compliance is off, relative, with its sign.

        model : array_like, shape (3, 3) or (6, 6) [m/N]. Equation (42): how large the ellipsoid
        is, whatever its shape.
        """
        return float(np.linalg.norm(_block(model)) / np.linalg.norm(self.matrix)) - 1.0

    def difference(self, model: Any) -> float:
        """Return the norm of the difference over the norm: shape and direction count too."""
        off = np.linalg.norm(_block(model) - self.matrix)
        return float(off / np.linalg.norm(self.matrix))


def fit_compliance(forces: Any, displacements: Any) -> MeasuredCompliance:
    """Fit a symmetric compliance to pulls, least squares.

    Parameters
    ----------
    forces : array_like, shape (n, 3) [N]
        At the tip, axes of base_link; three directions at least.
    displacements : array_like, shape (n, 3) [m]
        Of the tip from where it is without them.

    Raises
    ------
    InvalidInput
        Sizes that do not fit, or forces in one plane.
    """
    f = finite_rows('forces', forces, 3)
    count = len(f)
    d = finite_array('displacements', displacements, (count, 3))
    sizes = np.linalg.svd(f, compute_uv=False) if count else np.zeros(3)
    if len(sizes) < 3 or sizes[2] <= FLAT * sizes[0]:
        raise InvalidInput('forces', f.tolist(), 'three directions that are not in one plane')
    rows = symmetric_rows(f)
    entries = np.asarray(np.linalg.lstsq(rows, d.ravel(), rcond=None)[0], np.float64)
    left = rows @ entries - d.ravel()
    free = left.size - 6
    variance = float(left @ left) / free if free > 0 else np.nan
    spread = np.sqrt(variance * np.diag(np.linalg.inv(rows.T @ rows)))
    general = np.linalg.lstsq(f, d, rcond=None)[0].T
    skew = float(np.linalg.norm(general - general.T)) / (2.0 * float(np.linalg.norm(general)))
    return MeasuredCompliance(
        _symmetric(entries),
        _symmetric(np.asarray(spread, np.float64)),
        float(np.sqrt(np.mean(left**2))),
        skew,
        count,
    )


def symmetric_rows(forces: Array) -> Array:
    """Return (3 n, 6): displacements (n, 3), one after the other, per entry of a symmetric C."""
    rows = np.zeros((3 * len(forces), 6))
    for k, (i, j) in enumerate(_PAIRS):
        rows[i::3, k] += forces[:, j]
        if i != j:
            rows[j::3, k] += forces[:, i]
    return rows


class Pulls(NamedTuple):
    """A table of pulls: the rows with a force."""

    forces: Array  # (n, 3) [N]
    displacements: Array  # (n, 3) [m]
    lines: tuple[int, ...]  # where they stand in the file


def read_pulls(file: str | os.PathLike[str]) -> Pulls:
    """Read a table of pulls: ``fx [N], fy [N], fz [N], x [mm], y [mm], z [mm]`` of the tip.

    Rows without force say where the tip rests; displacements count from their mean.

    Raises
    ------
    InvalidInput
        With the line and what stands there; no row without force, or none with one.
    """
    table = read_unit_table(file)
    columns = table.columns(WANTED)
    values = np.array(
        [[table.number(i, cells, columns[name]) for name in WANTED] for i, cells in table.body]
    )
    pulled = np.any(values[:, :3] != 0.0, axis=1)
    if pulled.all() or not pulled.any():
        raise InvalidInput('table', table.file, 'rows with a force and at least one without')
    rest = values[~pulled, 3:].mean(axis=0)
    lines = tuple(line for (line, _), has in zip(table.body, pulled, strict=True) if has)
    return Pulls(values[pulled, :3], values[pulled, 3:] - rest, lines)


def _block(model: Any) -> Array:
    size = 6 if shape_of(model) == (6, 6) else 3
    return finite_array('model', model, (size, size))[:3, :3]


def _symmetric(entries: Array) -> Array:
    out = np.empty((3, 3))
    for value, (i, j) in zip(entries, _PAIRS, strict=True):
        out[i, j] = out[j, i] = value
    return out
