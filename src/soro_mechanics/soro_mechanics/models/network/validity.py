# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a solution is from leaving what the theory is good for: strains and clearance."""

from __future__ import annotations

from dataclasses import dataclass

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.models.network.forward_network import ForwardNetwork


@dataclass(frozen=True)
class Validity:
    """What strain and distance a solution has.

    Attributes
    ----------
    surface_strain : tuple of float
        Largest strain of the outer fibre of every rod, from curvature change and stretch by load.
    strain_limit : tuple of float
        What its section may have.
    clearance : float
        Smallest distance between two rods' surfaces [m], negative in an overlap, of a rod with
        itself too; infinite where nothing can touch. Rods that meet in a body are not compared
        next to it.
    closest : tuple of str
        The two rods of `clearance`; the same name twice for a rod and itself.
    remark : str
        One sentence on what is not valid; empty when nothing was found.
    """

    surface_strain: tuple[float, ...]
    strain_limit: tuple[float, ...]
    clearance: float
    closest: tuple[str, ...]
    remark: str


def validity(model: ForwardNetwork, q: Configuration) -> Validity:
    """Return strain and clearance of a solution."""
    solution = q.state
    guard = model.guard(solution.equilibrium)
    strain = guard.strain(solution.shape, solution.state.wrench)
    clearance, closest = guard.clearance(solution.shape)
    return Validity(
        tuple(strain.tolist()),
        tuple(guard.limit.tolist()),
        clearance,
        closest,
        guard.remark(solution.shape, solution.state.wrench, q.actuation),
    )
