# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a robot comes to rest that leaves an unstable equilibrium.

A push at the tip does not find that where a rod buckles between its ends. So the nodes inside the
rods are moved a little at random, integrated pieces cut into their steps first, and the viscous
motion from there is followed.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import copy_state, Inputs, new_state, State
from soro_mechanics.models.network.relaxation import relax

NUDGE = 1e-3  # of the rods' mean length


def release(
    layout: lay.Layout, x: Inputs, start: State, tolerance: float, side: float, seed: int = 0
) -> State | None:
    """Return where the motion from an unstable state ends; None where it does not settle.

    Parameters
    ----------
    layout : Layout
        With a node after every step of its integrated pieces; x and start belong to it.
    side : float
        1 or -1: which of the two ways to leave.
    """
    s, rng = layout.structure, np.random.default_rng(seed)
    state = copy_state(start)
    size = side * NUDGE * float(s.scale[0])
    for r in range(int(s.counts[1])):
        for node in range(int(s.rod_node[r]) + 1, int(s.rod_node[r + 1]) - 1):
            state.node[node, :3, 3] += size * rng.normal(size=3)
    work = layout.work()
    converged, state, _, _ = relax(s, x, state, (work, new_state(s)), tolerance)
    return state if converged else None


def joined_state(layout: lay.Layout, cut: lay.Layout, state: State) -> State:
    """Return a state of the cut network for the network itself: the reverse of `cut_state`."""
    if cut is layout:
        return state
    s, t = layout.structure, cut.structure
    out = new_state(s)._replace(body=state.body, joint=state.joint, spin=state.spin)
    for r in range(int(s.counts[1])):
        parts = int(s.counts[4]) if s.rod_macro[r] == 1 else 1
        nodes = slice(int(t.rod_node[r]), int(t.rod_node[r + 1]), parts)
        out.node[int(s.rod_node[r]) : int(s.rod_node[r + 1])] = state.node[nodes]
        pieces = slice(int(t.rod_piece[r]), int(t.rod_piece[r + 1]), parts)
        out.wrench[int(s.rod_piece[r]) : int(s.rod_piece[r + 1])] = state.wrench[pieces]
    return out
