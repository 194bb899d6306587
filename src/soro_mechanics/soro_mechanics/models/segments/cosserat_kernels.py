# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Actuation stage of the Cosserat models: pressure and self-weight, ramped in increments.

Body-frame equilibrium of a chain of segments per unloaded length x, with gamma = R' g (gravity in
the section's axes) and M the transmitted moment, m(x) the mass beyond x:

    gamma' = -k x gamma,    M' = -k x M - lambda v x (m gamma),    k = lambda u.

Nothing else is needed because the transmitted force is m gamma; M(0) is found by shooting with the
variational columns integrated in the same RK4, M = 0 at the tip.

A section's record `f` (12): stretch, N, M (3), u (3), Q (2), shear (2): stretch, total section
force and moment (pressure included), curvature and shear strain per current length. `record`
(elements, 3, 12) holds it at the start, the middle and the end of every element. `taken`:
Increment; e, point: of a section; y (6,): (gamma, M); columns: their variations by M(0), then by
the parameters.

Source: Shi (2023), Int. J. Robotics Research, eqs (8)-(9), (24)-(26), (31)-(38); EXACT and
variations derived here, checked by many published increments and by differences in
test_segment_models.py.
"""

from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.compilation.kernels import fused_kernel, kernel, merged_kernel
from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.vector_kernels import (
    column_at,
    cross,
    each,
    minus,
    plus,
    plus_cross,
    put_vector,
    times,
    vector_at,
)

PUBLISHED = 0  # the increment is taken with the sections of the increment before it
EXACT = 1  # exact along a straight path of the section wrench: the limit of many published ones

RECORD = 12
LANES, BLOCK = 4, 24  # columns of the variation that lie beside each other, and their numbers


class Chain(NamedTuple):
    """Elements of a chain of segments."""

    lengths: Any  # (elements,) m
    segments: Any  # (elements,)
    sections: Any  # (segments, 4) 1/EA, 1/EI, 1/GJ, 1/kGA
    masses: Any  # (elements, 3) kg beyond start, middle and end
    links: Any  # (elements,) m, rigid, behind the element
    link_masses: Any  # (elements,)


class Increment(NamedTuple):
    """A chain under a pressure and a weight; d_...: by the parameters, last axis."""

    chain: Chain
    record: Any  # (elements, 3, 12) sections before it
    d_record: Any
    press: Any  # (segments, 3) force and moments of the pressure
    d_press: Any
    gravity: Any  # (3,)
    rule: Any  # PUBLISHED or EXACT
    lanes: Any  # LANES: loops of a length that the compiler knows are unrolled instead


@merged_kernel
def law_factors(old, old_force, force, c_axial, rule):
    """Return stretch, its derivatives, and the bending and shear factors with theirs.

    PUBLISHED: stretch = old (1 + old c_axial (force - old_force)), factors old^2 and old; EXACT:
    1 / (1 - c_axial force), factors old stretch, (old + stretch) / 2. stretch' by (old stretch,
    force, minus old force); factors' by (old stretch, stretch). c_axial: 1 / EA [1/N]; rule:
    PUBLISHED or EXACT. NaN where the section stretches without bound.
    """
    if rule == EXACT:
        # d lambda = lambda^2 dN / EA0 integrates to this; the integral of lambda^2 dM over a
        # straight path in (N, M) is exactly (old lambda) (new lambda) (change of M).
        room = 1.0 - force * c_axial
        stretch = 1.0 / room if room > 0.0 else np.nan
        changes = 0.0, stretch * stretch * c_axial, 0.0
        return stretch, *changes, old * stretch, stretch, old, 0.5 * (old + stretch), 0.5, 0.5
    change = (force - old_force) * c_axial
    slope = old * old * c_axial
    changes = 1.0 + 2.0 * old * change, slope, slope
    return old * (1.0 + old * change), *changes, old * old, 2.0 * old, 0.0, old, 1.0, 0.0


@merged_kernel
def section_changes(taken, e, point, old_slopes, count, changes):
    """Write how the parameters change the section itself: `changes`, 12 LANES for every block.

    `old_slopes`: of the stretch by the old one, the force and (minus) the old force. Rows:
    stretch, old stretch, bending and torsion (3), shear (2) by the change of the wrench, curvature
    (3), shear strain (2). The parameters are the last ``d_record.shape[3]`` of `count` columns;
    taken, e, point: see above.
    """
    d_record, d_press = taken.d_record, taken.d_press
    i = taken.chain.segments[e]
    sections = taken.chain.sections
    s_old, s_n, s_nold = old_slopes
    parameters = d_record.shape[3]
    for k in range(parameters):
        column = count - parameters + k
        first = column // LANES * 12 * LANES + column % LANES
        d_stretch = d_record[e, point, 0, k]
        changes[first] = s_old * d_stretch + s_n * d_press[i, 0, k]
        changes[first] -= s_nold * d_record[e, point, 1, k]
        changes[first + LANES] = d_stretch
        for r in range(3):
            c = sections[i, 2] if r == 2 else sections[i, 1]
            push = d_press[i, 1 + r, k] if r < 2 else 0.0
            changes[first + (2 + r) * LANES] = c * (push - d_record[e, point, 2 + r, k])
            changes[first + (7 + r) * LANES] = d_record[e, point, 5 + r, k]
        for r in range(2):
            changes[first + (5 + r) * LANES] = -sections[i, 3] * d_record[e, point, 8 + r, k]
            changes[first + (10 + r) * LANES] = d_record[e, point, 10 + r, k]


@merged_kernel
def ramp_rates(taken, e, stage, y, columns, count, changes, rates):
    """Write d/dx of y = (gamma, M) and of its variations at [stage] of `rates`.

    u = u_0 + b c (press + M - M_0), shear likewise, b of `law_factors`, 0: of the record.
    `columns` (size,) and ``rates[1]`` (4, size) hold the variations, count of them, in blocks of
    LANES columns, (6, LANES) each, so that the compiler turns their loop into vector instructions;
    `changes`: see `section_changes`. The columns before those of the parameters vary M(0) only.
    taken, e: see above; stage: 0-3 of RK4.
    """
    record, press = taken.record, taken.press
    dy, d_columns = rates
    point, i = (stage + 1) // 2, taken.chain.segments[e]
    c_axial, c_bend = taken.chain.sections[i, 0], taken.chain.sections[i, 1]
    c_twist, c_shear = taken.chain.sections[i, 2], taken.chain.sections[i, 3]
    mass, soft = taken.chain.masses[e, point], (c_bend, c_bend, c_twist)
    gamma, moment = vector_at(y, 0, 1), vector_at(y, 3, 1)
    f = times(mass, gamma)
    s, s_old, s_n, s_nold, b, b_old, b_s, q, q_old, q_s = law_factors(
        record[e, point, 0], record[e, point, 1], press[i, 0] + f[2], c_axial, taken.rule
    )
    bend = plus((press[i, 1], press[i, 2], 0.0), moment)
    bend = minus(bend, (record[e, point, 2], record[e, point, 3], record[e, point, 4]))
    bend = each(soft, bend)
    u = plus((record[e, point, 5], record[e, point, 6], record[e, point, 7]), times(b, bend))
    h0 = c_shear * (f[0] - record[e, point, 8])
    h1 = c_shear * (f[1] - record[e, point, 9])
    v = record[e, point, 10] + q * h0, record[e, point, 11] + q * h1, 1.0
    turn, lever = cross(gamma, u), plus_cross(cross(moment, u), f, v)
    dy[stage, 0], dy[stage, 1], dy[stage, 2] = times(s, turn)
    dy[stage, 3], dy[stage, 4], dy[stage, 5] = times(s, lever)
    section_changes(taken, e, point, (s_old, s_n, s_nold), count, changes)
    for block in range(columns.shape[0] // BLOCK):
        z = columns[block * BLOCK : (block + 1) * BLOCK]
        x = changes[2 * block * BLOCK : 2 * (block + 1) * BLOCK]
        out = d_columns[stage, block * BLOCK : (block + 1) * BLOCK]
        for k in range(taken.lanes):
            g, m = vector_at(z, k, LANES), vector_at(z, 3 * LANES + k, LANES)
            a = times(mass, g)
            ds = s_n * a[2] + x[k]
            db = b_old * x[LANES + k] + b_s * ds
            dq = q_old * x[LANES + k] + q_s * ds
            du = plus(each(soft, m), vector_at(x, 2 * LANES + k, LANES))
            du = plus(plus(vector_at(x, 7 * LANES + k, LANES), times(db, bend)), times(b, du))
            dv0 = x[10 * LANES + k] + dq * h0 + q * (c_shear * a[0] + x[5 * LANES + k])
            dv1 = x[11 * LANES + k] + dq * h1 + q * (c_shear * a[1] + x[6 * LANES + k])
            d_turn = plus_cross(cross(g, u), gamma, du)
            put_vector(out, k, LANES, plus(times(ds, turn), times(s, d_turn)))
            d_lever = plus_cross(plus_cross(cross(m, u), moment, du), f, (dv0, dv1, 0.0))
            d_lever = plus_cross(d_lever, a, v)
            put_vector(out, 3 * LANES + k, LANES, plus(times(ds, lever), times(s, d_lever)))


@kernel
def cross_link(y, columns, length, link_mass, mass_after):
    """Carry y and blocks of columns (size,) over a rigid link of a `length` [m].

    M += length (mass_after + link_mass / 2) gamma x e3: `link_mass` is in its middle, `mass_after`
    behind it [kg].
    """
    arm = length * mass_after + 0.5 * length * link_mass
    y[3] += arm * y[1]
    y[4] -= arm * y[0]
    for first in range(0, columns.shape[0], BLOCK):
        for c in range(first, first + LANES):
            columns[c + 3 * LANES] += arm * columns[c + LANES]
            columns[c + 4 * LANES] -= arm * columns[c]


@merged_kernel
def _keep(columns, d_at):
    """Write blocks of columns (size,) as d_at (6, columns)."""
    for c in range(d_at.shape[1]):
        first = c // LANES * BLOCK + c % LANES
        for r in range(6):
            d_at[r, c] = columns[first + r * LANES]


@fused_kernel
def ramp_pass(taken, y, cols, at, d_at):
    """Integrate all elements of taken by RK4 from y, cols (overwritten with the tip's values).

    `at` (elements, 3, 6) and `d_at` (elements, 3, 6, columns) receive the state at the start, the
    middle (third-order dense output) and the end of every element.
    """
    lengths, _, _, masses, links, link_masses = taken.chain
    count = cols.shape[1]
    size = (count + LANES - 1) // LANES * BLOCK
    now = np.zeros(size)
    for c in range(count):
        for r in range(6):
            now[c // LANES * BLOCK + c % LANES + r * LANES] = cols[r, c]
    changes = np.zeros(2 * size)
    k = np.empty((4, 6))
    d_k = np.empty((4, size))
    z = np.empty(6)
    d_z = np.empty(size)
    for e in range(lengths.shape[0]):
        h = lengths[e]
        z[:] = y
        d_z[:] = now
        at[e, 0] = y
        _keep(now, d_at[e, 0])
        for stage in range(4):
            ramp_rates(taken, e, stage, z, d_z, count, changes, (k, d_k))
            step = h if stage == 2 else 0.5 * h
            if stage < 3:
                for r in range(6):
                    z[r] = y[r] + step * k[stage, r]
                for j in range(size):
                    d_z[j] = now[j] + step * d_k[stage, j]
        for r in range(6):
            at[e, 1, r] = y[r] + h / 24.0 * (5.0 * k[0, r] + 4.0 * (k[1, r] + k[2, r]) - k[3, r])
            y[r] += h / 6.0 * (k[0, r] + 2.0 * (k[1, r] + k[2, r]) + k[3, r])
        for j in range(size):
            middle = d_k[1, j] + d_k[2, j]
            d_z[j] = now[j] + h / 24.0 * (5.0 * d_k[0, j] + 4.0 * middle - d_k[3, j])
            now[j] += h / 6.0 * (d_k[0, j] + 2.0 * middle + d_k[3, j])
        at[e, 2] = y
        _keep(d_z, d_at[e, 1])
        _keep(now, d_at[e, 2])
        if links[e] > 0.0:
            cross_link(y, now, links[e], link_masses[e], masses[e + 1, 0])
    _keep(now, cols)


@kernel
def shoot(taken, start, at, d_at):
    """Return the tip's state (6,) and its variations by M(0), a guess (3,), and the parameters.

    start: M(0); taken, at, d_at: see `ramp_pass`.
    """
    y = np.empty(6)
    cols = np.zeros((6, d_at.shape[3]))
    y[:3] = taken.gravity
    y[3:] = start
    for c in range(3):
        cols[3 + c, c] = 1.0
    ramp_pass(taken, y, cols, at, d_at)
    return y, cols


@merged_kernel
def put_wrench(press, mass, y, f):
    """Write the wrench of a section, f, under press (3,), a mass beyond it [kg] and a state y."""
    f[1] = press[0] + mass * y[2]
    f[2], f[3], f[4] = press[1] + y[3], press[2] + y[4], y[5]
    f[8], f[9] = mass * y[0], mass * y[1]


@kernel
def update_record(taken, at, d_at):
    """Replace taken's record (and variations) by that of the states `at`, `d_at` (parameters)."""
    lengths, segments, sections, masses, _, _ = taken.chain
    record, d_record, press, d_press = taken.record, taken.d_record, taken.press, taken.d_press
    parameters = d_record.shape[3]
    for e in range(lengths.shape[0]):
        i = segments[e]
        c_axial, soft = sections[i, 0], (sections[i, 1], sections[i, 1], sections[i, 2])
        for point in range(3):
            f = record[e, point]
            d_f = d_record[e, point]
            y = at[e, point]
            mass = masses[e, point]
            force = press[i, 0] + mass * y[2]
            s, s_old, s_n, s_nold, b, b_old, b_s, q, q_old, q_s = law_factors(
                f[0], f[1], force, c_axial, taken.rule
            )
            old = vector_at(f, 2, 1)
            moment = plus((press[i, 1], press[i, 2], 0.0), vector_at(y, 3, 1))
            for k in range(parameters):
                d_y = d_at[e, point, :, k]
                d_force = d_press[i, 0, k] + mass * d_y[2]
                ds = s_old * d_f[0, k] + s_n * d_force - s_nold * d_f[1, k]
                db = b_old * d_f[0, k] + b_s * ds
                dq = q_old * d_f[0, k] + q_s * ds
                d_moment = d_press[i, 1, k] + d_y[3], d_press[i, 2, k] + d_y[4], d_y[5]
                change = times(b, minus(d_moment, column_at(d_f, 2, k)))
                change = each(soft, plus(change, times(db, minus(moment, old))))
                for r in range(3):
                    d_f[5 + r, k] += change[r]
                for r in range(2):
                    d_f[10 + r, k] += sections[i, 3] * (
                        dq * (mass * y[r] - f[8 + r]) + q * (mass * d_y[r] - d_f[8 + r, k])
                    )
                d_f[0, k] = ds
                put_wrench(d_press[i, :, k], mass, d_y, d_f[:, k])
            change = each(times(b, soft), minus(moment, old))
            put_vector(f, 5, 1, plus(vector_at(f, 5, 1), change))
            for r in range(2):
                f[10 + r] += q * sections[i, 3] * (mass * y[r] - f[8 + r])
            f[0] = s
            put_wrench(press[i], mass, y, f)


@kernel
def solve_increment(taken, scale, start, linear_below, at, d_at, parameter_at):
    """Shoot for M(0) of one increment and apply the last Newton step to the whole solution.

    `start` (3,) is the guess and receives M(0). Once |M(tip)| / scale is below `linear_below` the
    correction is applied through the variational columns, which leaves an error of the order of
    its square. taken; at, d_at, parameter_at: out, states, by M(0), by the parameters. Returns
    (passes, predicted residual); NaN where it failed.
    """
    parameters = taken.d_record.shape[3]
    a = np.empty((3, 3))
    b = np.empty((3, 1 + parameters))
    best = np.inf
    for iteration in range(40):
        y, cols = shoot(taken, start, at, d_at)
        residual = np.sqrt(y[3] * y[3] + y[4] * y[4] + y[5] * y[5]) / scale
        if not residual < np.inf:
            return iteration + 1, np.nan
        for r in range(3):
            b[r, 0] = -y[3 + r]
            for c in range(3):
                a[r, c] = cols[3 + r, c]
            for k in range(parameters):
                b[r, 1 + k] = -cols[3 + r, 3 + k]
        if solve_in_place(a, a.shape[0], b, b.shape[1]) == 0:
            return iteration + 1, np.nan
        if residual < linear_below:
            for c in range(3):
                start[c] += b[c, 0]
            _apply_last_step(at, d_at, b, parameter_at)
            return iteration + 1, residual * residual
        # A residual that grows means that the step was too long: go half as far.
        damping = 1.0 if residual < best else 0.5
        best = min(best, residual)
        for c in range(3):
            start[c] += damping * b[c, 0]
    return 40, np.nan


@kernel
def _apply_last_step(at, d_at, b, parameter_at):
    """Move the states (elements, 3, 6) by the last step b[:, 0], their derivatives by b[:, 1:].

    ``at += d_at b``, and by parameter k: ``d_at[3 + k] + d_at b_k``, to parameter_at.
    """
    parameters = parameter_at.shape[3]
    for e in range(at.shape[0]):
        for point in range(3):
            for r in range(6):
                total = at[e, point, r]
                for c in range(3):
                    total += d_at[e, point, r, c] * b[c, 0]
                at[e, point, r] = total
                for k in range(parameters):
                    total = d_at[e, point, r, 3 + k]
                    for c in range(3):
                        total += d_at[e, point, r, c] * b[c, 1 + k]
                    parameter_at[e, point, r, k] = total


@kernel
def cosserat_ramp(whole, parts, scale, linear_below, starts, warm):
    """Ramp pressure and weight; write the final record and its variations by the parameters.

    whole: Increment at the full load; parts: fractions of it at the end of every increment, the
    last one 1; scale [N m], linear_below: see `solve_increment`; starts (increments, 3): M(0) of
    each; a guess where `warm`, always written. Returns (passes, largest predicted residual).
    """
    record, d_record = whole.record, whole.d_record
    elements = whole.chain.lengths.shape[0]
    parameters = d_record.shape[3]
    at = np.empty((elements, 3, 6))
    d_at = np.empty((elements, 3, 6, 3 + parameters))
    parameter_at = np.empty((elements, 3, 6, parameters))
    record[:] = 0.0
    record[:, :, 0] = 1.0
    d_record[:] = 0.0
    known = starts.copy()
    if not warm:
        known[:] = 0.0
    passes = 0
    worst = 0.0
    for j in range(parts.shape[0]):
        part = parts[j]
        # Polynomial through the increments before and the unloaded rod; with a warm start it
        # carries on the difference to the increments of the guess.
        order = min(j, 4) + 1
        for r in range(3):
            step = 0.0
            weight = -1.0  # binomial, of alternating sign
            for i in range(1, min(j, 5) + 1):
                weight *= (i - 1.0 - order) / i
                step += weight * (starts[j - i, r] - known[j - i, r])
            starts[j, r] = known[j, r] + step
        taken = Increment(
            whole.chain,
            record,
            d_record,
            part * whole.press,
            part * whole.d_press,
            part * whole.gravity,
            whole.rule,
            whole.lanes,
        )
        used, residual = solve_increment(
            taken, scale, starts[j], linear_below, at, d_at, parameter_at
        )
        passes += used
        if not residual < np.inf:
            return passes, np.nan
        worst = max(worst, residual)
        update_record(taken, at, parameter_at)
    return passes, worst
