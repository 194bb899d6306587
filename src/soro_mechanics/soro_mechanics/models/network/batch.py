# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Many actuations of one network: every sample starts next to its solution.

A few cold solves over the whole box of the actuators give a polynomial of the state in the driven
values (leg lengths and motor angles rather than pressures: a measured curve has kinks, the state
does not follow them). Newton's method starts from its prediction. What a sample gives depends on
nothing but its actuation: not on its neighbours, their order, or the number of threads.

A polynomial through jumps from branch to branch does not predict, and a solution far from the
prediction lies on a branch that cold solves do not take. Both are left to cold solves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import Inputs, Integers, new_state, State
from soro_mechanics.models.network.drive_values import driven_many
from soro_mechanics.models.network.equilibrium import Equilibrium, PATH_STEPS, Problem
from soro_mechanics.models.network.guard import segments_of, strain_limits
from soro_mechanics.models.network.kernels import batch_kernels as kernels
from soro_mechanics.models.network.kernels.contact_kernels import Segments
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.end_kernels import SPHERICAL
from soro_mechanics.numerics import lie_kernels

MAX_TERMS = (40, 100)  # of the polynomial: first, and where that does not predict
MAX_DEGREE = 6
PER_TERM = 2  # cold solves for every term
MAX_HARD = 2  # of them that may take more than one leap from the assembled robot
HELD_BACK = 4  # one of so many cold solves tests what the others predict
GOOD_FIT = 0.05  # largest error of a prediction there [rad, characteristic lengths]
NEAR = 0.15  # largest distance of a solution from its prediction, in the same units
POLISH = 1e-6  # largest step that a solution may still be improved by
MAX_STEPS = 8
REPAID = 2  # a batch must have so many samples for every cold solve of the fit


@dataclass(frozen=True, eq=False)
class Fit:
    """A polynomial of the state: Chebyshev products of the driven values, scaled to -1 ... 1."""

    middle: Array  # (m,)
    half: Array  # (m,)
    powers: Integers  # (terms, m)
    coefficients: Array  # (terms, size of a move)

    def predict(self, driven: Array) -> Array:
        """Return moves (n, size) for driven values of the actuators (n, m)."""
        terms = chebyshev_terms((driven - self.middle) / self.half, self.powers)
        return np.ascontiguousarray(terms @ self.coefficients)


@dataclass(frozen=True, eq=False)
class Batch:
    """Solves many actuations of one network under one load; can be pickled."""

    layout: lay.Layout
    rest: Inputs  # with load and gravity
    base: State  # what predictions are moves of
    fit: Fit
    tolerance: float
    segments: Segments
    strain_limit: Array  # (rods,)

    def solve(self, actuations: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Solve actuations (n, m).

        Returns `tips` (n, 4, 4): in base_link, where solved; `solved` (n,): False where only a
        cold solve can tell: not converged, far from the prediction, perhaps not stable, or outside
        the theory.
        """
        s = self.layout.structure
        driven, values = driven_many(self.layout.spec.drives, actuations)
        tips = np.full((len(actuations), 4, 4), np.nan)
        solved = np.zeros(len(actuations), dtype=bool)
        own = ('length', 'theta', 'section', 'stiffness', 'dilution', 'tension')
        x = self.rest._replace(**{k: getattr(self.rest, k).copy() for k in own})
        samples = kernels.Samples(
            values,
            self.fit.predict(driven),
            self.layout.tip_body,
            float(self.tolerance),
            NEAR,
            POLISH,
            self.segments,
            self.strain_limit,
            np.empty(s.counts.rods),
            MAX_STEPS,
            tips,
            solved,
            new_state(s),
            new_state(s),
        )
        kernels.solve_samples(s, self.base, x, self.rest, samples, self.layout.work(), LANES)
        return tips, solved


def compile_batch(equilibrium: Equilibrium) -> None:
    """Compile what `Batch.solve` runs, by solving no sample of a network."""
    layout = equilibrium.layout
    s, m = layout.structure, layout.actuators
    powers = np.zeros((1, m), dtype=np.int64)
    size = 6 * sum(s.counts[:4])
    fit = Fit(np.zeros(m), np.ones(m), powers, np.zeros((1, size)))
    rest = lay.load(layout, layout.rest, LoadCase())
    guarded = segments_of(layout), strain_limits(layout)
    batch = Batch(layout, rest, new_state(s), fit, equilibrium.tolerance, *guarded)
    batch.solve(np.empty((0, m)))


def make_batch(
    equilibrium: Equilibrium,
    at_rest: Array,
    actuators: tuple[Actuator, ...],
    load: LoadCase,
    count: int,
) -> Batch | None:
    """Prepare for `count` samples; None where cold solves are better.

    That is where samples are few, where many a cold solve takes more than one leap from the robot
    assembled `at_rest`, and where the state is no smooth function of the actuation.
    """
    assembled = equilibrium.assembled(at_rest)
    low, high = (np.array([getattr(a, k) for a in actuators]) for k in ('minimum', 'maximum'))
    layout = equilibrium.layout
    if not (assembled.converged and len(low) and np.isfinite(high - low).all()):
        return None
    if layout.holds_tendons:  # where one goes slack the state has a kink
        return None
    ends, _ = driven_many(layout.spec.drives, np.array([low, high]))
    half = 0.5 * np.abs(ends[1] - ends[0])
    half[half == 0.0] = 1.0
    points = np.random.default_rng(0).random((PER_TERM * max(MAX_TERMS), len(low)))
    points[0] = 0.5
    actuations = low + (high - low) * points
    driven, _ = driven_many(layout.spec.drives, actuations)
    base: State | None = None
    moves: list[Array] = []
    hard = 0
    for most in MAX_TERMS:
        powers = polynomial_powers(len(low), most)
        trials = PER_TERM * len(powers)
        if count < REPAID * trials or trials <= len(moves):
            return None
        for actuation in actuations[len(moves) : trials]:
            problem = Problem(actuation, load)
            x = equilibrium.inputs(problem)
            if equilibrium.longest_step(at_rest, actuation) < 1.0:
                found = equilibrium.solve(problem, at_rest, None)
            else:
                found = equilibrium.newton(x, assembled.state, PATH_STEPS)
            if not found.converged:
                hard += 1
                if hard > MAX_HARD:
                    return None
                found = equilibrium.solve(problem, at_rest, None)
                if not found.converged:
                    return None
            base = found.state if base is None else base
            moves.append(move_between(layout, base, found.state))
        empty = Fit(0.5 * (ends[0] + ends[1]), half, powers, np.empty((0, 0)))
        fit = checked_fit(layout, empty, driven[:trials], np.array(moves))
        if fit is not None and base is not None:
            rest = lay.load(layout, layout.rest, load)
            guarded = segments_of(layout), strain_limits(layout)
            return Batch(layout, rest, base, fit, equilibrium.tolerance, *guarded)
    return None


def checked_fit(layout: lay.Layout, empty: Fit, driven: Array, moves: Array) -> Fit | None:
    """Return a fit to all samples; None where a part of them does not predict the others."""
    kept = np.arange(len(moves)) % HELD_BACK != HELD_BACK - 1
    trial = fitted(empty, driven[kept], moves[kept])
    if not misfit(layout, trial.predict(driven[~kept]) - moves[~kept]) <= GOOD_FIT:
        return None
    return fitted(empty, driven, moves)


def polynomial_powers(variables: int, most: int) -> Integers:
    """Return the powers (terms, m) of all products up to a degree, `most` of them if that many."""
    degree = 1
    while degree < MAX_DEGREE and math.comb(variables + degree + 1, variables) <= most:
        degree += 1
    found = []
    for total in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(range(variables), total):
            found.append(np.bincount(chosen, minlength=variables) if chosen else [0] * variables)
    return np.array(found, dtype=np.int64).reshape(-1, variables)


def chebyshev_terms(u: Array, powers: Integers) -> Array:
    """Return the products (n, terms) of Chebyshev polynomials at points u (n, m)."""
    values = np.polynomial.chebyshev.chebvander(u, int(powers.max(initial=0)))
    return np.prod([values[:, i, powers[:, i]] for i in range(u.shape[1])], axis=0)


def fitted(fit: Fit, driven: Array, moves: Array) -> Fit:
    """Return the fit with the least-squares coefficients of samples."""
    terms = chebyshev_terms((driven - fit.middle) / fit.half, fit.powers)
    found = np.linalg.lstsq(terms, moves, rcond=None)[0]
    return replace(fit, coefficients=np.asarray(found, dtype=np.float64))


def misfit(layout: lay.Layout, errors: Array) -> float:
    """Return the largest error of frames among moves (n, size) [rad, characteristic lengths]."""
    s = layout.structure
    frames = errors[:, : 6 * (s.counts.bodies + s.counts.nodes)].reshape(-1, 6)
    length = float(s.scale[0])
    return float(max(np.abs(frames[:, 3:]).max(), np.abs(frames[:, :3]).max() / length))


def move_between(layout: lay.Layout, a: State, b: State) -> Array:
    """Return the row of `solve_samples` that moves state a to state b."""
    s = layout.structure
    frames = np.zeros((s.counts.bodies + s.counts.nodes, 6))
    apart = np.linalg.inv(np.concatenate([a.body, a.node])) @ np.concatenate([b.body, b.node])
    for k, g in enumerate(apart):
        lie_kernels.se3_log(g, frames[k])
    joints = b.joint - a.joint
    for r, e in np.argwhere(s.joint_kind == SPHERICAL):
        lie_kernels.so3_log(np.ascontiguousarray(a.spin[r, e].T @ b.spin[r, e]), joints[r, e])
    wrench = b.wrench - a.wrench
    return np.concatenate([frames.ravel(), wrench.ravel(), joints.ravel()])
