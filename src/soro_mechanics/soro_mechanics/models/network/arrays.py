# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The flat arrays that the network kernels work on.

Bodies are numbered with the ground as 0; rods own consecutive nodes and pieces, two-node elements,
so piece k of a rod joins its nodes k and k + 1. `Structure` stays, `Inputs` changes between
solves, `State` is what Newton moves, `Work` is scratch and results of the last assembly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels_by_reference import by_reference, copied
from soro_mechanics.models.network.kernels.element_lane_kernels import (
    ElementLanes,
    new_element_lanes,
)
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TABLE = 13  # numbers of a section: rest strain (6), flexibility (6), mass per length (1)

# In the shapes below `slots` counts rest strains and tensions of one rod.


@by_reference
class Counts(NamedTuple):
    """How many there are of what a robot is made of."""

    bodies: int  # with the ground
    rods: int
    nodes: int
    pieces: int
    slots: int  # of a rod
    maps: int  # from actuators to slots


@by_reference
class Structure(NamedTuple):
    """What a robot is made of."""

    counts: Counts
    rod_node: Integers  # (rods + 1,)
    rod_piece: Integers  # (rods + 1,)
    rod_body: Integers  # (rods, 2)
    attach: Floats  # (rods, 2, 4, 4)
    motor_axis: Floats  # (rods, 2, 3)
    offset: Floats  # (rods, 2, 4, 4)
    joint_kind: Integers  # (rods, 2)
    joint_axes: Floats  # (rods, 2, 2, 3)
    share: Floats  # (pieces,) length of the piece / length of its rod
    shift: Floats  # (pieces, strains, 6) rest strain per parameter
    change: Floats  # (pieces, 12) of rest strain and flexibility along a piece
    restiffened: NDArray[np.bool_]  # (rods,) whose pieces a drive makes stiffer or softer
    keeps_mass: Integers  # (rods,) 1: whatever its length
    tendon: Floats  # (pieces, tensions, 3) x, y in the section, 1 where it runs; or (0, 0, 3)
    keep_first: Integers  # (rods,) first node is an unknown: 0 no, 1 where a motor turns it, 2 yes
    map_index: Integers  # (maps, 3) actuator, rod, slot
    body_mass: Floats  # (bodies,)
    body_centre: Floats  # (bodies, 3)
    scale: Floats  # characteristic length [m], characteristic force [N]


@by_reference
class Inputs(NamedTuple):
    """What may change from one solve to the next."""

    length: Floats  # (rods,) [m]
    section: Floats  # (pieces, TABLE)
    stiffness: Floats  # (pieces, 6, 6) stress per twist
    dilution: Floats  # (rods,) mass per length, in parts of that of the section
    theta: Floats  # (rods, 2) motor angles
    tension: Floats  # (pieces, tensions) of driven tendons [N]
    pull: Floats  # (h, 2) of tendons whose length is held [m], slope by the actuator; -inf: loose
    map_gain: Floats  # (maps,) d slot / d actuator
    gravity: Floats  # (3,)
    dead: Floats  # (bodies, 6) wrench at the body's origin, base axes
    follower: Floats  # (bodies, 6) the same, body axes
    node_dead: Floats  # (nodes, 6), or (0, 6) where no node is loaded
    node_follower: Floats
    gap: Floats  # (rods, 4, 4)
    heavy: bool


@by_reference
class State(NamedTuple):
    """What equilibrium determines."""

    body: Floats  # (bodies, 4, 4)
    node: Floats  # (nodes, 4, 4)
    wrench: Floats  # (pieces, 6) stress
    joint: Floats  # (rods, 2, 3) angles
    spin: Floats  # (rods, 2, 3, 3) rotations of spherical joints
    tension: Floats  # (pieces, tensions) of tendons whose length is held


@by_reference
class Work(NamedTuple):
    """Scratch, and what the last assembly left."""

    closure: Floats  # (pieces, 6) twist that the stress lacks
    raw: Floats  # (pieces, 12) forces on the end frames
    force: Floats  # (pieces, 12) the same with the closure's correction
    tangent: Floats  # (pieces, 12, 12)
    params: Floats  # (pieces, 12, 1 + slots)
    grown: Floats  # (pieces, 6, 1 + strains) twist that a piece gains by length and rest strains
    twist: Floats  # (pieces, 6) log of the relative pose
    strain: Floats  # (pieces, 6, 12) and its derivative B
    eight: ElementLanes
    filled: Integers  # (8,) piece in each of these lanes
    end: Floats  # (rods, 2, 4, 4)
    basis: Floats  # (rods, 2, 6, 10)
    chain: Floats  # (nodes, 6, 14 + slots rounded up to whole lanes) eliminated nodes
    factor: Floats  # (nodes, 6, 8) their blocks L U and (column 6) the order of its rows
    super: Floats  # (rods, 12, 14 + slots)
    joints: Floats  # (rods, 6, 16 + slots) eliminated joint angles
    rod: Floats  # (rods, 14, 16 + slots) in (body a, motor a, body b, motor b)
    matrix: Floats  # (n, n), n = 6 (bodies - 1)
    vector: Floats  # (n,)
    columns: Floats  # (n, actuators)
    effort: Floats  # (actuators, n + actuators + 1)
    step_body: Floats  # (bodies, 6)
    step_node: Floats  # (nodes, 6)
    step_joint: Floats  # (rods, 2, 3)
    step_wrench: Floats  # (pieces, 6)
    dense: Floats  # (n, 2 n + actuators + 1) scratch of the top system
    balance: Floats  # (bodies, 6) internal minus applied wrench on every body, its own axes
    slots: Floats  # (rods, 3 + slots) change of every slot
    scratch: Floats  # (64, 48)


def new_work(s: Structure, actuators: int) -> Work:
    """Allocate the scratch of one thread."""
    bodies, rods, nodes, pieces, slots, _ = s.counts
    n = 6 * (bodies - 1)
    zeros = np.zeros
    return Work(
        closure=zeros((pieces, 6)),
        raw=zeros((pieces, 12)),
        force=zeros((pieces, 12)),
        tangent=zeros((pieces, 12, 12)),
        params=zeros((pieces, 12, 1 + slots)),
        grown=zeros((pieces, 6, 1 + s.shift.shape[1])),
        twist=zeros((pieces, 6)),
        strain=zeros((pieces, 6, 12)),
        eight=new_element_lanes(),
        filled=np.zeros(LANES, dtype=np.int64),
        end=zeros((rods, 2, 4, 4)),
        basis=zeros((rods, 2, 6, 10)),
        chain=zeros((nodes, 6, -(-(14 + slots) // LANES) * LANES)),
        factor=zeros((nodes, 6, LANES)),
        super=zeros((rods, 12, 14 + slots)),
        joints=zeros((rods, 6, 16 + slots)),
        rod=zeros((rods, 14, 16 + slots)),
        matrix=zeros((n, n)),
        vector=zeros(n),
        columns=zeros((n, actuators)),
        effort=zeros((actuators, n + actuators + 1)),
        step_body=zeros((bodies, 6)),
        step_node=zeros((nodes, 6)),
        step_joint=zeros((rods, 2, 3)),
        step_wrench=zeros((pieces, 6)),
        dense=zeros((n, 2 * n + actuators + 1)),
        balance=zeros((bodies, 6)),
        slots=zeros((rods, 3 + slots)),
        scratch=zeros((64, 48)),
    )


def new_state(s: Structure) -> State:
    """Return a state with every frame at the origin and no force."""
    bodies, rods, nodes, pieces = s.counts[:4]
    return State(
        np.tile(np.eye(4), (bodies, 1, 1)),
        np.tile(np.eye(4), (nodes, 1, 1)),
        np.zeros((pieces, 6)),
        np.zeros((rods, 2, 3)),
        np.tile(np.eye(3), (rods, 2, 1, 1)),
        np.zeros(s.tendon.shape[:2]),
    )


_STATE = ('body', 'node', 'wrench', 'joint', 'spin', 'tension')


def copy_state(state: State) -> State:
    """Return an independent copy."""
    return copied(state, *_STATE)
