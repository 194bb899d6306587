# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the rod models against elastica tables, closed forms and a general solver."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, solve_bvp
from scipy.spatial.transform import Rotation

from soro_mechanics import Code, load_robot
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot

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


@pytest.mark.parametrize(
    ('load', 'tip'),
    [(1.0, (0.9435668, 0.3017208)), (3.0, (0.7455798, 0.6032534)), (10.0, (0.4450044, 0.8106090))],
)
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


def bvp_tip(
    axial, bend, shear_factor, wrench, weight=None, push=None, length=LENGTH, curvature=(0, 0, 0)
):
    """Solve a loaded Cosserat rod by collocation: quaternion, position, force, moment.

    weight: (linear density, tip mass, gravity); push: pressure wrench (N, Mx, My) that stretches
    by 1 + N/EA, the curvature taken per current length (the linear models). length, curvature: of
    the rod that nothing loads.
    """
    curvature = np.array(curvature, dtype=float)
    shear = shear_factor * axial / 3.0
    density, tip_mass, gravity = weight or (0.0, 0.0, np.zeros(3))
    push = np.zeros(3) if push is None else push

    def rates(x, y):
        r = Rotation.from_quat(y[3:7].T).as_matrix()
        force, moment = (np.einsum('nji,jn->ni', r, y[i : i + 3]) for i in (7, 10))
        stretch = 1.0 + (force[:, 2:] + push[0]) / axial
        line = np.hstack([force[:, :2] / shear, np.ones_like(stretch)])
        if push.any() or density:
            line = stretch * line
        else:
            line[:, 2:] = stretch
            stretch = 1.0
        turn = stretch * (moment + [push[1], push[2], 0.0]) / [bend, bend, bend / 1.5] + curvature
        along, v, w = np.einsum('nij,nj->ni', r, line), y[3:6].T, y[6, :, None]
        spin = [0.5 * (w * turn + np.cross(v, turn)), -0.5 * (v * turn).sum(axis=1)[:, None]]
        load = np.tile(-density * gravity, (len(v), 1))
        return np.hstack([along, *spin, load, -np.cross(along, y[7:10].T)]).T

    def ends(a, b):
        tip_force = wrench[:3] + tip_mass * gravity
        return np.concatenate(
            [a[0:3], a[3:7] - [0, 0, 0, 1], b[7:10] - tip_force, b[10:13] - wrench[3:]]
        )

    x = np.linspace(0.0, length, 41)
    start = np.zeros((13, len(x)))
    arc = Rotation.from_rotvec(np.outer(x, curvature))
    start[0:3] = cumulative_trapezoid(arc.as_matrix()[:, :, 2], x, axis=0, initial=0.0).T
    start[3:7] = arc.as_quat(canonical=True).T
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
    push = push_of(segment, actuation)
    position, rotation = bvp_tip(
        segment.axial_stiffness,
        segment.bending_stiffness,
        segment.shear_factor,
        np.zeros(6),
        (segment.linear_density, chain.tip_mass, gravity),
        push,
    )
    q = robot.forward(actuation)
    np.testing.assert_allclose(q.tip[:3, 3], position, atol=1e-8)
    np.testing.assert_allclose(q.tip[:3, :3], rotation, atol=1e-6)


def push_of(segment, actuation):
    """Return the section wrench (N, Mx, My) of the pressures."""
    push = np.zeros(3)
    for c, p in zip(segment.chambers, actuation, strict=True):
        force = c.area * p
        push += force * np.array([1.0, c.offset * np.sin(c.angle), -c.offset * np.cos(c.angle)])
    return push


@pytest.mark.parametrize(
    'wrench', [np.zeros(6), [0.15, -0.1, 0.1, 1e-3, 1.5e-3, 2e-3], [-0.1, 0.2, -0.3, 0, 0, 0]]
)
def test_the_default_model_under_pressure_and_load_is_the_general_solvers(wrench):
    """Without weight pressure alone makes an arc, whose thinner sections the load bends further.

    Per present length d stretch = stretch^2 dN / EA and d curvature = stretch^2 dM / EI; with N
    and M growing together that is stretch = 1 / (1 - N / EA), curvature = stretch M / EI.
    """
    robot = load_robot('stiff_flop', 'ncm')
    robot.gravity = np.zeros(3)
    segment = robot.description.structure['segments'].segments[0]
    actuation = np.array([1.0e5, 0.4e5, 0.0])
    push = push_of(segment, actuation)
    axial, bend = segment.axial_stiffness, segment.bending_stiffness
    stretch = 1.0 / (1.0 - push[0] / axial)
    rod = {'length': stretch * LENGTH, 'curvature': (*(stretch * push[1:] / bend), 0.0)}
    position, rotation = bvp_tip(
        axial / stretch, bend / stretch**2, segment.shear_factor, np.array(wrench), **rod
    )
    q = robot.forward(actuation, wrench)
    np.testing.assert_allclose(q.tip[:3, 3], position, atol=1e-8)
    np.testing.assert_allclose(q.tip[:3, :3], rotation, atol=1e-6)


def bent_under_weight(segment, tip_mass, gravity, push, force, moment, steps=60):
    """Return x, z and angle of the tip of a pressed, heavy, then loaded rod in the xz plane.

    The limit of many increments by the trapezoidal rule in the share t of pressure and weight, and
    equilibrium as integrals over the part beyond, iterated: no shooting, no rates along the rod.
    """
    axial, bend = segment.axial_stiffness, segment.bending_stiffness
    shear = segment.shear_factor * axial / 3.0
    s = np.linspace(0.0, LENGTH, 2001)
    mass = tip_mass + segment.linear_density * (LENGTH - s)

    def along(values):
        return cumulative_trapezoid(values, s, initial=0.0)

    def beyond(values):
        whole = along(segment.linear_density * values)
        return whole[-1] - whole + tip_mass * values[-1]

    def shape(stretch, curve, shift, longer):
        angle = along(stretch * curve)
        x = along(stretch * (shift * np.cos(angle) + longer * np.sin(angle)))
        z = along(stretch * (longer * np.cos(angle) - shift * np.sin(angle)))
        return angle, x, z

    def section(angle, x, z, share, force, moment):
        gx, gz = share * gravity[0], share * gravity[2]
        fx, fz = mass * gx + force[0], mass * gz + force[2]
        turn = gx * (beyond(z) - mass * z) - gz * (beyond(x) - mass * x)
        turn = turn + force[0] * (z[-1] - z) - force[2] * (x[-1] - x) + moment
        axial_force = share * push[0] + fx * np.sin(angle) + fz * np.cos(angle)
        across = fx * np.cos(angle) - fz * np.sin(angle)
        return axial_force, across, share * push[2] + turn

    record = np.ones_like(s), np.zeros_like(s), np.zeros_like(s), *np.zeros((3, len(s)))
    for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
        stretch, curve, shift, _, q0, m0 = record
        new = stretch, curve, shift
        for _ in range(60):
            n, q, m = section(*shape(*new, 1.0), share, np.zeros(3), 0.0)
            wider = 1.0 / (1.0 - n / axial)
            last, new = (
                new,
                (
                    wider,
                    curve + 0.5 * (stretch**2 + wider**2) * (m - m0) / bend,
                    shift + 0.5 * (stretch + wider) * (q - q0) / shear,
                ),
            )
            if np.abs(new[1] - last[1]).max() * LENGTH < 1e-12:
                break
        else:
            raise AssertionError('no equilibrium')
        record = *new, n, q, m
    stretch, curve, shift, n0, q0, m0 = record
    bent, moved, longer = curve, shift, np.ones_like(s)
    for _ in range(200):
        angle, x, z = shape(stretch, bent, moved, longer)
        n, q, m = section(angle, x, z, 1.0, force, moment)
        last, bent = bent, curve + stretch**2 * (m - m0) / bend
        moved = shift + stretch * (q - q0) / shear
        longer = 1.0 + stretch * (n - n0) / axial
        if np.abs(bent - last).max() * LENGTH < 1e-12:
            return np.array([x[-1], z[-1], angle[-1]])
    raise AssertionError('no equilibrium')


@pytest.mark.parametrize('force', [np.zeros(3), np.array([0.08, 0.0, -0.05])])
def test_the_default_model_under_pressure_weight_and_load_is_the_limit_of_increments(force):
    robot = load_robot('stiff_flop', 'ncm')
    robot.gravity = [3.0, 0.0, -8.0]
    chain = robot.description.structure['segments']
    push = push_of(chain.segments[0], [1.0e5, 0.3e5, 0.3e5])
    moment = 1e-3 if force.any() else 0.0
    want = bent_under_weight(chain.segments[0], chain.tip_mass, robot.gravity, push, force, moment)
    q = robot.forward([1.0e5, 0.3e5, 0.3e5], [*force, 0.0, moment, 0.0])
    found = [q.tip[0, 3], q.tip[2, 3], np.arctan2(q.tip[0, 2], q.tip[2, 2])]
    np.testing.assert_allclose(found[:2], want[:2], atol=5e-7)
    assert found[2] == pytest.approx(want[2], abs=2e-5)


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
