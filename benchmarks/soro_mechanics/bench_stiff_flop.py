# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time the STIFF-FLOP models on one core, public interface included, warm."""

import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.analysis.workspace import sample_actuations
from soro_studies.mechanics.benchmark_rows import measure, report

SAMPLES = 300


def increments(robot):
    """Say how the actuation is taken."""
    c = robot.description.structure['segments'].compensation
    return f'{c.rule}: {c.increments} and {2 * c.increments} increments, 50 RK4 elements'


def forward_rows(name, model, target):
    robot = load_robot(name, model)
    samples = sample_actuations(robot, SAMPLES)
    wrench = np.array([0.1, 0.05, -0.05, 0.0, 0.0, 0.0]) / len(robot.actuators)
    configurations = [robot.forward(x) for x in samples]
    note = increments(robot) if model in ('ncm', 'npcc') else 'one increment'
    title = f'{name} {model}'

    def with_compliance(k):
        q = robot.forward(samples[k])
        robot.compliance(q)
        robot.compliance(q, method='integral')
        return q

    return [
        measure(f'{title}: forward, tangent and integral compliance', with_compliance, SAMPLES,
                target, note),
        measure(f'{title}: the same, loaded tip, warm start',
                lambda k: robot.forward(samples[k], wrench, configurations[k - 1]), SAMPLES),
        measure(f'{title}: another load on the same actuation',
                lambda k: robot.forward(samples[k], wrench, configurations[k]), SAMPLES),
        measure(f'{title}: Jacobian', lambda k: robot.jacobian(configurations[k]), SAMPLES),
        measure(f'{title}: tangent compliance at every station',
                lambda k: robot.compliance_along(configurations[k]), SAMPLES // 3),
    ]  # fmt: skip


def inverse_rows(name, model, target):
    robot = load_robot(name, model)
    # Of two segments some would not stand: where they end nothing can be sent.
    samples = [x for x in sample_actuations(robot, SAMPLES // 3) if robot.forward(x).status.stable]
    tips = [robot.forward(x).tip[:3, 3] for x in samples]
    near = [robot.forward(0.97 * x) for x in samples]
    title = f'{name} {model}'
    return [
        measure(
            f'{title}: inverse, from rest', lambda k: robot.inverse(tips[k]), len(tips), target
        ),
        measure(
            f'{title}: inverse, tracking (3 % away)',
            lambda k: robot.inverse(tips[k], guess=near[k]),
            len(tips),
            target,
        ),
    ]


def main():
    rows = forward_rows('stiff_flop', 'ncm', 1e-3)
    for model in ('npcc', 'lcm', 'lpcc'):
        rows += forward_rows('stiff_flop', model, float('inf'))[:1]
    rows += inverse_rows('stiff_flop', 'ncm', 5e-3)
    rows += forward_rows('stiff_flop_two_segment', 'ncm', float('inf'))
    rows += inverse_rows('stiff_flop_two_segment', 'ncm', float('inf'))
    report(rows)


if __name__ == '__main__':
    main()
