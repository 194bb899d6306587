# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Motors that turn far: a solution is that of the whole turn, not of what a frame tells of it."""

import math

import numpy as np
import pytest

from soro_mechanics import load_robot, Stability

WIRE = '{shape: circle, radius: 1 mm, young: 3 GPa, poisson: 0.35}'
HEAD = """
schema: 2
name: knob
title: a wire that a motor turns about its own axis
gravity: 0 0 0 m/s^2
drives:
  - {name: knob, quantity: angle, minimum: -360 deg, maximum: 360 deg, rate: 90 deg/s,
     acts: [{drives: angle, rods: [a]}]}
"""


def written(tmp_path, body):
    file = tmp_path / 'knob.yaml'
    file.write_text(HEAD + body + 'models: {network: {}}\n')
    return load_robot(file)


@pytest.fixture
def two_wires(tmp_path):
    return written(
        tmp_path,
        f"""
body:
  kind: rods
  sections: {{wire: {WIRE}}}
  bodies: {{handle: {{position: 0 0 100 mm}}}}
  rods:
    - {{name: a, section: wire, length: 100 mm,
       from: {{body: ground, position: 20 0 0 mm, motor: {{axis: 0 0 1}}}},
       to: {{body: handle, position: 20 0 0 mm}}}}
    - {{name: b, section: wire, length: 100 mm, from: {{body: ground, position: -20 0 0 mm}},
       to: {{body: handle, position: -20 0 0 mm}}}}
  tip: {{body: handle}}
""",
    )


def followed(robot, angle):
    q = robot.forward([0.0])
    for part in np.linspace(0.0, angle, 37)[1:]:
        q = robot.forward([part], guess=q)
    return q


@pytest.mark.parametrize('degrees', [170.0, 190.0, 270.0, 350.0, -270.0])
def test_a_cold_solve_is_what_following_from_rest_gives(two_wires, degrees):
    angle = math.radians(degrees)
    right = followed(two_wires, angle).tip
    rest = two_wires.forward([0.0])
    for guess in (None, rest):
        found = two_wires.forward([angle], guess=guess)
        np.testing.assert_allclose(found.tip, right, atol=1e-9)
    samples = two_wires.workspace(np.array([[angle]]))
    np.testing.assert_allclose(samples.tip[0], right, atol=1e-9)


def test_the_inverse_of_a_pose_beyond_half_a_turn_is_the_turn(two_wires):
    angle = math.radians(190.0)
    found = two_wires.inverse(followed(two_wires, angle).tip)
    assert found.status.converged
    np.testing.assert_allclose(found.actuation, [angle], atol=1e-6)


@pytest.mark.parametrize('degrees', [200.0, 350.0])
def test_a_wire_between_clamps_answers_with_its_torsion(tmp_path, degrees):
    """Torque GJ/L times the angle: below 8.9868 EI/L, where a twisted wire buckles."""
    robot = written(
        tmp_path,
        f"""
body:
  kind: rods
  sections: {{wire: {WIRE}, post: {{shape: circle, radius: 20 mm, young: 200 GPa, poisson: 0.3}}}}
  bodies: {{clamp: {{position: 0 0 308 mm}}}}
  rods:
    - {{name: a, section: wire, length: 308 mm, from: {{body: ground, motor: {{axis: 0 0 1}}}},
       to: {{body: clamp}}}}
    - {{name: b, section: post, length: 308 mm, from: {{body: ground, position: 50 0 0 mm}},
       to: {{body: clamp, position: 50 0 0 mm}}}}
  tip: {{body: clamp}}
""",
    )
    angle = math.radians(degrees)
    q = robot.forward([angle])
    torsion = 3e9 / 2.7 * 0.5 * math.pi * 1e-3**4
    assert q.status.stability is Stability.STABLE
    torque = robot.model_object.ports(q).torque
    # The post gives way a little.
    np.testing.assert_allclose(torque, [torsion / 0.308 * angle], rtol=5e-4)
