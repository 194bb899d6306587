# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the Kirchhoff model of the muscle-driven robot with 200 nodes on one core."""

import time

import numpy as np

from soro_mechanics import load_robot


def _figures(times):
    return float(np.median(times)), min(times)


def circle(points):
    """Return a circle of 0.25 m radius below the base."""
    turn = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False)
    return np.column_stack([0.25 * np.cos(turn), 0.25 * np.sin(turn), 0.85 + 0.0 * turn])


def point_to_point(robot):
    """Inverse solves between neighbouring points of a fine circle, each from the one before."""
    times = []
    near = robot.inverse([0.25, 0.0, 0.85])
    for point in circle(200):
        start = time.perf_counter()
        near = robot.inverse(point, guess=near)
        times.append(time.perf_counter() - start)
        if near.status.code != 0:
            raise SystemExit(str(near.status))
    return _figures(times)


def trajectory(robot):
    """Twenty points with all muscle lengths, the first one from a warm start."""
    times = []
    near = robot.inverse([0.25, 0.0, 0.85])
    for _ in range(20):
        start = time.perf_counter()
        for point in circle(20):
            near = robot.inverse(point, guess=near)
        times.append(time.perf_counter() - start)
    return _figures(times)


def forward(robot):
    """Forward solves along small changes of all lengths."""
    times = []
    q = robot.inverse([0.25, 0.0, 0.85]).configuration
    for k in range(200):
        lengths = q.actuation + 1e-4 * np.sin(0.3 * k + np.arange(30))
        start = time.perf_counter()
        q = robot.forward(lengths, guess=q)
        times.append(time.perf_counter() - start)
    return _figures(times)


def run():
    """Return rows (name, median [s], minimum [s], limit [s])."""
    robot = load_robot('pam_continuum', model='kirchhoff')
    return [
        ('Kirchhoff inverse, point to point, warm', *point_to_point(robot), 2e-3),
        ('Kirchhoff trajectory of 20 points, 30 lengths each', *trajectory(robot), 40e-3),
        ('Kirchhoff forward from lengths, warm', *forward(robot), 2e-3),
    ]


if __name__ == '__main__':
    for name, median, best, limit in run():
        figures = f'median {median * 1e3:.3f} ms, best {best * 1e3:.3f} ms'
        print(f'{name}: {figures}, limit {limit * 1e3:g} ms')
