# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Of actuations that meet a task, that of least energy: for tasks of fewer rows than actuators.

The energy is that of the rods, motors: their work (Koehler 2023), or the distance from where the
actuators tend to. Steps are quadratic programs, whose Hessian knows how the task curves.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.inverse.steps import least_energy
from soro_mechanics.inverse.task_error import task_rows
from soro_mechanics.models.network.equilibrium import NO_PATH
from soro_mechanics.models.network.inverse_statics.inverse_problem import (
    InverseProblem,
    InverseState,
    TINY,
)
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.newton_kernels import energy, MIDDLE
from soro_mechanics.models.network.kernels.system_kernels import evaluate
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.numerics.dense_kernels import convex

ROUND_OFF = 1e-9  # of the largest number of a Hessian
# Steps down in energy, in parts of the ranges: their iterations, the first one, one that leads
# nowhere; what the next one is after a good one and a bad; how much of one may go to the task, how
# far out of balance it may lead, how it comes back; one that Newton's method may take instead, and
# where that has failed.
MAX_DOWN, DOWN, STUCK, LONGER, SHORTER = 120, 0.1, 1e-4, 2.0, 0.5
BACK, ASTRAY, BALANCED, NEAR = 0.7, 0.4, (8, 1e-3), (3e-3, 3e-4)
TRUSTED = 0.6  # of what a step promised: it was a good one
SLOW = 4  # steps of a solve, after which the next one had better know how the task curves
PUSHED, STEP = 1e-4, 1e-4  # of the robot's length, of a range: what tells how the task curves


class Choice(NamedTuple):
    """What decides between actuators, in parts of their ranges, and what the task still lacks."""

    jacobian: Array
    missing: Array
    hessian: Array  # of the energy, and of the task times its force
    slope: Array
    force: Array
    lacking: Array
    response: Array  # K^-1 (P, r)


class LeastEnergy(InverseProblem):
    """One target for one network that leaves its actuators a choice, or none."""

    def _step(self, at: InverseState, lacking: Array) -> Array | None:
        if not self.redundant:
            return super()._step(at, lacking)
        with contextlib.suppress(np.linalg.LinAlgError):
            step = self._least(at, self._choice(at))
            return None if step is None else step * self.range
        return None

    def down(self, start: InverseState, near: float = NEAR[-1]) -> InverseState:
        """Go down in energy until Newton's method finds the least one; the tip stays in place.

        Sequential quadratic programming in a trust region. Every point is in balance: the slopes
        at both ends of a step tell what it has won, in energy and, at its force, in the task.
        """
        tip, s, spent = start.state.body[self.layout.tip_body], self.layout.structure, 0
        here, trust = self.aimed_at(self.target._replace(pose=tip)), DOWN
        at = replace(start, linear=None, bend=None)
        with contextlib.suppress(np.linalg.LinAlgError):
            of = here._choice(at)
            while spent < MAX_DOWN and trust > STUCK:
                step = here._least(at, of, trust)
                size = 0.0 if step is None else float(np.abs(step).max())
                goal = None if step is None else self.projected(at.driven + step * self.range)
                if goal is None or size < min(near, trust):
                    break
                da, spent, trust = goal - at.driven, spent + 1, SHORTER * size
                state, _ = self.linearise(at).moved(
                    da, -of.response @ np.append(da, 1.0), 1.0, 1.0
                )
                x, work = self.inputs(goal), self.equilibrium.scratch[0]
                if not evaluate(s, x, state, work, False, False, LANES) < ASTRAY:
                    continue
                trial = here._settle(goal, state, *BALANCED)
                spent += BALANCED[0] if trial is None else trial.steps + 1
                if trial is None:
                    continue
                then, moved = here._choice(trial), da / self.range
                won = 0.5 * (of.slope + then.slope) @ moved
                won += then.force @ then.lacking - of.force @ of.lacking
                slope = of.slope - of.jacobian.T @ of.force
                if won < TRUSTED * (slope + 0.5 * of.hessian @ moved) @ moved:
                    trust = LONGER * size
                if won < 0.0 and here.linearise(trial).negative <= self.linearise(at).negative:
                    at, of = trial, then
        at.steps = spent
        return at

    def _least(self, at: InverseState, of: Choice, trust: float = math.inf) -> Array | None:
        """Return the step of least energy, no part of it beyond `trust`.

        The energy counts in what the task leaves free; where it bends down, as if it bent up.
        """
        m, back = len(self.range), np.linalg.pinv(of.jacobian)
        free, shortest = np.eye(m) - back @ of.jacobian, back @ of.missing
        share = min(1.0, BACK * trust / max(float(np.abs(shortest).max()), TINY))
        unit = max(float(np.abs(of.hessian).max()), TINY)
        h = free @ of.hessian @ free / unit
        h = 2.0 * convex(h) - h + np.eye(m) - free
        h += ROUND_OFF * np.eye(m)  # where the task decides, a pivot may be it
        slope = of.slope - of.jacobian.T @ of.force + share * of.hessian @ shortest
        c, low, high = self.bounds(at.driven)
        low[:m], high[:m] = np.maximum(low[:m], -trust), np.minimum(high[:m], trust)
        energy = h, slope / unit
        return least_energy(energy, of.jacobian, share * of.missing, (c, low, high))[0]

    def _choice(self, at: InverseState) -> Choice:
        if self.linearise(at).singular:
            raise np.linalg.LinAlgError  # as its inverse would
        if at.bend is None:
            at.bend = self.curved(at)
        lacking = self.lacking(at.state)
        jacobian, missing, follow = self._task(at, lacking)
        m, linear = len(self.range), self.linearise(at)
        out, aim = np.zeros((m, m + 1)), self._aim(False, False, NO_PATH, at.bend)
        s, x = self.layout.structure, linear.inputs
        energy(s, x, at.state, linear.work, aim, at.driven, np.ascontiguousarray(follow), out)
        hessian, slope = out[:, :m], -out[:, m]
        force = np.asarray(np.linalg.lstsq(jacobian.T, slope, rcond=None)[0], float)
        self.measure(at)
        return Choice(jacobian, missing, hessian, slope, force, lacking * self._unit, follow)

    def curved(self, at: InverseState) -> Array:
        """Return (m, m) what the task's curvature adds to the Hessian, times the task's force.

        That is how the Hessian of the robot's own energy changes with this force at the tip; of
        another energy rows a small step away tell it.
        """
        out, linear = np.zeros((len(self.range),) * 2), self.linearise(at)
        tip = self.layout.tip_body
        flat = replace(at, bend=out.copy())
        of = self._choice(flat)
        if self.energy == MIDDLE:
            for j, step in enumerate(np.diag(STEP * self.range)):
                state, _ = linear.moved(step, -of.response @ np.append(step, 0.0))
                there = replace(flat, driven=at.driven + step, state=state, linear=None)
                out[j] = (of.jacobian - self._task(there, of.lacking)[0]).T @ of.force / STEP
            self.linearise(at)
            return 0.5 * (out + out.T)
        rows = task_rows(at.state.body[tip], self.target.task, np.eye(6)) * self._unit[:, None]
        push = np.zeros_like(linear.inputs.dead)
        push[tip] = rows.T @ of.force
        turned = np.zeros(len(linear.matrix))
        turned[6 * tip - 6 : 6 * tip] = linear.axes(tip).T @ push[tip]
        moved = np.linalg.solve(linear.matrix, turned)
        part = PUSHED * float(self.layout.structure.scale[0]) / max(np.abs(moved).max(), TINY)
        state, _ = linear.moved(out[0], part * moved)
        x = linear.inputs._replace(dead=linear.inputs.dead + part * push)
        pushed = Linearisation(self.layout, x, state, exact=False)
        then = self._choice(replace(flat, state=state, linear=pushed))
        self.linearise(at)
        return np.ascontiguousarray(then.hessian - of.hessian) / part

    def learned(self, at: InverseState) -> Array | None:
        """Return what is known of the task's curvature, anew after a slow solve."""
        if self.redundant and at.steps > SLOW:
            with contextlib.suppress(np.linalg.LinAlgError):
                return self.curved(at)
        return at.bend
