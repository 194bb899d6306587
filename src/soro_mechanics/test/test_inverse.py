# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the inverse: reached, least energy, limits told apart, never silently wrong."""

from dataclasses import replace
import itertools

import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Task
from soro_mechanics.analysis.workspace import sample_actuations
from soro_mechanics.core.actuators import CoupledLimit
from soro_mechanics.core.configuration import LoadCase, Target
from soro_mechanics.inverse.search import Search
from soro_mechanics.robot import Robot


@pytest.fixture(scope='module')
def one():
    return load_robot('stiff_flop')


@pytest.fixture(scope='module')
def two():
    return load_robot('stiff_flop_two_segment', 'lpcc')


@pytest.mark.parametrize('model', ['ncm', 'npcc', 'lcm', 'lpcc'])
def test_positions_come_back_as_the_pressures_that_made_them(one, model):
    robot = one.with_model(model)
    for actuation in sample_actuations(robot, 15, seed=3):
        q = robot.forward(actuation)
        s = robot.inverse(q.tip[:3, 3])
        assert s.status.code is Code.NONE and s.at_limit == ()
        assert s.position_error <= 1e-6
        assert robot.feasible(s.actuation)
        np.testing.assert_allclose(s.actuation, actuation, atol=20.0)
        # the answer is what forward says, not what the search believes
        again = robot.forward(s.actuation).tip[:3, 3]
        assert np.linalg.norm(again - q.tip[:3, 3]) < 1.1e-6


def test_a_load_is_part_of_the_question(one):
    wrench = [0.2, -0.1, 0.1, 0, 0, 0]
    q = one.forward([0.7e5, 0.2e5, 0.1e5], wrench)
    s = one.inverse(q.tip[:3, 3], wrench)
    np.testing.assert_allclose(s.actuation, q.actuation, atol=20.0)
    free = one.inverse(q.tip[:3, 3])
    assert np.abs(free.actuation - q.actuation).max() > 1e3


def test_a_guess_shortens_the_search(one):
    q = one.forward([0.7e5, 0.2e5, 0.1e5])
    cold = one.inverse(q.tip[:3, 3])
    warm = one.inverse(q.tip[:3, 3], guess=one.forward(0.99 * q.actuation))
    assert warm.status.iterations < cold.status.iterations
    np.testing.assert_allclose(warm.actuation, cold.actuation, atol=20.0)


def test_redundant_robot_takes_the_least_energy(two):
    """Compare with many other actuations that reach the same point."""
    target = two.forward([0.8e5, 0.2e5, 0.1e5, 0.3e5, 0.6e5, 0.2e5]).tip[:3, 3]
    s = two.inverse(target)
    assert s.status.code is Code.NONE and s.position_error <= 1e-6
    energy = float(np.sum(s.actuation**2))
    rng = np.random.default_rng(5)
    for _ in range(20):
        # another point of the solution set: a random step, then back by minimum norm
        x = np.clip(s.actuation + rng.normal(scale=4e3, size=6), 0.0, 1.2e5)
        for _ in range(20):
            q = two.forward(x)
            gap = target - q.tip[:3, 3]
            x = x + np.linalg.lstsq(two.jacobian(q)[:3], gap, rcond=None)[0]
        assert np.linalg.norm(gap) < 1e-9
        if two.feasible(x):
            assert float(np.sum(x**2)) > energy * (1.0 - 1e-6)


def test_pose_and_axis(two):
    q = two.forward([0.8e5, 0.2e5, 0.1e5, 0.3e5, 0.6e5, 0.2e5])
    pose = two.inverse(q.tip)
    assert pose.status.code is Code.NONE
    assert pose.position_error <= 1e-6 and pose.orientation_error <= 1e-5
    axis = two.inverse(q.tip, task=Task.POSITION_AND_AXIS)
    assert axis.status.code is Code.NONE
    reached = axis.configuration.tip
    assert np.arccos(min(1.0, reached[:3, 2] @ q.tip[:3, 2])) < 2e-5
    assert np.sum(axis.actuation**2) <= np.sum(pose.actuation**2) * (1 + 1e-6)


def test_a_target_beyond_the_limits_is_told_from_one_beyond_reach(one):
    beyond = one.forward([1.7e5, 0.0, 0.0]).tip[:3, 3]
    s = one.inverse(beyond)
    assert s.status.code is Code.AT_LIMIT
    assert 'pair_1' in s.at_limit
    assert s.position_error > 1e-3
    assert one.feasible(s.actuation)
    far = one.inverse([0.2, 0.0, 0.05])
    assert far.status.code is Code.UNREACHABLE
    assert far.at_limit and far.position_error > 0.1
    assert one.feasible(far.actuation)


def test_the_nearest_pose_is_the_nearest(one):
    target = np.array([0.03, 0.0, 0.06])
    s = one.inverse(target)
    assert s.status.code is Code.AT_LIMIT
    grid = np.linspace(0.0, 1.5e5, 9)
    distances = [
        np.linalg.norm(one.forward(p).tip[:3, 3] - target)
        for p in itertools.product(grid, repeat=3)
        if one.feasible(p)
    ]
    assert s.position_error < min(distances) + 1e-6


def test_a_pose_that_three_pressures_cannot_give_is_unreachable(one):
    target = one.forward([0.7e5, 0.2e5, 0.1e5]).tip.copy()
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    target[:3, :3] = target[:3, :3] @ turn
    s = one.inverse(target)
    assert s.status.code is Code.UNREACHABLE
    assert s.orientation_error > 0.1


def test_limits_that_leave_nothing_are_reported(one):
    impossible = CoupledLimit('all', np.array([-1.0, 0.0, 0.0]), -2.0e5)
    robot = Robot(replace(one.description, coupled_limits=(impossible,)), 'lpcc')
    s = robot.inverse([0.0, 0.0, 0.05])
    assert s.status.code is Code.AT_LIMIT and 'contradict' in s.status.message


def test_unstable_answers_are_marked(one):
    # under a heavy push along its axis the straight robot is past buckling
    wrench = [0, 0, -8.0, 0, 0, 0]
    q = one.forward([0.3e5] * 3, wrench)
    assert q.status.code is Code.UNSTABLE
    s = one.inverse(q.tip[:3, 3], wrench, guess=q)
    assert s.status.code is Code.UNSTABLE


def test_an_unstable_answer_found_without_limits_is_marked(one, monkeypatch):
    """A search within the limits may stall where the one without them comes back inside."""
    wrench = [0, 0, -8.0, 0, 0, 0]
    q = one.forward([0.3e5] * 3, wrench)
    near = one.forward([0.31e5, 0.3e5, 0.3e5], wrench, guess=q)
    search = Search._search

    def stalled(self, limits, point, *rest):
        if np.isfinite(limits.high).any():
            return point, True
        return search(self, limits, point, *rest)

    monkeypatch.setattr(Search, '_search', stalled)
    s = one.inverse(q.tip[:3, 3], wrench, guess=near)
    assert s.position_error < 1e-6
    assert s.status.code is Code.UNSTABLE


def test_a_path_is_followed_without_jumps(one):
    s = one.inverse([0.015, 0.0, 0.045])
    last = s.actuation
    for angle in np.linspace(0.0, 2 * np.pi, 60):
        s = one.inverse([0.015 * np.cos(angle), 0.015 * np.sin(angle), 0.045], guess=s)
        assert s.status.code is Code.NONE
        assert np.abs(s.actuation - last).max() < 0.12e5
        last = s.actuation


def test_the_least_energy_along_a_path_takes_one_solve_a_point(two, monkeypatch):
    """The curvature of energy and task goes along; without it each point took two and more."""
    count, forward = [], type(two.model_object).forward
    place = two.forward(0.2e5 + 0.05e5 * np.arange(6)).tip[:3, 3]
    s = two.inverse(place)
    for k in range(12):
        s = two.inverse(place + 1e-5 * k * np.array([1.0, 0.5, 0.0]), guess=s)
        if k == 8:  # what is known of the first points has settled
            monkeypatch.setattr(
                type(two.model_object), 'forward', lambda *a: count.append(1) or forward(*a)
            )
    assert s.status.code is Code.NONE and len(count) <= 3
    monkeypatch.undo()
    # As little as from the start of a search that knows nothing, to what both leave undone.
    limits = two.limits
    alone = two.inverse(place + 1e-5 * 11 * np.array([1.0, 0.5, 0.0]))
    off = np.abs(s.actuation - alone.actuation) / (limits[:, 1] - limits[:, 0])
    assert off.max() < 5e-4


@pytest.mark.parametrize(('share', 'most'), [(0.3, 55), (0.5, 70)])
def test_the_least_energy_is_followed_in_one_solve_a_point_at_any_bend(share, most, monkeypatch):
    """Steps zigzagged: the energy's slope was taken with rows from elsewhere, up to ten solves."""
    robot, solves, rates = load_robot('stiff_flop_two_segment'), [], []
    model, ranges = type(robot.model_object), np.ptp(robot.limits, axis=1)
    turns = 2.0 * np.pi * np.arange(60)[:, None] / 100.0 + np.arange(6.0)
    path = robot.limits @ [1.0 - share, share] + 0.004 * ranges * np.sin(turns)
    s, tips = robot.forward(path[0]), [robot.forward(x).tip[:3, 3] for x in path]
    for k, tip in enumerate(tips):
        if k == 10:
            for name, count in (('forward', solves), ('jacobian', rates)):
                asked = getattr(model, name)
                monkeypatch.setattr(model, name, lambda *a, f=asked, n=count: n.append(1) or f(*a))
        s = robot.inverse(tip, guess=s)
        assert s.status.code is Code.NONE
    assert len(solves) + 2 * len(rates) <= most  # a Jacobian takes the time of two solves
    monkeypatch.undo()
    rows = robot.jacobian(s.configuration)[:3] * ranges
    away = (s.actuation - [a.rest for a in robot.actuators]) / ranges
    slope = away - rows.T @ np.linalg.lstsq(rows.T, away, rcond=None)[0]
    assert np.abs(slope).max() < 3e-3


def test_many_small_steps_along_a_path_take_no_more_solves_than_the_first(monkeypatch):
    """Round-off was learned as curvature until no step of least energy was found: six a point."""
    robot = load_robot('pam_continuum')
    turns = 2.0 * np.pi * np.arange(200)[:, None] / 200 + np.arange(30)
    tips, q = [], None
    for lengths in 0.1 + 4e-5 * np.sin(turns):
        q = robot.forward(lengths, guess=q)
        tips.append(q.tip)
    count, forward = [], type(robot.model_object).forward
    s = robot.inverse(tips[0], guess=q)
    for k, tip in enumerate(tips):
        s = robot.inverse(tip, guess=s)
        assert s.status.code is Code.NONE
        if k == 179:
            monkeypatch.setattr(
                type(robot.model_object), 'forward', lambda *a: count.append(1) or forward(*a)
            )
    assert len(count) <= 30


def test_a_turn_that_pressures_hardly_make_takes_no_steps():
    """A twist of the tip, say: it goes far for a part of a tolerance, and comes back."""
    robot = load_robot('stiff_flop_two_segment')
    turns = 2.0 * np.pi * np.arange(60)[:, None] / 200.0 + np.arange(6.0)
    path = robot.limits @ [0.8, 0.2] + 0.004 * robot.limits[:, 1] * np.sin(turns)
    s = robot.forward(path[0])
    for pressures in path:
        s = robot.inverse(robot.forward(pressures).tip, guess=s)
        assert s.status.code is Code.NONE and s.status.iterations == 1


def test_a_short_step_that_lands_is_not_looked_at_again():
    robot = load_robot('pam_continuum')
    turns, (low, high) = 2.0 * np.pi * np.arange(40)[:, None] / 200 + np.arange(30), robot.limits.T
    path = low + 0.4 * (high - low) + 0.001 * (high - low) * np.sin(turns)
    s, spent = robot.forward(path[0]), []
    for actuation in path:
        tip = robot.forward(actuation).tip
        s = robot.inverse(tip, guess=s)
        assert s.status.code is Code.NONE
        spent.append(s.status.iterations)
    assert np.mean(spent[5:]) < 1.5


def straight_muscles(length):
    """Return the muscle robot with all muscles of one length [m], and its configuration."""
    robot = load_robot('pam_continuum')
    q = robot.forward(np.full(30, length))
    # exactly where it is: no other start has a residual without round-off
    assert np.abs(robot.jacobian(q)[2]).max() == 0.0
    return robot, q


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('task', [Task.POSITION, Task.POSITION_AND_AXIS, Task.POSE])
def test_a_robot_that_is_there_already_takes_the_least_energy(task):
    """No muscle moves the tip of the straight robot along its axis, to first order."""
    robot, q = straight_muscles(0.098)
    goal = Target(q.tip, task, (1e-6, 1e-6))
    s = Search(robot.model_object, goal, LoadCase(gravity=robot.gravity)).solve(q)
    assert s.status.code is Code.NONE and s.position_error <= 1e-6
    rest = [a.rest for a in robot.actuators]
    np.testing.assert_allclose(s.actuation, rest, atol=1e-5)


@pytest.mark.parametrize('task', Task)
@pytest.mark.parametrize('names', [('stiff_flop_two_segment', 'lpcc'), ('pam_continuum',)])
def test_rows_are_how_what_is_lacking_changes(names, task):
    """By finite differences, in the units of tolerances and ranges."""
    robot, step = load_robot(*names), 1e-5
    limits = robot.model_object.limits
    z = limits.rest + 0.1 * np.sin(np.arange(limits.rest.size)) ** 2
    q = robot.forward(limits.actuation(z))
    search = Search(robot.model_object, Target(q.tip, task, (2e-3, 0.1)), q.load)
    rows = search._rows(q)
    for i, one in enumerate(np.eye(z.size)):
        ahead, behind = (search._at(z + sign * step * one, q).residual for sign in (1.0, -1.0))
        seen = (behind - ahead) / (2.0 * step)
        np.testing.assert_allclose(rows[:, i], seen, atol=1e-5 * np.abs(rows).max())


def test_what_would_take_an_arm_of_no_length_is_out_of_reach_not_at_a_limit():
    robot = load_robot('spatial_cc', 'constant_curvature')
    s = robot.inverse([0.0, 0.0, -0.05], multistart=False)
    assert s.status.code is Code.UNREACHABLE


@pytest.mark.filterwarnings('error')
def test_what_no_actuator_moves_cannot_be_met():
    robot, q = straight_muscles(0.1)
    target = q.tip.copy()
    target[2, 3] += 1e-3
    goal = Target(target, Task.POSITION, (1e-6, 1e-6))
    s = Search(robot.model_object, goal, LoadCase(gravity=robot.gravity)).solve(q)
    assert s.status.code is Code.UNREACHABLE
    assert s.position_error == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize('model', ['lpcc', 'npcc'])
def test_no_answer_is_beyond_a_coupled_limit(two, model):
    names = len(two.actuators)
    supply = CoupledLimit('supply', np.ones(names), 2.5e5)
    pairs = [
        CoupledLimit(f'pair_{k}', np.eye(names)[k] + 0.3 * np.eye(names)[k + 1], 1e5)
        for k in range(names - 1)
    ]
    order = CoupledLimit('order', np.eye(names)[0] - np.eye(names)[1], 0.0)
    random = np.random.default_rng(1)
    low, high = two.limits.T
    targets = [two.forward(low + (high - low) * random.random(names)).tip for _ in range(6)]
    codes = set()
    for limits in ((supply,), tuple(pairs), (order,)):
        bound = Robot(replace(two.description, coupled_limits=limits), model)
        for target in targets:
            s = bound.inverse(target[:3, 3], multistart=False)
            assert bound.violations(s.actuation) == ()
            codes.add(s.status.code)
    assert {Code.NONE, Code.AT_LIMIT} <= codes


def test_an_answer_outside_the_range_of_its_model_says_so():
    robot = load_robot('spatial_cc')
    pull = [0.0, 0.0, 150.0, 0.0, 0.0, 0.0]
    q = robot.forward([9e4, 9.5e4, 9e4], wrench=pull)
    assert q.status.code is Code.OUT_OF_RANGE
    s = robot.inverse(q.tip[:3, 3], wrench=pull)
    assert s.status.code is s.configuration.status.code is Code.OUT_OF_RANGE
    assert s.status.message == q.status.message


@pytest.mark.parametrize(
    ('name', 'model'),
    [('stiff_flop', 'ncm'), ('stiff_flop', 'network'), ('stiff_flop_two_segment', 'lpcc')],
)
def test_a_wide_tolerance_is_no_dead_band(name, model):
    robot = load_robot(name, model)
    low, high = robot.limits.T
    s = robot.inverse(robot.forward(low + 0.3 * (high - low)).tip[:3, 3])
    for _ in range(3):
        before = s.actuation
        target = s.configuration.tip[:3, 3] + [3e-5, -4e-5, 0.0]
        s = robot.inverse(target, guess=s, position_tolerance=1e-4)
        assert s.status.code is Code.NONE
        assert s.position_error <= 1e-6
        assert np.abs(s.actuation - before).max() > 10.0


@pytest.mark.parametrize('model', ['ncm', 'network'])
def test_a_wide_tolerance_judges_what_a_limit_leaves(one, model):
    robot = one.with_model(model)
    most = robot.limits[0, 1]
    below, end = (robot.forward([p, 0.0, 0.0]) for p in (0.98 * most, most))
    way = end.tip[:3, 3] - below.tip[:3, 3]
    target = end.tip[:3, 3] + 5e-5 * way / np.linalg.norm(way)
    exact = robot.inverse(target, guess=below)
    assert exact.status.code is Code.AT_LIMIT and exact.at_limit
    s = robot.inverse(target, guess=below, position_tolerance=1e-4)
    assert s.status.code is Code.NONE and s.at_limit == ()
    assert robot.feasible(s.actuation)
    assert s.position_error == pytest.approx(exact.position_error, rel=0.02)
    # from the end itself, which is near enough already
    s = robot.inverse(target, guess=end, position_tolerance=1e-4)
    assert s.status.code is Code.NONE and robot.feasible(s.actuation)


def test_a_start_without_equilibrium_does_not_hide_the_next_one(one, monkeypatch):
    model, forward = one.model_object, one.model_object.forward
    calls = []

    def lost_at_first(*args):
        q = forward(*args)
        calls.append(q)
        if len(calls) > 1:
            return q
        status = replace(q.status, code=Code.NOT_CONVERGED, residual=np.nan)
        return replace(q, tip=np.full((4, 4), np.nan), status=status)

    monkeypatch.setattr(model, 'forward', lost_at_first)
    beyond = one.inverse([0.03, 0.0, 0.06])
    assert beyond.status.code is Code.AT_LIMIT
    assert np.isfinite(beyond.position_error)


@pytest.mark.parametrize('model', ['ncm', 'lpcc'])
def test_a_branch_without_derivative_has_none_and_does_not_end_a_search(one, model, monkeypatch):
    """A search without limits comes to equilibria that their own pressures do not lead to."""
    robot = one.with_model(model)
    q = robot.forward([5e4, 0.0, 0.0])
    lost = replace(q, actuation=1e4 * q.actuation)
    assert np.isnan(robot.jacobian(lost)).any() or model == 'lpcc'
    exact, after, gone = robot.model_object.jacobian, [], set()

    def without(q):
        after.append(q)
        rows = exact(q)
        return np.full_like(rows, np.nan) if len(after) in gone else rows

    monkeypatch.setattr(robot.model_object, 'jacobian', without)
    for asked in ({1}, {2}, {3}, {1, 2}, set(range(2, 99))):
        after.clear()
        gone.clear()
        gone.update(asked)
        s = robot.inverse([0.081, 0.0, 0.043], guess=q)
        assert s.status.code is not Code.NONE and np.isfinite(s.position_error)
