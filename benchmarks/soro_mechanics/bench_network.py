# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the beam network on one core: inverse statics along a path, assembly, forward with ports.

The robots: stewart_gough along (0, 0.02, 0.48) -> (0, 0.12, 0.58) m and back in steps of 1 mm in y
and z; six precurved 14-element legs on a handle, eighteen ports; cantilevers of growing length;
the workspace of soft_parallel, on two threads.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
import math
import time

import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.network.description.cross_section import CrossSection
from soro_mechanics.models.network.description.schema import rotation_matrix
from soro_mechanics.models.network.description.spec import (
    BodySpec,
    DriveSpec,
    EndSpec,
    NetworkSpec,
    RodSpec,
    SensorSpec,
)
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.system_kernels import condense, evaluate
from soro_mechanics.models.network.layout import build_layout
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.models.network.ports import port_response
from soro_studies.mechanics.benchmark_rows import measure, report

PATH = 1e-3 * np.array([*range(1, 101), *range(99, -1, -1)])


@kernel
def assemble_and_eliminate(s, x, state, work, lanes):
    """Do what a step of Newton's method does before it solves for the bodies."""
    evaluate(s, x, state, work, False, False, lanes)
    condense(s, x, state, work, False, False)


def target(k):
    """Return the k-th pose of the path."""
    pose = np.eye(4)
    pose[:3, 3] = [0.0, 0.02 + PATH[k % 200], 0.48 + PATH[k % 200]]
    return pose


def path_rows():
    """Inverse statics of stewart_gough, warm.

    With a note of how many points a second the whole path makes, reversals included: the median of
    ten passes, as one of them may meet a collection of the interpreter's garbage.
    """
    robot = load_robot('stewart_gough')
    near = {'s': robot.inverse(target(199))}
    targets = [target(k) for k in range(200)]

    def inverse(k):
        near['s'] = robot.inverse(targets[k % 200], guess=near['s'])
        if near['s'].status.code != 0:
            raise SystemExit(f'point {k}: {near["s"].status}')

    row = measure('stewart_gough: robot.inverse', inverse, 2000, 1.0 / 3e3, warm_up=200)
    passes = []
    for _ in range(10):
        began = time.thread_time()
        for k in range(200):
            inverse(k)
        passes.append(time.thread_time() - began)
    return [replace(row, note=f'{200.0 / np.median(passes):.0f} / s over the path')]


def clamp(body, pose):
    """Return an end without motor or joint."""
    return EndSpec(body, pose, np.array([1.0, 0.0, 0.0]), np.eye(4), 'clamped', np.zeros((2, 3)))


def place(position, rotation=(0.0, 0.0, 0.0)):
    """Return a pose."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_matrix(np.array(rotation))
    pose[:3, 3] = position
    return pose


def handle(elements, legs=6):
    """Precurved legs from motors on a circle to a handle, with a flex sensor on each."""
    soft = CrossSection(np.array([1e3, 1e3, 3e3, 0.0255, 0.0041, 0.004]), 0.042, 5e-3)
    rods, drives, sensors = [], [], []
    for i in range(legs):
        angle = 2.0 * math.pi / legs * i
        base = place([0.15 * math.cos(angle), 0.15 * math.sin(angle), 0.0])
        base[:3, :3] = rotation_matrix(np.array([0.0, 0.0, angle]))
        height = 0.04 if i % 2 else -0.04
        tilt = rotation_matrix(np.array([0.0, 0.0, angle])) @ rotation_matrix(
            np.array([0.0, -1.4, 0.0])
        )
        top = np.eye(4)
        top[:3, :3], top[:3, 3] = tilt, [0.0, 0.0, height]
        rods.append(
            RodSpec(
                f'leg_{i}',
                0.2,
                soft,
                None,
                np.array([[0.0, 0.0, -7.0, 0.0]]),
                (clamp('ground', base), clamp('handle', top)),
                np.linspace(0.0, 1.0, elements + 1),
            )
        )
        drives.append(DriveSpec(i, i, 'angle'))
        axis = np.array([0.0, 1.0, 0.0])
        sensors.append(SensorSpec(f'flex_{i}', i, 2.0 / elements, 9.0 / elements, axis))
    bodies = (
        BodySpec('ground', np.eye(4), 0.0, np.zeros(3)),
        BodySpec('handle', place([0.0, 0.0, 0.12]), 8e-3, np.zeros(3)),
    )
    return NetworkSpec(bodies, tuple(rods), tuple(drives), 'handle', np.eye(4), tuple(sensors))


def handle_rows():
    """Assemble and eliminate 84 elements; forward, warm, with W for 18 ports."""
    layout = build_layout(handle(14), 6)
    solver = Equilibrium(layout)
    rest = np.zeros(6)
    outcome = solver.solve(Problem(rest, LoadCase()), rest, None)
    if not outcome.converged:
        raise SystemExit('the six legs do not assemble')
    x = solver.inputs(Problem(rest, LoadCase()))
    work, _ = solver.scratch
    s = layout.structure
    near = {'state': outcome.state}

    def assemble(_):
        assemble_and_eliminate(s, x, outcome.state, work, LANES)

    def forward(k):
        angles = 0.1 * np.sin(0.02 * k + np.arange(6.0))
        there = solver.inputs(Problem(angles, LoadCase()))
        found = solver.newton(there, near['state'])
        if not found.converged:
            raise SystemExit(f'forward {k}')
        near['state'] = found.state
        return angles, there

    scratch = layout.work()

    def with_ports(k):
        angles, there = forward(k)
        linear = Linearisation(layout, there, near['state'], scratch)
        tip = near['state'].body[layout.tip_body]
        port_response(linear, angles, np.zeros(6), tip, np.eye(6))

    return [
        measure('84 elements: assembly and elimination', assemble, 2000, 75e-6),
        measure('six 14-element legs: forward, warm', forward, 1000),
        measure('six 14-element legs: forward and W of 18 ports', with_ports, 500, 500e-6),
    ]


def workspace_rows():
    """Draw and solve 5000 samples of soft_parallel: the first time, and again.

    The first time pays for the cold solves that the predictions are made of. What is measured is
    the wall time: the work is that of two threads.
    """
    robot = load_robot('soft_parallel', 'network')

    def workspace(pool, of):
        if not of.workspace(5000, pool).solved.all():
            raise SystemExit('samples of soft_parallel failed')

    with ThreadPoolExecutor(2) as pool:
        name = 'soft_parallel, network: workspace of 5000 samples, two threads'
        rows = [
            measure(
                f'{name}, first',
                lambda k: workspace(pool, robot.with_model('network')),
                3,
                warm_up=1,
            ),
            measure(name, lambda k: workspace(pool, robot), 5, warm_up=1),
        ]
    return [replace(row, processor=row.median, target=1.0) for row in rows]


def cost_rows():
    """Assembly and elimination of one cantilever of growing number of elements."""
    rows = []
    of = CrossSection(np.array([1e3, 1e3, 3e3, 0.03, 0.03, 0.02]), 0.0, 1e-3)
    bodies = (
        BodySpec('ground', np.eye(4), 0.0, np.zeros(3)),
        BodySpec('tip', None, 0.0, np.zeros(3)),
    )
    for count in (100, 1000, 10000):
        rod = RodSpec(
            'rod',
            0.4,
            of,
            None,
            np.zeros((1, 4)),
            (clamp('ground', np.eye(4)), clamp('tip', np.eye(4))),
            np.linspace(0.0, 1.0, count + 1),
        )
        spec = NetworkSpec(bodies, (rod,), (), 'tip', np.eye(4))
        solver = Equilibrium(build_layout(spec, 0))
        load = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
        problem = Problem(np.zeros(0), LoadCase(load))
        outcome = solver.solve(problem, np.zeros(0), None)
        if not outcome.converged:
            raise SystemExit(f'cantilever of {count} elements')
        x, (work, _) = solver.inputs(problem), solver.scratch
        s, state = solver.layout.structure, outcome.state

        def assemble(_, s=s, x=x, state=state, work=work):
            assemble_and_eliminate(s, x, state, work, LANES)

        rows.append(measure(f'{count} elements: assembly and elimination', assemble, 100))
    return rows


if __name__ == '__main__':
    report([*path_rows(), *handle_rows(), *workspace_rows(), *cost_rows()])
