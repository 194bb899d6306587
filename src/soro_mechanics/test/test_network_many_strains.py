# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""As many rest strains of one rod as there may be, and one more."""

import numpy as np
import pytest

from soro_mechanics import load_robot, RobotFileError
from soro_mechanics.models.network.description.drive_schema import MAX_STRAINS

ROBOT = """
schema: 2
name: muscles
title: A rod behind a moving body, bent and stretched by many muscles
gravity: 0 0 -9.81 m/s^2
body:
  kind: rods
  sections:
    soft: {{shape: circle, radius: 10 mm, young: 1 MPa, poisson: 0.45, density: 1000 kg/m^3}}
  bodies:
    middle: {{mass: 10 g}}
    tip: {{mass: 10 g}}
  rods:
    - name: lower
      section: soft
      length: 100 mm
      from: {{body: ground}}
      to: {{body: middle}}
    - name: upper
      section: soft
      length: 100 mm
      from: {{body: middle}}
      to: {{body: tip, joint: spherical}}
    - name: hold
      section: soft
      length: 100 mm
      from: {{body: middle, position: 0 30 0 mm}}
      to: {{body: tip, position: 0 30 0 mm}}
  chambers:
{chambers}
  tip: {{body: tip}}
drives:
{drives}
models:
  network: {{}}
"""


@pytest.fixture
def robot(tmp_path):
    def make(count):
        drives, chambers = '', ''
        for i in range(count):
            drives += (
                f'  - {{name: p{i}, quantity: pressure, minimum: 0 kPa, maximum: 100 kPa, '
                f'rate: 1 kPa/s, acts: [{{drives: pressure, chambers: [muscle_{i}]}}]}}\n'
            )
            x, y = 8.0 * np.cos(i), 8.0 * np.sin(i)
            chambers += (
                f'    muscle_{i}: {{rods: [upper], '
                f'parts: [{{area: {10 + i} mm^2, position: {x:.3f} {y:.3f} mm}}]}}\n'
            )
        text = ROBOT.format(drives=drives, chambers=chambers)
        file = tmp_path / 'muscles.yaml'
        file.write_text(text)
        return load_robot(file)

    return make


def test_jacobian_of_as_many_as_there_may_be(robot):
    arm = robot(MAX_STRAINS)
    p = np.linspace(5e3, 20e3, MAX_STRAINS)
    jacobian = arm.jacobian(arm.forward(p))
    step = 10.0
    for i in range(MAX_STRAINS):
        sides = [p + sign * step * np.eye(MAX_STRAINS)[i] for sign in (1.0, -1.0)]
        ahead, behind = (arm.forward(side).tip for side in sides)
        moved = (ahead[:3, 3] - behind[:3, 3]) / (2.0 * step)
        assert moved == pytest.approx(jacobian[:3, i], rel=1e-4, abs=1e-12)


def test_one_more_is_refused(robot):
    with pytest.raises(RobotFileError, match=f'at most {MAX_STRAINS}') as refused:
        robot(MAX_STRAINS + 1)
    assert refused.value.path == f'body.chambers.muscle_{MAX_STRAINS}.rods'
