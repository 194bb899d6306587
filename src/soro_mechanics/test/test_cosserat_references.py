# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the rod models against elastica tables, closed forms and a general solver."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.spatial.transform import Rotation
from soro_mechanics.robot import Robot

from soro_mechanics import Code, lie, load_robot

LENGTH, BEND = 0.04, 1.5e-3


def changed(model='ncm', elements=50, **changes):
    """Return the one-segment robot with other numbers, without gravity."""
    description = load_robot('stiff_flop').description
    chain = description.structure['segments']
    segments = tuple(replace(s, **changes) for s in chain.segments)
    structure = {'segments': replace(chain, segments=segments, elements=elements)}
    robot = Robot(replace(description, structure=structure), model)
    robot.gravity = np.zeros(3)
    return robot


def slender(elements=50):
    """Return a rod that neither stretches nor shears noticeably."""
    return changed(elements=elements, axial_stiffness=1e8, bending_stiffness=BEND)


@pytest.mark.parametrize(('load', 'tip'), [
    (1.0, (0.9435668, 0.3017208)), (3.0, (0.7455798, 0.6032534)), (10.0, (0.4450044, 0.8106090)),
])  # fmt: skip
def test_elastica_table(load, tip):
    q = slender().forward(np.zeros(3), [load * BEND / LENGTH**2, 0, 0, 0, 0, 0])
    assert q.status.code is Code.NONE
    found = q.tip[[2, 0], 3] / LENGTH
    np.testing.assert_allclose(found, tip, atol=2e-7)


def test_an_end_moment_closes_the_circle():
    q = slender().forward(np.zeros(3), [0, 0, 0, 0, 2 * np.pi * BEND / LENGTH, 0])
    assert q.status.converged
    np.testing.assert_allclose(q.tip, np.eye(4), atol=2e-5)
    half = q.backbones[0][25]
    np.testing.assert_allclose(half[:3, 3], [LENGTH / np.pi, 0, 0], atol=1e-6)


def test_refinement_is_fourth_order():
    wrench = [10.0 * BEND / LENGTH**2, 0, 0, 0, 0, 0]
    fine = slender(160).forward(np.zeros(3), wrench).tip[:3, 3]
    errors = [
        np.linalg.norm(slender(n).forward(np.zeros(3), wrench).tip[:3, 3] - fine)
        for n in (6, 12, 24)
    ]
    assert np.log2(errors[0] / errors[1]) > 3.3
    assert np.log2(errors[1] / errors[2]) > 3.3


def test_turning_everything_turns_the_answer():
    """Objectivity: chambers, gravity and load turned about z, strains unchanged."""
    angle = 0.83
    turn = lie.so3_exp([0, 0, angle])
    robot = load_robot('stiff_flop')
    chain = robot.description.structure['segments']
    segments = tuple(
        replace(s, chambers=tuple(replace(c, angle=c.angle + angle) for c in s.chambers))
        for s in chain.segments
    )
    structure = {'segments': replace(chain, segments=segments)}
    for model in ('ncm', 'npcc', 'lcm', 'lpcc'):
        here = robot.with_model(model)
        there = Robot(replace(robot.description, structure=structure), model)
        here.gravity = [3.0, -2.0, -9.0]
        there.gravity = turn @ here.gravity
        wrench = np.array([0.1, 0.05, -0.1, 1e-3, 0, 2e-3])
        a = here.forward([1e5, 0.2e5, 0.4e5], wrench)
        turned = np.concatenate([turn @ wrench[:3], turn @ wrench[3:]])
        b = there.forward([1e5, 0.2e5, 0.4e5], turned)
        np.testing.assert_allclose(b.tip[:3, 3], turn @ a.tip[:3, 3], atol=1e-10)
        np.testing.assert_allclose(b.tip[:3, :3] @ turn, turn @ a.tip[:3, :3], atol=1e-9)


def bvp_tip(axial, bend, shear_factor, wrench, weight=None, push=None):
    """Solve a loaded Cosserat rod by collocation: quaternion, position, force, moment.

    weight: (linear density, tip mass, gravity); push: pressure wrench (N, Mx, My) that stretches
    by 1 + N/EA, the curvature taken per current length (the linear models).
    """
    shear = shear_factor * axial / 3.0
    density, tip_mass, gravity = weight or (0.0, 0.0, np.zeros(3))
    push = np.zeros(3) if push is None else push

    def rates(x, y):
        out = np.empty_like(y)
        for k in range(y.shape[1]):
            r = Rotation.from_quat(y[3:7, k]).as_matrix()
            force, moment = r.T @ y[7:10, k], r.T @ y[10:13, k]
            stretch = 1.0 + (force[2] + push[0]) / axial
            if push.any() or density:
                line = stretch * np.array([force[0] / shear, force[1] / shear, 1.0])
            else:
                line = np.array([force[0] / shear, force[1] / shear, stretch])
                stretch = 1.0
            turn = stretch * (moment + [push[1], push[2], 0.0]) / [bend, bend, bend / 1.5]
            out[0:3, k] = r @ line
            w, v = y[6, k], y[3:6, k]
            out[3:6, k] = 0.5 * (w * turn + np.cross(v, turn))
            out[6, k] = -0.5 * v @ turn
            out[7:10, k] = -density * gravity
            out[10:13, k] = -np.cross(r @ line, y[7:10, k])
        return out

    def ends(a, b):
        tip_force = wrench[:3] + tip_mass * gravity
        return np.concatenate([a[0:3], a[3:7] - [0, 0, 0, 1], b[7:10] - tip_force,
                               b[10:13] - wrench[3:]])  # fmt: skip

    x = np.linspace(0.0, LENGTH, 41)
    start = np.zeros((13, len(x)))
    start[2], start[6] = x, 1.0
    found = solve_bvp(rates, ends, x, start, tol=1e-8, max_nodes=4000)
    assert found.success
    return found.y[0:3, -1], Rotation.from_quat(found.y[3:7, -1]).as_matrix()


def test_a_rod_loaded_in_space_is_the_general_solvers():
    wrench = np.array([0.25, -0.15, 0.1, 2e-3, 3e-3, 4e-3])
    robot = changed('lcm', axial_stiffness=30.0, bending_stiffness=BEND)
    segment = robot.description.structure['segments'].segments[0]
    q = robot.forward(np.zeros(3), wrench)
    position, rotation = bvp_tip(30.0, BEND, segment.shear_factor, wrench)
    np.testing.assert_allclose(q.tip[:3, 3], position, atol=1e-8)
    np.testing.assert_allclose(q.tip[:3, :3], rotation, atol=1e-6)


def test_the_linear_model_under_pressure_and_weight_is_the_general_solvers():
    robot = load_robot('stiff_flop', 'lcm')
    gravity = np.array([2.0, -4.0, -8.0])
    robot.gravity = gravity
    chain = robot.description.structure['segments']
    segment = chain.segments[0]
    actuation = np.array([1.0e5, 0.3e5, 0.0])
    push = np.zeros(3)
    for c, p in zip(segment.chambers, actuation, strict=True):
        force = c.area * p
        push += force * np.array([1.0, c.offset * np.sin(c.angle), -c.offset * np.cos(c.angle)])
    position, rotation = bvp_tip(
        segment.axial_stiffness, segment.bending_stiffness, segment.shear_factor, np.zeros(6),
        (segment.linear_density, chain.tip_mass, gravity), push,
    )  # fmt: skip
    q = robot.forward(actuation)
    np.testing.assert_allclose(q.tip[:3, 3], position, atol=1e-8)
    np.testing.assert_allclose(q.tip[:3, :3], rotation, atol=1e-6)


def test_work_of_a_growing_load_is_the_energy_stored():
    """Energy balance: the work of a tip force equals the growth of elastic energy."""
    robot = changed('lcm', axial_stiffness=30.0, bending_stiffness=BEND)
    direction = np.array([0.3, 0.1, -0.05, 0, 0, 0])
    shares = np.linspace(0.0, 1.0, 41)
    tips = [robot.forward(np.zeros(3), s * direction) for s in shares]
    moved = np.array([direction[:3] @ q.tip[:3, 3] for q in tips])
    work = float(np.sum(0.5 * (shares[1:] + shares[:-1]) * np.diff(moved)))
    # complementary energy of a linear section law: half of wrench^T c wrench, by Simpson
    q = tips[-1]
    density = []
    for pose in q.backbones[0]:
        force = pose[:3, :3].T @ direction[:3]
        moment = pose[:3, :3].T @ np.cross(q.tip[:3, 3] - pose[:3, 3], direction[:3])
        segment = robot.description.structure['segments'].segments[0]
        shear = segment.shear_factor * 10.0
        density.append(
            0.5 * (np.sum(force[:2] ** 2) / shear + force[2] ** 2 / 30.0)
            + 0.5 * (np.sum(moment[:2] ** 2) / BEND + 1.5 * moment[2] ** 2 / BEND)
        )
    weights = np.ones(51) * 2.0
    weights[1::2], weights[0], weights[-1] = 4.0, 1.0, 1.0
    stored = float(weights @ np.array(density)) * LENGTH / 150.0
    assert work == pytest.approx(stored, rel=1e-3)
