# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small motions around an equilibrium: frequencies, damping ratios, shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.dynamics.stepper import Stepper
from soro_mechanics.models.network.kernels.end_kernels import joint_geometry
from soro_mechanics.models.network.kernels.rod_kernels import subtract_load, subtract_weight

MOTOR = 6  # column of an end's basis; joint angles follow


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes, the slowest first, the actuators held.

    `damping` is that of each mode's own shape, exact where all rods have one retardation.
    """

    frequency: Array  # (k,) undamped [Hz]
    damping: Array  # (k,) part of the critical one
    bodies: Array  # (k, bodies, 6) twists, own axes, the ground first
    nodes: Array  # (k, nodes, 6)


def modes(stepper: Stepper, count: int = 3) -> Modes:
    """Return the modes of a stepper that is at rest, as by `dynamics.robot_motion.stepper`.

    Raises InvalidInput: a mode grows, or there are not so many that have mass.
    """
    from scipy.sparse.linalg import eigs  # a part of a planner's start

    stiffness, damping, mass, motion = matrices(stepper)
    flexible = np.linalg.solve(stiffness, mass)
    tendons = stepper.layout.tendons
    taut = np.flatnonzero(tendons.held_tensions(stepper.state) > 0.0)
    if taut.size:  # their lengths are held
        follow = tendons.rates(stepper.work, motion.reshape(-1, 6, len(mass)))[taut]
        give = np.linalg.solve(stiffness, follow.T)
        locked = np.diag(tendons.soft[taut]) + follow @ give
        flexible -= give @ np.linalg.solve(locked, follow @ flexible)
    size = len(mass)
    if not 0 < count < size - 1:
        raise InvalidInput('count', count, f'between 1 and {size - 2}')
    values, shapes = eigs(flexible, count, which='LM', v0=np.ones(size))
    order = np.argsort(-np.abs(values))
    values, shapes = values[order], shapes[:, order].real
    if not (values.real > 1e-6 * np.abs(values.imag)).all():
        remedy = 'a stable equilibrium with mass: a mode grows, or has none'
        raise InvalidInput('stepper', values.tolist(), remedy)
    omega = 1.0 / np.sqrt(values.real)
    masses = np.einsum('ik,ij,jk->k', shapes, mass, shapes)
    rates = np.einsum('ik,ij,jk->k', shapes, damping, shapes)
    s = stepper.layout.structure
    moves = (motion @ shapes).T.reshape(count, -1, 6)
    bodies = np.zeros((count, s.counts.bodies, 6))
    bodies[:, 1:] = shapes[: 6 * (s.counts.bodies - 1)].T.reshape(count, -1, 6)
    return Modes(omega / (2.0 * np.pi), rates / (2.0 * omega * masses), bodies, moves)


def shape(stepper: Stepper, found: Modes, index: int, size: float) -> dict[str, Array]:
    """Return where the nodes (n, 3) of every rod are in a mode, the farthest moved by size [m]."""
    s, pose = stepper.layout.structure, stepper.state.node
    moved = np.einsum('kij,kj->ki', pose[:, :3, :3], found.nodes[index, :, :3])
    places = pose[:, :3, 3] + size / np.linalg.norm(moved, axis=1).max() * moved
    return dict(zip(stepper.layout.rods, np.split(places, s.rod_node[1:-1]), strict=True))


def matrices(stepper: Stepper) -> tuple[Array, Array, Array, Array]:
    """Return stiffness, damping and mass (n, n) at rest, and the motion of the nodes.

    Coordinates are twists of the bodies (own axes, linear first), of the inner nodes, and the
    angles of the joints; the last result (6 nodes, n) is how the nodes follow them.
    """
    from scipy.linalg import block_diag

    stepper.assemble()
    s, w, m, x = stepper.layout.structure, stepper.work, stepper.motion, stepper.inputs
    bodies = s.counts.bodies - 1
    inner = [
        k for r in range(s.counts.rods) for k in range(s.rod_node[r] + 1, s.rod_node[r + 1] - 1)
    ]
    size = 6 * (bodies + len(inner)) + int(s.joint_kind.sum())
    motion = np.zeros((6 * s.counts.nodes, size))
    for i, k in enumerate(inner):
        at = 6 * (bodies + i)
        motion[6 * k : 6 * k + 6, at : at + 6] = np.eye(6)
    stiffness, at = np.zeros((size, size)), 6 * (bodies + len(inner))
    for r, e in np.ndindex(s.rod_body.shape):
        node = s.rod_node[r] if e == 0 else s.rod_node[r + 1] - 1
        piece = s.rod_piece[r] if e == 0 else s.rod_piece[r + 1] - 1
        kind, body = int(s.joint_kind[r, e]), int(s.rod_body[r, e])
        columns = np.arange(6 * body - 6, 6 * body) if body else np.empty(0, dtype=np.int64)
        columns = np.append(columns, at + np.arange(kind)).astype(np.int64)
        own = [*(range(6) if body else ()), *range(MOTOR + 1, MOTOR + 1 + kind)]
        motion[6 * node : 6 * node + 6, columns] = w.basis[r, e][:, own]
        turn = np.zeros((10, 10))
        joint_geometry(w.basis[r, e], kind, w.raw[piece, 6 * e : 6 * e + 6], turn)
        stiffness[np.ix_(columns, columns)] += turn[np.ix_(own, own)]
        at += kind
    damping = np.zeros((size, size))
    owner = stepper.inertia.owner
    for p, r in enumerate(owner):
        ends = motion[6 * (p + r) : 6 * (p + r) + 12]
        stiffness += ends.T @ w.tangent[p] @ ends
        strain = w.strain[p] @ ends
        damping += m.retardation[p] * strain.T @ x.stiffness[p] @ strain
    scale = stepper.inertia.scale
    mass = motion.T @ block_diag(*m.node_mass) @ motion / scale
    force = np.zeros(6)
    for b in range(1, bodies + 1):
        o = slice(6 * b - 6, 6 * b)
        block = np.zeros((6, 6))
        subtract_load(stepper.state.body[b], x.dead[b], m.load[b], force, block)
        pose, gravity = stepper.state.body[b], x.gravity
        subtract_weight(pose, s.body_mass[b], s.body_centre[b], gravity, force, block)
        stiffness[o, o] += block
        mass[o, o] += m.body_mass[b] / scale
    return stiffness, damping + m.drag[0] * mass, mass, motion
