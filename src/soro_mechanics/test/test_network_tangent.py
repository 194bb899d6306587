# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The step of Newton's method away from equilibrium, where rods with joints are not closed yet."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import load_robot, Robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.core.status import Stability
from soro_mechanics.models.network.arrays import copy_state
from soro_mechanics.models.network.description.cross_section import CrossSection
from soro_mechanics.models.network.equilibrium import Problem
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    condense,
    evaluate,
    move,
    solve_bodies,
)

LENGTHS = np.array([0.41, 0.44, 0.41, 0.45, 0.41, 0.42])
WRENCH = np.array([0.05, 0.0, 0.02, 0.0, 0.0, 0.0])


def test_a_small_part_of_a_step_keeps_the_platform_in_balance():
    """Other rods in the place of the solved ones: what closes them must not turn the joints.

    Their wrenches are still those of the solved robot, so only the closures are wrong, and along
    the step the platform stays in balance to first order.
    """
    q = load_robot('stewart_gough').forward(LENGTHS, WRENCH)
    solver = q.state.equilibrium
    x = solver.inputs(Problem(LENGTHS, LoadCase(WRENCH)))
    x.section[:, 6:12] /= 1.1  # flexibility
    x.stiffness[:] *= 1.1
    s, start = solver.layout.structure, q.state.state
    work, _ = solver.scratch
    evaluate(s, x, start, work, False, False, LANES)
    platform = solver.layout.tip_body
    assert np.abs(work.closure).max() > 1e-2
    assert np.abs(work.balance[platform]).max() < 1e-9
    condense(s, x, start, work, False, False)
    solve_bodies(work)
    back_substitute(s, x, start, work, 0, np.zeros((6, 2)), 1.0)
    left = []
    for part in (1e-2, 1e-3):
        there = copy_state(start)
        move(s, start, work, part, there)
        evaluate(s, x, there, work, False, False, LANES)
        left.append(np.abs(work.balance[platform]).max() / part)
    assert left[0] < 0.2  # N and N m for a whole step
    assert left[1] == pytest.approx(0.1 * left[0], rel=0.2)


def test_a_strut_pressed_beyond_what_it_bears_is_unstable_whatever_its_ends_say():
    """A straight rod, its upper end in a stiff frame, pressed to beyond 4 pi^2 E I / L^2.

    Clamped, it has become unstable by itself: the first node between its ends tells it.
    """
    stewart = load_robot('stewart_gough')
    model, q, said = stewart.model_object, stewart.forward(np.full(6, 0.405)), []
    for force in np.arange(0.0, 72.0, 0.4):
        q = stewart.forward(q.actuation, [0.0, 0.0, -force, 0.0, 0.0, 0.0], guess=q)
        assert q.status.converged
        said.append(q.status.stability is Stability.STABLE)
        assert said[-1] == model.linearise(q).stable
    assert said == sorted(said, reverse=True)  # once lost it does not come back
    assert 50 < sum(said) < len(said) - 10


@pytest.mark.parametrize('wide', [1.0, 30.0, 400.0])
def test_a_strip_between_plates_buckles_by_its_own_numbers(wide):
    """Softer than the five columns beside it, and stiffer by far about its other axis."""
    stewart, bending, axial, length = load_robot('stewart_gough'), 0.029, 3e3, 0.4
    network = stewart.description.structure['network']
    of = np.array([3e5, 3e5, axial, wide * bending, bending, 2.0 * bending])
    strip, column = (CrossSection(k, 0.0, 1e-3) for k in (of, 1e3 * of[[0, 1, 0, 4, 4, 4]]))
    rods = []
    for k, r in enumerate(network.rods):
        second = replace(r.ends[1], attach=r.ends[0].attach, joint='clamped')
        own = {'length': length, 'section': column if k else strip}
        rods.append(replace(r, **own, ends=(r.ends[0], second)))
    network = replace(network, rods=tuple(rods))
    robot = Robot(replace(stewart.description, structure={'network': network}))
    for step in (2.0, 4.0, 9.0):
        q, said = robot.forward(np.full(6, length)), []
        for load in np.arange(step, 60.0, step):  # of E I / L^2
            lengths = np.full(6, length)
            lengths[0] += load * bending / length**2 / axial * length
            q = robot.forward(lengths, guess=q)
            assert q.status.converged
            said.append(q.status.stability is Stability.STABLE)
            assert said[-1] == robot.model_object.linearise(q).stable
        assert 0 < sum(said) < len(said)
