# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What watches strips, sensors and handle in every tick; words in the modules that call it.

Source: derived here; constants assumed where it is said. Checked in test_strip_play.py,
test_sensor_watch.py, test_resting_hand.py and test_oscillation.py.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.compilation.kernels_by_reference import by_reference

RECENT = 0.1  # s: what a strip has moved before counts no more. Assumed.
NOISE = 4.0  # deviations within which a reading does not move
# By how much a leg is taken to have moved more than its strip where that begins to move back,
# until the dead band is crossed: at once would be a jump of the force. Assumed.
CATCH_UP = 4.0
# Deviations that a strip moves until it counts as moving, and that are remembered. Assumed.
MOVES, KNOWN = 1.0, 3.0
UNSEEN = 2.0 / math.sqrt(3.0)  # root mean square of what is even within 0 and 2

SLOWEST = 5.0  # Hz, of what is called ringing: half a period between two reversals
AMPLITUDE = 2.5e-4  # m, that the sensors' noise does not reach. Assumed, as the other two.
FADING = 0.9  # periods do not fade by more; the legs alone fade by 0.86 from one to the next

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@by_reference
class Strips(NamedTuple):
    """Strips on their legs, all (ns,) [m]; see `StripPlay`."""

    half: Floats  # of the dead bands; zero: follows at once
    deviation: Floats  # of a reading
    anchor: Floats  # readings without that noise; NaN before the first one
    way: Floats  # moved lately
    slack: Floats  # by how much a strip is ahead of its leg
    exact: Flags  # tells where its leg is
    unseen: Floats  # standard deviation of how far its leg may have moved unseen
    reading: Floats  # the last one
    elongation: Floats  # of the legs then


@by_reference
class Watched(NamedTuple):
    """Sensors and what was seen of them, all (ns,); see `SensorWatch`."""

    good: Flags
    far: Floats  # change of an expected value that no reading may sleep through [m]
    last: Floats  # counts; NaN before the first ones
    same: NDArray[np.int64]  # samples since a reading changed
    expected_then: Floats  # [m] what the model said when it did
    bad: Flags  # to be given up


@by_reference
class Resting(NamedTuple):
    """What strips read without a hand; see `RestingHand`."""

    turned: Floats  # (ns, na) more by a turn of each motor
    change: Floats  # (ns, ne) more by a force of the hand, motors held
    inverse: Floats  # (ns, ns) of the square of what they may read otherwise
    used: Flags  # (ns,); of others that is zero
    turn: Floats  # (na,) scratch
    apart: Floats  # (ns,) by how much they read otherwise


@by_reference
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
def follow_strips(p, reading, seconds):
    """Take a reading (ns,) [m], NaN where there is none; write where the legs are.

    slack -= CATCH_UP moved within the dead band (play); elongation = reading - slack. p: Strips,
    out; seconds: since the last reading.
    """
    fades = max(0.0, 1.0 - seconds / RECENT)
    for i in range(reading.shape[0]):
        r, old, moved, half = reading[i], p.anchor[i], 0.0, p.half[i]
        noise = NOISE * p.deviation[i]
        if math.isfinite(r):
            p.anchor[i] = r - noise if math.isnan(old) else min(max(old, r - noise), r + noise)
            moved = 0.0 if math.isnan(old) else p.anchor[i] - old  # the first one moves nothing
        p.slack[i] = min(max(p.slack[i] - CATCH_UP * moved, -half), half)
        p.way[i] = min(fades * p.way[i] + abs(moved), KNOWN * p.deviation[i])
        moving = abs(p.slack[i]) == half and p.way[i] > MOVES * p.deviation[i]
        p.exact[i] = moving or half == 0.0
        p.unseen[i] = 0.0 if p.exact[i] else UNSEEN * half
        p.reading[i] = r
        p.elongation[i] = r - p.slack[i]


@kernel
def mean_square_residual(p, s):
    """Return the weighted squared residual per degree of freedom of the last estimate.

    (sum (weight (offset + W z))^2 + sum (prior (state + z))^2) / (rows - nz): near one where
    deviations are right and nothing is broken; NaN without redundancy. p: Ports; s: Sensed.
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

    p: Ports; s: Sensed; w: Watched, out; raw, faulty, sensor (ns,): counts, flags of the device,
    and elongations that sensing got [m]; samples: equal readings in a row from which a sensor may
    be stuck. Returns the number in `w.bad`, and `mean_square_residual`: NaN where a force explains
    anything.
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
def rest_distance(p, s, t, r):
    """Compare strips with what they would read without a hand: return apart.inverse.apart.

    And the least one without a single strip, and which that is. p: Ports; s: Sensed; t: Strips; r:
    Resting, apart out.
    """
    for a in range(r.turn.shape[0]):
        r.turn[a] = 0.0
        for j in range(s.z.shape[0]):
            r.turn[a] += p.compliance[a, j] * s.z[j]
    for i in range(r.apart.shape[0]):
        expected = p.sensor[i]
        for a in range(r.turn.shape[0]):
            expected += r.turned[i, a] * r.turn[a]
        for e in range(p.force.shape[0]):
            expected -= r.change[i, e] * p.force[e]
        ahead = t.reading[i] - expected
        hidden = t.slack[i] if t.exact[i] else min(max(ahead, -t.half[i]), t.half[i])
        r.apart[i] = ahead - hidden if r.used[i] else 0.0  # one that is not may be no number
    distance, most, odd = 0.0, 0.0, 0
    for i in range(r.apart.shape[0]):
        pull = 0.0
        for j in range(r.apart.shape[0]):
            pull += r.inverse[i, j] * r.apart[j]
        distance += r.apart[i] * pull
        # What each strip adds to the distance: without it the others are as near as that.
        if r.used[i] and pull * pull / r.inverse[i, i] > most:
            most, odd = pull * pull / r.inverse[i, i], i
    return distance, distance - most, odd


@kernel
def watch_ringing(w, place, seconds):
    """Filter where the handle is, count reversals in w; return the largest count.

    (memory, out) = rows (memory, in). w: Ringing, out; place (6,) [m]; seconds: since the last
    sample.
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
        if w.since[k] > 0.5 / SLOWEST:
            w.count[k] = 0.0
        side = 1.0 if out > 0.0 else -1.0
        if abs(out) > AMPLITUDE and side != w.side[k]:
            w.count[k] = w.count[k] + 1.0 if w.peak[k] > FADING * w.last_peak[k] else 1.0
            w.last_peak[k], w.peak[k], w.side[k], w.since[k] = w.peak[k], 0.0, side, 0.0
        most = max(most, w.count[k])
    return most
