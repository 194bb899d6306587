# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The flat arrays that a network in motion has besides those of its statics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soro_mechanics.models.network.arrays import Floats, new_state, State, Structure


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


def new_motion(s: Structure) -> Motion:
    """Return a motion at rest without inertia."""
    bodies, rods, nodes, pieces = (int(x) for x in s.counts[:4])
    zeros = np.zeros
    return Motion(
        law=zeros((3, 4)),
        drag=zeros(1),
        retardation=zeros(pieces),
        node_mass=zeros((nodes, 6, 6)),
        body_mass=zeros((bodies, 6, 6)),
        start=new_state(s),
        node_past=zeros((nodes, 3, 6)),
        node_free=zeros((nodes, 3, 6)),
        node_move=zeros((nodes, 6)),
        body_past=zeros((bodies, 3, 6)),
        body_free=zeros((bodies, 3, 6)),
        body_move=zeros((bodies, 6)),
        body_tangent=zeros((bodies, 6, 6)),
        load=zeros((bodies, 6)),
        twist=zeros((pieces, 6)),
        twist_past=zeros((pieces, 3, 6)),
        twist_free=zeros((pieces, 3, 6)),
        length=zeros(rods),
        length_past=zeros((rods, 3, 6)),
        length_free=zeros((rods, 3, 6)),
        joint_move=zeros((rods, 2, 3)),
        wrench_move=zeros((pieces, 6)),
    )
