# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Loading stage: equilibrium of a chain with fixed sections, its poses and its compliance.

The actuation stage left a section record (see `cosserat_kernels`); here external loads act on
those sections, and the strain answers linearly from there. State y (18,): position p, rotation R,
and the transmitted wrench F = (n, m_o) about the base origin, so that a rigid link changes
nothing. The columns, cols (12, columns), are the exact variations (spatial twist eta, dF), per
unloaded length x:

    p' = lambda R v,   R' = lambda R [u]x,   n' = -w,   m_o' = -p x w,
    (v, u) = (v, u)_0 + c (Ad^T F + press - F_0),   0: of the record,
    eta' = C (dF + B(F) eta),   dF' = [0; w x (v - p x om)],   C = lambda Ad c Ad^T,

and C itself, integrated (total), is the published compliance (4), (11). A load of wrench W at a
point takes W off F and S eta off dF.

Source: Shi (2023), Int. J. Robotics Research, eqs (4), (8)-(11), (52); variations and stability
derived here, checked by differences, solve_bvp in test_segment_models.py,
test_cosserat_references.py.
"""

from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.compilation.kernels import fused_kernel, kernel, makes_arrays, merged_kernel
from soro_mechanics.models.segments.cosserat_kernels import Chain
from soro_mechanics.numerics.dense_kernels import (
    larger,
    negative_pivots,
    row_times,
    solve_in_place,
)
from soro_mechanics.numerics.vector_kernels import (
    column_at,
    cross,
    dot,
    each,
    minus,
    plus,
    plus_cross,
    plus_dot,
    put_vector,
    row_at,
    times,
    turned,
    turned_back,
    vector_at,
)

_ASTRAY = 7  # iterations without a smaller residual: this start leads nowhere
STATE = 18  # p (3), R (9, by rows), n (3), m_o (3)


class PointLoads(NamedTuple):
    """Loads in the order of the elements beyond whose end they act."""

    element: Any  # (k,)
    offset: Any  # (k,) m, from there along the link
    wrench: Any  # (k, 6)
    local: Any  # (k,) whether its axes follow the section
    ramped: Any  # (k,) whether load stepping takes part of it


class Rod(NamedTuple):
    """A chain after its actuation stage under loads; d_...: by the parameters, last axis."""

    chain: Chain
    record: Any  # (elements, 3, 12) see `cosserat_kernels`
    d_record: Any
    held: Any  # (elements, 3) stretch of the sections, 1 for the linear models
    d_held: Any
    press: Any  # (segments, 3) force and moments of the pressure
    d_press: Any
    gravity: Any  # (3,)
    densities: Any  # (segments,) kg/m
    loads: PointLoads


class Nodes(NamedTuple):
    """What is kept at the start of every segment and the end of every element."""

    state: Any  # (k, 18)
    columns: Any  # (k, 12, columns)
    integral: Any  # (k, 6, 6)


@merged_kernel
def _rotation(y):
    """Return the rotation of a state y, row by row."""
    return vector_at(y, 3, 1) + vector_at(y, 6, 1) + vector_at(y, 9, 1)


@merged_kernel
def rod_rates(rod, weight, e, stage, y, cols, rates):
    """Write d/dx of y and of cols, at [stage], and of the compliance C, in element e of rod: Rod.

    `rates`: state (4, 18), columns (4, 12, columns), compliance (6, 6), scratch (6, 6); weight w
    (3,) [N/m]. The variations by the parameters belong to the last columns. Arrays are indexed,
    not sliced: a slice costs more here than the arithmetic.
    """
    record, d_record, press, d_press = rod.record, rod.d_record, rod.press, rod.d_press
    dy, d_cols, flow, spread = rates
    point, i = (stage + 1) // 2, rod.chain.segments[e]
    c0, c1 = rod.chain.sections[i, 0], rod.chain.sections[i, 1]
    c2, c3 = rod.chain.sections[i, 2], rod.chain.sections[i, 3]
    held, s = rod.held[e, point], record[e, point, 0]
    r = _rotation(y)
    p, n = vector_at(y, 0, 1), vector_at(y, 12, 1)
    about, heavy = vector_at(y, 15, 1), vector_at(weight, 0, 1)
    soft, limp = times(held, (c3, c3, c0)), times(held * held, (c1, c1, c2))
    h = plus(turned_back(r, n), (0.0, 0.0, press[i, 0]))
    h = minus(h, (record[e, point, 8], record[e, point, 9], record[e, point, 1]))
    m = plus(turned_back(r, plus_cross(about, n, p)), (press[i, 1], press[i, 2], 0.0))
    m = minus(m, (record[e, point, 2], record[e, point, 3], record[e, point, 4]))
    v = plus((record[e, point, 10], record[e, point, 11], 1.0), each(soft, h))
    u = plus((record[e, point, 5], record[e, point, 6], record[e, point, 7]), each(limp, m))
    u = times(s, u)
    for j in range(3):
        row = vector_at(y, 3 + 3 * j, 1)
        dy[stage, j] = s * dot(row, v)
        dy[stage, 3 + 3 * j], dy[stage, 4 + 3 * j], dy[stage, 5 + 3 * j] = cross(row, u)
        dy[stage, 12 + j] = -weight[j]
    dy[stage, 15], dy[stage, 16], dy[stage, 17] = cross(heavy, p)
    # Ad = [[R, p^ R], [0, R]]: rows 0-2 translation, 3-5 rotation
    for j in range(3):
        axis = vector_at(y, 3 + j, 3)
        spread[0, j], spread[1, j], spread[2, j] = axis
        spread[3, j], spread[4, j], spread[5, j] = 0.0, 0.0, 0.0
        spread[0, 3 + j], spread[1, 3 + j], spread[2, 3 + j] = cross(p, axis)
        spread[3, 3 + j], spread[4, 3 + j], spread[5, 3 + j] = axis
    for k in range(6):
        along = each(times(s, soft), row_at(spread, k, 0))
        across = each(times(s, limp), row_at(spread, k, 3))
        for j in range(k + 1):
            flow[k, j] = plus_dot(dot(along, row_at(spread, j, 0)), across, row_at(spread, j, 3))
            flow[j, k] = flow[k, j]
    first = cols.shape[1] - d_record.shape[3]
    for c in range(cols.shape[1]):
        z, o = column_at(cols, 0, c), column_at(cols, 3, c)
        f = plus_cross(column_at(cols, 6, c), n, o)
        g = plus_cross(plus_cross(column_at(cols, 9, c), n, z), about, o)
        for j in range(6):
            d_cols[stage, j, c] = plus_dot(dot(row_at(flow, j, 0), f), row_at(flow, j, 3), g)
        d_cols[stage, 6, c], d_cols[stage, 7, c], d_cols[stage, 8, c] = 0.0, 0.0, 0.0
        q = cross(heavy, plus_cross(z, o, p))
        d_cols[stage, 9, c], d_cols[stage, 10, c], d_cols[stage, 11, c] = q
        if c >= first:
            k = c - first
            ds, dh = d_record[e, point, 0, k], rod.d_held[e, point, k]
            f = (
                -d_record[e, point, 8, k],
                -d_record[e, point, 9, k],
                d_press[i, 0, k] - d_record[e, point, 1, k],
            )
            f = each((c3, c3, c0), plus(times(dh, h), times(held, f)))
            f = plus((d_record[e, point, 10, k], d_record[e, point, 11, k], 0.0), f)
            f = plus(times(ds, v), times(s, f))
            g = (
                d_press[i, 1, k] - d_record[e, point, 2, k],
                d_press[i, 2, k] - d_record[e, point, 3, k],
                -d_record[e, point, 4, k],
            )
            g = plus(times(2.0 * held * dh, m), times(held * held, g))
            bent = d_record[e, point, 5, k], d_record[e, point, 6, k], d_record[e, point, 7, k]
            g = plus(bent, each((c1, c1, c2), g))
            g = plus(times(ds / s, u), times(s, g))
            for j in range(6):
                change = plus_dot(dot(row_at(spread, j, 0), f), row_at(spread, j, 3), g)
                d_cols[stage, j, c] += change


@kernel
def take_off_load(y, cols, offset, load, local, scale):
    """Take scale times a load off y, cols: dead (base axes) or `local`, following the section.

    load (6,) at p + offset R e3; dW = [0; (v + om x p) x f], or local [om x f; v x f + om x m].
    """
    p = plus(vector_at(y, 0, 1), times(offset, vector_at(y, 5, 3)))
    f, m = vector_at(load, 0, 1), vector_at(load, 3, 1)
    if local:
        r = _rotation(y)
        f, m = turned(r, f), turned(r, m)
    f = times(scale, f)
    m = plus_cross(times(scale, m), p, f)
    put_vector(y, 12, 1, minus(vector_at(y, 12, 1), f))
    put_vector(y, 15, 1, minus(vector_at(y, 15, 1), m))
    for c in range(cols.shape[1]):
        z, o = column_at(cols, 0, c), column_at(cols, 3, c)
        if local:
            # the wrench moves with the section: dW = [om x f; v x f + om x m]
            d_f, d_m = cross(o, f), plus_cross(cross(z, f), o, m)
        else:
            # only the point moves: dW = [0; (v + om x p) x f]
            d_f, d_m = (0.0, 0.0, 0.0), cross(plus_cross(z, o, p), f)
        for i in range(3):
            cols[6 + i, c] -= d_f[i]
            cols[9 + i, c] -= d_m[i]


@fused_kernel
def rod_pass(rod, scale, y, cols, total, nodes):
    """Integrate all elements of rod by RK4; y, cols, total are overwritten with the tip's values.

    Ramped loads are multiplied by `scale`; nodes: Nodes, out.
    """
    chain, loads = rod.chain, rod.loads
    count = cols.shape[1]
    k, d_k, flow = np.empty((4, STATE)), np.empty((4, 12, count)), np.empty((6, 6))
    rates = k, d_k, flow, np.empty((6, 6))
    z = np.empty(STATE)
    d_z = np.empty((12, count))
    weight = np.empty(3)
    node = 0
    before = -1
    for e in range(chain.lengths.shape[0]):
        h = chain.lengths[e]
        i = chain.segments[e]
        if i != before:
            weight[:] = rod.densities[i] * rod.gravity
            _keep(nodes, node, y, cols, total)
            node += 1
            before = i
        for stage in range(4):
            if stage == 0:
                z[:] = y
                d_z[:] = cols
            else:
                step = h if stage == 3 else 0.5 * h
                for r in range(STATE):
                    z[r] = y[r] + step * k[stage - 1, r]
                for r in range(12):
                    for c in range(count):
                        d_z[r, c] = cols[r, c] + step * d_k[stage - 1, r, c]
            rod_rates(rod, weight, e, stage, z, d_z, rates)
            share = h / (3.0 if 0 < stage < 3 else 6.0)
            for r in range(6):
                for c in range(6):
                    total[r, c] += share * flow[r, c]
        for r in range(STATE):
            y[r] += h / 6.0 * (k[0, r] + 2.0 * (k[1, r] + k[2, r]) + k[3, r])
        for r in range(12):
            for c in range(count):
                cols[r, c] += (
                    h / 6.0 * (d_k[0, r, c] + 2.0 * (d_k[1, r, c] + d_k[2, r, c]) + d_k[3, r, c])
                )
        for a in range(loads.element.shape[0]):
            if loads.element[a] == e:
                part = scale if loads.ramped[a] else 1.0
                take_off_load(y, cols, loads.offset[a], loads.wrench[a], loads.local[a], part)
        _keep(nodes, node, y, cols, total)
        node += 1
        for r in range(3):
            y[r] += chain.links[e] * y[5 + 3 * r]


@makes_arrays
@kernel
def _keep(nodes, node, y, cols, total):
    """Write state y, columns cols and integral total of the chain at a node of nodes."""
    nodes.state[node] = y
    nodes.columns[node] = cols
    nodes.integral[node] = total


@makes_arrays
@kernel
def begin(start, y, cols, total):
    """Set the clamped base: y of identity pose and wrench `start`, six wrench cols, no total."""
    y[:] = 0.0
    y[3] = y[7] = y[11] = 1.0
    y[12:] = start
    cols[:] = 0.0
    for c in range(6):
        cols[6 + c, c] = 1.0
    total[:] = 0.0


@kernel
def solve_loaded(rod, units, tolerance, rest, start, nodes):
    """Shoot for the base wrench `start` (6,) of rod until no wrench is left beyond the tip.

    rest: base wrench without the ramped loads; units: force and moment that make the residual
    dimensionless, below tolerance; nodes: out. A start that does not converge is followed by load
    stepping from the unloaded chain, the step halved at every failure; where nothing is ramped,
    one try from there is all. Returns (passes, residual).
    """
    least = 1.0 / 256.0 if np.any(rod.loads.ramped) else 0.5
    trial = start.copy()
    done = 0.0
    step = 1.0
    passes = 0
    unloaded = rest.copy()
    while True:
        used, residual = _newton(rod, done + step, units, tolerance, trial, nodes)
        passes += used
        if residual <= tolerance:
            done += step
            unloaded[:] = trial
            if done >= 1.0:
                start[:] = trial
                return passes, residual
            step = min(2.0 * step, 1.0 - done)
        else:
            step *= 0.5
            trial[:] = unloaded
            if step < least:
                return passes, residual if residual < np.inf else np.inf


@kernel
def _newton(rod, scale, units, tolerance, start, nodes):
    """Solve ``wrench beyond the tip = 0`` for the base wrench `start` (6,) by Newton's method.

    `scale`: of the ramped loads; rod, units, tolerance, nodes: as of `solve_loaded`. Returns
    (passes, residual), the residual infinite where it diverges or the system is singular.
    """
    y = np.empty(STATE)
    cols = np.empty((12, nodes.columns.shape[2]))
    total = np.empty((6, 6))
    a = np.empty((6, 6))
    b = np.empty((6, 1))
    last, best = np.inf, 0
    for iteration in range(25):
        begin(start, y, cols, total)
        rod_pass(rod, scale, y, cols, total, nodes)
        residual = 0.0
        # moments about the tip, so that a force there does not count twice
        tip = nodes.state[nodes.state.shape[0] - 1]
        force = vector_at(y, 12, 1)
        moment = plus_cross(vector_at(y, 15, 1), force, vector_at(tip, 0, 1))
        for r in range(3):
            residual += (force[r] / units[0]) ** 2 + (moment[r] / units[1]) ** 2
        residual = np.sqrt(residual)
        if not residual < np.inf or residual > 1e3 * last:
            return iteration + 1, np.inf
        if residual <= tolerance:
            return iteration + 1, residual
        if residual < last:
            last, best = residual, iteration
        elif iteration - best > _ASTRAY:
            return iteration + 1, np.inf
        for r in range(6):
            b[r, 0] = -y[12 + r]
            for c in range(6):
                a[r, c] = cols[6 + r, c]
        if solve_in_place(a, a.shape[0], b, b.shape[1]) == 0:
            return iteration + 1, np.inf
        for r in range(6):
            start[r] += b[r, 0]
    return 25, np.inf


@kernel
def without_conjugate_point(node_cols, node_total):
    """Whether the rod is stable with its tip held; node_cols, node_total as of `rod_pass`.

    With the nodes up to n - 1 free and all later ones held, the stiffness that node n feels is
    ``P = B^-1 D[n+1] D[n]^-1``: D the twist columns, B the flexibility of the element beyond n.
    ``D[n+1] D[n]^-1 B`` is congruent to it, and has as many negative directions. Their sum over
    the nodes is that of the rod (Sylvester). The sign of det D alone misses what comes in pairs:
    an axisymmetric rod buckles in two planes at once.
    """
    a = np.empty((6, 6))
    b = np.empty((6, 6))
    product = np.empty((6, 6))
    work = np.empty((6, 6))
    for n in range(1, node_cols.shape[0] - 1):
        size = 0.0
        for r in range(6):
            for c in range(6):
                a[r, c] = node_cols[n, r, c]
                b[r, c] = node_total[n + 1, r, c] - node_total[n, r, c]
            size += b[r, r]
        if size == 0.0:
            continue  # a rigid link
        if solve_in_place(a, 6, b, 6) == 0:
            return False
        for r in range(6):
            row_times(node_cols[n + 1], r, 0, b, product[r])
        if negative_pivots(product, 6, work) > 0:
            return False
    return True


@kernel
def tip_compliance(states, columns, out):
    """Write the compliance out (6, 6) of the last node about itself, base axes; NaN where none is.

    X eta dF^-1 X^T, X = [[1, -[p]x], [0, 1]]; states (n, STATE), columns (n, 12, 6): of `Nodes`.
    """
    last = states.shape[0] - 1
    a = np.empty((6, 6))
    b = np.empty((6, 6))
    for r in range(6):
        for c in range(6):
            a[r, c] = columns[last, 6 + c, r]
            b[r, c] = columns[last, c, r]
    if solve_in_place(a, 6, b, 6) == 0:
        b[:] = np.nan
    point = vector_at(states[last], 0, 1)
    for c in range(6):
        put_vector(b[c], 0, 1, plus_cross(vector_at(b[c], 0, 1), vector_at(b[c], 3, 1), point))
    for r in range(6):
        moved = plus_cross(column_at(b, 0, r), column_at(b, 3, r), point)
        for k in range(3):
            out[r, k] = moved[k]
            out[r, 3 + k] = b[3 + k, r]


@kernel
def place_nodes(states, poses):
    """Write poses (n, 4, 4) of states (n, STATE), the truncation of RK4 taken off the rotations.

    A step of Newton's iteration for the polar factor squares the distance from SO(3), which RK4
    leaves at 1e-9 to 1e-6 (Shi 2023, (52)), of few elements at more: then it takes several.
    """
    for n in range(poses.shape[0]):
        far, r = 1.0, _rotation(states[n])
        while far > 1e-8:
            far, r = _gap(r), _nearer_rotation(r)
        for i in range(3):
            for j in range(3):
                poses[n, i, j] = r[3 * i + j]
            poses[n, i, 3] = states[n, i]
            poses[n, 3, i] = 0.0
        poses[n, 3, 3] = 1.0


@merged_kernel
def _nearer_rotation(r):
    """Return r after a Newton step of its polar decomposition: (3 - R R^T) R / 2."""
    a, b, c = r[0:3], r[3:6], r[6:9]
    ab, ac, bc = -0.5 * dot(a, b), -0.5 * dot(a, c), -0.5 * dot(b, c)
    aa, bb, cc = 1.5 - 0.5 * dot(a, a), 1.5 - 0.5 * dot(b, b), 1.5 - 0.5 * dot(c, c)
    first = plus(times(aa, a), plus(times(ab, b), times(ac, c)))
    second = plus(times(ab, a), plus(times(bb, b), times(bc, c)))
    return first + second + plus(times(ac, a), plus(times(bc, b), times(cc, c)))


@merged_kernel
def _gap(r):
    """Return the largest number of R R^T - 1, r row by row, NaN where one is."""
    a, b, c = r[0:3], r[3:6], r[6:9]
    far = larger(abs(dot(a, a) - 1.0), larger(abs(dot(b, b) - 1.0), abs(dot(c, c) - 1.0)))
    return larger(far, larger(abs(dot(a, b)), larger(abs(dot(a, c)), abs(dot(b, c)))))


@kernel
def rotation_gap(y):
    """Return how far the integrated rotation of a state y (STATE,) is from one, see `_gap`."""
    return _gap(_rotation(y))


@kernel
def stretches(states, stations):
    """Return the least and the largest stretch between nodes, states (n, STATE).

    `stations` (n,): where they are on the unloaded backbone [m].
    """
    least = np.inf
    largest = -np.inf
    for n in range(stations.shape[0] - 1):
        along = 0.0
        for r in range(3):
            along += (states[n + 1, r] - states[n, r]) * states[n, 5 + 3 * r]
        stretch = along / (stations[n + 1] - stations[n])
        least = min(least, stretch)
        largest = larger(largest, stretch)
    return least, largest
