# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Loading stage: equilibrium of a chain with fixed sections, its poses and its compliance.

The actuation stage left a section record (see `cosserat_kernels`); here external loads act on
those sections, and the strain answers linearly from there. State: position p, rotation R, and the
transmitted wrench F = (n, m_o) about the base origin, so that a rigid link changes nothing. The
columns are the exact variations (spatial twist eta, dF), per unloaded length x:

    eta' = C (dF + B(F) eta),   dF' = [0; w x (v - p x om)],   C = lambda Ad c Ad^T,

and C itself, integrated, is the published compliance (4), (11). A load of wrench W at a point
takes W off F and S eta off dF.
"""

from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.models.segments.cosserat_kernels import Chain
from soro_mechanics.numerics.dense_kernels import larger, negative_pivots, solve_in_place
from soro_mechanics.numerics.kernels import fused_kernel, kernel, makes_arrays, merged_kernel

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


class Rates(NamedTuple):
    """Derivatives by x."""

    state: Any  # (4, 18)
    columns: Any  # (4, 12, columns)
    flow: Any  # (6, 6) of the compliance
    spread: Any  # (6, 6) scratch


@merged_kernel
def rod_rates(rod, weight, e, stage, y, cols, rates):
    """Write d/dx of the state and of the columns, at [stage], and of the compliance.

    The variations by the parameters belong to the last columns. Arrays are indexed, not sliced: a
    slice costs more here than the arithmetic.
    """
    record, d_record, press, d_press = rod.record, rod.d_record, rod.press, rod.d_press
    dy, d_cols, flow, spread = rates
    count = cols.shape[1]
    point = (stage + 1) // 2
    i = rod.chain.segments[e]
    c0 = rod.chain.sections[i, 0]
    c1 = rod.chain.sections[i, 1]
    c2 = rod.chain.sections[i, 2]
    c3 = rod.chain.sections[i, 3]
    held = rod.held[e, point]
    p0, p1, p2 = y[0], y[1], y[2]
    n0, n1, n2 = y[12], y[13], y[14]
    m0 = y[15] - (p1 * n2 - p2 * n1)
    m1 = y[16] - (p2 * n0 - p0 * n2)
    m2 = y[17] - (p0 * n1 - p1 * n0)
    s = record[e, point, 0]
    c_shear = c3 * held
    c_axial = c0 * held
    c_bend = c1 * held * held
    c_twist = c2 * held * held
    h0 = y[3] * n0 + y[6] * n1 + y[9] * n2 - record[e, point, 8]
    h1 = y[4] * n0 + y[7] * n1 + y[10] * n2 - record[e, point, 9]
    h2 = y[5] * n0 + y[8] * n1 + y[11] * n2 + press[i, 0] - record[e, point, 1]
    e0 = y[3] * m0 + y[6] * m1 + y[9] * m2 + press[i, 1] - record[e, point, 2]
    e1 = y[4] * m0 + y[7] * m1 + y[10] * m2 + press[i, 2] - record[e, point, 3]
    e2 = y[5] * m0 + y[8] * m1 + y[11] * m2 - record[e, point, 4]
    v0 = record[e, point, 10] + c_shear * h0
    v1 = record[e, point, 11] + c_shear * h1
    v2 = 1.0 + c_axial * h2
    u0 = s * (record[e, point, 5] + c_bend * e0)
    u1 = s * (record[e, point, 6] + c_bend * e1)
    u2 = s * (record[e, point, 7] + c_twist * e2)
    for r in range(3):
        a, b, c = y[3 + 3 * r], y[4 + 3 * r], y[5 + 3 * r]
        dy[stage, r] = s * (a * v0 + b * v1 + c * v2)
        dy[stage, 3 + 3 * r] = b * u2 - c * u1
        dy[stage, 4 + 3 * r] = c * u0 - a * u2
        dy[stage, 5 + 3 * r] = a * u1 - b * u0
        dy[stage, 12 + r] = -weight[r]
    dy[stage, 15] = -(p1 * weight[2] - p2 * weight[1])
    dy[stage, 16] = -(p2 * weight[0] - p0 * weight[2])
    dy[stage, 17] = -(p0 * weight[1] - p1 * weight[0])
    # Ad = [[R, p^ R], [0, R]]: rows 0-2 translation, 3-5 rotation
    for j in range(3):
        a, b, c = y[3 + j], y[6 + j], y[9 + j]
        spread[0, j], spread[1, j], spread[2, j] = a, b, c
        spread[3, j], spread[4, j], spread[5, j] = 0.0, 0.0, 0.0
        spread[0, 3 + j] = p1 * c - p2 * b
        spread[1, 3 + j] = p2 * a - p0 * c
        spread[2, 3 + j] = p0 * b - p1 * a
        spread[3, 3 + j], spread[4, 3 + j], spread[5, 3 + j] = a, b, c
    w0, w2 = s * c_shear, s * c_axial
    w3, w5 = s * c_bend, s * c_twist
    for r in range(6):
        for j in range(r + 1):
            t = w3 * (spread[r, 3] * spread[j, 3] + spread[r, 4] * spread[j, 4])
            t += w5 * spread[r, 5] * spread[j, 5]
            t += w0 * (spread[r, 0] * spread[j, 0] + spread[r, 1] * spread[j, 1])
            t += w2 * spread[r, 2] * spread[j, 2]
            flow[r, j] = t
            flow[j, r] = t
    k0, k1, k2 = y[15], y[16], y[17]
    parameters = d_record.shape[3]
    first = count - parameters
    for c in range(count):
        a, b, g = cols[0, c], cols[1, c], cols[2, c]
        o0, o1, o2 = cols[3, c], cols[4, c], cols[5, c]
        x0 = cols[6, c] + n1 * o2 - n2 * o1
        x1 = cols[7, c] + n2 * o0 - n0 * o2
        x2 = cols[8, c] + n0 * o1 - n1 * o0
        x3 = cols[9, c] + n1 * g - n2 * b + k1 * o2 - k2 * o1
        x4 = cols[10, c] + n2 * a - n0 * g + k2 * o0 - k0 * o2
        x5 = cols[11, c] + n0 * b - n1 * a + k0 * o1 - k1 * o0
        for r in range(6):
            d_cols[stage, r, c] = (
                flow[r, 0] * x0
                + flow[r, 1] * x1
                + flow[r, 2] * x2
                + flow[r, 3] * x3
                + flow[r, 4] * x4
                + flow[r, 5] * x5
            )
        d_cols[stage, 6, c] = d_cols[stage, 7, c] = d_cols[stage, 8, c] = 0.0
        q0 = a + o1 * p2 - o2 * p1
        q1 = b + o2 * p0 - o0 * p2
        q2 = g + o0 * p1 - o1 * p0
        d_cols[stage, 9, c] = weight[1] * q2 - weight[2] * q1
        d_cols[stage, 10, c] = weight[2] * q0 - weight[0] * q2
        d_cols[stage, 11, c] = weight[0] * q1 - weight[1] * q0
        if c >= first:
            k = c - first
            ds = d_record[e, point, 0, k]
            dh = rod.d_held[e, point, k]
            d_h0 = dh * h0 - held * d_record[e, point, 8, k]
            t0 = ds * v0 + s * (d_record[e, point, 10, k] + c3 * d_h0)
            d_h1 = dh * h1 - held * d_record[e, point, 9, k]
            t1 = ds * v1 + s * (d_record[e, point, 11, k] + c3 * d_h1)
            d_h2 = dh * h2 + held * (d_press[i, 0, k] - d_record[e, point, 1, k])
            t2 = ds * v2 + s * c0 * d_h2
            square = held * held
            t3 = ds * u0 / s + s * (
                d_record[e, point, 5, k]
                + c1
                * (2.0 * held * dh * e0 + square * (d_press[i, 1, k] - d_record[e, point, 2, k]))
            )
            t4 = ds * u1 / s + s * (
                d_record[e, point, 6, k]
                + c1
                * (2.0 * held * dh * e1 + square * (d_press[i, 2, k] - d_record[e, point, 3, k]))
            )
            t5 = ds * u2 / s + s * (
                d_record[e, point, 7, k]
                + c2 * (2.0 * held * dh * e2 - square * d_record[e, point, 4, k])
            )
            for r in range(6):
                d_cols[stage, r, c] += (
                    spread[r, 0] * t0
                    + spread[r, 1] * t1
                    + spread[r, 2] * t2
                    + spread[r, 3] * t3
                    + spread[r, 4] * t4
                    + spread[r, 5] * t5
                )


@kernel
def take_off_load(y, cols, offset, load, local, scale):
    """Take one load off the transmitted wrench: dead (base axes) or following the section."""
    x = y[0] + offset * y[5]
    z1 = y[1] + offset * y[8]
    z2 = y[2] + offset * y[11]
    f = np.empty(3)
    m = np.empty(3)
    for i in range(3):
        if local:
            f[i] = y[3 + 3 * i] * load[0] + y[4 + 3 * i] * load[1] + y[5 + 3 * i] * load[2]
            m[i] = y[3 + 3 * i] * load[3] + y[4 + 3 * i] * load[4] + y[5 + 3 * i] * load[5]
        else:
            f[i] = load[i]
            m[i] = load[3 + i]
        f[i] *= scale
        m[i] *= scale
    m[0] += z1 * f[2] - z2 * f[1]
    m[1] += z2 * f[0] - x * f[2]
    m[2] += x * f[1] - z1 * f[0]
    for i in range(3):
        y[12 + i] -= f[i]
        y[15 + i] -= m[i]
    for c in range(cols.shape[1]):
        a, b, g = cols[0, c], cols[1, c], cols[2, c]
        o0, o1, o2 = cols[3, c], cols[4, c], cols[5, c]
        if local:
            # the wrench moves with the section: dW = [om x f; v x f + om x m]
            cols[6, c] -= o1 * f[2] - o2 * f[1]
            cols[7, c] -= o2 * f[0] - o0 * f[2]
            cols[8, c] -= o0 * f[1] - o1 * f[0]
            cols[9, c] -= b * f[2] - g * f[1] + o1 * m[2] - o2 * m[1]
            cols[10, c] -= g * f[0] - a * f[2] + o2 * m[0] - o0 * m[2]
            cols[11, c] -= a * f[1] - b * f[0] + o0 * m[1] - o1 * m[0]
        else:
            # only the point moves: dW = [0; (v + om x p) x f]
            q0 = a + o1 * z2 - o2 * z1
            q1 = b + o2 * x - o0 * z2
            q2 = g + o0 * z1 - o1 * x
            cols[9, c] -= q1 * f[2] - q2 * f[1]
            cols[10, c] -= q2 * f[0] - q0 * f[2]
            cols[11, c] -= q0 * f[1] - q1 * f[0]


@fused_kernel
def rod_pass(rod, scale, y, cols, total, nodes):
    """Integrate all elements by RK4; y, cols, total are overwritten with the tip's values.

    Ramped loads are multiplied by `scale`.
    """
    chain, loads = rod.chain, rod.loads
    count = cols.shape[1]
    rates = Rates(
        np.empty((4, STATE)), np.empty((4, 12, count)), np.empty((6, 6)), np.empty((6, 6))
    )
    k, d_k, flow, _ = rates
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
                for r in range(STATE):
                    z[r] = y[r]
                for r in range(12):
                    for c in range(count):
                        d_z[r, c] = cols[r, c]
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
    nodes.state[node] = y
    nodes.columns[node] = cols
    nodes.integral[node] = total


@makes_arrays
@kernel
def begin(start, y, cols, total):
    """Set the clamped base: identity pose, transmitted wrench `start`, six wrench columns."""
    y[:] = 0.0
    y[3] = y[7] = y[11] = 1.0
    y[12:] = start
    cols[:] = 0.0
    for c in range(6):
        cols[6 + c, c] = 1.0
    total[:] = 0.0


@kernel
def solve_loaded(rod, units, tolerance, rest, start, nodes):
    """Shoot for the base wrench `start` (6,) until no wrench is left beyond the tip.

    rest : base wrench without the ramped loads. units : force and moment that make the residual
    dimensionless. A start that does not converge is followed by load stepping from the unloaded
    chain, the step halved at every failure.
    Returns (passes, residual).
    """
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
            if step < 1.0 / 256.0:
                return passes, residual if residual < np.inf else np.inf


@kernel
def _newton(rod, scale, units, tolerance, start, nodes):
    y = np.empty(STATE)
    cols = np.empty((12, nodes.columns.shape[2]))
    total = np.empty((6, 6))
    a = np.empty((6, 6))
    b = np.empty((6, 1))
    last = np.inf
    for iteration in range(25):
        begin(start, y, cols, total)
        rod_pass(rod, scale, y, cols, total, nodes)
        residual = 0.0
        # moments about the tip, so that a force there does not count twice
        tip = nodes.state[nodes.state.shape[0] - 1]
        for r in range(3):
            s = (r + 1) % 3
            t = (r + 2) % 3
            moment = y[15 + r] - (tip[s] * y[12 + t] - tip[t] * y[12 + s])
            residual += (y[12 + r] / units[0]) ** 2 + (moment / units[1]) ** 2
        residual = np.sqrt(residual)
        if not residual < np.inf or residual > 1e3 * last:
            return iteration + 1, np.inf
        if residual <= tolerance:
            return iteration + 1, residual
        last = min(last, residual)
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
            for c in range(6):
                t = 0.0
                for k in range(6):
                    t += node_cols[n + 1, r, k] * b[k, c]
                product[r, c] = t
        if negative_pivots(product, 6, work) > 0:
            return False
    return True


@kernel
def place_nodes(states, poses):
    """Write poses (n, 4, 4) of states (n, STATE), the truncation of RK4 taken off the rotations.

    A step of Newton's iteration for the polar factor squares the distance from SO(3), which RK4
    leaves at 1e-9 to 1e-6 (Shi 2023, (52)), of few elements at more: then it takes several.
    """
    a = np.empty((3, 3))
    gap = np.empty((3, 3))
    for n in range(poses.shape[0]):
        pose = poses[n]
        for r in range(3):
            for c in range(3):
                pose[r, c] = states[n, 3 + 3 * r + c]
            pose[r, 3] = states[n, r]
            pose[3, r] = 0.0
        pose[3, 3] = 1.0
        while True:
            far = rotation_gap(pose, gap)
            for r in range(3):
                for c in range(3):
                    a[r, c] = pose[r, c]
            for r in range(3):
                for c in range(3):
                    turned = a[r, 0] * gap[0, c] + a[r, 1] * gap[1, c] + a[r, 2] * gap[2, c]
                    pose[r, c] = a[r, c] - 0.5 * turned
            if not far > 1e-8:
                break


@kernel
def rotation_gap(pose, gap):
    """Write R^T R - 1 (3, 3) of a pose (4, 4) or R itself; return the largest of its numbers."""
    far = 0.0
    for r in range(3):
        for c in range(3):
            gap[r, c] = -1.0 if r == c else 0.0
            for k in range(3):
                gap[r, c] += pose[k, r] * pose[k, c]
            far = larger(far, abs(gap[r, c]))
    return far


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
