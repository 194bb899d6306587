# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Mass of rods whose length is driven: kept by a rod that stretches, gained by one that is fed."""

from dataclasses import replace

from changed_robots import data_of
from network_cases import bvp_tip, cantilever, LENGTH, problem, section, solve
import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Robot
from soro_mechanics.models.network.description.spec import DriveSpec, LENGTHS
from soro_mechanics.models.network.frequencies import natural_frequencies
from soro_mechanics.models.network.layout import actuate, rest_inputs
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.numerics import lie
from soro_mechanics.robot_file.reader import describe_robot

MASS = 0.05
K = np.array([900.0, 900.0, 1500.0, 0.03, 0.05, 0.02])
CURVATURE = np.array([1.0, 2.0, 0.5])
LOAD = np.array([0.2, -0.1, -0.1, 0.01, 0.0, 0.02])
GRAVITY = np.array([1.0, 2.0, -9.0])


def driven(kind):
    """Return a heavy cantilever of 40 elements whose length a drive sets."""
    of = section(mass=MASS, shear=K[0], axial=K[2], bending=(K[3], K[4]), torsion=K[5])
    spec = cantilever(of=of, curvature=CURVATURE, pieces=40)
    return replace(spec, drives=(DriveSpec(0, 0, kind),))


def solved(spec, length):
    solver, outcome = solve(spec, 1, (LENGTH,), wrench=LOAD, gravity=GRAVITY, actuation=[length])
    assert outcome.converged
    x = solver.inputs(problem(wrench=LOAD, gravity=GRAVITY, actuation=[length]))
    return outcome.state, Linearisation(solver.layout, x, outcome.state, solver.layout.work())


@pytest.mark.parametrize('kind', LENGTHS)
def test_the_tip_is_that_of_collocation(kind):
    length = 1.4 * LENGTH
    mass = MASS if kind == 'length' else MASS / 1.4
    place, rotation = bvp_tip(mass * GRAVITY, LOAD, CURVATURE, K, length)
    state, _ = solved(driven(kind), length)
    # bent out of a plane by the load, elements are of second order
    tolerance = 2e-4
    np.testing.assert_allclose(state.body[1][:3, 3], place, atol=tolerance * LENGTH)
    np.testing.assert_allclose(state.body[1][:3, :3], rotation, atol=tolerance)


@pytest.mark.parametrize('kind', [*LENGTHS, 'stretch', 'curvature'])
def test_jacobians_hold_the_change_of_the_weight(kind):
    spec, at, step = driven(kind), 1.3 * LENGTH, 1e-5 * LENGTH
    if kind not in LENGTHS:
        shift = [0, 0, 1.0, 0, 0, 0] if kind == 'stretch' else [0, 0, 0, 1.0, 2.0, -1.0]
        spec = replace(spec, drives=(DriveSpec(0, 0, kind, shift=np.array(shift, float)),))
        at, step = 0.3, 1e-5
    _, linear = solved(spec, at)
    (more, _), (less, _) = solved(spec, at + step), solved(spec, at - step)
    moved = np.concatenate(
        [
            more.body[1][:3, 3] - less.body[1][:3, 3],
            lie.so3_log(more.body[1][:3, :3] @ less.body[1][:3, :3].T),
        ]
    )
    np.testing.assert_allclose(
        linear.jacobian(1)[:, 0], moved / (2.0 * step), rtol=2e-6, atol=2e-6
    )


def test_a_longer_rod_swings_with_the_mass_that_it_has():
    """Frequency of a cantilever: L^-2 m^-1/2, with the mass per length that is left."""
    found = {}
    for kind in LENGTHS:
        spec = replace(driven(kind), loads=())
        spec = replace(spec, rods=(replace(spec.rods[0], curvature=np.zeros((1, 4))),))
        solver, outcome = solve(spec, 1, (LENGTH,), actuation=[1.5 * LENGTH])
        x = actuate(solver.layout, rest_inputs(solver.layout), np.array([1.5 * LENGTH]))
        linear = Linearisation(solver.layout, x, outcome.state, solver.layout.work())
        found[kind] = natural_frequencies(linear, 1)[0]
    assert found['unloaded_length'] / found['length'] == pytest.approx(np.sqrt(1.5), rel=1e-9)


@pytest.mark.parametrize('pressures', [[0, 0, 0], [180e3, 180e3, 0], [30e3, 120e3, 60e3]])
def test_stretched_legs_press_on_the_base_with_their_weight(pressures):
    robot = load_robot('soft_parallel', model='network')
    q = robot.forward(pressures)
    assert q.status.code is Code.NONE
    base = robot.model_object.linearise(q).work.balance[0, :3]
    weight = (3 * 0.028 + 0.030) * 9.81
    np.testing.assert_allclose(base, [0.0, 0.0, weight], atol=1e-8)


def test_stretched_legs_agree_with_the_published_model_under_gravity():
    """With a mass that grew (28 to 46 g) it was 7.2 mm, and 9.26 cm/N with three legs pressed."""
    published = load_robot('soft_parallel', model='ancf')
    network = published.with_model('network')
    one, other = (r.forward([180e3, 180e3, 0.0]) for r in (published, network))
    assert np.linalg.norm(one.tip[:3, 3] - other.tip[:3, 3]) < 0.2e-3
    up = network.forward([180e3, 180e3, 180e3])
    assert network.compliance(up)[0, 0] == pytest.approx(7.926e-2, rel=1e-3)


def test_legs_may_be_driven_by_pressure_or_by_stretch():
    """Both are the same robot: what is driven is the length that the leg has without load."""
    data = data_of('soft_parallel')
    pressed = load_robot('soft_parallel', model='network')
    for drive in data['drives']:
        del drive['curve']
        drive |= {'quantity': 'stretch', 'minimum': 1, 'maximum': 1.7, 'rate': '1 1/s', 'rest': 1}
    del data['driver'], data['emulator']
    pulled = Robot(describe_robot(data, 'pulled.yaml'), 'network')
    at = [120e3, 60e3, 150e3]
    lengths = [pressed.forward(at).arc_lengths[i][-1] / 0.153 for i in range(3)]
    np.testing.assert_allclose(
        pulled.forward(lengths).tip, pressed.forward(at).tip, rtol=0.0, atol=1e-8
    )
