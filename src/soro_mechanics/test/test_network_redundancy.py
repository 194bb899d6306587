# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Of actuations that meet a target, the inverse takes that of least energy, wherever it begins.

The energy is this file's own, from the curvature of the rods and the height of the weights. It is
minimised independently: by steps against its differences, with forward solves alone.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from soro_mechanics import Code, load_robot
from soro_mechanics.core.configuration import LoadCase, Target, Task
from soro_mechanics.models.network.inverse_statics.least_energy import LeastEnergy
from soro_mechanics.numerics import lie

EXAMPLES = Path(__file__).parents[3] / 'config' / 'robots' / 'examples'
# radius [m], Young's modulus [Pa], Poisson's ratio, density [kg/m^3] of a rod; mass of the
# platform [kg], its centre above the tip [m]; gravity [m/s^2]
MADE_OF = {
    'stewart_gough': (0.65e-3, 207e9, 0.305, 0.0, 0.0, 0.0, 0.0),
    'crank_platform': (1.5e-3, 60e9, 0.3, 1800.0, 0.12, -5e-3, 9.81),
}


@pytest.fixture(scope='module', params=list(MADE_OF))
def robot(request):
    file = EXAMPLES / f'{request.param}.yaml'
    return load_robot(file if file.exists() else request.param)


def energy(robot, q):
    radius, young, poisson, density, mass, centre, gravity = MADE_OF[robot.name]
    bending = young * np.pi * radius**4 / 4.0
    twisting = bending / (1.0 + poisson)
    total = gravity * mass * (q.tip[2, 3] + centre * q.tip[2, 2])
    for frames in q.backbones:
        lengths = np.linalg.norm(np.diff(frames[:, :3, 3], axis=0), axis=1)
        turns = np.einsum('nji,njk->nik', frames[:-1, :3, :3], frames[1:, :3, :3])
        x, y, z = Rotation.from_matrix(turns).as_rotvec().T
        total += 0.5 * np.sum((bending * (x**2 + y**2) + twisting * z**2) / lengths)
        heights = 0.5 * (frames[:-1, 2, 3] + frames[1:, 2, 3])
        total += density * np.pi * radius**2 * gravity * (heights @ lengths)
    return total


def back_at(robot, target, actuation, near):
    """Return the configuration that meets a position, by Newton's method; None where none is."""
    q = robot.forward(actuation, guess=near)
    for _ in range(8):
        away = target - q.tip[:3, 3]
        if q.status.code is not Code.NONE or np.abs(away).max() < 1e-9:
            break
        q = robot.forward(q.actuation + np.linalg.pinv(robot.jacobian(q)[:3]) @ away, guess=q)
    good = q.status.code is Code.NONE and np.abs(target - q.tip[:3, 3]).max() < 1e-8
    return q if good else None


def slope(robot, q, h=1e-4):
    """Return directions (m, k) that keep the tip in place, and the slope (k,) along them."""
    free, target = null_space(robot.jacobian(q)[:3]), q.tip[:3, 3]
    ends = [
        [energy(robot, back_at(robot, target, q.actuation + s * h * n, q)) for s in (1.0, -1.0)]
        for n in free.T
    ]
    return free, np.diff(ends)[:, 0] / (-2.0 * h)


def descended(robot, q, steep):
    """Return the energy where going down from a configuration ends, its tip in place."""
    step, least, target = 0.03, energy(robot, q), q.tip[:3, 3]
    for _ in range(150):
        free, rate = slope(robot, q)
        if np.abs(rate).max() < steep:
            break
        way = -free @ rate / np.linalg.norm(rate)
        while step > 1e-6:
            trial = back_at(robot, target, q.actuation + step * way, q)
            if trial is not None and energy(robot, trial) < least:
                break
            step *= 0.4
        else:
            break
        q, least, step = trial, energy(robot, trial), min(1.8 * step, 0.05)
    return least


def postures(robot, spread, count, seed=0):
    low, high = robot.limits.T
    rng, rest = np.random.default_rng(seed), np.array([a.rest for a in robot.actuators])
    while count:
        at = rest + 0.2 * (high - rest) + spread * (high - rest) * rng.uniform(-0.5, 0.5, len(low))
        q = robot.forward(at)
        if q.status.code is Code.NONE:
            count -= 1
            yield q


@pytest.mark.parametrize('spread', [0.1, 0.2, 0.3])
def test_the_least_energy_is_found_from_where_it_is_not(robot, spread):
    for q in postures(robot, spread, 3):
        s = robot.inverse(q.tip[:3, 3], guess=q)
        assert s.status.code is Code.NONE and s.status.message == ''
        assert s.position_error <= 1e-6
        found, before = energy(robot, s.configuration), energy(robot, q)
        least = descended(robot, q, 2e-3)
        assert found < before - 0.01 * abs(before - least)
        assert found <= least + 0.01 * (before - least)
        assert (
            np.abs(slope(robot, s.configuration)[1]).max()
            < 2e-2 * np.abs(slope(robot, q)[1]).max()
        )


@pytest.mark.parametrize('spread', [0.05, 0.1, 0.2, 0.3, 0.5])
def test_no_search_ends_above_the_energy_of_its_guess_and_the_next_one_is_short(robot, spread):
    steps = []
    for q in postures(robot, spread, 8):
        s = robot.inverse(q.tip[:3, 3], guess=q)
        assert s.status.code is Code.NONE
        before = energy(robot, q)
        assert energy(robot, s.configuration) <= before + 1e-6 * abs(before)
        if s.status.message:  # rods touch: more than this model describes
            continue
        again = robot.inverse(q.tip[:3, 3], guess=s)
        near = 1e-4 * np.ptp(robot.limits[0])
        np.testing.assert_allclose(again.actuation, s.actuation, atol=near)
        after = robot.inverse(q.tip[:3, 3] + [1e-4, 0.0, 0.0], guess=again)
        assert after.status.code is Code.NONE
        steps.append([x.status.iterations for x in (s, again, after)])
    assert len(steps) >= 7
    assert np.all(np.max(steps, axis=0) <= [150, 4, 8])
    assert np.all(np.median(steps, axis=0) <= [60, 2, 3])


def test_the_least_energy_does_not_depend_on_where_a_search_begins(robot):
    for one, other in zip(postures(robot, 0.2, 4), postures(robot, 0.2, 4, seed=5), strict=True):
        found = [robot.inverse(one.tip[:3, 3], guess=q) for q in (one, other)]
        assert all(s.status.code is Code.NONE for s in found)
        energies = [energy(robot, s.configuration) for s in found]
        assert energies[0] == pytest.approx(energies[1], rel=1e-5)


def test_what_decides_between_steps_is_the_curvature_of_energy_where_the_tip_stays(robot):
    """Second differences along actuations that meet the target, corrected by forward solves."""
    q = next(postures(robot, 0.2, 1))
    load = LoadCase(gravity=robot.gravity)
    problem = LeastEnergy(robot.model_object, load, Target(q.tip, Task.POSITION))
    problem.equilibrium = robot.model_object.equilibrium(())
    of = problem._choice(problem.start(robot.model_object, q))
    for way in null_space(robot.jacobian(q)[:3]).T:
        h, scaled = 1e-3, way / problem.range
        ends = [back_at(robot, q.tip[:3, 3], q.actuation + s * h * way, q) for s in (-1.0, 1.0)]
        low, high = (energy(robot, end) for end in ends)
        bend = (low - 2.0 * energy(robot, q) + high) / h**2
        scale = np.linalg.norm(of.hessian) * (scaled @ scaled)
        assert scaled @ of.hessian @ scaled == pytest.approx(bend, abs=0.02 * scale)


def test_a_search_that_has_not_found_the_least_energy_says_so(robot, monkeypatch):
    monkeypatch.setattr(LeastEnergy, 'down', lambda self, start, near=0.0: start)
    q = next(postures(robot, 0.3, 1))
    s = robot.inverse(q.tip[:3, 3], guess=q)
    assert s.status.code is Code.NONE and 'less energy' in s.status.message
    target = q.tip @ lie.se3_exp([1e-4, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert robot.inverse(target[:3, 3], guess=q).status.code is Code.NONE


def test_where_newton_goes_astray_from_near_the_least_energy_the_search_goes_nearer():
    """Else every target of a path is searched for anew, and none is met at the least energy."""
    stewart, share = load_robot('stewart_gough'), 0.6180339887 * np.arange(1, 7) % 1.0
    (low, high), rest = stewart.limits.T, np.array([a.rest for a in stewart.actuators])
    at = rest + (0.05 + 0.45 * share) * (high - rest)
    s = q = stewart.forward(at + 0.004 * (high - low) * np.sin(np.arange(6.0)))
    steps = []
    for along in (0.0, 2e-5, 4e-5):
        s = stewart.inverse(q.tip[:3, 3] + [along, 0.0, 0.0], guess=s)
        assert s.status.code is Code.NONE and s.status.message == ''
        steps.append(s.status.iterations)
    assert max(steps[1:]) <= 5


def test_tendons_that_tend_to_the_least_tension_know_how_the_task_curves():
    """Their energy had no such term: a step along a path took up to a hundred iterations."""
    arm = load_robot(EXAMPLES / 'tendon_arm.yaml')
    (low, high), rest = arm.limits.T, np.array([a.rest for a in arm.actuators])
    far = np.where(high - rest >= rest - low, high, low) - rest
    turns = 2.0 * np.pi * np.arange(30)[:, None] / 100.0 + np.arange(len(rest))
    path = rest + 0.02 * far + 0.004 * (high - low) * np.sin(turns)
    s, steps = arm.forward(path[0]), []
    for tip in [arm.forward(lengths).tip for lengths in path]:
        s = arm.inverse(tip[:3, 3], guess=s)
        assert s.status.code is Code.NONE and s.status.message == ''
        steps.append(s.status.iterations)
    assert max(steps) <= 8 and np.mean(steps) < 4.0
