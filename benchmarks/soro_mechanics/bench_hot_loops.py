# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a step of Newton's method spends its time: each part many times inside one kernel.

Six precurved 14-element legs on a handle (the haptic device's mesh) and the six rods of
stewart_gough. Nothing is allocated and everything fits into the cache of a core, so that
arithmetic and its order limit each part: assembly is done for eight elements at once in vector
registers, while the elimination follows each rod from one end to the other.
"""

from bench_network import handle
import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.network.arrays import copy_state
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    condense,
    evaluate,
    move,
    solve_bodies,
)
from soro_mechanics.models.network.layout import build_layout
from soro_studies.mechanics.benchmark_rows import measure, report

TIMES = 50  # of each part in one call


@kernel
def assemble(times, s, x, state, work, lanes):
    """Evaluate strains, forces, tangents and the residual."""
    for _ in range(times):
        evaluate(s, x, state, work, False, False, lanes)


@kernel
def assemble_and_eliminate(times, s, x, state, work, lanes):
    """Evaluate, and eliminate every rod's nodes."""
    for _ in range(times):
        evaluate(s, x, state, work, False, False, lanes)
        condense(s, x, state, work, False, False)


@kernel
def whole_step(times, s, x, state, there, work, held, lanes):
    """Do a whole step: bodies, nodes, and the motion of all frames."""
    for _ in range(times):
        evaluate(s, x, state, work, False, False, lanes)
        condense(s, x, state, work, False, False)
        solve_bodies(work)
        back_substitute(s, x, state, work, 0, held, 1.0)
        move(s, state, work, 1.0, there)


def rows_of(name, solver, x, state):
    """Return the rows of one robot: the parts are differences of what was timed."""
    work, there = solver.scratch
    s, rods = solver.layout.structure, len(solver.layout.spec.rods)
    held = np.zeros((rods, 2))
    return [
        measure(
            f'{name}: assembly, {TIMES} times',
            lambda _: assemble(TIMES, s, x, state, work, LANES),
            100,
        ),
        measure(
            f'{name}: assembly and elimination, {TIMES} times',
            lambda _: assemble_and_eliminate(TIMES, s, x, state, work, LANES),
            100,
        ),
        measure(
            f'{name}: whole step, {TIMES} times',
            lambda _: whole_step(TIMES, s, x, state, there, work, held, LANES),
            100,
        ),
    ]


def shares(rows):
    """Print what part of a step each stage takes."""
    assembly, eliminated, step = (r.processor / TIMES for r in rows)
    parts = {
        'assembly': assembly,
        'elimination': eliminated - assembly,
        'bodies, nodes, motion': step - eliminated,
    }
    for name, seconds in parts.items():
        print(f'  {name:24s} {1e6 * seconds:7.2f} us {100 * seconds / step:5.1f} %')


def main():
    """Time the legs of the handle and the rods of the platform."""
    legs = Equilibrium(build_layout(handle(14), 6))
    rest = np.zeros(6)
    problem = Problem(rest, LoadCase())
    outcome = legs.solve(problem, rest, None)
    platform = load_robot('stewart_gough')
    q = platform.forward(np.full(6, 0.41))
    rods = q.state.equilibrium
    there = Problem(np.full(6, 0.41), LoadCase())
    tables = {
        'six legs of 14 elements': rows_of(
            'six legs of 14 elements', legs, legs.inputs(problem), outcome.state
        ),
        'six rods of 16 elements': rows_of(
            'six rods of 16 elements', rods, rods.inputs(there), copy_state(q.state.state)
        ),
    }
    for name, rows in tables.items():
        print(f'{name}, one step:')
        shares(rows)
    report([row for rows in tables.values() for row in rows])


if __name__ == '__main__':
    main()
