# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The shape between nodes: poses and section wrenches after every step of integrated pieces.

Source: the steps of `lane_kernels`; test_network_spread_loads.py balances wrenches with a load,
test_network_validity.py closes the shape to a ring.
"""

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.network.kernels.lane_kernels import BASE, integrate_lanes, Variation
from soro_mechanics.models.network.kernels.piece_kernels import predicted_pose, section_wrench
from soro_mechanics.models.network.kernels.rod_kernels import fill_loads
from soro_mechanics.numerics.lie_kernels import compose


@kernel
def trace(s, x, state, w, pose, wrench, lanes):
    """Write pose (stations, 4, 4) and wrench (stations, 6), rods one after the other.

    An integrated piece adds a station after each of its steps, an element one at its end. The
    wrench [N, N m] is that of the section, in its own axes; elements leave it at zero.
    s: Structure; x: Inputs; state: State; w: Work; lanes: LANES.
    """
    fill_loads(s, x, state, w)
    wrench[:] = 0.0
    steps = s.counts.steps
    paths = np.empty((s.counts.batches, steps + 1, BASE * lanes))
    for b in range(s.counts.batches):
        v = Variation(0, s.drive, s.lane_shift[b], x.heavy)
        integrate_lanes(w.load[b], x.table[b], steps, v, w.lanes[b], paths[b], lanes)
    row = 0
    h = w.scratch[0:4, 0:4]
    for r in range(s.counts.rods):
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
                predicted_pose(y, k, h)
                section_wrench(y, load, k, h, wrench[row - 1 if step == 0 else row])
                if step > 0:
                    compose(a, h, pose[row])
                    pose[row, 3, 0] = pose[row, 3, 1] = pose[row, 3, 2] = 0.0
                    pose[row, 3, 3] = 1.0
                    row += 1
