# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From what an actuator is set to, to what it drives: offsets and measured curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.spec import DriveSpec


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
            driven = _curve_at_many(d.curve, driven)
            ranges[:, d.actuator] = driven
        values[:, k] = driven + d.offset
    return ranges, values


def actuation_of(drives: Sequence[DriveSpec], driven: Array, limits: Array) -> Array:
    """Return the actuation whose driven values these are: the inverse of `driven_ranges`."""
    out = np.array(driven, dtype=float)
    for d in drives:
        if d.curve is None:
            continue
        low, high = limits[d.actuator]
        rising = d.curve[-1, 1] > d.curve[0, 1]
        for _ in range(80):  # bisection: the interval ends below double precision
            middle = 0.5 * (low + high)
            above = curve_at(d.curve, middle)[0] > driven[d.actuator]
            low, high = (low, middle) if above == rising else (middle, high)
        out[d.actuator] = 0.5 * (low + high)
    return out


def _slopes(curve: Array) -> tuple[Array, Array]:
    """Return intervals and Fritsch-Butland slopes of a curve."""
    x, y = curve[:, 0], curve[:, 1]
    h = np.diff(x)
    secant = np.diff(y) / h
    slope = np.empty(len(x))
    slope[0], slope[-1] = secant[0], secant[-1]
    for i in range(1, len(x) - 1):
        a, b = secant[i - 1], secant[i]
        w1, w2 = 2.0 * h[i] + h[i - 1], h[i] + 2.0 * h[i - 1]
        slope[i] = (w1 + w2) * a * b / (w1 * b + w2 * a) if a * b > 0.0 else 0.0
    return h, slope


def curve_at(curve: Array, at: float) -> tuple[float, float]:
    """Return value and slope of a curve through its points, C1 and without overshoot.

    Fritsch-Butland slopes, linear beyond the ends.
    """
    x, y = curve[:, 0], curve[:, 1]
    h, slope = _slopes(curve)
    if at <= x[0]:
        return float(y[0] + slope[0] * (at - x[0])), float(slope[0])
    if at >= x[-1]:
        return float(y[-1] + slope[-1] * (at - x[-1])), float(slope[-1])
    i = int(np.searchsorted(x, at)) - 1
    t = (at - x[i]) / h[i]
    c = y[i], h[i] * slope[i], y[i + 1], h[i] * slope[i + 1]
    value = (
        c[0] * (1 + 2 * t) * (1 - t) ** 2
        + c[1] * t * (1 - t) ** 2
        + c[2] * t**2 * (3 - 2 * t)
        + c[3] * t**2 * (t - 1)
    )
    rate = (
        6 * t * (t - 1) * (c[0] - c[2]) + c[1] * (1 - t) * (1 - 3 * t) + c[3] * t * (3 * t - 2)
    ) / h[i]
    return float(value), float(rate)


def _curve_at_many(curve: Array, at: Array) -> Array:
    """Return the values of `curve_at` at many places."""
    x, y = curve[:, 0], curve[:, 1]
    h, slope = _slopes(curve)
    i = np.clip(np.searchsorted(x, at) - 1, 0, len(h) - 1)
    t = (at - x[i]) / h[i]
    inside = (
        y[i] * (1 + 2 * t) * (1 - t) ** 2
        + h[i] * slope[i] * t * (1 - t) ** 2
        + y[i + 1] * t**2 * (3 - 2 * t)
        + h[i] * slope[i + 1] * t**2 * (t - 1)
    )
    below, above = y[0] + slope[0] * (at - x[0]), y[-1] + slope[-1] * (at - x[-1])
    return np.where(at <= x[0], below, np.where(at >= x[-1], above, inside))
