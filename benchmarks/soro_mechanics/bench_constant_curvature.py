# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the closed forms of the constant-curvature arm: at most 0.1 us each in a batch."""

from dataclasses import replace

import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.models.constant_curvature.model import ConstantCurvature
from soro_studies.mechanics.benchmark_rows import measure, report
from soro_studies.mechanics.constant_curvature_kernels import forward_batch, inverse_batch

SAMPLES = 20000
LIMIT = 0.1e-6  # s


def per_sample(row):
    """Return the row of a batch divided by its samples."""
    times = ('median', 'p99', 'least', 'processor')
    shares = {name: getattr(row, name) / SAMPLES for name in times}
    note = f'{shares["median"] * 1e9:.0f} ns each in batches of {SAMPLES}'
    return replace(row, **shares, target=LIMIT, note=note)


def main():
    robot = load_robot('spatial_cc')
    model = ConstantCurvature(robot.description)
    lengths = 0.1716 + np.random.default_rng(1).uniform(0.0, 0.043, (SAMPLES, 3))
    poses = np.empty((SAMPLES, 4, 4))
    out = np.empty((SAMPLES, 3))
    forward_batch(lengths, model.to_arc, poses)
    points = np.ascontiguousarray(poses[:, :3, 3])
    pressures = np.array([2e4, 8e4, 5e4])
    tip = robot.forward(pressures).tip[:3, 3]
    report([
        per_sample(measure('constant curvature: forward in a batch',
                           lambda k: forward_batch(lengths, model.to_arc, poses), 50)),
        per_sample(measure('constant curvature: inverse in a batch',
                           lambda k: inverse_batch(points, model.to_lengths, out), 50)),
        measure('constant curvature: Robot.forward', lambda k: robot.forward(pressures), 300),
        measure('constant curvature: Robot.inverse', lambda k: robot.inverse(tip), 300),
    ])  # fmt: skip


if __name__ == '__main__':
    main()
