# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The flat arrays that a network in motion has besides those of its statics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.models.network.arrays import Floats, new_state, State, Structure


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
    prony: Floats  # (3,) modulus of the branch, what a step keeps of it, what a strain adds to it
    branch: Floats  # (pieces, 6) twist of the branch's spring
    point: Floats  # (points, 5) body, place, radius
    surface: Floats  # (surfaces, 8) shape, size (3), law (4): see `contact_kernels`
    place: Floats  # (surfaces, 4, 4)
    touch: Floats  # (points, surfaces, 8) force (base axes), stored energy, lost power, sliding
    touch_work: Floats  # (18, 6) scratch
    limits: Floats  # (6,) see `advance` and `take_step`
    old: State  # scratch


def new_motion(s: Structure, points: int = 0, surfaces: int = 0) -> Motion:
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
        'prony': (3,),
        'point': (points, 5),
        'surface': (surfaces, 8),
        'place': (surfaces, 4, 4),
        'touch': (points, surfaces, 8),
        'touch_work': (18, 6),
        'limits': (6,),
    }
    arrays = {name: np.zeros(n) for name, n in shapes.items()}
    return Motion(start=new_state(s), old=new_state(s), **arrays)
