# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inertia of one frame in one step, and how its motion follows from where it has come to.

A frame g moves by D = log(g_n^-1 g) in a step. Its velocity v, the auxiliary acceleration a and
the acceleration v' are linear in D and in what they were (`law`, see `step_laws`):

    (v, a, v') = law[:, 0] D + law[:, 1:] (v_n, a_n, v'_n)

Source: Bruels and Cardona 2010, J. Comput. Nonlinear Dyn. 5(3), for the law; wrench and tangent
are derived here from the Euler-Poincare equation, and checked by momenta in test_dynamics.py.
"""

from soro_mechanics.compilation.kernels import fused_kernel
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    column_at,
    cross,
    plus,
    plus_cross,
    put_vector,
    row_at,
    times,
    vector_at,
)


@fused_kernel
def free_motion(law, past, free):
    """Write free = law[:, 1:] past if a frame stays; law (3, 4), past, free (3, 6)."""
    for j in range(3):
        a = law[j, 1]
        b = law[j, 2]
        c = law[j, 3]
        for i in range(6):
            free[j, i] = a * past[0, i] + b * past[1, i] + c * past[2, i]


@fused_kernel
def new_motion(law, free, move, past):
    """Write past = law[:, 0] move + free; law (3, 4), move (6,), free, past (3, 6) (v, a, v')."""
    for j in range(3):
        a = law[j, 0]
        for i in range(6):
            past[j, i] = a * move[i] + free[j, i]


@fused_kernel
def append_step(move, step, part, b):
    """Let log(exp(move) exp(part step)) be `move`, but for products of three (BCH).

    move += b, b = part (step + [move, step] / 2). move, step (6,) [m, rad]; part: of the step; b
    (6,): scratch.
    """
    v, w = vector_at(step, 0, 1), vector_at(step, 3, 1)
    along, turn = times(0.5, vector_at(move, 0, 1)), times(0.5, vector_at(move, 3, 1))
    put_vector(b, 0, 1, times(part, plus_cross(plus_cross(v, turn, v), along, w)))
    put_vector(b, 3, 1, times(part, plus_cross(w, turn, w)))
    for i in range(6):
        move[i] += b[i]


@fused_kernel
def _gyroscopic(v, p, mass, out):
    """Write d(-ad_v^T M v) / dv to out (6, 6); twist v (6,), momentum p = M v, mass M (6, 6)."""
    w = vector_at(v, 3, 1)
    for j in range(6):
        # (w x M_l, v x M_l + w x M_a), column by column
        linear = column_at(mass, 0, j)
        out[0, j], out[1, j], out[2, j] = cross(w, linear)
        change = plus_cross(cross(vector_at(v, 0, 1), linear), w, column_at(mass, 3, j))
        out[3, j], out[4, j], out[5, j] = change
    linear = times(-1.0, vector_at(p, 0, 1))
    add_hat(out, 0, 3, linear)
    add_hat(out, 3, 0, linear)
    add_hat(out, 3, 3, times(-1.0, vector_at(p, 3, 1)))


@fused_kernel
def inertial_wrench(mass, drag, law, free, move, work, force, tangent):
    """Write f = M v' - ad_v^T M v + drag M v [N, N m] and df by the frame's own motion.

    The tangent takes dD = (1 + ad_D / 2) eta for a motion eta of the frame: the rest of this
    series, of second order in D, would not save Newton's method a step. mass (6, 6): M, linear
    first; drag: of the mass [1/s]; law (3, 4), free (3, 6): see `free_motion`; move (6,): D; work
    (8, 6): scratch; force (6,), tangent (6, 6): out, in the frame's axes.
    """
    v = work[0]
    p = work[1]
    gyro = work[2:8]
    for i in range(6):
        v[i] = law[0, 0] * move[i] + free[0, i]
    for i in range(6):
        momentum = change = 0.0
        for j in range(6):
            momentum += mass[i, j] * v[j]
            change += mass[i, j] * (law[2, 0] * move[j] + free[2, j])
        p[i] = momentum
        force[i] = change + drag * momentum
    along, turn, linear = vector_at(v, 0, 1), vector_at(v, 3, 1), vector_at(p, 0, 1)
    put_vector(force, 0, 1, plus_cross(vector_at(force, 0, 1), turn, linear))
    moment = plus_cross(vector_at(force, 3, 1), along, linear)
    put_vector(force, 3, 1, plus_cross(moment, turn, vector_at(p, 3, 1)))
    _gyroscopic(v, p, mass, gyro)
    speed = law[0, 0]
    size = law[2, 0] + speed * drag
    d, w = times(0.5, vector_at(move, 0, 1)), times(0.5, vector_at(move, 3, 1))
    for i in range(6):
        f = plus(times(size, row_at(mass, i, 0)), times(speed, row_at(gyro, i, 0)))
        t = plus(times(size, row_at(mass, i, 3)), times(speed, row_at(gyro, i, 3)))
        tangent[i, 0], tangent[i, 1], tangent[i, 2] = plus_cross(f, f, w)
        t = plus_cross(plus_cross(t, f, d), t, w)
        tangent[i, 3], tangent[i, 4], tangent[i, 5] = t
