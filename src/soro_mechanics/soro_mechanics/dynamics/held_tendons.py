# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One implicit step of a network with tendons whose lengths are held: their tensions are unknown.

The complementarity of statics (`models.network.tendon.equilibrium`) holds at the end of every
step, with the tangent of motion in place of the static one: a tendon that goes slack in a step
pulls nothing at its end, one that becomes taut is not stretched. One that snaps taut loses what
the integrator damps.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.dynamics import step_kernels
from soro_mechanics.dynamics.drive_kernels import drive_inputs
from soro_mechanics.dynamics.drives import Moving
from soro_mechanics.models.network.kernels import newton_kernels, system_kernels
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.layout import Layout
from soro_mechanics.models.network.tendon.equilibrium import newton_step

TIGHT = 1e-9  # of gaps per length: round-off of stiff elements' forces is none of theirs
Taken = tuple[int, int, float, float, bool]


class HeldTendons:
    """Takes steps as `step_kernels.take_step` does, with the tensions among the unknowns."""

    def __init__(self, layout: Layout, of: Moving) -> None:
        self._layout, self._of = layout, of
        self._held = np.flatnonzero(layout.tendons.held)

    def take_step(self) -> Taken:
        """Drive and take a step: outcome, iterations, residual, error [m], taken."""
        s, x, damped, state, w, m, drives = self._of
        limits = m.limits
        drive_inputs(s, x, m, drives, w.scratch)
        step_kernels.begin_step(s, x, damped, state, m)
        outcome, spent, found = newton_kernels.SLOW, 0, 0.0
        if step_kernels.predict(s, state, w, m, limits.ratio[0]):
            outcome, spent, found = self.advance(int(limits.most[0]))
        if outcome != newton_kernels.CONVERGED:
            newton_kernels.copy_into(m.start, state)
            m.node_move[:] = m.body_move[:] = 0.0
            outcome, more, found = self.advance(int(limits.most[0]))
            spent += more
        error = float(limits.error[0]) * max(
            _change(m.node_mass, m.law, m.node_move, m.node_free, m.node_past),
            _change(m.body_mass, m.law, m.body_move, m.body_free, m.body_past),
        )
        taken = outcome == newton_kernels.CONVERGED and error <= limits.max_error[0]
        if taken:
            step_kernels.end_step(s, x, state, w, m)
        else:
            newton_kernels.copy_into(m.start, state)
        return outcome, spent, found, error, bool(taken)

    def advance(self, most: int) -> tuple[int, int, float]:
        """Solve for the end of a step that was begun: outcome, iterations, scaled residual."""
        s, x, damped, state, w, m, _ = self._of
        layout, tendons, held = self._layout, self._layout.tendons, self._held
        length, force = s.scale
        wanted, soft = tendons.rest[held] - x.pull[:, 0], tendons.soft[held]
        system_kernels.clear_slots(w)
        error = np.inf
        for step in range(most + 1):
            step_kernels.assemble_motion(s, x, damped, state, w, m, LANES)
            tension = tendons.held_tensions(state)[held]
            gap = wanted + soft * tension - tendons.lengths(state)[held]
            slip = float(np.abs(np.minimum(tension / force, gap / length)).max())
            error = float(system_kernels.residual(s, x, state, w))
            if error <= m.limits.tolerance[0] and slip <= TIGHT:
                return newton_kernels.CONVERGED, step, error
            error = max(error, slip)
            if step == most or not error < 1e300:
                break
            change = newton_step(layout, x, state, w, gap, tension, (damped, m.body_tangent))
            if change is None:
                return newton_kernels.NOT_SOLVABLE, step, error
            part, turn, _ = system_kernels.largest_step(s, w)
            newton_kernels.copy_into(state, m.old)
            system_kernels.move(s, m.old, w, part, state)
            full = np.zeros(len(tendons.held))
            full[held] = tension + part * change
            tendons.put(state, full)
            step_kernels._follow_moves(s, state, w, m, part, part * turn < step_kernels.SMALL_TURN)
        return newton_kernels.SLOW, most, error


def _change(mass: Array, law: Array, moved: Array, free: Array, past: Array) -> float:
    """Return how far the largest component of an acceleration with mass changes in the step."""
    change = np.abs(law[2, 0] * moved + free[:, 2] - past[:, 2])[:, :3].max(axis=1)
    return float(np.where(mass[:, 0, 0] > 0.0, change, 0.0).max())
