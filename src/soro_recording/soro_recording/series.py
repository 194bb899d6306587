# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded series: their values at other times, their interruptions, and whether stamps count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array

GAP = 0.5  # s: where samples are farther apart nothing is known between them
SLOW = 3.0  # periods: of a series that is slower by itself
JITTER = 0.1  # periods: stamps that go back by no more were read off clocks at different moments


@dataclass(frozen=True)
class Series:
    """Numbers of the messages of a topic."""

    #: (n,) [s]; from the start of the recording: by the senders' stamps, where these are no times
    #: by the receipt
    time: Array
    values: Array  #: (n, k)
    #: [s]; median of what the recorder's clock was ahead of the senders' when a message came
    delay: float


def without_jitter(sent: Array) -> Array:
    """Return stamps [s] that never go back, where they do by far less than a period only."""
    if len(sent) < 2:
        return sent
    steady = np.maximum.accumulate(sent)
    small = (steady - sent).max() <= JITTER * float(np.median(np.diff(steady)))
    return steady if small else sent


def clock_fault(sent: Array, zero: float) -> str:
    """Return what is wrong with stamps [s], empty for nothing; `zero`: what was never set."""
    if (sent == zero).any():
        return f'{np.mean(sent == zero):.0%} of its stamps are zero'
    steps = np.diff(sent)
    if len(steps) and steps.min() < 0.0:
        n = int(steps.argmin())
        return f'its stamps go back by {-steps[n]:.3g} s at {sent[n]:.3f} s of the recording'
    return ''


def at(time: Array, values: Array, wanted: Array) -> Array:
    """Return the columns (n, k) of a series at other times, in between by straight lines.

    NaN outside of the series, in its interruptions, and where a neighbour is NaN.
    """
    found = np.full((len(wanted), values.shape[1]), np.nan)
    if len(time) < 2:
        found[np.isin(wanted, time)] = values
        return found
    right = np.searchsorted(time, wanted).clip(1, len(time) - 1)
    left = right - 1
    width = time[right] - time[left]
    share = (wanted - time[left]) / np.where(width > 0.0, width, 1.0)
    known = (share >= 0.0) & (share <= 1.0) & (width <= _gap(time))
    line = values[left] + share[:, None] * (values[right] - values[left])
    found[known] = line[known]
    # A sample itself, whatever is beside it.
    for exact, index in ((share == 0.0, left), (share == 1.0, right)):
        found[exact] = values[index[exact]]
    return found


def near(time: Array, wanted: Array) -> tuple[NDArray[np.int_], NDArray[np.bool_]]:
    """Return the sample nearest to each time, and whether the series was going on then."""
    right = np.searchsorted(time, wanted).clip(0, len(time) - 1)
    left = np.maximum(right - 1, 0)
    index = np.where(wanted - time[left] < time[right] - wanted, left, right)
    return index, np.abs(time[index] - wanted) <= 0.5 * _gap(time)


def broken(time: Array, values: Array) -> tuple[Array, Array]:
    """Return a series (n,), (n, k) with a NaN in each interruption: a line drawn of it ends."""
    ends = np.flatnonzero(np.diff(time) > _gap(time)) + 1
    return np.insert(time, ends, np.nan), np.insert(values, ends, np.nan, axis=0)


def _gap(time: Array) -> float:
    return max(GAP, SLOW * float(np.median(np.diff(time)))) if len(time) > 1 else GAP
