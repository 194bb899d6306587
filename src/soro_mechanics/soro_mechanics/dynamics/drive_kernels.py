# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From what the actuators are set to, to the inputs of a step, in place: only what has changed.

Source: derived here; test_dynamics_robots.py checks the inputs against those of statics.
"""

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.network.kernels.element_flexibility_kernels import stiffen_elements
from soro_mechanics.numerics.curve_kernels import curve_value


@kernel
def weigh_nodes(s, x, m):
    """Write the inertia m.node_mass of the nodes: half of every element's at each of its ends.

    length dilution mass [kg, kg m^2], m.mass of half an element per length of its rod. s:
    Structure; x: Inputs, with the lengths of the rods; m: Motion, out.
    """
    for r in range(s.counts.rods):
        first = s.rod_node[r] - s.rod_piece[r]
        for k in range(s.rod_node[r], s.rod_node[r + 1]):
            for i in range(6):
                m.node_mass[k, i, i] = 0.0
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            for i in range(6):
                half = x.length[r] * x.dilution[r] * m.mass[p, i]
                m.node_mass[first + p, i, i] += half
                m.node_mass[first + p + 1, i, i] += half


@kernel
def drive_inputs(s, x, m, d, room):
    """Write what d.actuation asks for into x, and the nodes' inertia into m.

    value = curve(actuation) + offset; flat[place] = base + slope value. Nothing where no value
    changed. s: Structure; x: Inputs; m: Motion; d: Drives; room (10 or more, 6 or more): scratch.
    """
    changed = False
    for k in range(d.actuator.shape[0]):
        value = d.actuation[d.actuator[k]]
        if d.first[k + 1] > d.first[k]:
            i, j = d.first[k], d.first[k + 1]
            value, _ = curve_value(d.curve[0, i:j], d.curve[1, i:j], d.curve[2, i:j], value)
        value += d.offset[k]
        changed = changed or value != d.present[k]
        d.present[k] = value
    if not changed:
        return
    for i in range(d.place.shape[0]):
        value = d.base[i]
        for k in range(d.present.shape[0]):
            value += d.slope[i, k] * d.present[k]
        d.flat[d.place[i]] = value
    for r in range(s.counts.rods):
        if s.keeps_mass[r] == 1:
            x.dilution[r] = d.length[r] / x.length[r]
    stiffen_elements(s, x.length, x.section, s.restiffened, room[0:6, 0:6], x.stiffness)
    weigh_nodes(s, x, m)
