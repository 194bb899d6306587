# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a driven length or rest strain does to elements: their law, stress and energy."""

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.models.network.kernels import element_flexibility_kernels as law
from soro_mechanics.models.network.kernels.rod_kernels import length_force
from soro_mechanics.numerics import lie

WRENCH = np.array([0.04, 0.02, -0.05, 1e-3, -2e-3, 1e-3])
NAMES = ('stewart_gough', 'soft_parallel', 'stiff_flop', 'haptic_5dof', 'pam_continuum')


def solved(name):
    """Return a robot with an even mesh, a graded one or a rest curvature, actuated and loaded."""
    robot = load_robot(name, 'network')
    rest = np.array([a.rest for a in robot.actuators])
    share = np.resize([0.3, 0.1, 0.2], len(rest)) * (0.02 if name == 'pam_continuum' else 1.0)
    return robot, robot.forward(rest + share * (robot.limits[:, 1] - rest), WRENCH)


def stiffness_of(s, section, length):
    """Return the stiffness (pieces, 6, 6) of every element, by an inverse of each."""
    out = np.empty((s.counts.pieces, 6, 6))
    rods = np.repeat(np.arange(s.counts.rods), np.diff(s.rod_piece))
    for p, r in enumerate(rods):
        soft, powers = np.empty((6, 6)), law.powers_of(length[r] * s.share[p])
        for j, unit in enumerate(np.eye(6)):
            pair = tuple(unit[:3]), tuple(unit[3:])
            soft[:, j] = np.concatenate(law.flexible_twist(section[p], s.change[p], powers, pair))
        out[p] = np.linalg.inv(soft)
    return out


@pytest.mark.parametrize('name', NAMES)
def test_the_law_of_every_element_is_that_of_its_own_piece(name):
    """Straight ones have a diagonal, some copy that of their neighbour: none may be another's."""
    robot, q = solved(name)
    s, x = q.state.equilibrium.layout.structure, q.state.inputs
    found = np.full((s.counts.pieces, 6, 6), np.nan)
    section = x.section.copy()
    section[-1, 6:12] *= 1.5  # the last one of its rod is another one now
    every = np.ones(s.counts.rods, bool)
    law.stiffen_elements(s, x.length, section, every, np.empty((6, 6)), found)
    wanted = stiffness_of(s, section, x.length)
    size = np.sqrt(np.einsum('pii,pjj->pij', wanted, wanted))
    np.testing.assert_allclose(found / size, wanted / size, atol=1e-9)


@pytest.mark.parametrize('name', ['stewart_gough', 'soft_parallel', 'stiff_flop'])
def test_stress_follows_what_is_driven(name):
    """To first order, against solved states."""
    robot, q = solved(name)
    linear = robot.model_object.linearise(q)
    scale = np.abs(q.state.state.wrench).max(axis=0)
    for j, span in enumerate(np.ptp(robot.limits, axis=1)):
        step = 1e-5 * span * np.eye(len(robot.limits))[j]
        ends = [robot.forward(q.actuation + s * step, WRENCH, guess=q) for s in (1.0, -1.0)]
        wanted = 0.5 * (ends[0].state.state.wrench - ends[1].state.state.wrench)
        bodies = -np.linalg.solve(linear.matrix, linear.columns @ step)
        moved, part = linear.moved(step, bodies)
        found = moved.wrench - q.state.state.wrench
        assert part == 1.0 and np.abs(wanted / scale).max() > 1e-7
        np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-8)


@pytest.mark.parametrize('name', ['stewart_gough', 'soft_parallel', 'pam_continuum'])
def test_the_force_of_a_length_is_the_slope_of_the_energy(name):
    """Of 1/2 (d - h e0) K (d - h e0), K = D^-1 of the length, with the nodes held."""
    robot, q = solved(name)
    s, x, state = q.state.equilibrium.layout.structure, q.state.inputs, q.state.state
    light = x._replace(heavy=False)
    for r in range(s.counts.rods):
        nodes = state.node[s.rod_node[r] : s.rod_node[r + 1]]
        twist = [lie.se3_log(np.linalg.inv(a) @ b) for a, b in zip(nodes, nodes[1:], strict=False)]

        def energy(length, r=r, twist=twist):
            lengths = x.length.copy()
            lengths[r] = length
            total = 0.0
            for p, k in zip(
                range(s.rod_piece[r], s.rod_piece[r + 1]),
                stiffness_of(s, x.section, lengths)[s.rod_piece[r] : s.rod_piece[r + 1]],
                strict=True,
            ):
                e = twist[p - s.rod_piece[r]] - length * s.share[p] * x.section[p, :6]
                total += 0.5 * e @ k @ e
            return total

        step = 1e-6 * x.length[r]
        slope = (energy(x.length[r] + step) - energy(x.length[r] - step)) / (2.0 * step)
        found = length_force(s, light, state, r)
        assert found == pytest.approx(slope, rel=1e-5, abs=1e-6)
