# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the closed forms of the constant-curvature arm in a batch: at most 0.1 us each."""

import time

import numpy as np
from soro_mechanics.constant_curvature import ConstantCurvature

from soro_mechanics import constant_curvature_kernels as kernels
from soro_mechanics import load_robot

SAMPLES = 20000
LIMIT = 0.1e-6  # s


def measure(function, *arguments):
    """Return median and minimum seconds per sample over 50 batches."""
    function(*arguments)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        function(*arguments)
        times.append((time.perf_counter() - start) / SAMPLES)
    return float(np.median(times)), min(times)


def run():
    """Return rows (name, median [s], minimum [s], limit [s])."""
    model = ConstantCurvature(load_robot('spatial_cc').description)
    lengths = 0.1716 + np.random.default_rng(1).uniform(0.0, 0.043, (SAMPLES, 3))
    poses = np.empty((SAMPLES, 4, 4))
    out = np.empty((SAMPLES, 3))
    forward = measure(kernels.forward_batch, lengths, model.to_arc, poses)
    points = np.ascontiguousarray(poses[:, :3, 3])
    inverse = measure(kernels.inverse_batch, points, model.to_lengths, out)
    return [
        ('constant curvature forward, per pose in a batch', *forward, LIMIT),
        ('constant curvature inverse, per point in a batch', *inverse, LIMIT),
    ]


if __name__ == '__main__':
    for name, median, best, limit in run():
        figures = f'median {median * 1e6:.3f} us, best {best * 1e6:.3f} us'
        print(f'{name}: {figures}, limit {limit * 1e6:.3f} us')
