# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The shape between nodes: poses and section wrenches after every step of integrated pieces."""

from soro_mechanics.models.network.kernels.lane_kernels import BASE, integrate_lanes, Variation
from soro_mechanics.models.network.kernels.rod_kernels import fill_loads
from soro_mechanics.numerics.kernels import kernel, makes_arrays
from soro_mechanics.numerics.lie_kernels import compose


@makes_arrays
@kernel
def trace(s, x, state, w, paths, pose, wrench, lanes):
    """Write pose (stations, 4, 4) and wrench (stations, 6), rods one after the other.

    An integrated piece adds a station after each of its steps, an element one at its end. The
    wrench is that of the section, in its own axes; elements leave it at zero. paths is scratch,
    shape (batches, steps + 1, BASE * LANES).
    """
    fill_loads(s, x, state, w)
    steps = s.counts[4]
    for b in range(s.counts[7]):
        v = Variation(0, s.drive, s.lane_shift[b], x.heavy)
        integrate_lanes(w.load[b], x.table[b], steps, v, w.lanes[b], paths[b], lanes)
    row = 0
    h = w.scratch[0:4, 0:4]
    for r in range(s.counts[1]):
        pose[row] = state.node[s.rod_node[r]]
        row += 1
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            a = state.node[s.rod_node[r] + p - s.rod_piece[r]]
            if s.rod_macro[r] == 0:
                pose[row] = state.node[s.rod_node[r] + p - s.rod_piece[r] + 1]
                row += 1
                continue
            batch = s.lane[p] // 8
            k = s.lane[p] % 8
            load = w.load[batch]
            for step in range(steps + 1):
                y = paths[batch, step]
                for i in range(3):
                    for j in range(3):
                        h[i, j] = y[(3 * i + j) * 8 + k]
                    h[i, 3] = y[(9 + i) * 8 + k]
                _section_wrench(y, load, k, h, wrench[row - 1 if step == 0 else row])
                if step > 0:
                    compose(a, h, pose[row])
                    row += 1


@kernel
def _section_wrench(y, load, k, h, out):
    weight = y[(BASE - 1) * 8 + k]
    n0 = load[k] - weight * load[48 + k]
    n1 = load[8 + k] - weight * load[56 + k]
    n2 = load[16 + k] - weight * load[64 + k]
    m0 = load[24 + k] - y[96 + k] - (h[1, 3] * n2 - h[2, 3] * n1)
    m1 = load[32 + k] - y[104 + k] - (h[2, 3] * n0 - h[0, 3] * n2)
    m2 = load[40 + k] - y[112 + k] - (h[0, 3] * n1 - h[1, 3] * n0)
    for i in range(3):
        out[i] = h[0, i] * n0 + h[1, i] * n1 + h[2, i] * n2
        out[3 + i] = h[0, i] * m0 + h[1, i] * m1 + h[2, i] * m2
