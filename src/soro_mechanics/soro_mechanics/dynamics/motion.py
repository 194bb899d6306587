# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The flat arrays that a network in motion has besides those of its statics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.models.network.arrays import Floats, Integers, new_state, State, Structure


@by_reference
class Limits(NamedTuple):
    """What the present step has to keep, all (1,)."""

    most: Integers  # Newton steps
    tolerance: Floats  # of the scaled residual
    trusted: Floats  # what Newton's method makes of a smaller residual is the solution, unseen
    max_error: Floats  # of positions [m], with which a step is taken
    error: Floats  # of positions, per change of an acceleration in the step [s^2]
    ratio: Floats  # of this step and the last one


@by_reference
class Prony(NamedTuple):
    """Maxwell branch of the material in the present step, all (1,); see `branch_law`."""

    gain: Floats  # stiffness of the branch per that of the element
    kept: Floats  # part of its twist that is left after the step
    added: Floats  # to its twist, per change of the element's


@by_reference
class Balls(NamedTuple):
    """Balls fixed on bodies, (balls,) each."""

    body: Integers
    radius: Floats  # [m]
    centre: Floats  # (balls, 3) in the body's frame [m]


@by_reference
class Solids(NamedTuple):
    """Solids that stand still, (solids,) each; see `contact.Solid`."""

    shape: Integers  # PLANE, SPHERE or BOX of `contact_kernels`
    size: Floats  # (solids, 3) [m]
    place: Floats  # (solids, 4, 4) in base_link
    stiffness: Floats  # [N/m^1.5]
    dissipation: Floats  # [s/m]
    friction: Floats
    slip: Floats  # [m/s]


@by_reference
class Touches(NamedTuple):
    """What every solid does to every ball, (balls, solids) each."""

    stored: Floats  # energy [J]
    lost: Floats  # power [W]
    force: Floats  # (balls, solids, 3) on the ball, axes of base_link [N]
    sliding: Floats  # (balls, solids, 3) velocity, axes of the ball's body [m/s]


@by_reference
class Motion(NamedTuple):
    """Inertia, and how everything moved at the beginning of the present step.

    `past` and `free` hold velocity, auxiliary acceleration and acceleration: at the beginning, and
    at the end if the frame stayed (see `inertia_kernels`). Twists are in the frames' own axes.
    """

    law: Floats  # (3, 4) of the present step
    drag: Floats  # (1,) of all mass [1/s]
    retardation: Floats  # (pieces,) [s]
    node_mass: Floats  # (nodes, 6, 6)
    body_mass: Floats  # (bodies, 6, 6)
    start: State  # at the beginning of the step
    node_past: Floats  # (nodes, 3, 6)
    node_free: Floats
    node_move: Floats  # (nodes, 6) in the step
    body_past: Floats  # (bodies, 3, 6)
    body_free: Floats
    body_move: Floats
    body_tangent: Floats  # (bodies, 6, 6) of the inertial wrench
    load: Floats  # (bodies, 6) following loads without inertia
    twist: Floats  # (pieces, 6) relative twist of the elements at the beginning
    twist_past: Floats  # (pieces, 3, 6) its derivatives; the third is not used
    twist_free: Floats
    length: Floats  # (rods,) at the beginning
    length_past: Floats  # (rods, 3, 6), the first column
    length_free: Floats
    joint_move: Floats  # (rods, 2, 3) in the last step
    wrench_move: Floats  # (pieces, 6)
    mass: Floats  # (pieces, 6) of half an element, translations and turns, per length of its rod
    prony: Prony
    branch: Floats  # (pieces, 6) twist of the branch's spring
    ball: Balls
    solid: Solids
    touch: Touches
    touch_work: Floats  # (18, 6) scratch
    limits: Limits
    old: State  # scratch


def new_motion(s: Structure, balls: int = 0, solids: int = 0) -> Motion:
    """Return a motion at rest without inertia or contacts."""
    bodies, rods, nodes, pieces = s.counts[:4]
    sizes = {'node': nodes, 'body': bodies, 'twist': pieces, 'length': rods}
    shapes: dict[str, tuple[int, ...]] = {
        **{f'{name}_{when}': (n, 3, 6) for name, n in sizes.items() for when in ('past', 'free')},
        **{f'{name}_move': (sizes[name], 6) for name in ('node', 'body')},
        **{f'{name}_mass': (sizes[name], 6, 6) for name in ('node', 'body')},
        **{name: (pieces, 6) for name in ('twist', 'wrench_move', 'mass', 'branch')},
        'law': (3, 4),
        'drag': (1,),
        'retardation': (pieces,),
        'body_tangent': (bodies, 6, 6),
        'load': (bodies, 6),
        'length': (rods,),
        'joint_move': (rods, 2, 3),
        'touch_work': (18, 6),
    }
    kinds, both = np.zeros(solids, np.int64), (2, balls, solids)
    return Motion(
        start=new_state(s),
        old=new_state(s),
        limits=Limits(np.zeros(1, np.int64), *np.zeros((5, 1))),
        prony=Prony(*np.zeros((3, 1))),
        ball=Balls(np.zeros(balls, np.int64), np.zeros(balls), np.zeros((balls, 3))),
        solid=Solids(
            kinds, np.zeros((solids, 3)), np.zeros((solids, 4, 4)), *np.zeros((4, solids))
        ),
        touch=Touches(*np.zeros(both), *np.zeros((*both, 3))),
        **{name: np.zeros(n) for name, n in shapes.items()},
    )
