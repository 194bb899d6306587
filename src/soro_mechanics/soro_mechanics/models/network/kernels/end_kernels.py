# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rod ends: from the frame of a body through motor and joint to the end frame of the rod.

    end = body . attach . rotation(axis, theta) . offset . joint(q) . gap

Clamped ends have no q, revolute ones one, universal ones two (about the first axis, then about
the second, turned one), spherical ones a rotation. `gap` opens an end while a robot is being
assembled and is the identity otherwise.

The motion of the end frame in its own axes is basis @ (eta_body, theta, q), basis (6, 10).

Source: Ad^-1 of the way from each axis to the end, derived here; test_network_symmetries.py checks
what networks of joints and motors make of it by differences.
"""

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.numerics.lie_kernels import adjoint_inverse, compose, so3_exp
from soro_mechanics.numerics.vector_kernels import (
    column_at,
    cross,
    dot,
    in_axes,
    plus_cross,
    plus_dot,
    row_at,
    vector_at,
)

CLAMPED = 0
REVOLUTE = 1
UNIVERSAL = 2
SPHERICAL = 3


@kernel
def _copy_pose(a, out):
    """Write the pose a (4, 4) to out."""
    for i in range(4):
        for j in range(4):
            out[i, j] = a[i, j]


@kernel
def _turn(axis, angle, t, work):
    """Replace t (4, 4) by rotation(axis (3,), angle [rad]) t; work (9, 4): scratch."""
    r = work[0:4]
    old = work[4:8]
    w = work[8]
    for i in range(3):
        w[i] = axis[i] * angle
        r[i, 3] = 0.0
    so3_exp(w, r)
    _copy_pose(t, old)
    compose(r, old, t)


@kernel
def _seen_from_end(axis, t, column, basis):
    """Write Ad_t^-1 (0, axis) = (-R' (p x axis), R' axis) to a column of basis (6, 10).

    axis (3,); t (4, 4): pose R, p of the end, seen from where the axis is; column: its number.
    """
    turn = vector_at(axis, 0, 1)
    shift, turn = in_axes(t, cross(turn, column_at(t, 0, 3))), in_axes(t, turn)
    for i in range(3):
        basis[i, column], basis[3 + i, column] = shift[i], turn[i]


@merged_kernel
def end_frame(s, x, state, w, r, e, gap):
    """Write an end in its body, w.end[r, e] (4, 4), and w.basis[r, e] (6, 10), beyond a gap.

    Column j is Ad_t^-1 (0, axis_j), t the way from that axis to the end; the first six are Ad^-1
    of all of it. s: Structure; x: Inputs; state: State; w: Work; r: rod; e: 0 or 1; gap (4, 4).
    """
    kind, axes, motor_axis = s.joint_kind[r, e], s.joint_axes[r, e], s.motor_axis[r, e]
    q, spin, theta = state.joint[r, e], state.spin[r, e], x.theta[r, e]
    h, basis, work = w.end[r, e], w.basis[r, e], w.scratch[0:13, 0:4]
    old = work[9:13]
    _copy_pose(gap, h)
    basis[:, 6:10] = 0.0
    if kind == REVOLUTE or kind == UNIVERSAL:
        for j in range(kind - 1, -1, -1):
            # a revolute axis is the same vector before and after its own rotation
            _seen_from_end(axes[j], h, 7 + j, basis)
            _turn(axes[j], q[j], h, work)
    elif kind == SPHERICAL:
        axis = work[0]
        for j in range(3):
            for i in range(3):
                axis[i] = 0.0
            axis[j] = 1.0
            _seen_from_end(axis, h, 7 + j, basis)
        _copy_pose(h, old)
        for i in range(3):
            for j in range(4):
                h[i, j] = dot(row_at(spin, i, 0), column_at(old, 0, j))
    _copy_pose(h, old)
    compose(s.offset[r, e], old, h)
    _seen_from_end(motor_axis, h, 6, basis)
    if theta != 0.0:
        _turn(motor_axis, theta, h, work)
    _copy_pose(h, old)
    compose(s.attach[r, e], old, h)
    adjoint_inverse(h, basis)


@kernel
def joint_geometry(basis, kind, force, out):
    """Write the part of the end's tangent that comes from the turning of `basis` under `force`.

    Coordinate j lies beyond coordinate i < j and moves its axis: out[i, j] = -s_i' B(force) s_j
    with B((f, m)) (v, w) = (f x w, f x v + m x w). out (10, 10) in (eta_body, theta, q). The three
    of a spherical joint turn together. basis (6, 10); kind: of joint; force (6,): own axes.
    """
    out[:] = 0.0
    last, f, m = 7 + kind, vector_at(force, 0, 1), vector_at(force, 3, 1)
    for j in range(6, last):
        w = column_at(basis, 3, j)
        a = cross(f, w)
        b = plus_cross(cross(f, column_at(basis, 0, j)), m, w)
        end = 7 if kind == SPHERICAL and j > 6 else j
        for i in range(end):
            out[i, j] = -plus_dot(dot(column_at(basis, 0, i), a), column_at(basis, 3, i), b)
