# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse along a path: what is remembered of it, and what it must not change."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.status import Code, Stability
from soro_mechanics.models.network.kernels.path_memory_kernels import (
    copy_path,
    extrapolate,
    foresee,
    learn_lack,
    new_path_memory,
    POINTS,
    USED,
)

UNKNOWNS = 6
DIRECTION = np.array([0.0, 0.6, 0.8])


@pytest.fixture(scope='module')
def stewart():
    return load_robot('stewart_gough')


def pose_at(position, turn=0.0):
    """Return a pose turned about z."""
    pose = np.eye(4)
    c, s = np.cos(turn), np.sin(turn)
    pose[:2, :2] = [[c, -s], [s, c]]
    pose[:3, 3] = position
    return pose


def memory_of(distances, function):
    """Return a memory of solutions at distances along a line, newest first."""
    memory = new_path_memory(UNKNOWNS)
    memory.known[0] = len(distances)
    for k, at in enumerate(distances):
        memory.pose[k] = pose_at(at * DIRECTION)[:3].ravel()
        memory.lack[k] = function(at)
    return memory


def extrapolated(memory, target):
    extrapolate(target, memory, np.empty(USED), np.empty(USED))
    return memory.now


def test_what_first_steps_lack_is_foreseen_on_a_path_and_not_off_it():
    """Unknowns a + b t + c t^2: linear steps of any length lack c per square of it."""
    path, bend = new_path_memory(3), np.array([0.5, -2.0, 0.0])
    place, index = np.empty(USED), np.empty(USED)

    def first_step(at, way, direction=DIRECTION):
        target = pose_at(at * DIRECTION + way * direction)
        foreseen = foresee(path, target, place, index)
        missed = path.now - bend * way**2
        path.now[:] -= missed  # by the steps that follow
        learn_lack(path, target, True)
        return foreseen, missed

    at, told = 0.0, []
    for way in (0.01, 0.012, 0.008, 0.011, 0.01):
        foreseen, missed = first_step(at, way)
        at, told = at + way, [*told, foreseen]
        assert foreseen == (np.abs(missed).max() < 1e-12)
    assert told == [False, False, False, True, True]
    aside = first_step(at, 0.01, np.array([1.0, 0.0, 0.0]))
    assert not aside[0] and np.abs(aside[1]).max() == pytest.approx(2e-4)


@pytest.mark.parametrize('degree', range(USED))
def test_extrapolation_is_exact_for_polynomials_at_uneven_distances(degree):
    rng = np.random.default_rng(degree)
    coefficients = rng.normal(size=(degree + 1, UNKNOWNS))

    def function(at):
        return sum(c * (at / 0.01) ** i for i, c in enumerate(coefficients))

    distances = [0.010, 0.0088, 0.0077, 0.0062, 0.0049]
    target = pose_at(0.0112 * DIRECTION)
    assert_allclose(
        extrapolated(memory_of(distances, function), target), function(0.0112), rtol=1e-9
    )


def test_a_path_that_goes_back_is_interpolated():
    """The second point of the way back is one of the way there: its solution is taken."""

    def function(at):
        return np.exp(at * np.linspace(1.0, 40.0, UNKNOWNS))

    memory = memory_of([0.009, 0.010, 0.009, 0.008, 0.007, 0.006], function)
    found = extrapolated(memory, pose_at(0.008 * DIRECTION))
    assert_allclose(found, function(0.008), rtol=1e-14)


@pytest.mark.parametrize('shift', [0.0, 4e-4])
def test_points_off_the_line_are_not_extrapolated(shift):
    memory = memory_of([0.010, 0.009], lambda at: np.full(UNKNOWNS, at))
    memory.pose[1, 3] += shift  # x
    found = extrapolated(memory, pose_at(0.011 * DIRECTION))
    assert_allclose(found, 0.011 if shift == 0.0 else 0.010, rtol=1e-12)


def test_the_same_target_again_takes_the_newest_solution():
    memory = memory_of([0.010, 0.009], lambda at: np.full(UNKNOWNS, at))
    assert_allclose(extrapolated(memory, pose_at(0.010 * DIRECTION)), 0.010, rtol=1e-15)


def wandering(count):
    """Return targets with uneven steps, turns, a reversal and repetitions."""
    t = np.linspace(0.0, 1.0, count)
    t = np.concatenate([t**1.5, t[::-1] ** 2, t])
    positions = np.stack(
        [0.02 * np.sin(5.0 * t), 0.03 * t + 0.004 * np.sin(30.0 * t), 0.48 + 0.05 * t], axis=1
    )
    return [pose_at(p, 0.1 * np.sin(4.0 * a)) for p, a in zip(positions, t, strict=True)]


@pytest.mark.parametrize('wrench', [np.zeros(6), np.array([0.3, 0.0, -0.5, 0.0, 0.02, 0.0])])
def test_a_wandering_path_is_the_general_solution(stewart, wrench):
    """Uneven, curved, turning, to and fro: lengths against a solve of each pose by itself."""
    s = stewart.inverse(wandering(40)[0], wrench)
    for k, target in enumerate(wandering(40)):
        s = stewart.inverse(target, wrench, guess=s)
        assert s.status.code is Code.NONE
        assert s.status.stability is Stability.STABLE
        if k % 10 == 0:
            exact = stewart.forward(s.actuation, wrench, guess=s)
            assert_allclose(exact.tip, target, atol=2e-7)
            assert_allclose(s.configuration.backbones[3], exact.backbones[3], atol=1e-6)
            arcs = [a[-1] for a in s.configuration.arc_lengths]
            assert_allclose(arcs, [a[-1] for a in exact.arc_lengths], rtol=1e-12)


def test_solutions_may_be_continued_more_than_once(stewart):
    """A solve changes nothing of the solution it starts from."""
    s = stewart.inverse(wandering(40)[0])
    for target in wandering(40)[:30]:
        s = stewart.inverse(target, guess=s)
    target = wandering(40)[30]
    before = copy_path(s.configuration.state.path)
    first = stewart.inverse(target, guess=s)
    other = stewart.inverse(pose_at([0.01, 0.0, 0.49], 0.1), guess=s)
    assert other.status.code is Code.NONE
    again = stewart.inverse(target, guess=s)
    np.testing.assert_array_equal(first.actuation, again.actuation)
    for now, then in zip(s.configuration.state.path, before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize('lack', [1e200, np.inf, np.nan])
def test_a_path_that_leads_beyond_the_numbers_misleads_nobody(stewart, lack):
    first, second, third = wandering(40)[:3]
    s = stewart.inverse(second, guess=stewart.inverse(first))
    good = stewart.inverse(third, guess=s)
    path = s.configuration.state.path
    path.lack[:], path.known[0] = lack, POINTS
    again = stewart.inverse(third, guess=s)
    assert again.status.code is Code.NONE
    assert_allclose(again.actuation, good.actuation, atol=1e-6)


def test_one_solver_serves_several_loads_in_turn(stewart):
    """Two paths under different loads, point by point: each as if it were alone."""
    loads = [np.zeros(6), np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0])]
    targets = wandering(40)[:20]
    alone = []
    for wrench in loads:
        s = stewart.inverse(targets[0], wrench)
        alone.append([])
        for target in targets:
            s = stewart.inverse(target, wrench, guess=s)
            alone[-1].append(s.actuation)
    turns = [stewart.inverse(targets[0], wrench) for wrench in loads]
    for k, target in enumerate(targets):
        for i, wrench in enumerate(loads):
            turns[i] = stewart.inverse(target, wrench, guess=turns[i])
            np.testing.assert_array_equal(turns[i].actuation, alone[i][k])
    assert np.abs(np.subtract(*[a[-1] for a in alone])).max() > 1e-4


@pytest.mark.parametrize('hop', [1e-12, 1e-10, 1e-8, 1e-7])
def test_of_a_hop_that_is_mostly_round_off_nothing_is_learned(stewart, hop):
    """To and fro by centimetres, the tip asked for as finely as it is known."""
    tolerances = {'position_tolerance': 1e-12, 'orientation_tolerance': 1e-12}
    way = 0.01 * np.array([0.5, 0.5, hop / 0.01, 1.0])
    at, s = 0.0, stewart.inverse(pose_at([0.0, 0.0, 0.42]), **tolerances)
    for step in np.concatenate([way, -way, way]):
        at += step
        target = pose_at([at, 0.2 * at, 0.42 + 0.1 * at], 0.5 * at)
        s = stewart.inverse(target, guess=s, **tolerances)
        assert s.status.code is Code.NONE
        assert s.status.iterations <= 4
