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
1 / GA: the residual bending flexibility of MacNeal, which makes the element exact for small
motions. A is taken at the rest strain, driven strains included: what the load itself turns and
twists out of a plane keeps an error of second order.

Below twists are (v [m], w [rad]), wrenches (f [N], m [N m]); e and strains are per length, soft
and c diagonals of flexibility [1/N, 1/(N m^2)], a section (13,) is e0, c and mass per length.

Source: MacNeal (1978), Computers and Structures 8, 175-183, for a straight element; D is derived
here as said, checked in test_network_kernels.py and (order 4) test_network_element_order.py.
"""

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.vector_kernels import cross, each, pair_at, plus, plus_cross, times


@merged_kernel
def _turned(e, f):
    """Return ad_e f = (w_e x v_f + v_e x w_f, w_e x w_f) of two twists e, f."""
    return plus_cross(cross(e[1], f[0]), e[0], f[1]), cross(e[1], f[1])


@merged_kernel
def _soft_turned_back(soft, e, s):
    """Return soft ad_e' s = soft (f x w, f x v + m x w): e = (v, w), a wrench s = (f, m)."""
    moment = plus_cross(cross(s[0], e[0]), s[1], e[1])
    return each(soft[0], cross(s[0], e[1])), each(soft[1], moment)


@merged_kernel
def _sum(p, a, q, b):
    """Return p a + q b of two twists a, b and numbers p, q."""
    return plus(times(p, a[0]), times(q, b[0])), plus(times(p, a[1]), times(q, b[1]))


@merged_kernel
def _both_turned(e, soft, s):
    """Return ad_e soft s + soft ad_e' s: a twist e, a wrench s."""
    stretched = each(soft[0], s[0]), each(soft[1], s[1])
    return _sum(1.0, _turned(e, stretched), 1.0, _soft_turned_back(soft, e, s))


@kernel
def flexible_twist(section, change, powers, s):
    """Return D s [m, rad], or its derivative by the length: linear and angular part.

    D by the formula above. section (13,): in the middle; change (12,): De, Dc; powers: h [m],
    h^2 / 12, h^3 / 12, or their derivatives; s: stress (f, m).
    """
    e, c = pair_at(section, 0), pair_at(section, 6)
    varied = _both_turned(e, pair_at(change, 6), s)
    varied = _sum(1.0, varied, -1.0, _both_turned(pair_at(change, 0), c, s))
    bent = _turned(e, _soft_turned_back(c, e, s))
    stretched = each(c[0], s[0]), each(c[1], s[1])
    return _sum(1.0, _sum(powers[0], stretched, powers[1], varied), powers[2], bent)


@kernel
def shifted_twist(section, change, shift, powers, s):
    """Return the derivative of D s by a rest strain along `shift` (6,); else `flexible_twist`.

    h^2 / 12 (B Dc + Dc B') s + h^3 / 12 (B c A' + A c B') s, B = ad_shift; section (13,), change
    (12,), powers and s as there.
    """
    e, c, d = pair_at(section, 0), pair_at(section, 6), pair_at(shift, 0)
    bent = _turned(d, _soft_turned_back(c, e, s))
    bent = _sum(1.0, bent, 1.0, _turned(e, _soft_turned_back(c, d, s)))
    return _sum(powers[1], _both_turned(d, pair_at(change, 6), s), powers[2], bent)


@kernel
def powers_of(h):
    """Return h, h^2 / 12, h^3 / 12, which `flexible_twist` takes for D; h [m]."""
    return h, h * h / 12.0, h * h * h / 12.0


@kernel
def slopes_of(h):
    """Return 1, h / 6, h^2 / 4, which `flexible_twist` takes for dD / dh; h [m]."""
    return 1.0, h / 6.0, 0.25 * h * h


@merged_kernel
def _is_like_last(s, section, p):
    """Return whether piece p has section, change and share of the one before; s: Structure."""
    same = s.share[p] == s.share[p - 1]
    for i in range(12):
        same = same and section[p, i] == section[p - 1, i] and s.change[p, i] == s.change[p - 1, i]
    return same


@merged_kernel
def _stiffen_straight(section, change, powers, k):
    """Write the diagonal K of a straight and uniform element to k (6, 6); whether it is one.

    D = h c, but h c + h^3 / 12 e_z^2 c_bend of both shears: section (13,), change (12,), powers.
    """
    for i in range(12):
        if change[i] != 0.0 or (i < 6 and i != 2 and section[i] != 0.0):
            return False
    for i in range(6):
        for j in range(6):
            k[i, j] = 0.0
        k[i, i] = powers[0] * section[6 + i]
    for i in range(2):
        k[i, i] += powers[2] * section[2] * section[2] * section[10 - i]
    for i in range(6):
        k[i, i] = 1.0 / k[i, i]
    return True


@kernel
def stiffen_elements(s, length, section, rods, soft, stiffness):
    """Write K = D^-1 of the elements of some rods.

    s: Structure; length (rods,) [m]; section (pieces, 13): of every element; rods (rods,): True
    whose elements, the others keep what they have; soft (6, 6): scratch; stiffness (pieces, 6, 6):
    out, stress per twist [N/m, N/rad, N m/m, N m/rad].
    """
    for r in range(rods.shape[0]):
        if not rods[r]:
            continue
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            powers = powers_of(length[r] * s.share[p])
            if _stiffen_straight(section[p], s.change[p], powers, stiffness[p]):
                continue
            if p > s.rod_piece[r] and _is_like_last(s, section, p):
                for i in range(6):
                    for j in range(6):
                        stiffness[p, i, j] = stiffness[p - 1, i, j]
                continue
            for i in range(6):
                for j in range(6):
                    stiffness[p, i, j] = 1.0 if i == j else 0.0
            for j in range(6):  # column j of a unit matrix is its row
                v, w = flexible_twist(section[p], s.change[p], powers, pair_at(stiffness[p, j], 0))
                for i in range(3):
                    soft[i, j], soft[3 + i, j] = v[i], w[i]
            solve_in_place(soft, 6, stiffness[p], 6)
