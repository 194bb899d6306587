# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of arrays at the public edge: shape, finite, rigid."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code

_FLOAT = np.dtype(np.float64)
FEW = 40  # numbers that are added in less time than numpy needs to begin
ROTATION_TOLERANCE = 1e-6  # of R^T R = 1: what single precision through a message leaves


def finite_array(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a float64 C-ordered copy, or raise InvalidInput naming the argument."""
    array = _real_array(name, value, shape)
    if not all_finite(array):
        raise InvalidInput(name, value, 'finite numbers', Code.NOT_FINITE)
    return array


def _real_array(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    try:
        if type(value) is np.ndarray and value.dtype is _FLOAT:
            array = value.copy()  # in C order, in half of the time
        else:
            if type(value) is not np.ndarray or value.dtype.kind not in 'fiu':
                _check_kind(value)
            array = np.array(value, dtype=np.float64, order='C')
    except (TypeError, ValueError, OverflowError, RecursionError):
        expected = f'real numbers, shape {shape}'
        raise InvalidInput(name, value, expected, Code.INVALID_SIZE) from None
    if array.shape != shape:
        expected = f'shape {shape}, not {array.shape}'
        raise InvalidInput(name, value, expected, Code.INVALID_SIZE)
    return array


def finite_rows(name: str, value: Any, width: int) -> Array:
    """Return finite numbers of shape (n, width), any n, as `finite_array` does."""
    try:
        count = len(value)
    except TypeError:  # no array at all
        count = 0
    return finite_array(name, value, (count, width))


def bound_array(name: str, value: Any, size: int) -> Array:
    """Return bounds (size,), which may be infinite."""
    bound = _real_array(name, value, (size,))
    if np.any(np.isnan(bound)):
        raise InvalidInput(name, value, 'numbers or infinity', Code.NOT_FINITE)
    return bound


def _check_kind(value: Any) -> None:
    """Raise TypeError for what numpy would turn into real numbers by losing or guessing something.

    Imaginary parts, masks, texts.
    """
    if _masked(value):
        raise TypeError
    given = np.asarray(value)
    if given.dtype.kind not in 'fiubO':
        raise TypeError
    if given.dtype.kind == 'O':
        for one in given.flat:
            if np.asarray(one).dtype.kind not in 'fiubO':
                raise TypeError


def _masked(value: Any) -> bool:
    """Whether a value has a mask, of nothing too, or a row of a list has one."""
    rows = value if isinstance(value, list | tuple) else ()
    return isinstance(value, np.ma.MaskedArray) or any(map(_masked, rows))


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a value, None of what is no array."""
    if type(value) is np.ndarray:
        return value.shape
    try:
        return None if _masked(value) else np.shape(value)
    except (ValueError, RecursionError):  # rows of different lengths, or of themselves
        return None


def check_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise InvalidInput where an array is of another shape than a kernel trusts in."""
    if np.shape(value) != shape:
        found = np.shape(value)
        raise InvalidInput(name, value, f'shape {shape}, not {found}', Code.INVALID_SIZE)


def all_finite(array: Array) -> bool:
    """Whether every number of an array is finite; for few numbers in a fifth of numpy's time."""
    # A sum is finite only of finite numbers. It may overflow with them: then look.
    few = array.size <= FEW and math.isfinite(sum(array.ravel().tolist()))
    return few or bool(np.isfinite(array).all())


def rotation_array(name: str, value: Any) -> Array:
    """Return a (3, 3) rotation matrix, or raise InvalidInput when it is none."""
    rotation = finite_array(name, value, (3, 3))
    if not _is_rotation(rotation.ravel().tolist()):
        raise InvalidInput(name, value, 'a rotation matrix')
    return rotation


def pose_array(name: str, value: Any) -> Array:
    """Return a (4, 4) pose, or raise InvalidInput when it is not a rigid transform."""
    pose = _real_array(name, value, (4, 4))
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = pose.tolist()
    rigid = last == [0.0, 0.0, 0.0, 1.0] and _is_rotation((a, b, c, d, e, f, g, h, i))
    if not (rigid and math.isfinite(x + y + z)):
        finite_array(name, value, (4, 4))
        if not rigid:
            raise InvalidInput(name, value, 'a rigid transform (rotation and position)')
    return pose


def _is_rotation(rows: Sequence[float]) -> bool:
    # Two unit columns and their cross product, in plain numbers: a fifth of the time of array
    # operations, and every solve comes here.
    a, b, c, d, e, f, g, h, i = rows
    flaw = ROTATION_TOLERANCE
    return (
        -flaw <= a * a + d * d + g * g - 1.0 <= flaw
        and -flaw <= b * b + e * e + h * h - 1.0 <= flaw
        and -flaw <= a * b + d * e + g * h <= flaw
        and -flaw <= d * h - e * g - c <= flaw
        and -flaw <= b * g - a * h - f <= flaw
        and -flaw <= a * e - b * d - i <= flaw
    )
