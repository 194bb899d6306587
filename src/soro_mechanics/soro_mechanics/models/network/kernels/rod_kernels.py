# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One rod: end frames, and force and tangent of its elements.

Below s: Structure; x: Inputs; state: State; w: Work; r: rod; p: piece; lanes: LANES; a, b (4, 4):
its frames [m]. Residuals are internal forces less loads, in the frames' own axes [N, N m].

Source: pieces as their modules say; loads on frames are derived here (d(R' F) = R' F x theta),
checked by differences in test_network_symmetries.py, weight in test_network_mass.py.
"""

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.models.network.kernels.element_flexibility_kernels import (
    flexible_twist,
    powers_of,
    shifted_twist,
    slopes_of,
)
from soro_mechanics.models.network.kernels.element_lane_kernels import (
    compute_elements,
    take_elements,
)
from soro_mechanics.models.network.kernels.element_strain_kernels import fill_element, LANES
from soro_mechanics.models.network.kernels.elimination_kernels import is_driven
from soro_mechanics.models.network.kernels.end_kernels import end_frame
from soro_mechanics.models.network.kernels.tendon_kernels import add_tendons
from soro_mechanics.numerics.lie_kernels import compose
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    cross,
    dot,
    dot_six,
    in_axes,
    minus,
    pair_at,
    plus_cross,
    put_vector,
    six_in_row,
    times,
    vector_at,
)


@kernel
def place_ends(s, x, state, w):
    """Write the end frames of every rod, body . w.end, to state.node; s, x, state, w: above."""
    for r in range(s.counts.rods):
        for e in range(2):
            node = s.rod_node[r] if e == 0 else s.rod_node[r + 1] - 1
            gap = x.gap[r] if e == 1 else state.body[0]
            end_frame(s, x, state, w, r, e, gap)
            compose(state.body[s.rod_body[r, e]], w.end[r, e], state.node[node])


@kernel
def assemble_pieces(s, x, state, w, gradient, exact, lanes):
    """Write force, tangent and parameter columns of every element.

    Loads on nodes are taken off. s, x, state, w, lanes: above; gradient: whether with columns of
    parameters; exact: see `evaluate`.
    """
    shifts = s.shift.shape[1] if gradient else -1
    assemble_elements(s, x, state, w, exact, lanes)
    for r in range(s.counts.rods):
        first = s.rod_node[r] - s.rod_piece[r]
        driven = is_driven(s, r, 1 + shifts)
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            a = state.node[first + p]
            b = state.node[first + p + 1]
            if x.heavy:
                add_element_weight(s, x, a, b, r, p, w)
            if driven:
                _element_params(s, x, r, p, w)
                if x.heavy:
                    _weight_params(s, x, a, b, r, p, w)
            if x.node_dead.shape[0] > 0:
                # on the second end's rows: the first end's rows give back the wrench there
                node = first + p + 1
                dead = x.node_dead[node]
                follower = x.node_follower[node]
                subtract_load(b, dead, follower, w.force[p, 6:], w.tangent[p, 6:, 6:])
                subtract_load(b, dead, follower, w.raw[p, 6:], w.scratch[0:6, 0:6])
    if s.tendon.shape[0] > 0:
        add_tendons(s, x, state, w, lanes)


@merged_kernel
def assemble_elements(s, x, state, w, exact, lanes):
    """Write force, tangent, twist and strain operator of all elements, without weight.

    s, x, state, w, lanes: above; exact: the stress of the geometric part is K e, not state.wrench.
    """
    full, left = 0, s.counts.pieces
    for r in range(s.counts.rods):
        first = s.rod_node[r] - s.rod_piece[r]
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            fill_element(
                state.node[first + p],
                state.node[first + p + 1],
                x.length[r] * s.share[p],
                x.section[p, 0:6],
                x.stiffness[p],
                state.wrench[p, 0 : 0 if exact else 6],
                full,
                w.eight.ends,
            )
            w.filled[full] = p
            full += 1
            left -= 1
            # one place of call: the compiler merges it into this loop, which saves a third
            if full == LANES or left == 0:
                compute_elements(w.eight, w.scratch[0:5, 0:6], lanes)
                take_elements(full, w.eight, w.filled, w)
                full = 0


@merged_kernel
def add_element_weight(s, x, a, b, r, p, w):
    """Take the weight of an element off the residual of its nodes; s, x, a, b, r, p, w: above.

    Of the centre line between nodes at p_a, p_b with tangents t_a, t_b along the rest strain the
    integral is h (p_a + p_b) / 2 + h^2 (t_a - t_b) / 12 (Hermite's cubic): to half the weight on
    each node comes a moment, which the next element's takes away again where the mesh is even.
    """
    h = x.length[r] * s.share[p]
    mass = x.section[p, 12] * x.dilution[r] * h
    for e in range(2):
        g = a if e == 0 else b
        o = 6 * e
        f = times(0.5 * mass, in_axes(g, x.gravity))
        _subtract_dead(f, o, o + 3, w.force[p], w.tangent[p])
        arm = (h if e == 0 else -h) / 6.0
        v = times(arm, vector_at(x.section[p], 0, 1))
        _subtract_lever(v, f, o, w.force[p], w.tangent[p])
        raw = w.raw[p]
        put_vector(raw, o, 1, minus(vector_at(raw, o, 1), f))
        put_vector(raw, o + 3, 1, plus_cross(vector_at(raw, o + 3, 1), f, v))


@merged_kernel
def _subtract_lever(v, f, o, force, tangent):
    """Take the moment v x f of a force fixed in space off the internal one; v turns along.

    d(v x f) = f (v . theta) - theta (v . f); v [m], f [N] (3,): in the frame's axes; o: its first
    row and column in force, tangent: out.
    """
    put_vector(force, o + 3, 1, plus_cross(vector_at(force, o + 3, 1), f, v))
    # d(v x f) = v x (f x theta) = f (v . theta) - theta (v . f)
    along = dot(v, f)
    for i in range(3):
        for j in range(3):
            tangent[o + 3 + i, o + 3 + j] -= f[i] * v[j]
        tangent[o + 3 + i, o + 3 + i] += along


@merged_kernel
def _element_params(s, x, r, p, w):
    """Write the derivatives of an element's force by the rod's length and rest strains.

    With K = D^-1 and the stress s = K (d - h e0): d(B' s) = -B' K g, g = d(h e0) + dD s. s, x, r,
    p: above; w.grown (6, 1 + rest strains): g, w.params (12, 1 + rest strains): out.
    """
    stress, lost, section, law = w.scratch[0, 0:6], w.scratch[1, 0:6], x.section[p], x.stiffness[p]
    h = x.length[r] * s.share[p]
    for i in range(6):
        lost[i] = w.twist[p, i] - h * section[i]
    for i in range(6):
        stress[i] = dot_six(six_in_row(law, i, 0), lost)
    held = pair_at(stress, 0)
    for column in range(1 + s.shift.shape[1]):
        if column == 0:
            grown, strain, slopes = s.share[p], section, times(s.share[p], slopes_of(h))
            v, u = flexible_twist(section, s.change[p], slopes, held)
        else:
            grown, strain = h, s.shift[p, column - 1]
            v, u = shifted_twist(section, s.change[p], strain, powers_of(h), held)
        for i in range(3):
            lost[i], lost[3 + i] = v[i] + grown * strain[i], u[i] + grown * strain[3 + i]
        for k in range(12):
            w.params[p, k, column] = 0.0
        for i in range(6):
            w.grown[p, i, column] = lost[i]
            push = dot_six(six_in_row(law, i, 0), lost)
            for k in range(12):
                w.params[p, k, column] -= push * w.strain[p, i, k]


@merged_kernel
def _weight_params(s, x, a, b, r, p, w):
    """Take the derivatives of `add_element_weight` off w.params; s, x, a, b, r, p: above.

    By the length: of h^2 (h alone where the mass is kept), by rest strains: of the lever alone.
    """
    h = x.length[r] * s.share[p]
    # per length: the mass grows with it unless it is kept, its lever grows by itself
    grows = 0.0 if s.keeps_mass[r] == 1 else 1.0
    for e in range(2):
        o = 6 * e
        mass = 0.5 * x.section[p, 12] * x.dilution[r] * s.share[p]
        f = times(mass, in_axes(a if e == 0 else b, x.gravity))
        for i in range(3):
            w.params[p, o + i, 0] -= grows * f[i]
        arm = (h if e == 0 else -h) / 6.0
        for column in range(1 + s.shift.shape[1]):
            if column == 0:
                v = times(arm * (1.0 + grows), vector_at(x.section[p], 0, 1))
            else:
                v = times(arm * x.length[r], vector_at(s.shift[p, column - 1], 0, 1))
            moment = cross(v, f)
            for i in range(3):
                w.params[p, o + 3 + i, column] -= moment[i]


@kernel
def length_force(s, x, state, r):
    """Return dU/dL of rod r [N], its nodes held: what has to press more of it in.

    -sum share (F . e0 + F . D' F / 2), F the stress of an element, D' by its length; a rod that
    keeps no mass is fed at its first end, against mu g . (first - middle), the middle as in
    `add_element_weight`. s, x, state: above.
    """
    total, n0 = 0.0, s.rod_node[r]
    for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
        section, held, h = x.section[p], pair_at(state.wrench[p], 0), x.length[r] * s.share[p]
        v, u = flexible_twist(section, s.change[p], slopes_of(h), held)
        own = dot(held[0], vector_at(section, 0, 1)) + 0.5 * dot(held[0], v)
        own += dot(held[1], vector_at(section, 3, 1)) + 0.5 * dot(held[1], u)
        if x.heavy and s.keeps_mass[r] == 0:
            a, b = state.node[n0 + p - s.rod_piece[r]], state.node[n0 + p - s.rod_piece[r] + 1]
            for i in range(3):
                middle = 0.5 * (a[i, 3] + b[i, 3]) + h / 12.0 * (a[i, 2] - b[i, 2])
                fed = middle - state.node[n0, i, 3]
                own += x.dilution[r] * section[12] * x.gravity[i] * fed
        total -= s.share[p] * own
    return total


@kernel
def _subtract_dead(f, o, turn, force, tangent):
    """Take f (3,), fixed in space but seen in the frame's axes, off rows o to o + 2 of a residual.

    force -= f, tangent -= f^; turn: first of the columns of the frame's rotation.
    """
    put_vector(force, o, 1, minus(vector_at(force, o, 1), f))
    # d(R' F) = (R' F) x theta
    add_hat(tangent, o, turn, times(-1.0, f))


@kernel
def subtract_load(g, dead, follower, force, tangent):
    """Take a dead wrench (base axes) and a following one (own axes) off a frame's residual.

    g (4, 4): the frame; dead, follower (6,) [N, N m]; force (6,), tangent (6, 6): out.
    """
    for o in range(0, 6, 3):
        _subtract_dead(in_axes(g, vector_at(dead, o, 1)), o, 3, force, tangent)
    for i in range(6):
        force[i] -= follower[i]


@kernel
def subtract_weight(g, mass, centre, gravity, force, tangent):
    """Take the weight of a body, at its centre of mass, off the body's residual: f, centre x f.

    f = mass R' gravity; g (4, 4): the body; mass [kg]; centre (3,): own axes [m]; gravity (3,):
    base axes [m/s^2]; force (6,), tangent (6, 6): out.
    """
    f = times(mass, in_axes(g, gravity))
    _subtract_dead(f, 0, 3, force, tangent)
    _subtract_lever(vector_at(centre, 0, 1), f, 0, force, tangent)
