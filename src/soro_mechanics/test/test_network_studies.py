# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frequencies, branches, limit points, conditioning, mesh error, validity of networks."""

from dataclasses import replace
import tracemalloc

from network_cases import body, ground, problem, rod, section, solve
import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Robot, Stability
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.frequencies import natural_frequencies
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.models.network.rod_loads import refined

LENGTH, BENDING, MASS = 0.4, 0.03, 0.05


@pytest.fixture(scope='module')
def stewart():
    return load_robot('stewart_gough')


def linear_of(spec):
    solver, outcome = solve(spec)
    assert outcome.converged
    x = solver.inputs(problem())
    return Linearisation(solver.layout, x, outcome.state, solver.layout.work())


def test_frequencies_of_a_cantilever_are_the_euler_bernoulli_ones():
    of = section(mass=MASS, bending=(BENDING, 4.0 * BENDING))
    beam = rod(of=of, pieces=60)
    spec = NetworkSpec((ground(), body('tip')), (beam,), (), 'tip', np.eye(4))
    found = natural_frequencies(linear_of(spec), 3)
    unit = np.sqrt(BENDING / (MASS * LENGTH**4)) / (2.0 * np.pi)
    roots = np.array([1.8751041, 4.6940911])
    expected = np.sort([roots[0] ** 2, 2.0 * roots[0] ** 2, roots[1] ** 2]) * unit
    np.testing.assert_allclose(found, expected, rtol=5e-3)


def test_frequency_of_a_mass_on_a_light_rod():
    tip = body('tip', None, 0.1)
    spec = NetworkSpec((ground(), tip), (rod(pieces=10),), (), 'tip', np.eye(4))
    found = natural_frequencies(linear_of(spec), 2)
    expected = np.sqrt(3.0 * BENDING / LENGTH**3 / 0.1) / (2.0 * np.pi)
    np.testing.assert_allclose(found, expected, rtol=2e-3)


def test_solutions_differ_and_are_solutions(stewart):
    robot = stewart
    q = robot.forward(np.full(6, 0.405))
    found = robot.solutions(q, 12, seed=1)
    assert found[0] is q
    assert all(x.status.converged for x in found)
    for i, a in enumerate(found):
        for b in found[:i]:
            gap = max(np.abs(x - y).max() for x, y in zip(a.backbones, b.backbones, strict=True))
            assert gap > 1e-6


def test_limit_distance_finds_the_buckling_load(stewart):
    q = stewart.forward(np.full(6, 0.405))
    push = np.array([0.0, 0.0, -60.0, 0.0, 0.0, 0.0])
    part = stewart.limit_distance(q, np.zeros(6), push)
    euler = 6 * 4 * np.pi**2 * 207e9 * np.pi / 4 * 0.65e-3**4 / 0.405**2
    assert 60.0 * part == pytest.approx(euler, rel=0.1)
    assert stewart.limit_distance(q, np.zeros(6), 0.1 * push) == np.inf


def test_mesh_error_falls_with_the_mesh(stewart):
    spec, lengths = stewart.description.structure['network'], [0.42, 0.40, 0.41, 0.43, 0.40, 0.42]
    fine = Robot(replace(stewart.description, structure={'network': refined(spec, 4)}))
    coarse, (moved, turned) = (r.refinement(r.forward(lengths)) for r in (stewart, fine))
    assert 0.0 < moved < 1e-6
    assert turned < 1e-5
    assert coarse[0] / moved > 14.0


def test_conditioning_and_validity(stewart):
    q = stewart.forward([0.42, 0.40, 0.41, 0.43, 0.40, 0.42])
    report = stewart.conditioning(q, 0.087)
    scaled = stewart.jacobian(q) * np.array([[1.0]] * 3 + [[0.087]] * 3)
    assert report.condition == pytest.approx(np.linalg.cond(scaled), rel=1e-6)
    guard = stewart.network.validity(q)
    # curvature from the poses themselves, by differences
    worst = 0.0
    for g, arc in zip(q.backbones, q.arc_lengths, strict=True):
        turn = np.arccos(np.clip(np.sum(g[1:, :3, 2] * g[:-1, :3, 2], axis=1), -1.0, 1.0))
        worst = max(worst, float(np.max(turn / np.diff(arc))) * 0.65e-3)
    assert max(guard.surface_strain) == pytest.approx(worst, rel=0.15)
    assert 0.0 < guard.clearance < 0.1
    assert len(guard.closest) == 2


def test_random_robots_are_converged_or_say_so(stewart):
    """Converged results stay solutions on a finer mesh; failures carry their code."""
    rng = np.random.default_rng(11)
    converged = 0
    for _ in range(25):
        actuation = 0.41 + 0.03 * rng.normal(size=6)
        wrench = rng.normal(size=6) * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
        q = stewart.forward(actuation, wrench)
        if not q.status.converged:
            assert q.status.code is Code.NOT_CONVERGED
            continue
        converged += 1
        assert q.status.stability is not Stability.UNKNOWN
        assert (q.status.code is Code.NONE) == (q.status.stability is Stability.STABLE)
        moved, _ = stewart.refinement(q)
        assert moved < 1e-3
    assert converged >= 20


def test_scratch_that_is_used_again_spoils_nothing(stewart):
    """A linearisation that is kept answers as before, whatever was solved meanwhile."""
    robot = stewart
    low, high = robot.limits.T
    at = [low + share * (high - low) for share in (0.5, 0.52, 0.55, 0.48)]
    q = robot.forward(at[0])
    before = robot.compliance_along(q)
    for actuation in at[1:]:
        robot.compliance_along(robot.forward(actuation, guess=q))
    for first, again in zip(before, robot.compliance_along(q), strict=True):
        np.testing.assert_array_equal(first, again)
    # what was solved with scratch of others, by differences
    other, push = robot.forward(at[2], guess=q), 1e-4
    moved = [robot.forward(at[2], [s * push, 0, 0, 0, 0, 0], guess=other) for s in (1, -1)]
    slope = (moved[0].tip[:3, 3] - moved[1].tip[:3, 3]) / (2.0 * push)
    np.testing.assert_allclose(robot.compliance(other)[:3, 0], slope, rtol=1e-4, atol=1e-9)


def test_warm_solves_keep_no_memory(stewart):
    robot = stewart
    low, high = robot.limits.T
    at = [low + share * (high - low) for share in (0.5, 0.51, 0.52)]
    q = robot.forward(at[0])
    for k in range(20):
        q = robot.forward(at[k % 3], guess=q)
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        for k in range(60):
            q = robot.forward(at[k % 3], guess=q)
        assert tracemalloc.get_traced_memory()[0] - start < 300_000  # two configurations
    finally:
        tracemalloc.stop()
