# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How far stability lasts, other equilibria and mesh errors, of models of every kind."""

import math

import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Stability
from soro_mechanics.core.status import Warnings

UPRIGHT_BUCKLES = 0.743e5  # Pa in all chambers of the two segments: by an independent solver


@pytest.fixture(scope='module')
def upright():
    robot = load_robot('stiff_flop_two_segment')
    robot.gravity = [0.0, 0.0, -9.81]
    return robot


@pytest.mark.parametrize('bar', (0.4, 0.6))
def test_two_upright_segments_say_how_far_they_are_from_buckling(upright, bar):
    q = upright.examine(upright.forward(np.full(6, 1e5 * bar)))
    expected = UPRIGHT_BUCKLES / (1e5 * bar) - 1.0
    assert q.status.limit_distance == pytest.approx(expected, abs=0.01)
    assert (Warnings.NEAR_INSTABILITY in q.status.warnings) == (expected < 0.25)
    assert q.status.stability is Stability.STABLE
    assert Warnings.SEVERAL_BRANCHES not in q.status.warnings


def test_a_buckled_robot_knows_that_it_leans_elsewhere_too(upright):
    straight = upright.examine(upright.forward(np.full(6, 0.8e5)))
    assert straight.status.code is Code.UNSTABLE
    assert straight.status.limit_distance == 0.0
    assert Warnings.SEVERAL_BRANCHES in straight.status.warnings
    pushed = upright.forward(np.full(6, 0.8e5), [0.01, 0, 0, 0, 0, 0], straight)
    leaning = upright.examine(upright.forward(np.full(6, 0.8e5), None, pushed))
    assert leaning.status.stability is Stability.STABLE
    assert np.hypot(*leaning.tip[:2, 3]) > 0.02
    assert Warnings.SEVERAL_BRANCHES in leaning.status.warnings
    assert Warnings.NEAR_INSTABILITY not in leaning.status.warnings


def test_a_pressed_segment_buckles_at_the_load_of_haringx():
    """P (1 + P/GA - P/EA) = pi^2 EI/(4 L^2): EI t'' + P (1 - P/EA) t + P^2 t/GA = 0 (Reissner)."""
    robot = load_robot('stiff_flop')
    robot.gravity = np.zeros(3)
    segment = robot.description.structure['segments'].segments[0]
    axial, bending = segment.axial_stiffness, segment.bending_stiffness
    shear = segment.shear_factor * axial / 3.0

    def excess(load):
        euler = math.pi**2 * bending / (4.0 * segment.length**2)
        return load * (1.0 + load * (1.0 / shear - 1.0 / axial)) - euler

    low, high = 0.0, 0.3 * axial
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) < 0.0 else (low, middle)
    q = robot.forward(np.zeros(3))
    push = np.array([0.0, 0.0, -1.5 * low, 0.0, 0.0, 0.0])
    assert 1.5 * robot.limit_distance(q, wrench=push) == pytest.approx(1.0, rel=0.002)


@pytest.mark.parametrize(
    'name, model', (('stiff_flop', 'npcc'), ('soft_parallel', 'ancf'), ('spatial_cc', None))
)
def test_every_model_is_examined(name, model):
    robot = load_robot(name, model)
    low, high = robot.limits.T
    q = robot.forward(low + 0.4 * (high - low))
    status = robot.examine(q).status
    assert status.limit_distance > 0.0
    assert 0.0 <= status.mesh_error < 1e-4


def test_the_mesh_error_of_segments_falls_with_the_fourth_power():
    robot = load_robot('stiff_flop')
    q = robot.forward([0.9e5, 0.0, 0.0])
    fine = robot.model_object.refined()
    finer = fine.refinement(fine.forward(q.actuation, q.load, None))[0]
    assert robot.refinement(q)[0] / finer == pytest.approx(16.0, rel=0.3)


def test_solutions_of_segments_are_different_equilibria(upright):
    q = upright.forward(np.full(6, 0.8e5))
    found = upright.solutions(q, 6, seed=3)
    assert found[0] is q
    assert len(found) > 1
    assert any(x.status.stability is Stability.STABLE for x in found)
