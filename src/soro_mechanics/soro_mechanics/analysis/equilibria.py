# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions beyond one solve, of any model: other equilibria, and how far stability lasts."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    distance,
    extent,
    LoadCase,
    SAME,
)
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import COARSE, Stability, Warnings

PUSH = 10.0  # random tip loads of `solutions`, in E I / L^2
NEAR = 0.25  # a smaller `limit_distance` is a warning (assumed)
FIRST_PART = 0.125  # of a path: the first step that is tried
RESOLUTION = 1e-3  # of a path: how closely its limit point is located


def solutions(model: Model, q: Configuration, starts: int, seed: int = 0) -> list[Configuration]:
    """Return the different equilibria found at the actuation and load of q, q first.

    From an unstable q those come first that the robot falls to. Every start then goes to a random
    actuation within the limits under a random tip load, and comes back. Unstable equilibria are
    returned with their status. Absence proves nothing.
    """
    rng = np.random.default_rng(seed)
    of = model.description
    length, load = extent(q), PUSH * load_scale(model)
    found = [q]

    def keep(other: Configuration) -> None:
        if all(distance(other, x) > SAME * length for x in found):
            found.append(other)

    for other in model.released(q):
        keep(other)
    for _ in range(starts):
        actuation = rng.uniform(of.minimum, of.maximum)
        wrench = load * rng.normal(size=6)
        away = model.forward(actuation, replace(q.load, wrench=wrench), q)
        if not away.status.converged:
            continue
        back = model.forward(q.actuation, q.load, away)
        if back.status.converged:
            keep(back)
    return found


def load_scale(model: Model) -> Array:
    """Return E I / L^2 [N] and E I / L [N m], (6,), of the cantilever as soft as the robot.

    By its compliance at rest, without weight: force and moment each in their softest direction.
    """
    q = model.forward(model.description.rest, LoadCase(), None)
    compliance = model.compliance(q, 'tangent')
    force = extent(q) / (3.0 * float(np.linalg.norm(compliance[:3, :3], 2)))
    moment = 1.0 / float(np.linalg.norm(compliance[3:, 3:], 2))
    return np.repeat([force, moment], 3)


def limit_distance(model: Model, q: Configuration, actuation: Array, wrench: Array) -> float:
    """Return how far a path may go before stability is lost, in parts of the given change.

    The path adds t times `actuation` and t times `wrench` to those of q, 0 <= t <= 1, and keeps
    the branch of q. Zero where q itself is unstable, infinite where the whole path is stable.
    """
    if q.status.stability is Stability.UNSTABLE:
        return 0.0
    at, near, part = 0.0, q, FIRST_PART
    while at < 1.0:
        goal = min(1.0, at + part)
        trial = model.continued(q.actuation + goal * actuation, q.wrench + goal * wrench, near)
        if trial.status.converged and trial.status.stability is not Stability.UNSTABLE:
            at, near = goal, trial
            continue
        if part <= RESOLUTION:
            return goal
        part *= 0.5
    return math.inf


def examined(model: Model, q: Configuration) -> Configuration:
    """Return q with what one solve does not tell in its status; see `Robot.examine`."""
    limit = limit_distance(model, q, q.actuation - model.description.rest, q.wrench)
    status = replace(q.status, limit_distance=limit)
    if 0.0 < limit < NEAR:
        text = f'{limit:.1%} more actuation and load, counted from rest, make it unstable'
        status = status.warned(Warnings.NEAR_INSTABILITY, text)
    cold = model.forward(q.actuation, q.load, None)
    if math.isnan(status.mesh_error):
        status = replace(status, mesh_error=model.refinement(q, cold)[0])
    known = Warnings.COARSE_MESH in status.warnings
    if not known and status.mesh_error > COARSE * extent(q):
        text = f'a mesh twice as fine moves the tip by {1e3 * status.mesh_error:.2g} mm'
        status = status.warned(Warnings.COARSE_MESH, text)
    text = _elsewhere(model, q, cold)
    return replace(q, status=status.warned(Warnings.SEVERAL_BRANCHES, text) if text else status)


def _elsewhere(model: Model, q: Configuration, cold: Configuration) -> str:
    """Say where another equilibrium stands that is cheaply found; empty where none is.

    From no guess (`cold`), and back from a push to the softest side: one leads down from an
    unstable equilibrium to a stable one.
    """
    length = extent(q)
    compliance = model.compliance(q, 'tangent')[:3, :3]
    values, ways = np.linalg.eigh(0.5 * (compliance + compliance.T))
    way = ways[:, np.argmax(np.abs(values))]
    push = load_scale(model) * np.concatenate([way, np.zeros(3)])
    others = [*model.released(q), cold]
    pushed = model.forward(q.actuation, replace(q.load, wrench=q.wrench + push), q)
    if pushed.status.converged:
        others.append(model.forward(q.actuation, q.load, pushed))
    for other in others:
        stands = other.status.converged and other.status.stability is not Stability.UNSTABLE
        if stands and distance(other, q) > SAME * length:
            x, y, z = 1e3 * other.tip[:3, 3]
            return f'another equilibrium has its tip at ({x:.1f}, {y:.1f}, {z:.1f}) mm'
    return ''
