# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The mesh error that a status tells: against closed forms and much finer meshes."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import Load, load_robot, LoadAxes, Robot
from soro_mechanics.core.status import COARSE, Warnings
from soro_mechanics.models.network.rod_loads import refined
from soro_mechanics.robot_file.reader import describe_robot

LENGTH, BENDING = 10.0, 100.0


def robot_of(section, length, tendons=(), **mesh):
    """Return a cantilever on tendons (angle [deg], end); without any, a motor turns it."""
    drives, paths = [], {}
    end = {'rods': ['arm']}
    for i, (angle, until) in enumerate(tendons):
        place = {'polar': {'radius': '10 mm', 'angle': f'{angle} deg'}}
        paths[f't{i}'] = end | place | ({'to': until} if until else {})
        limits = {'minimum': '0 N', 'maximum': '10 N', 'rate': '10 N/s'}
        acts = [{'drives': 'tension', 'tendons': [f't{i}']}]
        drives.append({'name': f'd{i}', 'quantity': 'force', 'acts': acts} | limits)
    start = {'body': 'ground'}
    if not tendons:
        start |= {'motor': {'axis': '0 0 1'}}
        limits = {'minimum': '-10 deg', 'maximum': '10 deg', 'rate': '10 deg/s'}
        acts = [{'drives': 'angle', 'rods': ['arm']}]
        drives.append({'name': 'turn', 'quantity': 'angle', 'acts': acts} | limits)
    arm = {'name': 'arm', 'section': 's', 'length': length, 'from': start, 'to': {'body': 'tip'}}
    body = {'kind': 'rods', 'sections': {'s': section}, 'bodies': {'tip': {}}, 'rods': [arm]}
    body |= {'tip': {'body': 'tip'}} | ({'tendons': paths} if paths else {})
    data = {'schema': 2, 'name': 'arm', 'title': 'one rod', 'gravity': '0 0 0 m/s^2'}
    data |= {'body': body, 'drives': drives, 'models': {'network': mesh}}
    return Robot(describe_robot(data, 'arm.yaml'), 'network')


def rolled(turns, **mesh):
    """Return a cantilever that a moment rolls up, and where its tip belongs."""
    stiff = {'axial': '10 kN', 'shear': '10 kN', 'bending_x': '100 N m^2', 'torsion': '100 N m^2'}
    section = {'stiffness': stiff, 'radius': '10 mm', 'strain_limit': '100 %'}
    robot, q = robot_of(section, '10 m', **mesh), None
    curvature = 2.0 * np.pi * turns / LENGTH
    for part in np.linspace(0.0, 1.0, 9):
        moment = [0.0, 0.0, 0.0, 0.0, part * BENDING * curvature, 0.0]
        q = robot.forward([0.0], loads=[Load(moment, on='tip', axes=LoadAxes.LOCAL)], guess=q)
    angle = curvature * LENGTH
    return q, np.array([1.0 - np.cos(angle), 0.0, np.sin(angle)]) / curvature


@pytest.mark.parametrize('turns', [2, 4])
def test_a_rod_that_is_rolled_up_is_exact_and_called_so(turns):
    """Of constant strain: whatever the mesh, and the bound knows that an estimate is needed."""
    q, right = rolled(turns, mesh=16)
    assert np.linalg.norm(q.tip[:3, 3] - right) < 1e-9 * LENGTH
    assert q.status.mesh_error < 1e-6 * LENGTH
    assert Warnings.COARSE_MESH not in q.status.warnings


ROBOTS = ('haptic_5dof', 'soft_parallel', 'stewart_gough')


@pytest.mark.parametrize('name', ROBOTS)
def test_the_estimate_is_that_of_a_much_finer_mesh(name):
    """At random actuations and tip loads, within a third; no status warns that need not."""
    robot = load_robot(name, model='network')
    d = robot.description
    finer = refined(robot.model_object.spec, 4)
    fine = Robot(replace(d, structure={**d.structure, 'network': finer}), 'network')
    length, force = robot.model_object.equilibrium(()).layout.structure.scale
    rng, low, high = np.random.default_rng(1), *robot.limits.T
    for _ in range(3):
        actuation = rng.uniform(low, high)
        wrench = 0.5 * force * rng.normal(size=6) * np.array([1.0] * 3 + [length] * 3)
        q, right = (r.forward(actuation, wrench) for r in (robot, fine))
        error = np.linalg.norm(q.tip[:3, 3] - right.tip[:3, 3])
        solution = q.state
        check = robot.model_object.mesh_check(solution.equilibrium)
        found = check.error(solution.problem, solution.state)
        assert found == pytest.approx(error, rel=0.35)
        assert (found > check.limit) == (Warnings.COARSE_MESH in q.status.warnings)


def test_elements_bent_out_of_a_plane_are_not_called_fine_enough():
    """Two-node elements: the bound is above the error where it is large."""
    stiff = {'axial': '10 kN', 'shear': '10 kN', 'bending_x': '100 N m^2', 'torsion': '60 N m^2'}
    section = {'stiffness': stiff, 'radius': '10 mm', 'strain_limit': '100 %'}
    wrench = np.array([2.0, -2.5, -1.5, 20.0, 10.0, 12.0])
    coarse, fine = (robot_of(section, '10 m', mesh=n).forward([0.0], wrench) for n in (4, 64))
    error = np.linalg.norm(coarse.tip[:3, 3] - fine.tip[:3, 3])
    assert error > COARSE * LENGTH
    assert Warnings.COARSE_MESH in coarse.status.warnings
    assert coarse.status.mesh_error == pytest.approx(error, rel=0.5)
    assert 'raise models.network.mesh, or write mesh: {tolerance' in coarse.status.message
    assert Warnings.COARSE_MESH not in fine.status.warnings
