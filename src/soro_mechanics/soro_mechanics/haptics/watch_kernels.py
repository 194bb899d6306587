# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What watches strips, sensors and handle in every tick; words in the modules that call it."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.numerics.kernels import kernel

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Strips(NamedTuple):
    """Strips on their legs, all (ns,) [m]; see `StripPlay`."""

    half: Floats  # of the dead bands; zero: follows at once
    noise: Floats  # within which a reading does not move
    moves: Floats  # way that makes a strip count as moving
    known: Floats  # longest way that is remembered
    anchor: Floats  # readings without that noise; NaN before the first one
    way: Floats  # moved lately
    slack: Floats  # by how much a strip is ahead of its leg
    exact: Flags  # tells where its leg is
    unseen: Floats  # standard deviation of how far its leg may have moved unseen
    reading: Floats  # the last one
    elongation: Floats  # of the legs then


class Watched(NamedTuple):
    """Sensors and what was seen of them, all (ns,); see `SensorWatch`."""

    good: Flags
    far: Floats  # change of an expected value that no reading may sleep through [m]
    last: Floats  # counts; NaN before the first ones
    same: NDArray[np.int64]  # samples since a reading changed
    expected_then: Floats  # [m] what the model said when it did
    bad: Flags  # to be given up


class Ringing(NamedTuple):
    """Band-pass and what came of it, per direction (6,); see `OscillationWatch`."""

    rows: Floats  # (k + 1, k + 1) from memory and input to the next memory and the output
    memory: Floats  # (k + 1, 6), input and output in the last row
    work: Floats  # (k + 1,)
    count: Floats  # reversals, one after the other
    side: Floats  # on which the last one was
    since: Floats  # that [s]
    peak: Floats  # since then
    last_peak: Floats


@kernel
def follow_strips(p, reading, fades, catch_up, unseen):
    """Take a reading (ns,), NaN where there is none; `fades` is the share of the way that stays.

    `unseen` is the standard deviation of what a strip at rest conceals, in half dead bands.
    """
    for i in range(reading.shape[0]):
        r, old, moved, half = reading[i], p.anchor[i], 0.0, p.half[i]
        if r == r:
            new = min(max(old, r - p.noise[i]), r + p.noise[i]) if old == old else r - p.noise[i]
            moved = new - old if old == old else 0.0  # the first one moves nothing
            p.anchor[i] = new
        p.slack[i] = min(max(p.slack[i] - catch_up * moved, -half), half)
        p.way[i] = min(fades * p.way[i] + abs(moved), p.known[i])
        moving = abs(p.slack[i]) == half and p.way[i] > p.moves[i]
        p.exact[i] = moving or half == 0.0
        p.unseen[i] = 0.0 if p.exact[i] else unseen * half
        p.reading[i] = r
        p.elongation[i] = r - p.slack[i]


@kernel
def mean_square_residual(p, s):
    """Return the weighted squared residual per degree of freedom of the last estimate.

    Near one where deviations are right and nothing is broken; NaN without redundancy.
    """
    na, nz = p.angle.shape[0], s.z.shape[0]
    free, total = -nz, 0.0
    for i in range(s.weight.shape[0]):
        if s.weight[i] != 0.0:
            free += 1
            gap, port = s.offset[i], i if i < na else nz + i - na
            for j in range(nz):
                gap += p.compliance[port, j] * s.z[j]
            total += (s.weight[i] * gap) ** 2
    for j in range(nz):
        if s.prior[j] != 0.0:
            free += 1
            total += (s.prior[j] * (s.state[j] + s.z[j])) ** 2
    return total / free if free > 0 else math.nan


@kernel
def watch_sensors(p, s, w, raw, faulty, sensor, samples):
    """Judge one sample, after sensing: mark in `w.bad` what is flagged or stuck.

    Parameters
    ----------
    p, s : Ports, Sensed
    w : Watched
    raw, faulty, sensor : (ns,) counts, flags of the device, and elongations that sensing got [m]
    samples
        Equal readings in a row from which a sensor may be stuck.

    Returns
    -------
    number of sensors in `w.bad`, and `mean_square_residual`: NaN where a force explains anything
    """
    bad, good, nz = 0, 0, s.z.shape[0]
    for i in range(raw.shape[0]):
        expected = p.sensor[i]  # as the last estimate implies
        for j in range(nz):
            expected += p.compliance[nz + i, j] * s.z[j]
        w.same[i] += 1
        if raw[i] != w.last[i]:
            w.same[i], w.expected_then[i] = 0, expected
        w.last[i] = raw[i]
        stuck = w.same[i] >= samples and abs(expected - w.expected_then[i]) > w.far[i]
        w.bad[i] = w.good[i] and (faulty[i] or stuck or not math.isfinite(sensor[i]))
        bad += w.bad[i]
        good += w.good[i]
    return bad, mean_square_residual(p, s) if good > p.force.shape[0] else math.nan


@kernel
def watch_ringing(w, place, seconds, longest, amplitude, fading):
    """Take where the handle is (6,) [m], and the time since the last sample; count reversals.

    Parameters
    ----------
    w : Ringing
    longest
        Time between two reversals of a ringing [s].
    amplitude, fading
        Beyond which a reversal counts [m]; share of the last peak from which it has not faded.

    Returns
    -------
    largest count
    """
    end, most = w.memory.shape[0] - 1, 0.0
    for k in range(6):
        w.memory[end, k] = place[k]
        for i in range(end + 1):
            v = 0.0
            for j in range(end + 1):
                v += w.rows[i, j] * w.memory[j, k]
            w.work[i] = v
        for i in range(end + 1):
            w.memory[i, k] = w.work[i]
        out = w.memory[end, k]
        w.peak[k] = max(w.peak[k], abs(out))
        w.since[k] += seconds
        if w.since[k] > longest:
            w.count[k] = 0.0
        side = 1.0 if out > 0.0 else -1.0
        if abs(out) > amplitude and side != w.side[k]:
            w.count[k] = w.count[k] + 1.0 if w.peak[k] > fading * w.last_peak[k] else 1.0
            w.last_peak[k], w.peak[k], w.side[k], w.since[k] = w.peak[k], 0.0, side, 0.0
        most = max(most, w.count[k])
    return most
