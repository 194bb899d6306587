# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the ANCF model of the soft parallel robot on one core, public interface included."""

import time

import numpy as np

from soro_mechanics import ancf_studies, load_robot


def _figures(times):
    return float(np.median(times)), min(times)


def warm_forward(robot):
    """Forward solves along a smooth pressure path, each from the one before."""
    times = []
    q = robot.forward([80e3, 60e3, 100e3])
    for k in range(500):
        pressures = [80e3, 60e3, 100e3] + 10e3 * np.sin(0.05 * k + np.arange(3))
        start = time.perf_counter()
        q = robot.forward(pressures, guess=q)
        times.append(time.perf_counter() - start)
    return _figures(times)


def warm_inverse(robot):
    """Inverse solves every 0.2 mm along a circle of 1 cm radius."""
    times = []
    q = robot.forward([80e3, 60e3, 100e3])
    centre = q.tip[:3, 3]
    s = q
    for k in range(314):
        target = centre + 0.01 * np.array([np.cos(0.02 * k) - 1.0, np.sin(0.02 * k), 0.0])
        start = time.perf_counter()
        s = robot.inverse(target, guess=s)
        times.append(time.perf_counter() - start)
        if s.status.code != 0:
            raise SystemExit(f'point {k} of the circle: {s.status}')
    return _figures(times)


def sweep(robot):
    """One actuator from 0 to 180 kPa in six steps: the paper's 15 ms at 2.6 ms per solve."""
    times = []
    for _ in range(50):
        start = time.perf_counter()
        q = None
        for pressure in np.linspace(0.0, 180e3, 7):
            q = robot.forward([pressure, 0.0, 0.0], guess=q)
        times.append(time.perf_counter() - start)
    return _figures(times)


def workspace(robot):
    """Five thousand uniform pressure samples on one core."""
    times = []
    for seed in range(3):
        start = time.perf_counter()
        result = ancf_studies.sample(robot, ancf_studies.random_actuations(robot, 5000, seed))
        times.append(time.perf_counter() - start)
        if result.failed:
            raise SystemExit(f'{result.failed} samples failed')
    return _figures(times)


def run():
    """Return rows (name, median [s], minimum [s], limit [s])."""
    robot = load_robot('soft_parallel', model='ancf')
    robot.inverse(robot.forward([1e4, 0, 0]).tip[:3, 3])
    return [
        ('ANCF forward, warm', *warm_forward(robot), 0.26e-3),
        ('ANCF inverse point, warm', *warm_inverse(robot), 0.35e-3),
        ('ANCF sweep 0-180 kPa', *sweep(robot), 1.5e-3),
        ('ANCF workspace of 5000 samples, one core', *workspace(robot), 2.0),
    ]


if __name__ == '__main__':
    for name, median, best, limit in run():
        figures = f'median {median * 1e3:.3f} ms, best {best * 1e3:.3f} ms'
        print(f'{name}: {figures}, limit {limit * 1e3:g} ms')
