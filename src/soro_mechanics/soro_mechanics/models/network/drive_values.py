# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From what an actuator is set to, to what it drives: offsets and measured curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.description.spec import DriveSpec
from soro_mechanics.numerics.monotone_curve import curve_at, inverted


def driven_values(drives: Sequence[DriveSpec], actuation: Array) -> tuple[Array, Array]:
    """Return the value of every drive and its slope by the actuator."""
    value = np.empty(len(drives))
    gain = np.ones(len(drives))
    for k, d in enumerate(drives):
        a = actuation[d.actuator]
        if d.curve is not None:
            a, gain[k] = curve_at(d.curve, a)
        value[k] = a + d.offset
    return value, gain


def driven_ranges(drives: Sequence[DriveSpec], actuation: Array) -> Array:
    """Return the driven value of each actuator before any offset (what a curve makes of it)."""
    out = np.array(actuation, dtype=float)
    for d in drives:
        if d.curve is not None:
            out[d.actuator] = curve_at(d.curve, actuation[d.actuator])[0]
    return out


def driven_slopes(drives: Sequence[DriveSpec], actuation: Array) -> Array:
    """Return the slope of `driven_ranges` by each actuator."""
    out = np.ones(len(actuation))
    for d in drives:
        if d.curve is not None:
            out[d.actuator] = curve_at(d.curve, actuation[d.actuator])[1]
    return out


def driven_many(drives: Sequence[DriveSpec], actuations: Array) -> tuple[Array, Array]:
    """Return `driven_ranges` (n, m) and the values of `driven_values` (n, drives) of many."""
    ranges = np.array(actuations, dtype=float)
    values = np.empty((len(actuations), len(drives)))
    for k, d in enumerate(drives):
        driven = actuations[:, d.actuator]
        if d.curve is not None:
            driven = curve_at(d.curve, driven)[0]
            ranges[:, d.actuator] = driven
        values[:, k] = driven + d.offset
    return ranges, values


def actuation_of(drives: Sequence[DriveSpec], driven: Array, limits: Array) -> Array:
    """Return the actuation whose driven values these are: the inverse of `driven_ranges`."""
    out = np.array(driven, dtype=float)
    for d in drives:
        if d.curve is not None:
            out[d.actuator] = inverted(d.curve, driven[d.actuator], *limits[d.actuator])
    return out
