# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tendons under tension: closed form, the equations of Rucker and Webster, virtual work."""

from dataclasses import replace

from network_cases import problem, TENDON_LENGTH, TENDON_ROD, tendon_rod
import numpy as np
import pytest
from tendon_reference import TendonRod

from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.network.batch import Batch, Fit
from soro_mechanics.models.network.description.spec import DriveSpec
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.guard import segments_of, strain_limits
from soro_mechanics.models.network.layout import build_layout, load, rest_inputs

L, EA, EI = TENDON_LENGTH, TENDON_ROD[2], TENDON_ROD[3]
PLACES = ((8e-3, 0.0, 1.0), (-2e-3, 7e-3, 0.6))  # x, y, end
TENSION = (4.0, 2.0)
WRENCH = np.array([0.1, 0.2, -0.1, 0.002, 0.001, 0.004])
WEIGHT = 0.5  # N/m


def equilibrium(*args, **kind):
    return Equilibrium(build_layout(tendon_rod(*args, **kind), len(args[0])))


def solve(solver, tension, wrench=None, gravity=None, start=None):
    asked = problem(wrench, gravity, tension)
    if start is not None:
        found = solver.newton(solver.inputs(asked), start)
    else:
        found = solver.solve(asked, np.zeros(len(tension)), None)
    assert found.converged
    return found.state


@pytest.fixture(scope='module')
def reference():
    tendons = [(x, y, t, end * L) for (x, y, end), t in zip(PLACES, TENSION, strict=True)]
    return TendonRod(L, TENDON_ROD, tendons, [0.0, 0.0, -WEIGHT], WRENCH).solve()


@pytest.mark.parametrize('mesh', [4, 9])
def test_one_tendon_without_load_bends_an_arc(mesh):
    """Curvature T r / (E I) and compression T / (E A); of constant strain whatever the mesh."""
    tension, radius = 6.0, 8e-3
    solver = equilibrium([(radius, 0.0, 1.0)], mesh=mesh)
    state = solve(solver, [tension])
    kappa, stretch = tension * radius / EI, 1.0 - tension / EA
    turn = kappa * L
    tip = stretch / kappa * np.array([1.0 - np.cos(turn), 0.0, np.sin(turn)])
    np.testing.assert_allclose(state.body[1][:3, 3], tip, atol=1e-9)
    lengths = solver.layout.tendons.lengths(state)
    np.testing.assert_allclose(lengths, L * (stretch - kappa * radius), atol=1e-9)


def test_the_equations_of_rucker_and_webster(reference):
    """Out of plane, with weight, load and a tendon that ends on the way: second order."""
    errors, tips = [], []
    for mesh in (10, 20, 40):
        solver = equilibrium(PLACES, mesh=mesh, mass=WEIGHT / 9.81)
        state = solve(solver, TENSION, WRENCH, [0.0, 0.0, -9.81])
        tips.append(state.body[1])
        errors.append(np.abs(tips[-1][:3, 3] - reference[0][:3, 3]).max())
        lengths = solver.layout.tendons.lengths(state)
        np.testing.assert_allclose(lengths, reference[1], atol=1e-3 * (10.0 / mesh) ** 2)
    assert errors[-1] < 2e-4 * L
    assert errors[0] / errors[1] > 3.5
    assert errors[1] / errors[2] > 3.5
    finest = (4.0 * tips[2] - tips[1]) / 3.0
    np.testing.assert_allclose(finest, reference[0], atol=5e-5)


def test_virtual_work():
    """A tension shortens another tendon as that one's shortens the first, a force alike."""
    solver, error = equilibrium(PLACES, mesh=6), 1e-6
    solver.tolerance = 1e-11
    force = np.array([0.1, 0.2, -0.1, 0.0, 0.0, 0.0])  # a dead moment has no energy
    base = solve(solver, TENSION, force)
    tendons = solver.layout.tendons

    def difference(tension, load, step):
        ends = [
            solve(solver, TENSION + s * step * tension, force + s * step * load, start=base)
            for s in (1.0, -1.0)
        ]
        lengths = [tendons.lengths(x) for x in ends]
        places = [x.body[1][:3, 3] for x in ends]
        return [(a - b) / (2.0 * step) for a, b in (lengths, places)]

    by_tension = [difference(np.eye(2)[i], np.zeros(6), 1e-4) for i in range(2)]
    by_force = [difference(np.zeros(2), np.eye(6)[i], 1e-4) for i in range(3)]
    lengths = np.array([x[0] for x in by_tension])
    np.testing.assert_allclose(lengths, lengths.T, atol=error * np.abs(lengths).max())
    assert np.linalg.eigvalsh(lengths)[-1] < 0.0
    moved = np.array([x[1] for x in by_tension])
    shortened = np.array([x[0] for x in by_force])
    np.testing.assert_allclose(moved.T, -shortened, atol=error * np.abs(moved).max())


def test_a_twisted_rod_is_held_by_its_tendons():
    """Four tendons around the axis: each resists a twist by T r^2 per length (and the stretch)."""
    places = [(8e-3, 0, 1), (0, 8e-3, 1), (-8e-3, 0, 1), (0, -8e-3, 1)]
    solver = equilibrium(places, mesh=8)
    twist = 1e-3
    state = solve(solver, [5.0] * 4, [0, 0, 0, 0, 0, twist])
    stretch = 1.0 - 20.0 / EA
    expected = twist * L / (TENDON_ROD[5] + 20.0 * (8e-3) ** 2 / stretch)
    assert np.arctan2(*state.body[1][1::-1, 0]) == pytest.approx(expected, rel=1e-5)


def test_pressure_along_the_axis_is_the_tendon_without_twist_and_shear():
    """Without load the eccentric pressure of the opposite sign; with a twist it is not."""
    spec = tendon_rod([(8e-3, 0.0, 1.0)], mesh=8)
    wrench = -np.array([0.0, 0.0, 1.0, 0.0, -8e-3, 0.0])
    drive = DriveSpec(0, 0, 'pressure', shift=wrench)
    pressed = Equilibrium(build_layout(replace(spec, drives=(drive,)), 1))
    pulled = Equilibrium(build_layout(spec, 1))
    free = [solve(x, [4.0]).body[1] for x in (pressed, pulled)]
    np.testing.assert_allclose(*free, atol=1e-9)
    loaded = [solve(x, [4.0], WRENCH).body[1] for x in (pressed, pulled)]
    assert np.abs(loaded[0] - loaded[1]).max() > 1e-3


def test_rods_in_a_row_are_one_arm():
    """A tendon through two rods pulls as one along a rod of both."""
    spec = tendon_rod([(8e-3, 0.0, 1.0)], mesh=8)
    whole = Equilibrium(build_layout(spec, 1))
    one = spec.rods[0]
    start, end = one.ends
    first = replace(one, name='a', length=L / 2, ends=(start, replace(end, body='m')))
    second = replace(one, name='b', length=L / 2, ends=(replace(start, body='m'), end))
    middle = replace(spec.bodies[1], name='m')
    drives = tuple(replace(spec.drives[0], rod=r) for r in range(2))
    half = np.linspace(0.0, 1.0, 5)
    rods = tuple(replace(r, fractions=half) for r in (first, second))
    parts = replace(spec, bodies=(*spec.bodies, middle), rods=rods, drives=drives)
    split = Equilibrium(build_layout(parts, 1))
    a, b = solve(whole, [4.0], WRENCH), solve(split, [4.0], WRENCH)
    np.testing.assert_allclose(a.body[1], b.body[1], atol=1e-8)
    lengths = whole.layout.tendons.lengths(a), split.layout.tendons.lengths(b)
    np.testing.assert_allclose(*lengths, atol=1e-9)


def test_many_tendons_of_one_rod():
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    places = [(8e-3 * np.cos(a), 8e-3 * np.sin(a), 1.0) for a in angles]
    state = solve(equilibrium(places, mesh=4), [0.5] * 16)
    stretch = 1.0 - 8.0 / EA
    np.testing.assert_allclose(state.body[1][:3, 3], [0.0, 0.0, stretch * L], atol=1e-9)


def test_many_tensions_at_once():
    """The batch puts every tension where it belongs; its start is one solution for all."""
    solver = equilibrium(PLACES, mesh=8)
    base, layout = solve(solver, TENSION), solver.layout
    size = 6 * sum(layout.structure.counts[:4])
    fit = Fit(np.zeros(2), np.ones(2), np.zeros((1, 2), dtype=np.int64), np.zeros((1, size)))
    rest = load(layout, rest_inputs(layout), LoadCase())
    guarded = segments_of(layout), strain_limits(layout)
    batch = Batch(layout, rest, base, fit, solver.tolerance, *guarded)
    tensions = TENSION + 0.2 * np.random.default_rng(0).random((20, 2))
    tips, found = batch.solve(tensions)
    assert found.all()
    for tip, tension in zip(tips, tensions, strict=True):
        np.testing.assert_allclose(tip, solve(solver, tension).body[1], atol=1e-9)
