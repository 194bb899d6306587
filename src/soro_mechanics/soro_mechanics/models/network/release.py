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
    layout: lay.Layout, x: Inputs, start: State, tolerance: float, side: float
) -> State | None:
    """Return where the motion from an unstable state ends; None where it does not settle.

    The layout has a node after every step of its integrated pieces; side, 1 or -1, tells which of
    the two ways to leave.
    """
    s, rng = layout.structure, np.random.default_rng(0)
    state = copy_state(start)
    size = side * NUDGE * float(s.scale[0])
    for nodes in layout.rod_nodes:
        for node in range(nodes.start + 1, nodes.stop - 1):
            state.node[node, :3, 3] += size * rng.normal(size=3)
    work = layout.work()
    converged, state, _, _ = relax(s, x, state, (work, new_state(s)), tolerance)
    return state if converged else None


def joined_state(layout: lay.Layout, cut: lay.Layout, state: State) -> State:
    """Return a state of the cut network for the network itself: the reverse of `cut_state`."""
    if cut is layout:
        return state
    out = new_state(layout.structure)
    out = out._replace(body=state.body, joint=state.joint, spin=state.spin)
    for r, rod in enumerate(layout.spec.rods):
        parts = layout.spec.steps if rod.macro else 1
        out.node[layout.rod_nodes[r]] = state.node[cut.rod_nodes[r]][::parts]
        out.wrench[layout.rod_pieces[r]] = state.wrench[cut.rod_pieces[r]][::parts]
    return out
