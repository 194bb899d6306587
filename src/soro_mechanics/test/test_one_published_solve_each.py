# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One solve of each closed-form, ANCF and Kirchhoff robot; runs without compilation too."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Robot


def small(name, section, model, **changes):
    description = load_robot(name, model=model).description
    structure = {section: replace(description.structure[section], **changes)}
    return Robot(replace(description, structure=structure), model)


@pytest.mark.parametrize(
    ('robot', 'actuation', 'step'),
    [
        (small('spatial_cc', 'constant_curvature', 'constant_curvature'), [5e4, 0.0, 2e4], 1.0),
        (small('soft_parallel', 'ancf', 'ancf', elements=3), [7e4, 1e4, 4e4], 5.0),
        (
            small('pam_continuum', 'kirchhoff', 'kirchhoff', elements=60, stations_per_module=2),
            list(0.1 + 3e-3 * np.sin(np.arange(30))),
            1e-6,
        ),
    ],
    ids=['constant_curvature', 'ancf', 'kirchhoff'],
)
def test_solve_jacobian_and_inverse(robot, actuation, step):
    q = robot.forward(actuation)
    assert q.status.code is Code.NONE
    shift = step * np.eye(len(actuation))[0]
    ahead = robot.forward(actuation + shift, guess=q).tip[:3, 3]
    behind = robot.forward(actuation - shift, guess=q).tip[:3, 3]
    jacobian = robot.jacobian(q)[:3]
    np.testing.assert_allclose(
        jacobian[:, 0], (ahead - behind) / (2 * step), atol=1e-4 * np.abs(jacobian).max()
    )
    target = q.tip[:3, 3].copy()
    s = robot.inverse(target, guess=q)
    assert s.status.code is Code.NONE
    again = robot.forward(s.actuation, guess=s).tip[:3, 3]
    assert np.linalg.norm(again - target) < 1e-6
