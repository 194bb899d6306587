# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the ANCF model of the soft parallel robot on one core, public interface included, warm."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from soro_mechanics import load_robot
from soro_studies.mechanics import ancf_studies
from soro_studies.mechanics.benchmark_rows import measure, report


def tracking_rows(robot):
    """Forward along a smooth pressure path, inverse every 0.2 mm of a circle of 1 cm radius."""
    near = {'q': robot.forward([80e3, 60e3, 100e3])}
    centre = near['q'].tip[:3, 3].copy()

    def forward(k):
        pressures = [80e3, 60e3, 100e3] + 10e3 * np.sin(0.05 * k + np.arange(3))
        near['q'] = robot.forward(pressures, guess=near['q'])

    def inverse(k):
        target = centre + 0.01 * np.array([np.cos(0.02 * k) - 1.0, np.sin(0.02 * k), 0.0])
        near['s'] = robot.inverse(target, guess=near.get('s', near['q']))
        if near['s'].status.code != 0:
            raise SystemExit(f'point {k} of the circle: {near["s"].status}')

    return [
        measure('ANCF: forward', forward, 500, 0.26e-3),
        measure('ANCF: inverse point', inverse, 314, 0.35e-3),
    ]


def sweep(robot):
    """Pressurise one leg from 0 to 180 kPa in six steps: the paper's 15 ms at 2.6 ms per solve."""
    q = None
    for pressure in np.linspace(0.0, 180e3, 7):
        q = robot.forward([pressure, 0.0, 0.0], guess=q)


def workspace(robot, seed):
    """Solve five thousand uniform pressure samples one after the other."""
    result = ancf_studies.sample(robot, ancf_studies.random_actuations(robot, 5000, seed))
    if result.failed:
        raise SystemExit(f'{result.failed} samples failed')


def main():
    robot = load_robot('soft_parallel', model='ancf')
    rows = tracking_rows(robot)
    rows.append(measure('ANCF: sweep 0-180 kPa', lambda k: sweep(robot), 100, 1.5e-3))
    rows.append(
        measure(
            'ANCF: workspace of 5000 samples, one thread',
            lambda k: workspace(robot, k),
            3,
            2.0,
            warm_up=1,
        )
    )
    samples = ancf_studies.random_actuations(robot, 5000)
    with ThreadPoolExecutor(2) as pool:
        row = measure(
            'ANCF: Robot.workspace of 5000 samples, two threads',
            lambda k: robot.workspace(samples, pool),
            3,
            2.0,
            warm_up=1,
        )
        rows.append(replace(row, processor=row.median))  # other threads do the work
    report(rows)


if __name__ == '__main__':
    main()
