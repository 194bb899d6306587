# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bundles: muscles side by side, of whose lengths only the differences are commanded.

The backbone between them decides how long they are in the mean: the common length u of a bundle is
unknown, and the energy is stationary in it,

    dE/du = -sum EA (l_i^2 / L_i^2 - 1) / 2 = 0,    L_i = command_i - mean + u

with l the distance between the ends and L the unloaded length of a straight muscle. Held at three
lengths that its backbone cannot have, a module would be pressed by hundreds of newtons, and twist.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.muscle_means import mean_remark
from soro_mechanics.models.network.arrays import Inputs, State
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.linear_kernels import linearise
from soro_mechanics.models.network.layout import Layout

MAX_ROUNDS = 12
BALANCED = 1e-9  # of the muscles' axial stiffness
AXIAL = 8  # column of a section's axial flexibility


class Bundles:
    """The bundles of a network: actuators (k,) each."""

    def __init__(self, spec: NetworkSpec) -> None:
        rods = {d.actuator: d.rod for d in spec.drives}
        self.actuators = [np.array(group) for group in spec.bundles]
        self.rods = [np.array([rods[a] for a in group]) for group in spec.bundles]
        self._lengths = [float(np.mean([spec.rods[r].length for r in g])) for g in self.rods]
        places = [
            np.array([spec.rods[r].ends[0].attach[:2, 3] for r in group]) for group in self.rods
        ]
        self._slopes = [np.linalg.pinv(p - p.mean(axis=0)) for p in places]

    def __bool__(self) -> bool:
        return bool(self.actuators)

    def means(self, actuation: Array) -> Array:
        """Return the mean of every bundle (bundles,) [m]."""
        return np.array([actuation[group].mean() for group in self.actuators])

    def with_means(self, actuation: Array, means: Array) -> Array:
        """Return the actuation with its differences and other means."""
        lengths = np.array(actuation, dtype=float)
        for group, mean in zip(self.actuators, means, strict=True):
            lengths[group] += mean - actuation[group].mean()
        return lengths

    def chords(self, actuation: Array) -> Array:
        """Return the means of backbones bent to arcs by the differences (bundles,) [m]."""
        out = []
        for group, slopes, length in zip(self.actuators, self._slopes, self._lengths, strict=True):
            lengths = actuation[group]
            tilt = float(np.linalg.norm(slopes @ (lengths - lengths.mean())))
            half = math.asin(min(1.0, 0.5 * tilt))
            out.append(length * float(np.sinc(half / math.pi)))
        return np.array(out)

    def pressed(self, layout: Layout, x: Inputs, state: State) -> tuple[Array, Array, Array]:
        """Return of every bundle dE/du [N], d2E/du2 with both ends held, and its stiffness [N]."""
        found = []
        for rods in self.rods:
            stiffness, stretched, length = _muscles(layout, x, state, rods)
            slope = -0.5 * float(stiffness @ (stretched**2 - 1.0))
            second = float(stiffness @ (stretched**2 / length))
            found.append((slope, second, float(stiffness.sum())))
        slopes, seconds, sizes = np.array(found).T
        return slopes, seconds, sizes

    def search(self, actuation: Array, near: Array | None) -> MeanSearch:
        """Return a search of the means for an actuation; `near`: lengths of a solution nearby."""
        means = self.chords(actuation)
        if near is not None:
            means += self.means(near) - self.chords(near)
        return MeanSearch(self, actuation, means)

    def free(
        self, layout: Layout, x: Inputs, state: State, matrix: Array, columns: Array
    ) -> tuple[Array, Array]:
        """Return tangent and columns of the actuators with the means eliminated."""
        matrix, columns = matrix.copy(), columns.copy()
        for actuators, rods in zip(self.actuators, self.rods, strict=True):
            stiffness, stretched, length = _muscles(layout, x, state, rods)
            second = stiffness * stretched**2 / length  # d2E/dL2 of each, both ends held
            common = columns[:, actuators].sum(axis=1)
            matrix -= np.outer(common, common) / second.sum()
            columns[:, actuators] -= np.outer(common, second) / second.sum()
        return matrix, columns

    def remark(self, actuation: Array, lengths: Array) -> str:
        """Say where the lengths are far from those commanded in the mean; empty where not."""
        return mean_remark(float(np.abs(self.means(actuation) - self.means(lengths)).max()))


class MeanSearch:
    """The means at which no bundle is pressed, by Newton's method on solutions of a network."""

    def __init__(self, bundles: Bundles, actuation: Array, means: Array) -> None:
        self._bundles, self._actuation, self._means = bundles, actuation, means
        self.rounds = 0

    @property
    def lengths(self) -> Array:
        """Unloaded lengths of the muscles, in the place of the actuation."""
        return self._bundles.with_means(self._actuation, self._means)

    def balanced(self, equilibrium: Equilibrium, x: Inputs, state: State) -> bool:
        """Whether a solution at `lengths` is that of free means; if not, the means move on."""
        layout = equilibrium.layout
        slope, second, stiffness = self._bundles.pressed(layout, x, state)
        if bool((np.abs(slope) <= BALANCED * stiffness).all()):
            return True
        work, _ = equilibrium.scratch
        linearise(layout.structure, x, state, work, True, LANES)
        common = np.array([work.columns[:, g].sum(axis=1) for g in self._bundles.actuators])
        self.rounds += 1
        try:
            tangent = np.diag(second) - common @ np.linalg.solve(work.matrix, common.T)
            self._means = self._means - np.linalg.solve(tangent, slope)
        except np.linalg.LinAlgError:  # at a limit point: no means that could be sought from here
            self.rounds = MAX_ROUNDS
        return False


def _muscles(layout: Layout, x: Inputs, state: State, rods: Array) -> tuple[Array, Array, Array]:
    """Return axial stiffness [N], distance over length, and length [m] of straight muscles."""
    s = layout.structure
    first, last = state.node[s.rod_node[rods]], state.node[s.rod_node[rods + 1] - 1]
    distance = np.linalg.norm(last[:, :3, 3] - first[:, :3, 3], axis=1)
    stiffness = 1.0 / layout.sections[s.rod_piece[rods], AXIAL]
    return stiffness, distance / x.length[rods], x.length[rods]
