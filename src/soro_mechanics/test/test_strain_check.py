# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rods bent too far, and curves beyond their data, are said by every model that has them."""

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.status import Warnings
from soro_mechanics.numerics.bending_kernels import outer_strain


def test_the_strain_of_an_arc_is_its_radius_over_that_of_the_bend():
    robot = load_robot('spatial_cc')
    q = robot.forward([0.6e5, 0.0, 0.0])
    turn = np.arccos(q.tip[2, 2])
    length = np.linalg.norm(q.tip[:3, 3]) * turn / 2.0 / np.sin(turn / 2.0)
    strain, rod = outer_strain(np.array(q.backbones), q.radii[0])
    assert rod == 0
    assert strain == pytest.approx(q.radii[0][0] * turn / length, rel=0.01)


@pytest.mark.parametrize('force', [0.0, 3.0])
def test_legs_bent_too_far_are_said(force):
    robot = load_robot('soft_parallel')
    q = robot.forward([0.9e5] * 3, [force, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert q.status.converged
    strain, rod = outer_strain(np.array(q.backbones), q.radii[0])
    assert strain == outer_strain(q.backbones[rod][None], q.radii[rod])[0]
    expected = Warnings.OUTSIDE_THEORY if strain > 0.2 else Warnings.NONE
    assert q.status.warnings & Warnings.OUTSIDE_THEORY == expected
    assert bool(expected) is bool(force)
    assert (f'{q.backbone_names[rod]} is strained by' in q.status.message) is bool(force)


def test_a_stretch_beyond_its_curve_is_said():
    robot = load_robot('soft_parallel')
    last = robot.description.structure['ancf'].curves[0].pressures[-1]
    inside, beyond = (robot.forward([p, 0.5e5, 0.5e5]).status for p in (last, last + 2e3))
    assert 'beyond its curve' not in inside.message
    assert Warnings.OUTSIDE_THEORY in beyond.warnings and 'beyond its curve' in beyond.message
