# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Cold solves beside followed ones: ``python -m soro_studies.mechanics.cold_and_followed``.

A robot goes from one random actuation and tip load to the next, in small steps that each start at
the step before; every one of them is solved without a guess too. Where the two are different
equilibria, the status (`Robot.examine`) has to say that there are several, or that one is
unstable or outside its theory. Results: docs/evidence/branches.md and a JSON per robot beside it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from soro_mechanics.analysis.equilibria import load_scale
from soro_mechanics.core.configuration import Array, Configuration, distance, extent
from soro_mechanics.core.status import Code, Warnings
from soro_mechanics.models.network.description.spec import LENGTHS, NetworkSpec
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.robot_file.catalogue import robot_files
from soro_studies.mechanics.random_problems import RandomProblems, softest, way_to_tip

COMMAND = 'python -m soro_studies.mechanics.cold_and_followed'
STEPS = 8  # from one random state to the next
LOAD = 0.3  # standard deviation of the tip load of a chain, in E I / L^2 and E I / L
MOVED, TURNED = 0.1, 0.15  # standard deviations, of the extent and rad: poses of a platform
LEGS = 0.03  # of several legs, which buckle long before they give way as much
SAME = 1e-5  # of the extent: two solves of one equilibrium
SHOWN = 5  # silent cases that are stored
COUNTS = ('samples', 'same', 'said', 'silent', 'not converged')
HEAD = f"""# Branches: cold solves beside followed ones

Written by `{COMMAND}`. Do not edit.

Every robot goes through random actuations (even within its limits) and random tip loads
(standard deviation {LOAD:g} E I / L^2 and {LOAD:g} E I / L of a cantilever as soft as the
robot; {LEGS:g} for several legs), in {STEPS} steps from one to the next that each start at the
one before, mounted as its file says. Of legs with driven lengths (stewart_gough) the actuations
are those that hold the platform at a random pose (standard deviations {MOVED:g} of the extent
and {TURNED:g} rad), and E I is one leg's. Each of them is solved without a guess, too. *same*:
both are one equilibrium. *said*: they are two, and the status of one or both says so (several
equilibria known, unstable, or outside the theory). *silent*: they are two and nobody says so.
*not converged*: one of them found none, which is said.

| robot | model | samples | same | said | silent | not converged | seconds |
|---|---|---|---|---|---|---|---|
"""


def run(robot: Robot, samples: int, seed: int) -> dict[str, Any]:
    """Return the counts of one robot and its first silent cases."""
    problems = _Problems(robot, seed)
    counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
    silent: list[dict[str, Any]] = []
    began = time.monotonic()
    actuation, wrench = problems.rest, np.zeros(6)
    at = robot.forward(actuation)
    for _ in range(samples):
        goal = problems.draw()
        followed = at
        for part in np.arange(1, STEPS + 1) / STEPS:
            p, w = actuation + part * (goal[0] - actuation), wrench + part * (goal[1] - wrench)
            followed = robot.forward(p, w, followed)
        actuation, wrench = goal
        cold = robot.forward(actuation, wrench)
        kind = _kind(robot, cold, followed)
        counts['samples'] += 1
        counts[kind] += 1
        if kind == 'silent' and len(silent) < SHOWN:
            silent.append({'actuation': actuation.tolist(), 'wrench': wrench.tolist()})
        at = followed if followed.status.converged else cold
    return {
        'robot': robot.name,
        'model': robot.model,
        'seed': seed,
        **counts,
        'seconds': round(time.monotonic() - began, 1),
        'silent cases': silent,
    }


def _kind(robot: Robot, cold: Configuration, followed: Configuration) -> str:
    if not (cold.status.converged and followed.status.converged):
        return 'not converged'
    if distance(cold, followed) <= SAME * extent(cold):
        return 'same'
    told = Warnings.SEVERAL_BRANCHES | Warnings.OUTSIDE_THEORY
    for q in (cold, followed):
        status = robot.examine(q).status
        if status.warnings & told or status.code:
            return 'said'
    return 'silent'


class _Problems:
    """Random states of a robot."""

    def __init__(self, robot: Robot, seed: int) -> None:
        self.rest = np.array([a.rest for a in robot.actuators])
        self._robot, self._seed, self._index = robot, seed, 0
        # Lengths beside a rod that is not driven have to fit each other: the network knows how.
        muscles = 'kirchhoff' in robot.models
        network = robot.with_model('network') if muscles else None
        self._modules = None if network is None else RandomProblems(network)
        middle = robot.forward(robot.limits.mean(axis=1))
        chain = len(middle.backbones) <= 2 or self._modules is not None
        # Of legs with lengths that do not fit each other most are beyond any limit of stability.
        spec: NetworkSpec | None = None if chain else getattr(robot.model_object, 'spec', None)
        self._middle = middle if spec and all(d.kind in LENGTHS for d in spec.drives) else None
        self._load = (LOAD if chain else LEGS) * load_scale(robot.model_object)
        if spec is not None and self._middle is not None:  # what a leg bears
            way = way_to_tip(spec)
            self._load = LOAD * softest(spec) / way**2 * np.array([1.0] * 3 + [way] * 3)

    def draw(self) -> tuple[Array, Array]:
        """Return an actuation (m,) that keeps every limit, and a tip load (6,)."""
        self._index += 1
        rng = np.random.default_rng([self._seed, self._index])
        if self._modules is not None:
            values = self._modules.draw(self._seed, self._index)[0]
        elif self._middle is not None:
            values = self._held(rng, self._middle)
        else:
            values = np.asarray(rng.uniform(*self._robot.limits.T))
            while not self._robot.feasible(values):
                values = np.asarray(rng.uniform(*self._robot.limits.T))
        return values, self._load * rng.normal(size=6)

    def _held(self, rng: np.random.Generator, middle: Configuration) -> Array:
        """Return the lengths of legs (m,) that hold the platform at a random pose."""
        while True:
            pose = middle.tip.copy()
            pose[:3, 3] += MOVED * extent(middle) * rng.normal(size=3)
            pose[:3, :3] = (
                pose[:3, :3] @ Rotation.from_rotvec(TURNED * rng.normal(size=3)).as_matrix()
            )
            found = self._robot.inverse(pose, guess=middle)
            if found.status.code is Code.NONE:
                return found.actuation


def page(folder: Path) -> str:
    """Return the page, from the stored results."""
    results = [json.loads(file.read_text()) for file in sorted(folder.glob('*.json'))]
    rows = [
        ' | '.join(str(r[key]) for key in ('robot', 'model', *COUNTS, 'seconds')) for r in results
    ]
    return HEAD + ''.join(f'| {row} |\n' for row in rows)


def main() -> int:
    """Run robots one after the other; store each and write the page."""
    parser = argparse.ArgumentParser(description='Cold solves beside followed ones.')
    parser.add_argument('robots', nargs='*', metavar='robot', help='default: the catalogue')
    parser.add_argument('--samples', type=int, default=10_000)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    root = next(p for p in Path(__file__).resolve().parents if (p / 'colcon.meta').is_file())
    folder = root / 'docs' / 'evidence' / 'branches'
    folder.mkdir(exist_ok=True)
    for name in options.robots or robot_files():
        result = run(load_robot(name), options.samples, options.seed)
        print(result, flush=True)
        (folder / f'{name}.json').write_text(json.dumps(result, indent=1) + '\n')
        folder.with_suffix('.md').write_text(page(folder), encoding='utf-8')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
