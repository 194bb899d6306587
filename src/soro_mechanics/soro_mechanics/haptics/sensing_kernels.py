# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the sensing problem (Koehler 2023, eqs 17-22); words and checks in `sensing`.

The unknowns z are the changes of motor torques and hand force, in this order: nz = na + ne.

Source: Koehler 2023, eqs (17)-(22); prior and bounds are derived here: test_sensing.py.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.numerics.dense_kernels import invert_upper, triangularise
from soro_mechanics.numerics.lie_kernels import so3_exp
from soro_mechanics.numerics.qp_kernels import Bounds, OPTIMAL, solve_qp, workspace_size

SENSED = 0
UNOBSERVABLE = 1
BOUNDS_CONTRADICT = 2
NOT_FINITE = 3

# Diagonal of R, columns of unit length, below which the measurements do not fix a direction: the
# square root of the rounding unit, where the solution would keep no correct digit.
RANK = 1e-8

Floats = NDArray[np.float64]


@by_reference
class Ports(NamedTuple):
    """The arrays of `CondensedPorts`: na actuators, ne effector directions, ns sensors."""

    compliance: Floats
    angle: Floats
    torque: Floats
    pose: Floats
    axes: Floats
    force: Floats
    sensor: Floats


@by_reference
class Sensed(NamedTuple):
    """What is known beside one sample, and what is made of it."""

    weight: Floats  # (na + ns,) one over the deviations of encoders, sensors; zero leaves one out
    prior: Floats  # (nz,) one over the deviation of the total force around zero; zero: unknown
    state: Floats  # (nz,) the total at the linearisation
    low: Floats  # (nz,) bounds of z
    high: Floats
    offset: Floats  # (na + ns,) model minus measurement, eq (18)
    z: Floats  # (nz,)
    covariance: Floats  # (nz, nz) of z; does not know of active bounds
    pose: Floats  # (4, 4) of the hand, base axes
    wrench: Floats  # (6,) at the tip
    pose_covariance: Floats  # (6, 6)
    wrench_covariance: Floats
    scratch: Floats  # (6, at least nz)
    work: Floats  # see `sensing_workspace`
    index: NDArray[np.int64]  # (nz,)


@kernel
def sensing_workspace(na, ne, ns):
    """Return the length of the float workspace of `sense`: na motors, ne axes, ns sensors."""
    nz = na + ne
    rows = na + ns + nz
    return rows * nz + rows + 3 * nz * nz + 7 * nz + workspace_size(nz, nz)


@kernel
def _stack(p, s, matrix):
    """Write the weighted rows: encoders, sensors (18), then what is known beforehand.

    weight (W z + offset) = 0 and prior (z + state) = 0. p: Ports; s: Sensed; matrix (na + ns + nz,
    nz + 1): out, right sides last.
    """
    na, nz = p.angle.shape[0], s.z.shape[0]
    rows = s.offset.shape[0]
    for i in range(rows):
        port = i if i < na else nz + i - na
        for j in range(nz):
            matrix[i, j] = s.weight[i] * p.compliance[port, j]
        matrix[i, nz] = -s.weight[i] * s.offset[i]
    for j in range(nz):
        for k in range(nz):
            matrix[rows + j, k] = 0.0
        matrix[rows + j, j] = s.prior[j]
        matrix[rows + j, nz] = -s.prior[j] * s.state[j]


@kernel
def _scale_columns(matrix, scale):
    """Scale columns of matrix by scale (nz,) = 1 / |column|, out; whether none is empty."""
    for j in range(scale.shape[0]):
        s = 0.0
        for i in range(matrix.shape[0]):
            s += matrix[i, j] * matrix[i, j]
        if not s > 0.0:
            return False
        scale[j] = 1.0 / np.sqrt(s)
        for i in range(matrix.shape[0]):
            matrix[i, j] *= scale[j]
    return True


@kernel
def _solve_bounded(triangle, scale, low, high, z, work, index):
    """Minimise |R z - right| under bounds on scale z, z (nz,) and all else scaled; the status.

    triangle (nz, nz + 1): R, right in its last column; scale, low, high (nz,); z: out; work:
    scratch, 2 nz^2 + 4 nz and that of `solve_qp`; index (nz,): scratch.
    """
    nz = z.shape[0]
    h = work[: nz * nz].reshape((nz, nz))
    eye = work[nz * nz : 2 * nz * nz].reshape((nz, nz))
    rest = work[2 * nz * nz :]
    g, lower, upper, multiplier = (
        rest[:nz],
        rest[nz : 2 * nz],
        rest[2 * nz : 3 * nz],
        rest[3 * nz : 4 * nz],
    )
    for i in range(nz):
        g[i] = 0.0
        for k in range(i + 1):
            g[i] -= triangle[k, i] * triangle[k, nz]
        for j in range(nz):
            s = 0.0
            for k in range(min(i, j) + 1):
                s += triangle[k, i] * triangle[k, j]
            h[i, j] = s
            eye[i, j] = 0.0
        eye[i, i] = 1.0
        lower[i] = low[i] / scale[i]
        upper[i] = high[i] / scale[i]
    status, _ = solve_qp(h, g, Bounds(eye, lower, upper), z, multiplier, rest[4 * nz :], index)
    return status


@kernel
def sense(p, s):
    """Solve (19)-(20) with weights, prior knowledge and bounds: z and its covariance (R^T R)^-1.

    p: Ports; s: Sensed, z and covariance out, both untouched unless SENSED. Returns SENSED,
    UNOBSERVABLE, BOUNDS_CONTRADICT or NOT_FINITE, and whether a bound is active.
    """
    nz = s.z.shape[0]
    rows = s.offset.shape[0] + nz
    matrix = s.work[: rows * (nz + 1)].reshape((rows, nz + 1))
    work = s.work[rows * (nz + 1) :]
    inverse, work = work[: nz * nz].reshape((nz, nz)), work[nz * nz :]
    scale, work = work[:nz], work[nz:]
    scaled, work = work[:nz], work[nz:]
    _stack(p, s, matrix)
    total = 0.0
    for i in range(rows):
        for j in range(nz + 1):
            total += matrix[i, j]
    if not np.isfinite(total):
        return NOT_FINITE, False
    if not _scale_columns(matrix, scale):
        return UNOBSERVABLE, False
    triangularise(matrix, nz)
    for j in range(nz):
        if abs(matrix[j, j]) < RANK:
            return UNOBSERVABLE, False
    invert_upper(matrix, nz, inverse)
    bounded = False
    for i in range(nz):
        v = 0.0
        for k in range(i, nz):
            v += inverse[i, k] * matrix[k, nz]
        scaled[i] = v
        bounded = bounded or v * scale[i] < s.low[i] or v * scale[i] > s.high[i]
    if bounded:
        found = _solve_bounded(matrix, scale, s.low, s.high, scaled, work, s.index)
        if found != OPTIMAL:
            return BOUNDS_CONTRADICT, True
    for i in range(nz):
        s.z[i] = scale[i] * scaled[i]
        for j in range(nz):
            v = 0.0
            for k in range(max(i, j), nz):
                v += inverse[i, k] * inverse[j, k]
            s.covariance[i, j] = scale[i] * v * scale[j]
    return SENSED, bounded


@kernel
def effector_state(p, s):
    """Write pose and wrench of the hand (21)-(22), and their covariances, base axes at the tip.

    twist = axes W_e z, wrench = axes (force + z_e); covariances J C J^T. p: Ports; s: Sensed, out.
    """
    na, ne, nz = p.angle.shape[0], p.force.shape[0], s.z.shape[0]
    w, axes, scratch = p.compliance, p.axes, s.scratch
    twist, rotation = scratch[0, :6], scratch[1:5, :3]
    for i in range(6):
        twist[i] = s.wrench[i] = 0.0
        for e in range(ne):
            motion = 0.0
            for j in range(nz):
                motion += w[na + e, j] * s.z[j]
            twist[i] += axes[i, e] * motion
            s.wrench[i] += axes[i, e] * (p.force[e] + s.z[na + e])
    so3_exp(twist[3:], rotation)
    for i in range(3):
        s.pose[i, 3] = p.pose[i, 3] + twist[i]
        for j in range(3):
            v = 0.0
            for k in range(3):
                v += rotation[i, k] * p.pose[k, j]
            s.pose[i, j] = v
        s.pose[3, i] = 0.0
    s.pose[3, 3] = 1.0
    for i in range(6):
        for j in range(nz):
            v = 0.0
            for e in range(ne):
                v += axes[i, e] * w[na + e, j]
            scratch[i, j] = v
    for i in range(6):
        for j in range(i + 1):
            v = 0.0
            for a in range(nz):
                for b in range(nz):
                    v += scratch[i, a] * s.covariance[a, b] * scratch[j, b]
            s.pose_covariance[i, j] = v
            s.pose_covariance[j, i] = v
            v = 0.0
            for a in range(ne):
                for b in range(ne):
                    v += axes[i, a] * s.covariance[na + a, na + b] * axes[j, b]
            s.wrench_covariance[i, j] = v
            s.wrench_covariance[j, i] = v


@kernel
def weigh_sensors(s, used, deviation, more, drift):
    """Weigh sensors (ns,) by what they err by altogether: used / |(deviation, more, drift)|.

    s: Sensed, weight out [1/m]; used (ns,): zero leaves one out; deviation, more, drift (ns,) [m].
    """
    first = s.weight.shape[0] - used.shape[0]
    for i in range(used.shape[0]):
        total = math.hypot(deviation[i], math.hypot(more[i], drift[i]))
        s.weight[first + i] = used[i] / total


@kernel
def sense_effector(p, encoder, sensor, s):
    """Do one tick of sensing: measurements in, pose and wrench of the hand out; as `sense`.

    p: Ports; encoder (na,) [rad]; sensor (ns,) [m]; s: Sensed, out.
    """
    na = p.angle.shape[0]
    for i in range(na):
        # A measurement that is left out may be NaN: its weight is zero, its offset must be too.
        s.offset[i] = p.angle[i] - encoder[i] if s.weight[i] > 0.0 else 0.0
    for i in range(p.sensor.shape[0]):
        s.offset[na + i] = p.sensor[i] - sensor[i] if s.weight[na + i] > 0.0 else 0.0
    status, bounded = sense(p, s)
    if status == SENSED:
        effector_state(p, s)
    return status, bounded
