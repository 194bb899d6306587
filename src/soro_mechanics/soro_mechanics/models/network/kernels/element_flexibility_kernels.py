# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Flexibility of a two-node element whose stress varies along it as equilibrium demands.

A constant strain is what the element's two frames show, not what the rod has: between them the
moment varies with the shear force, and the rod bends more than by its mean curvature. To the third
order of the length h, with A = ad_e0, c and e0 of the section in the middle, Dc and De their
change over the element, the relative twist d = log(g_a^-1 g_b) is

    d = h e0 + D s,
    D = h c + h^2 / 12 (A Dc + Dc A' - ad_De c - c ad_De') + h^3 / 12 A c A'

which follows from the Magnus expansion of the pose and F' = ad' F of the wrench (the energy of a
stress that varies linearly). Of a straight, uniform rod all it does is to add h^2 / (12 EI) to
1 / GA: the residual bending flexibility of MacNeal (1978, Computers and Structures 8, 175-183),
which makes the element exact for small motions. A is taken at the rest strain, driven strains
included: what the load itself turns and twists out of a plane keeps an error of second order.
"""

from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.kernels import kernel
from soro_mechanics.numerics.vector_kernels import cross, plus_cross, put_vector, vector_at


@kernel
def _turned(e, f, out):
    """Write ad_e f: e, f and out are twists."""
    turn, moved = vector_at(e, 3, 1), vector_at(f, 3, 1)
    shift = cross(turn, vector_at(f, 0, 1))
    put_vector(out, 0, 1, plus_cross(shift, vector_at(e, 0, 1), moved))
    put_vector(out, 3, 1, cross(turn, moved))


@kernel
def _turned_back(e, f, out):
    """Write ad_e' f: e is a twist, f and out are wrenches."""
    turn, force = vector_at(e, 3, 1), vector_at(f, 0, 1)
    moment = cross(force, vector_at(e, 0, 1))
    put_vector(out, 0, 1, cross(force, turn))
    put_vector(out, 3, 1, plus_cross(moment, vector_at(f, 3, 1), turn))


@kernel
def _add_turned(e, soft, s, size, work, out):
    """Add size (ad_e soft s + soft ad_e' s) to a twist; soft (6,) is a diagonal."""
    a = work[0]
    b = work[1]
    for i in range(6):
        a[i] = soft[i] * s[i]
    _turned(e, a, b)
    for i in range(6):
        out[i] += size * b[i]
    _turned_back(e, s, a)
    for i in range(6):
        out[i] += size * soft[i] * a[i]


@kernel
def _add_bent(left, right, soft, s, size, work, out):
    """Add size ad_left soft ad_right' s to a twist."""
    a = work[0]
    b = work[1]
    _turned_back(right, s, a)
    for i in range(6):
        a[i] *= soft[i]
    _turned(left, a, b)
    for i in range(6):
        out[i] += size * b[i]


@kernel
def flexible_twist(section, change, powers, s, work, out):
    """Write D s, or its derivative by the length.

    Parameters
    ----------
    section : ndarray, shape (13,)
        Rest strain e0 (6), flexibility c (6).
    change : ndarray, shape (12,)
        Of both over the element.
    powers : tuple of float
        h, h^2 / 12 and h^3 / 12; or their derivatives.
    s, out : ndarray, shape (6,)
        Stress; twist.
    work : ndarray, shape (2, 6)
    """
    e = section[0:6]
    c = section[6:12]
    for i in range(6):
        out[i] = powers[0] * c[i] * s[i]
    _add_turned(e, change[6:12], s, powers[1], work, out)
    _add_turned(change[0:6], c, s, -powers[1], work, out)
    _add_bent(e, e, c, s, powers[2], work, out)


@kernel
def shifted_twist(section, change, shift, powers, s, work, out):
    """Write the derivative of D s by a rest strain along `shift` (6,); else `flexible_twist`."""
    for i in range(6):
        out[i] = 0.0
    _add_turned(shift, change[6:12], s, powers[1], work, out)
    _add_bent(shift, section[0:6], section[6:12], s, powers[2], work, out)
    _add_bent(section[0:6], shift, section[6:12], s, powers[2], work, out)


@kernel
def powers_of(h):
    """Return what `flexible_twist` takes for D."""
    return h, h * h / 12.0, h * h * h / 12.0


@kernel
def slopes_of(h):
    """Return what `flexible_twist` takes for dD / dh."""
    return 1.0, h / 6.0, 0.25 * h * h


@kernel
def stiffen_elements(s, length, section, rods, room, stiffness):
    """Write D^-1 of the two-node elements of some rods.

    Parameters
    ----------
    s : Structure
    length : ndarray, shape (rods,)
    section : ndarray, shape (pieces, 13)
        Rest strain, flexibility and mass per length of every element.
    rods : ndarray of bool, shape (rods,)
        Whose elements; the others keep what they have.
    room : ndarray, shape (10, 6)
        Scratch.
    stiffness : ndarray, shape (pieces, 6, 6)
        Out: stress per twist.
    """
    soft = room[0:6]
    unit = room[6]
    work = room[7:9]
    column = room[9]
    for r in range(rods.shape[0]):
        if not rods[r] or s.rod_macro[r] == 1:
            continue
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            powers = powers_of(length[r] * s.share[p])
            for j in range(6):
                for i in range(6):
                    unit[i] = 1.0 if i == j else 0.0
                    stiffness[p, i, j] = unit[i]
                flexible_twist(section[p], s.change[p], powers, unit, work, column)
                for i in range(6):
                    soft[i, j] = column[i]
            solve_in_place(soft, 6, stiffness[p], 6)
