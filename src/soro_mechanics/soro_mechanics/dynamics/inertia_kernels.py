# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inertia of one frame in one step, and how its motion follows from where it has come to.

A frame g moves by D = log(g_n^-1 g) in a step. Its velocity v, the auxiliary acceleration a and
the acceleration v' are linear in D and in what they were (`law`, see `step_laws`):

    (v, a, v') = law[:, 0] D + law[:, 1:] (v_n, a_n, v'_n)
"""

from soro_mechanics.numerics.kernels import fused_kernel


@fused_kernel
def free_motion(law, past, free):
    """Write what (v, a, v') would be if the frame stayed: past, free (3, 6)."""
    for j in range(3):
        a = law[j, 1]
        b = law[j, 2]
        c = law[j, 3]
        for i in range(6):
            free[j, i] = a * past[0, i] + b * past[1, i] + c * past[2, i]


@fused_kernel
def new_motion(law, free, move, past):
    """Replace `past` by the motion after a step of `move` (6,)."""
    for j in range(3):
        a = law[j, 0]
        for i in range(6):
            past[j, i] = a * move[i] + free[j, i]


@fused_kernel
def append_step(move, step, part, b):
    """Let log(exp(move) exp(part step)) be `move`, but for products of three; b: scratch (6,)."""
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        turn = move[3 + j] * step[3 + k] - move[3 + k] * step[3 + j]
        shift = move[3 + j] * step[k] - move[3 + k] * step[j]
        shift += move[j] * step[3 + k] - move[k] * step[3 + j]
        b[i] = part * (step[i] + 0.5 * shift)
        b[3 + i] = part * (step[3 + i] + 0.5 * turn)
    for i in range(6):
        move[i] += b[i]


@fused_kernel
def _gyroscopic(v, p, mass, out):
    """Write d(-ad_v' M v) / dv, p = M v."""
    for j in range(6):
        # (w x M_l, v x M_l + w x M_a), column by column
        out[0, j] = v[4] * mass[2, j] - v[5] * mass[1, j]
        out[1, j] = v[5] * mass[0, j] - v[3] * mass[2, j]
        out[2, j] = v[3] * mass[1, j] - v[4] * mass[0, j]
        out[3, j] = v[1] * mass[2, j] - v[2] * mass[1, j]
        out[4, j] = v[2] * mass[0, j] - v[0] * mass[2, j]
        out[5, j] = v[0] * mass[1, j] - v[1] * mass[0, j]
        out[3, j] += v[4] * mass[5, j] - v[5] * mass[4, j]
        out[4, j] += v[5] * mass[3, j] - v[3] * mass[5, j]
        out[5, j] += v[3] * mass[4, j] - v[4] * mass[3, j]
    for row in range(2):
        for part in range(2):
            if row == 0 and part == 0:
                continue
            # minus hat of the linear momentum, or of the angular one in the last block
            o = 3 if row == 1 and part == 1 else 0
            i = 3 * row
            j = 3 * part
            out[i, j + 1] += p[o + 2]
            out[i, j + 2] -= p[o + 1]
            out[i + 1, j] -= p[o + 2]
            out[i + 1, j + 2] += p[o]
            out[i + 2, j] += p[o + 1]
            out[i + 2, j + 1] -= p[o]


@fused_kernel
def inertial_wrench(mass, drag, law, free, move, work, force, tangent):
    """Write f = M v' - ad_v' M v + drag M v in the frame's axes, and df by its own motion.

    The tangent takes dD = (1 + ad_D / 2) eta for a motion eta of the frame: the rest of this
    series, of second order in D, would not save Newton's method a step.

    Parameters
    ----------
    mass : ndarray, shape (6, 6)
        Linear first.
    drag : float
        Of the mass [1/s].
    law, free, move : ndarray, shape (3, 4), (3, 6), (6,)
    work : ndarray, shape (8, 6)
    force, tangent : ndarray, shape (6,), (6, 6)
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
    force[0] += v[4] * p[2] - v[5] * p[1]
    force[1] += v[5] * p[0] - v[3] * p[2]
    force[2] += v[3] * p[1] - v[4] * p[0]
    force[3] += v[1] * p[2] - v[2] * p[1] + v[4] * p[5] - v[5] * p[4]
    force[4] += v[2] * p[0] - v[0] * p[2] + v[5] * p[3] - v[3] * p[5]
    force[5] += v[0] * p[1] - v[1] * p[0] + v[3] * p[4] - v[4] * p[3]
    _gyroscopic(v, p, mass, gyro)
    speed = law[0, 0]
    size = law[2, 0] + speed * drag
    d0 = 0.5 * move[0]
    d1 = 0.5 * move[1]
    d2 = 0.5 * move[2]
    w0 = 0.5 * move[3]
    w1 = 0.5 * move[4]
    w2 = 0.5 * move[5]
    for i in range(6):
        f0 = size * mass[i, 0] + speed * gyro[i, 0]
        f1 = size * mass[i, 1] + speed * gyro[i, 1]
        f2 = size * mass[i, 2] + speed * gyro[i, 2]
        t0 = size * mass[i, 3] + speed * gyro[i, 3]
        t1 = size * mass[i, 4] + speed * gyro[i, 4]
        t2 = size * mass[i, 5] + speed * gyro[i, 5]
        tangent[i, 0] = f0 + f1 * w2 - f2 * w1
        tangent[i, 1] = f1 + f2 * w0 - f0 * w2
        tangent[i, 2] = f2 + f0 * w1 - f1 * w0
        tangent[i, 3] = t0 + f1 * d2 - f2 * d1 + t1 * w2 - t2 * w1
        tangent[i, 4] = t1 + f2 * d0 - f0 * d2 + t2 * w0 - t0 * w2
        tangent[i, 5] = t2 + f0 * d1 - f1 * d0 + t0 * w1 - t1 * w0
