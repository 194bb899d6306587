# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The flat arrays that the network kernels work on.

Bodies are numbered with the ground as 0; rods own consecutive nodes and pieces, so piece k of a
rod joins its nodes k and k + 1. `Structure` never changes, `Inputs` changes between solves,
`State` is what Newton moves, `Work` is scratch and results of the last assembly.
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
from soro_mechanics.models.network.kernels.lane_kernels import LANES, LOAD, TABLE
from soro_mechanics.models.network.kernels.lane_variation_kernels import (
    result_size,
    variation_size,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# In the shapes below `slots` counts rest strains and tensions of one rod.


@by_reference
class Counts(NamedTuple):
    """How many there are of what a robot is made of."""

    bodies: int  # with the ground
    rods: int
    nodes: int
    pieces: int
    steps: int  # of an integrated piece
    slots: int  # of a rod
    maps: int  # from actuators to slots
    batches: int  # of integrated pieces, `LANES` each


@by_reference
class Structure(NamedTuple):
    """What a robot is made of."""

    counts: Counts
    rod_node: Integers  # (rods + 1,)
    rod_piece: Integers  # (rods + 1,)
    rod_body: Integers  # (rods, 2)
    rod_macro: Integers  # (rods,) 1: integrated pieces, 0: two-node elements
    attach: Floats  # (rods, 2, 4, 4)
    motor_axis: Floats  # (rods, 2, 3)
    offset: Floats  # (rods, 2, 4, 4)
    joint_kind: Integers  # (rods, 2)
    joint_axes: Floats  # (rods, 2, 2, 3)
    share: Floats  # (pieces,) length of the piece / length of its rod
    lane: Integers  # (pieces,) index among the integrated pieces, or -1
    shift: Floats  # (pieces, strains, 6) rest strain per parameter
    change: Floats  # (pieces, 12) of rest strain and flexibility along two-node elements
    keeps_mass: Integers  # (rods,) 1: whatever its length
    tendon: Floats  # (pieces, tensions, 3) x, y in the section, 1 where it runs; or (0, 0, 3)
    drive: Floats  # (9 + strains, 9) columns of the variation: W0, weight, rest strains
    lane_shift: Floats  # (batches, columns * 6 * LANES) their rest strains
    light_drive: Floats  # the same without the columns of the weight
    light_shift: Floats
    keep_first: Integers  # (rods,) first node is an unknown: 0 no, 1 where a motor turns it, 2 yes
    map_index: Integers  # (maps, 3) actuator, rod, slot
    body_mass: Floats  # (bodies,)
    body_centre: Floats  # (bodies, 3)
    scale: Floats  # characteristic length [m], characteristic force [N]


@by_reference
class Inputs(NamedTuple):
    """What may change from one solve to the next."""

    length: Floats  # (rods,) [m]
    table: Floats  # (batches, 2 steps + 1, TABLE * LANES) sections of integrated pieces
    section: Floats  # (pieces, TABLE) sections of two-node elements
    stiffness: Floats  # (pieces, 6, 6) stress of two-node elements per twist
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
    wrench: Floats  # (pieces, 6) at the first end of integrated pieces; stress of elements
    joint: Floats  # (rods, 2, 3) angles
    spin: Floats  # (rods, 2, 3, 3) rotations of spherical joints
    tension: Floats  # (pieces, tensions) of tendons whose length is held


@by_reference
class Work(NamedTuple):
    """Scratch, and what the last assembly left."""

    lanes: Floats  # (batches, 4, columns)
    variation: Floats  # scratch of the derivative of one batch
    load: Floats  # (batches, LOAD * LANES)
    h: Floats  # (pieces, 4, 4)
    closure: Floats  # (pieces, 6)
    raw: Floats  # (pieces, 12) forces on the end frames
    force: Floats  # (pieces, 12) the same with the closure's correction
    tangent: Floats  # (pieces, 12, 12)
    params: Floats  # (pieces, 12, 1 + slots)
    pull: Floats  # (pieces, 6, 12 + tensions) what tendons added to the first end; or (0, 6, 12)
    twist: Floats  # (pieces, 6) log of the relative pose of two-node elements
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
    no_path: Floats  # (steps + 1, 0)
    scratch: Floats  # (64, 48)
    signs: Integers  # (pieces,) sign of det Phi


def new_work(s: Structure, actuators: int) -> Work:
    """Allocate the scratch of one thread."""
    bodies, rods, nodes, pieces, steps, slots, _, batches = s.counts
    n = 6 * (bodies - 1)
    columns = 9 + s.shift.shape[1]
    zeros = np.zeros
    return Work(
        lanes=zeros((batches, 4, result_size(columns))),
        variation=zeros(variation_size(columns)),
        load=zeros((batches, LOAD * LANES)),
        h=zeros((pieces, 4, 4)),
        closure=zeros((pieces, 6)),
        raw=zeros((pieces, 12)),
        force=zeros((pieces, 12)),
        tangent=zeros((pieces, 12, 12)),
        params=zeros((pieces, 12, 1 + slots)),
        pull=zeros((s.tendon.shape[0], 6, 12 + s.tendon.shape[1])),
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
        no_path=zeros((steps + 1, 0)),
        scratch=zeros((64, 48)),
        signs=np.ones(pieces, dtype=np.int64),
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


def lane_shifts(shift: Floats, lane: Integers, batches: int, weight: int) -> Floats:
    """Return `lane_shift` with columns for W0, `weight` directions and the rest strains."""
    first = 6 + weight
    lanes = np.zeros((batches, first + shift.shape[1], 6, LANES))
    for piece, index in enumerate(lane):
        if index >= 0:
            lanes[index // LANES, first:, :, index % LANES] = shift[piece]
    return lanes.reshape(batches, (first + shift.shape[1]) * 6 * LANES)


def lane_table(section: Floats, lane: Integers, batches: int) -> Floats:
    """Return `table` from sections (pieces, 2 steps + 1, TABLE) of the integrated pieces.

    Lanes without a piece repeat the first one: they cost nothing and stay finite.
    """
    stations = section.shape[1]
    pieces = np.flatnonzero(lane >= 0)
    order = np.full(batches * LANES, pieces[0] if pieces.size else 0)
    order[lane[pieces]] = pieces
    lanes = section[order].reshape(batches, LANES, stations, TABLE)
    return lanes.transpose(0, 2, 3, 1).reshape(batches, stations, TABLE * LANES)
