# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Actuation stage of the constant-curvature models: one arc per segment and increment.

Each segment has one stretch and one curvature vector, driven by the mean of the section wrench
over its unloaded length: the pressure's, and the mean of the weight's, which is the balance of
virtual work for a constant strain. The states come from the same pass as the Cosserat ramp, with
sections that do not give way. `x` (segments, 3): stretch and curvatures; at, d_at: `ramp_pass`.

Source: Shi (2023), Int. J. Robotics Research, eqs (24)-(30); means of the weight and variations
derived here, checked by differences in test_segment_models.py.
"""

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.segments.cosserat_kernels import (
    Chain,
    Increment,
    law_factors,
    PUBLISHED,
    put_wrench,
    shoot,
)
from soro_mechanics.numerics.dense_kernels import larger, solve_in_place
from soro_mechanics.numerics.vector_kernels import column_at


@kernel
def _place_strains(chain, x, record, d_record):
    """Write the strains x (segments, 3) of chain and their unit variations to record, d_record."""
    segments = chain.segments
    record[:] = d_record[:] = 0.0
    for e in range(segments.shape[0]):
        i = segments[e]
        for point in range(3):
            record[e, point, 0] = x[i, 0]
            record[e, point, 5] = x[i, 1]
            record[e, point, 6] = x[i, 2]
            d_record[e, point, 0, 3 * i] = 1.0
            d_record[e, point, 5, 3 * i + 1] = d_record[e, point, 6, 3 * i + 2] = 1.0


@kernel
def _means(chain, at, d_at, mean, d_mean):
    """Write mean, d_mean of the weight's (N, Mx, My) over chain's segments: Simpson, at, d_at."""
    lengths, segments, _, masses, _, _ = chain
    whole = np.zeros(mean.shape[0])
    mean[:] = d_mean[:] = 0.0
    for e in range(lengths.shape[0]):
        i = segments[e]
        whole[i] += lengths[e]
        for point in range(3):
            share = lengths[e] * (4.0 if point == 1 else 1.0) / 6.0
            mass = share * masses[e, point]
            mean[i, 0] += mass * at[e, point, 2]
            mean[i, 1] += share * at[e, point, 3]
            mean[i, 2] += share * at[e, point, 4]
            for c in range(d_mean.shape[2]):
                d_mean[i, 0, c] += mass * d_at[e, point, 2, c]
                d_mean[i, 1, c] += share * d_at[e, point, 3, c]
                d_mean[i, 2, c] += share * d_at[e, point, 4, c]
    for i in range(mean.shape[0]):
        mean[i] /= whole[i]
        d_mean[i] /= whole[i]


@kernel
def _fill_system(whole, part, arcs, tip, d_tip, a, b):
    """Write Newton's matrix a and right sides b: residual first, then one per parameter.

    Rows: M = 0 of tip, d_tip; x = the stretch of `law_factors`, old curvatures + factor / EI (part
    press + mean - old moments). Unknowns: M(0) (3), then x, under `part` of the pressure of whole:
    Increment. Returns the largest residual of the law. `arcs`: x; old (segments, 6): N, Mx, My,
    stretch, two curvatures of the increment before; d_old by the parameters; mean (segments, 3):
    N, Mx, My of the weight; d_mean by the unknowns.
    """
    x, old, d_old, mean, d_mean = arcs
    sections = whole.chain.sections
    size = a.shape[0]
    parameters = whole.d_press.shape[2]
    a[:] = b[:] = 0.0
    for r in range(3):
        b[r, 0] = -tip[3 + r]
        for c in range(size):
            a[r, c] = d_tip[3 + r, c]
    worst = 0.0
    for i in range(x.shape[0]):
        force = part * whole.press[i, 0] + mean[i, 0]
        s, s_old, s_n, s_nold, bend, b_old, b_s, _, _, _ = law_factors(
            old[i, 3], old[i, 0], force, sections[i, 0], whole.rule
        )
        row = 3 + 3 * i
        b[row, 0] = s - x[i, 0]
        worst = larger(worst, abs(b[row, 0]))
        for c in range(size):
            a[row, c] = -s_n * d_mean[i, 0, c]
        a[row, row] += 1.0
        for k in range(parameters):
            d_force = part * whole.d_press[i, 0, k]
            b[row, 1 + k] = s_old * d_old[i, 3, k] + s_n * d_force - s_nold * d_old[i, 0, k]
        for r in range(1, 3):
            change = part * whole.press[i, r] + mean[i, r] - old[i, r]
            give = sections[i, 1]
            b[row + r, 0] = old[i, 3 + r] + bend * give * change - x[i, r]
            # curvature times its radius of gyration length: compared with the stretch
            worst = larger(worst, abs(b[row + r, 0]) * np.sqrt(sections[i, 0] / give))
            for c in range(size):
                a[row + r, c] = -bend * give * d_mean[i, r, c] - (
                    give * change * b_s * s_n * d_mean[i, 0, c]
                )
            a[row + r, row + r] += 1.0
            for k in range(parameters):
                d_bend = b_old * d_old[i, 3, k] + b_s * b[row, 1 + k]
                b[row + r, 1 + k] = d_old[i, 3 + r, k] + give * (
                    d_bend * change + bend * (part * whole.d_press[i, r, k] - d_old[i, r, k])
                )
    return worst


@kernel
def pcc_ramp(whole, parts, scale, tolerance, starts):
    """Ramp pressure and weight; write the final record and its variations by the parameters.

    whole, parts, scale, starts (out): as of `cosserat_ramp`; tolerance: of the residual. Returns
    (passes, residual).
    """
    chain, _, _, press, d_press, gravity, _, _ = whole
    elements = chain.lengths.shape[0]
    pieces = chain.sections.shape[0]
    size = 3 + 3 * pieces
    parameters = d_press.shape[2]
    at = np.empty((elements, 3, 6))
    d_at = np.empty((elements, 3, 6, size))
    strain_record = np.empty((elements, 3, 12))
    d_strain_record = np.empty((elements, 3, 12, 3 * pieces))
    stiff = Chain(
        chain.lengths,
        chain.segments,
        np.zeros((pieces, 4)),
        chain.masses,
        chain.links,
        chain.link_masses,
    )
    none = np.zeros((pieces, 3))
    d_none = np.zeros((pieces, 3, 3 * pieces))
    mean = np.empty((pieces, 3))
    d_mean = np.empty((pieces, 3, size))
    old = np.zeros((pieces, 6))
    old[:, 3] = 1.0
    d_old = np.zeros((pieces, 6, parameters))
    x = np.zeros((pieces, 3))
    x[:, 0] = 1.0
    before = x.copy()
    arcs = x, old, d_old, mean, d_mean
    a = np.empty((size, size))
    b = np.empty((size, 1 + parameters))
    passes = 0
    residual = 0.0
    for j in range(parts.shape[0]):
        part = parts[j]
        weight = part * gravity
        taken = Increment(
            stiff, strain_record, d_strain_record, none, d_none, weight, PUBLISHED, whole.lanes
        )
        start = np.zeros(3) if j == 0 else starts[j - 1].copy()
        change = x - before
        before[:] = x
        x += change
        settled = False
        for _ in range(30):
            _place_strains(chain, x, strain_record, d_strain_record)
            y, cols = shoot(taken, start, at, d_at)
            passes += 1
            _means(chain, at, d_at, mean, d_mean)
            residual = _fill_system(whole, part, arcs, y, cols, a, b)
            for r in range(3):
                residual = larger(residual, abs(y[3 + r]) / scale)
            if not residual < np.inf or solve_in_place(a, a.shape[0], b, b.shape[1]) == 0:
                return passes, np.nan
            if residual <= tolerance:
                settled = True
                break
            for c in range(3):
                start[c] += b[c, 0]
            x += b[3:, 0].copy().reshape((pieces, 3))
        if not settled:
            return passes, np.nan
        starts[j] = start
        for i in range(pieces):
            for r in range(3):
                old[i, r] = part * press[i, r] + mean[i, r]
                old[i, 3 + r] = x[i, r]
                for k in range(parameters):
                    d_old[i, r, k] = part * d_press[i, r, k]
                    for c in range(size):
                        d_old[i, r, k] += d_mean[i, r, c] * b[c, 1 + k]
                    d_old[i, 3 + r, k] = b[3 + 3 * i + r, 1 + k]
    _final_record(whole, x, at, d_at, b)
    return passes, residual


@kernel
def _final_record(whole, x, at, d_at, b):
    """Write strains x of whole's arcs, the wrench at their sections; variations by d_at and b."""
    chain, record, d_record, press, d_press = whole[:5]
    segments, masses = chain.segments, chain.masses
    parameters = d_record.shape[3]
    size = d_at.shape[3]
    record[:] = d_record[:] = 0.0
    d_y = np.empty(6)
    for e in range(segments.shape[0]):
        i = segments[e]
        for point in range(3):
            f = record[e, point]
            y = at[e, point]
            mass = masses[e, point]
            f[0], f[5], f[6] = x[i, 0], x[i, 1], x[i, 2]
            put_wrench(press[i], mass, y, f)
            for k in range(parameters):
                d_y[:] = 0.0
                for r in range(6):
                    for c in range(size):
                        d_y[r] += d_at[e, point, r, c] * b[c, 1 + k]
                d_f = d_record[e, point, :, k]
                put_wrench(d_press[i, :, k], mass, d_y, d_f)
                d_f[0], d_f[5], d_f[6] = column_at(b, 3 + 3 * i, 1 + k)
