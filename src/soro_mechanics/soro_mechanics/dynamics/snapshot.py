# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot in motion as a Configuration: what models return, of one moment."""

from __future__ import annotations

from soro_mechanics.core.configuration import Array, Configuration, LoadCase
from soro_mechanics.core.status import Code, SolverStatus
from soro_mechanics.dynamics.stepper import Stepper


def snapshot(
    stepper: Stepper, actuation: Array, load: LoadCase, code: Code = Code.NONE
) -> Configuration:
    """Return where a stepper is; nothing can be linearised or continued from it.

    Actuation (m,) and load are those of its last step.
    """
    layout, state = stepper.layout, stepper.state
    tip, bodies = layout.named(state.body.copy())
    message = '' if code is Code.NONE else 'a step had no solution, and no equilibrium was found'
    return Configuration(
        model='network',
        actuation=actuation.copy(),
        load=load,
        tip=tip,
        backbones=tuple(state.node[p].copy() for p in layout.rod_nodes),
        backbone_names=layout.rods,
        arc_lengths=layout.arcs(stepper.inputs.length),
        radii=layout.radii,
        bodies=bodies,
        status=SolverStatus(code, message),
    )
