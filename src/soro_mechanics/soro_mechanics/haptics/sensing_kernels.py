# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the sensing problem (Koehler 2023, eqs 17-22); words and checks in `sensing`.

Arguments that recur: ``w`` (n, n) compliance of all ports, actuators first, then effector
directions, then sensors; ``sizes`` their numbers; ``z`` the unknown changes of motor torques and
hand force, in this order.
"""

import numpy as np

from soro_mechanics.numerics.kernels import kernel
from soro_mechanics.numerics.lie_kernels import so3_exp
from soro_mechanics.numerics.qp_kernels import OPTIMAL, solve_qp, workspace_size

SENSED = 0
UNOBSERVABLE = 1
BOUNDS_CONTRADICT = 2
NOT_FINITE = 3

# Diagonal of R, columns of unit length, below which the measurements do not fix a direction: the
# square root of the rounding unit, where the solution would keep no correct digit.
RANK = 1e-8


@kernel
def sensing_workspace(na, ne, ns):
    """Return the length of the float workspace of `sense`."""
    nz = na + ne
    rows = na + ns + nz
    return rows * nz + rows + 3 * nz * nz + 7 * nz + workspace_size(nz, nz)


@kernel
def _stack(w, na, ns, nz, offset, weight, prior, state, matrix, right):
    """Write the weighted rows: encoders, sensors (18), then what is known beforehand."""
    rows = na + ns
    for i in range(rows):
        port = i if i < na else nz + i - na
        for j in range(nz):
            matrix[i, j] = weight[i] * w[port, j]
        right[i] = -weight[i] * offset[i]
    for j in range(nz):
        for k in range(nz):
            matrix[rows + j, k] = 0.0
        matrix[rows + j, j] = prior[j]
        right[rows + j] = -prior[j] * state[j]


@kernel
def _scale_columns(matrix, scale):
    """Give every column unit length; returns False where a column is empty."""
    for j in range(matrix.shape[1]):
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
def _reflect(matrix, right):
    """Overwrite the upper triangle of matrix with R of its QR factors, right with Q^T right."""
    rows, columns = matrix.shape
    for k in range(columns):
        s = 0.0
        for i in range(k, rows):
            s += matrix[i, k] * matrix[i, k]
        length = np.sqrt(s)
        if length == 0.0:
            continue
        diagonal = -length if matrix[k, k] > 0.0 else length
        head = matrix[k, k] - diagonal
        # v = (head, column below): H = 1 - v v^T / (length * |head|)
        factor = 1.0 / (length * abs(head))
        for j in range(k + 1, columns):
            t = head * matrix[k, j]
            for i in range(k + 1, rows):
                t += matrix[i, k] * matrix[i, j]
            t *= factor
            matrix[k, j] -= t * head
            for i in range(k + 1, rows):
                matrix[i, j] -= t * matrix[i, k]
        t = head * right[k]
        for i in range(k + 1, rows):
            t += matrix[i, k] * right[i]
        t *= factor
        right[k] -= t * head
        for i in range(k + 1, rows):
            right[i] -= t * matrix[i, k]
        matrix[k, k] = diagonal


@kernel
def _invert_upper(matrix, n, out):
    """Write the inverse of the upper triangle."""
    for j in range(n):
        for i in range(n):
            out[i, j] = 0.0
        out[j, j] = 1.0 / matrix[j, j]
        for i in range(j - 1, -1, -1):
            s = 0.0
            for k in range(i + 1, j + 1):
                s += matrix[i, k] * out[k, j]
            out[i, j] = -s / matrix[i, i]


@kernel
def _solve_bounded(triangle, right, scale, low, high, z, work, index):
    """Minimise |R z - right| under bounds on z / scale, with all in scaled unknowns."""
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
            g[i] -= triangle[k, i] * right[k]
        for j in range(nz):
            s = 0.0
            for k in range(min(i, j) + 1):
                s += triangle[k, i] * triangle[k, j]
            h[i, j] = s
            eye[i, j] = 0.0
        eye[i, i] = 1.0
        lower[i] = low[i] / scale[i]
        upper[i] = high[i] / scale[i]
    status, _ = solve_qp(h, g, eye, lower, upper, z, multiplier, rest[4 * nz :], index)
    return status


@kernel
def sense(w, sizes, offset, weight, prior, state, low, high, z, covariance, work, index):
    """Solve (19)-(20) with weights, prior knowledge and bounds.

    Parameters
    ----------
    offset : (na + ns,)
        Model minus measurement of encoders and sensors, eq (18).
    weight : (na + ns,)
        One over their standard deviations; zero leaves a measurement out.
    prior, state : (nz,)
        One over the standard deviation of the total force around zero (zero: nothing known), and
        the total at the linearisation.
    low, high : (nz,)
        Bounds of the change z.
    z, covariance : (nz,), (nz, nz)
        Results, untouched unless SENSED. The covariance does not know of active bounds.

    Returns
    -------
    status, whether a bound is active
    """
    na, ne, ns = sizes
    nz = na + ne
    rows = na + ns + nz
    matrix = work[: rows * nz].reshape((rows, nz))
    work = work[rows * nz :]
    right, work = work[:rows], work[rows:]
    inverse, work = work[: nz * nz].reshape((nz, nz)), work[nz * nz :]
    scale, work = work[:nz], work[nz:]
    scaled, work = work[:nz], work[nz:]
    _stack(w, na, ns, nz, offset, weight, prior, state, matrix, right)
    total = 0.0
    for i in range(rows):
        total += right[i]
        for j in range(nz):
            total += matrix[i, j]
    if not np.isfinite(total):
        return NOT_FINITE, False
    if not _scale_columns(matrix, scale):
        return UNOBSERVABLE, False
    _reflect(matrix, right)
    for j in range(nz):
        if abs(matrix[j, j]) < RANK:
            return UNOBSERVABLE, False
    _invert_upper(matrix, nz, inverse)
    bounded = False
    for i in range(nz):
        s = 0.0
        for k in range(i, nz):
            s += inverse[i, k] * right[k]
        scaled[i] = s
        bounded = bounded or s * scale[i] < low[i] or s * scale[i] > high[i]
    if bounded and _solve_bounded(matrix, right, scale, low, high, scaled, work, index) != OPTIMAL:
        return BOUNDS_CONTRADICT, True
    for i in range(nz):
        z[i] = scale[i] * scaled[i]
        for j in range(nz):
            s = 0.0
            for k in range(max(i, j), nz):
                s += inverse[i, k] * inverse[j, k]
            covariance[i, j] = scale[i] * s * scale[j]
    return SENSED, bounded


@kernel
def effector_state(
    w,
    sizes,
    z,
    covariance,
    axes,
    pose0,
    force0,
    pose,
    wrench,
    pose_covariance,
    wrench_covariance,
    scratch,
):
    """Write pose and wrench of the hand (21)-(22), and their covariances, base axes at the tip.

    ``scratch`` is (6, nz).
    """
    na, ne, _ = sizes
    nz = na + ne
    twist, rotation = scratch[0, :6], scratch[1:5, :3]
    for i in range(6):
        twist[i] = 0.0
        wrench[i] = 0.0
        for e in range(ne):
            motion = 0.0
            for j in range(nz):
                motion += w[na + e, j] * z[j]
            twist[i] += axes[i, e] * motion
            wrench[i] += axes[i, e] * (force0[e] + z[na + e])
    so3_exp(twist[3:], rotation)
    for i in range(3):
        pose[i, 3] = pose0[i, 3] + twist[i]
        for j in range(3):
            s = 0.0
            for k in range(3):
                s += rotation[i, k] * pose0[k, j]
            pose[i, j] = s
        pose[3, i] = 0.0
    pose[3, 3] = 1.0
    for i in range(6):
        for j in range(nz):
            s = 0.0
            for e in range(ne):
                s += axes[i, e] * w[na + e, j]
            scratch[i, j] = s
    for i in range(6):
        for j in range(i + 1):
            s = 0.0
            for a in range(nz):
                for b in range(nz):
                    s += scratch[i, a] * covariance[a, b] * scratch[j, b]
            pose_covariance[i, j] = s
            pose_covariance[j, i] = s
            s = 0.0
            for a in range(ne):
                for b in range(ne):
                    s += axes[i, a] * covariance[na + a, na + b] * axes[j, b]
            wrench_covariance[i, j] = s
            wrench_covariance[j, i] = s


@kernel
def sense_effector(
    w,
    sizes,
    axes,
    angle0,
    sensor0,
    state,
    pose0,
    force0,
    encoder,
    sensor,
    weight,
    prior,
    low,
    high,
    offset,
    z,
    covariance,
    pose,
    wrench,
    pose_covariance,
    wrench_covariance,
    scratch,
    work,
    index,
):
    """Do one tick of sensing: measurements in, pose and wrench of the hand out."""
    na, _, ns = sizes
    for i in range(na):
        # A measurement that is left out may be NaN: its weight is zero, its offset must be too.
        offset[i] = angle0[i] - encoder[i] if weight[i] > 0.0 else 0.0
    for i in range(ns):
        offset[na + i] = sensor0[i] - sensor[i] if weight[na + i] > 0.0 else 0.0
    status, bounded = sense(
        w, sizes, offset, weight, prior, state, low, high, z, covariance, work, index
    )
    if status == SENSED:
        effector_state(
            w,
            sizes,
            z,
            covariance,
            axes,
            pose0,
            force0,
            pose,
            wrench,
            pose_covariance,
            wrench_covariance,
            scratch,
        )
    return status, bounded
