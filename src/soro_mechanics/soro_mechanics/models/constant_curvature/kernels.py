# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the constant-curvature arc in the coordinates x = (u, v, s).

u = theta cos(phi), v = theta sin(phi) [rad], s = arc length [m]. Every quantity is a power series
in q = u^2 + v^2 (a, b, c: `arc_functions`), so the straight pose is an ordinary point: rotation R
= 1 + a W + b W^2, W = [w]x, w = (-v, u, 0), place p = s (b u, b v, a). The kernels are generic in
the type of `x`: compiled for complex numbers they give complex-step derivatives.

Source: Akbari (2021), Amirkabir J. Mech. Eng. 53, eqs (1), (2); loads derived here. Checked by the
printed equations and by differences in test_constant_curvature.py.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.numerics.lie_kernels import stumpff
from soro_mechanics.numerics.vector_kernels import column_at, dot, out_of_axes, row_at, vector_at


@kernel
def arc_functions(q):
    """Return sin(t)/t, (1 - cos t)/t^2, (t - sin t)/t^3 and their derivatives by q = t^2.

    Stumpff's functions: those of c_n are (n c_(n+2) - c_(n+1)) / 2.
    """
    _, a, b, c, c4, c5, _ = stumpff(q)
    return a, b, c, 0.5 * (c - b), 0.5 * (2.0 * c4 - c), 0.5 * (3.0 * c5 - c4)


@kernel
def arc_pose(u, v, s, pose):
    """Write the (4, 4) tip pose of an arc u, v, s: eq (1) of Akbari 2021 times Rz(-phi)."""
    q = u * u + v * v
    a, b, _, _, _, _ = arc_functions(q)
    pose[0, 0] = 1.0 - b * u * u
    pose[0, 1] = -b * u * v
    pose[0, 2] = a * u
    pose[0, 3] = s * b * u
    pose[1, 0] = -b * u * v
    pose[1, 1] = 1.0 - b * v * v
    pose[1, 2] = a * v
    pose[1, 3] = s * b * v
    pose[2, 0] = -a * u
    pose[2, 1] = -a * v
    pose[2, 2] = 1.0 - b * q
    pose[2, 3] = s * a
    pose[3, 0] = pose[3, 1] = pose[3, 2] = 0.0
    pose[3, 3] = 1.0


@kernel
def arc_poses(u, v, s, poses):
    """Write poses (n, 4, 4) evenly along an arc u, v, s, from the base to the tip."""
    for i in range(poses.shape[0]):
        part = i / (poses.shape[0] - 1.0)
        arc_pose(part * u, part * v, part * s, poses[i])


@kernel
def arc_through(px, py, pz):
    """Return (u, v, s) of the arc, tangent to z at the origin, that ends at (px, py, pz) [m].

    theta = 2 atan2(rho, pz) in [0, 2 pi), u, v = px, py theta / rho, s = theta |p|^2 / (2 rho);
    rho = hypot(px, py). The point itself must not be the origin.
    """
    rho2 = px * px + py * py
    chord2 = rho2 + pz * pz
    rho = math.sqrt(rho2)
    if pz > 0.0 and rho < 0.1 * pz:
        # theta / rho = 2 atan(t) / (t z) with t = rho / z: series, regular on the axis
        t2 = rho2 / (pz * pz)
        ratio = 1.0 / 19.0
        for k in range(8, -1, -1):
            ratio = 1.0 / (2.0 * k + 1.0) - t2 * ratio
        per_rho = 2.0 * ratio / pz
    else:
        per_rho = 2.0 * math.atan2(rho, pz) / rho
    u = px * per_rho
    v = py * per_rho
    # s = theta r with chord^2 = 2 r rho
    return u, v, 0.5 * chord2 * per_rho


@kernel
def arc_to(pose, to_lengths, table):
    """Return x, and `actuation` by table of lengths = to_lengths x (3,), of the arc to a pose."""
    x, lengths = np.empty(3), np.empty(3)
    x[0], x[1], x[2] = arc_through(pose[0, 3], pose[1, 3], pose[2, 3])
    for i in range(3):
        lengths[i] = dot(row_at(to_lengths, i, 0), vector_at(x, 0, 1))
    return x, actuation(lengths, table)


@kernel
def actuation(lengths, table):
    """Return pressures (3,) that stretch free actuators so; NaN below the parabola's vertex.

    P reference with linear P + quadratic P^2 = lengths (3,) - rest; `table`: rest [m], reference
    [Pa], linear, quadratic [m].
    """
    rest, reference, linear, quadratic = table
    found = np.empty(3)
    for i in range(3):
        elongation = lengths[i] - rest
        root = np.sqrt(linear * linear + 4.0 * quadratic * elongation)
        # the form of the quadratic formula that has no cancellation, also for quadratic = 0
        found[i] = reference * 2.0 * elongation / (linear + root)
    return found


@kernel
def arc_jacobian(x):
    """Return (6, 3): tip twist, linear first, at the tip, base axes, per change of x = (u, v, s).

    (dp, J dw), J = 1 + b W + c W^2 the left Jacobian of w: (2) without its singular point.
    """
    u, v, s = x[0], x[1], x[2]
    a, b, c, da, db, _ = arc_functions(u * u + v * v)
    jacobian = np.zeros((6, 3), dtype=x.dtype)
    jacobian[0, 0] = s * (b + 2.0 * u * u * db)
    jacobian[1, 0] = s * 2.0 * u * v * db
    jacobian[2, 0] = s * 2.0 * u * da
    jacobian[0, 1] = s * 2.0 * u * v * db
    jacobian[1, 1] = s * (b + 2.0 * v * v * db)
    jacobian[2, 1] = s * 2.0 * v * da
    jacobian[0, 2] = u * b
    jacobian[1, 2] = v * b
    jacobian[2, 2] = a
    jacobian[3, 0] = -c * u * v
    jacobian[4, 0] = 1.0 - c * v * v
    jacobian[5, 0] = -b * v
    jacobian[3, 1] = -1.0 + c * u * u
    jacobian[4, 1] = c * u * v
    jacobian[5, 1] = b * u
    return jacobian


@kernel
def weight_force(x, weight):
    """Return (3,): the generalised force on x of a weight (3,) [N] spread evenly along the arc.

    d(weight . m) / dx, where m = s (c u, c v, b) is the mean place of the arc.
    """
    u, v, s = x[0], x[1], x[2]
    _, b, c, _, db, dc = arc_functions(u * u + v * v)
    along = weight[0] * u + weight[1] * v
    by_q = s * (along * dc + weight[2] * db)
    force = np.empty(3, dtype=x.dtype)
    force[0] = s * weight[0] * c + 2.0 * u * by_q
    force[1] = s * weight[1] * c + 2.0 * v * by_q
    force[2] = along * c + weight[2] * b
    return force


@kernel
def load_force(x, fractions, wrenches, local, weight):
    """Return (3,): generalised force on x of weight and of wrenches at fractions f of the arc.

    `weight_force` + sum f J(f x)^T wrench, J: `arc_jacobian`; a wrench is (6,), force first; base
    axes, or the axes of the section where `local`.
    """
    total = weight_force(x, weight)
    pose = np.empty((4, 4), dtype=x.dtype)
    for k in range(fractions.shape[0]):
        at = x * fractions[k]
        jacobian = arc_jacobian(at)
        seen = at * (1.0 if local[k] else 0.0)  # where the axes of the wrench are
        arc_pose(seen[0], seen[1], seen[2], pose)
        force = out_of_axes(pose, row_at(wrenches, k, 0))
        moment = out_of_axes(pose, row_at(wrenches, k, 3))
        for j in range(3):
            work = dot(column_at(jacobian, 0, j), force) + dot(column_at(jacobian, 3, j), moment)
            total[j] += fractions[k] * work
    return total
