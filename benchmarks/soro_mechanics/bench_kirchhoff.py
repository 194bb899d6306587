# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the Kirchhoff model with 200 elements on one core, public interface included, warm."""

import numpy as np

from soro_mechanics import load_robot
from soro_studies.mechanics.benchmark_rows import measure, report


def circle(points):
    """Return a circle of 0.25 m radius below the base."""
    turn = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False)
    return np.column_stack([0.25 * np.cos(turn), 0.25 * np.sin(turn), 0.85 + 0.0 * turn])


def main():
    robot = load_robot('pam_continuum', model='kirchhoff')
    near = {'s': robot.inverse([0.25, 0.0, 0.85])}
    fine, coarse = circle(200), circle(20)

    def to(point):
        near['s'] = robot.inverse(point, guess=near['s'])
        if near['s'].status.code != 0:
            raise SystemExit(str(near['s'].status))

    def around(_):
        for point in coarse:
            to(point)

    def forward(k):
        q = near.get('q', near['s'].configuration)
        lengths = q.actuation + 1e-4 * np.sin(0.3 * k + np.arange(30))
        near['q'] = robot.forward(lengths, guess=q)

    report(
        [
            measure('Kirchhoff: inverse, point to point', lambda k: to(fine[k]), 200, 2e-3),
            measure('Kirchhoff: 20 points with 30 lengths each', around, 30, 40e-3),
            measure('Kirchhoff: forward from lengths', forward, 200),
        ]
    )


if __name__ == '__main__':
    main()
