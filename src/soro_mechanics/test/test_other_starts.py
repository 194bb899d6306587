# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Targets within the workspace that a search from the actuators' rest does not find."""

from concurrent.futures import ThreadPoolExecutor
import pickle
import threading

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.analysis.workspace import sample_actuations
from soro_mechanics.core.configuration import LoadCase, Target, Task
from soro_mechanics.core.status import Code
from soro_mechanics.inverse import multistart as other_starts
from soro_mechanics.inverse.multistart import Postures, postures_of
from soro_mechanics.inverse.search import ITERATIONS, Search
from soro_mechanics.robot_file.catalogue import find_robot_file

LINE = np.zeros((5, 4, 4)) + np.eye(4)
LINE[:, 0, 3] = [0.0, 0.1, 0.2, 0.3, 0.4]
ALONG = Postures(np.arange(5.0)[:, None], LINE)


def place(x, turn=0.0):
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    pose[0, 3] = x
    return pose


def test_the_nearest_posture_comes_first():
    assert [a[0] for a in ALONG.near(Target(place(0.31), Task.POSITION))] == [3.0, 4.0, 2.0, 1.0]


def test_nothing_is_near_a_target_outside():
    assert ALONG.near(Target(place(0.61), Task.POSITION)) == []
    assert ALONG.near(Target(place(-0.21), Task.POSITION)) == []


def test_a_turn_counts_where_the_task_asks_for_it():
    turned = place(0.2, np.pi)
    assert ALONG.near(Target(turned, Task.POSITION))
    assert ALONG.near(Target(turned, Task.POSITION_AND_AXIS))  # about the axis itself
    assert ALONG.near(Target(turned, Task.POSE)) == []


@pytest.fixture(scope='module')
def stewart_gough():
    return load_robot('stewart_gough')


@pytest.mark.parametrize('number', [12, 32])
def test_a_reachable_target_is_found(stewart_gough, number):
    robot = stewart_gough
    reached = robot.forward(sample_actuations(robot, number + 1)[number])
    target = reached.tip[:3, 3]
    assert reached.status.code is Code.NONE
    begun_at_rest = robot.inverse(target, multistart=False)
    assert begun_at_rest.status.code in (Code.AT_LIMIT, Code.UNREACHABLE)
    s = robot.inverse(target)
    assert s.status.code is Code.NONE and s.at_limit == ()
    assert robot.feasible(s.actuation)
    again = robot.forward(s.actuation, guess=s)
    np.testing.assert_allclose(again.tip[:3, 3], target, rtol=0.0, atol=1e-6)


def test_a_guess_is_kept_to_unless_asked(stewart_gough):
    robot = stewart_gough
    target = robot.forward(sample_actuations(robot, 13)[12]).tip[:3, 3]
    stuck = robot.inverse(target, multistart=False)
    assert stuck.status.code is not Code.NONE
    assert robot.inverse(target, guess=stuck).status.code is not Code.NONE
    assert robot.inverse(target, guess=stuck, multistart=True).status.code is Code.NONE


def test_postures_are_those_of_the_robot_as_it_is_mounted():
    robot = load_robot('stiff_flop')
    upright = postures_of(robot)
    robot.gravity = [0.0, 0.0, -9.81 if robot.gravity[2] > 0.0 else 9.81]
    turned = postures_of(robot)
    before, after = ([q.actuation for q in p.starts] for p in (upright, turned))
    np.testing.assert_array_equal(before, after)
    assert np.abs(upright.tip - turned.tip).max() > 1e-4
    for actuation, tip in zip(after[:3], turned.tip[:3], strict=True):
        np.testing.assert_allclose(robot.forward(actuation).tip, tip, atol=1e-9)


def test_whoever_comes_while_the_postures_are_solved_waits_for_them(monkeypatch):
    robot, begun, go_on, solved = (
        load_robot('spatial_cc'),
        threading.Event(),
        threading.Event(),
        [],
    )

    def slow(solving):
        begun.set()
        assert go_on.wait(60.0)
        solved.append(postures_of(solving))
        return solved[-1]

    monkeypatch.setattr(other_starts, 'postures_of', slow)
    with ThreadPoolExecutor(2) as pool:
        prepared = pool.submit(robot.precompute_seeds)
        assert begun.wait(60.0)
        found = pool.submit(robot.inverse, [0.0, 0.0, 5.0])  # begins again elsewhere
        assert not found.done()
        go_on.set()
        prepared.result(60.0)
        assert found.result(60.0).status.code is not Code.NONE
    assert len(solved) == 1
    robot.gravity = [0.0, 0.0, 9.81]
    robot.precompute_seeds()
    assert len(solved) == 2


def test_a_search_does_not_wait_for_ever_while_the_postures_are_solved(monkeypatch):
    robot, go_on, begun = load_robot('spatial_cc'), threading.Event(), threading.Event()

    def slow(solving):
        begun.set()
        assert go_on.wait(60.0)
        return postures_of(solving)

    monkeypatch.setattr(other_starts, 'postures_of', slow)
    monkeypatch.setattr(other_starts, 'PATIENCE', 0.05)
    with ThreadPoolExecutor(1) as pool:
        prepared = pool.submit(robot.precompute_seeds)
        assert begun.wait(60.0)
        found = robot.inverse([0.0, 0.0, 5.0])
        go_on.set()
        prepared.result(60.0)
    assert found.status.code is not Code.NONE
    assert found.status.message.endswith('still being solved: ask again')
    assert found.status.solve_time >= 0.04


def test_searches_end_with_their_budget_and_say_how_many_there_were(stewart_gough, monkeypatch):
    robot = stewart_gough
    target = robot.forward(sample_actuations(robot, 13)[12]).tip[:3, 3]
    assert robot.inverse(target).status.code is Code.NONE
    monkeypatch.setattr(other_starts, 'BUDGET', 0)
    s, alone = robot.inverse(target), robot.inverse(target, multistart=False)
    assert s.status.code in (Code.AT_LIMIT, Code.UNREACHABLE)
    assert s.status.message.endswith('0 of 4 further searches, 0 iterations')
    assert s.status.iterations == alone.status.iterations
    np.testing.assert_array_equal(s.actuation, alone.actuation)


@pytest.mark.parametrize('target', [(0.0, 0.0, 0.9), (1.7, 0.0, 0.2), (0.0, 0.0, -1.0)])
def test_no_posture_is_solved_for_what_no_rod_is_long_enough_for(target, monkeypatch):
    robot = load_robot('stewart_gough')
    monkeypatch.setattr(other_starts, 'postures_of', None)
    s = robot.inverse(target)
    assert s.status.code in (Code.AT_LIMIT, Code.UNREACHABLE)
    assert s.status.iterations < 500
    assert max(a.maximum for a in robot.actuators) == 0.8
    assert s.position_error > np.linalg.norm(target) - 0.8 - 2 * 0.087  # legs and two rings


def test_no_posture_within_reach_is_called_too_far(stewart_gough):
    robot = load_robot('haptic_5dof')
    for tip in postures_of(robot).tip[:, :3, 3]:
        assert not robot.model_object.too_far(tip)
    longest = stewart_gough.forward(stewart_gough.limits[:, 1]).tip[:3, 3]
    assert not stewart_gough.model_object.too_far(longest)
    assert stewart_gough.model_object.too_far(longest + [0.0, 0.0, 0.12])


def test_a_drive_that_shortens_its_rod_reaches_as_far(stewart_gough, tmp_path):
    falling = 'rods: [rod_1], curve: [{at: 0.15 m, value: 0.8 m}, {at: 0.8 m, value: 0.15 m}]}]'
    text = find_robot_file('stewart_gough').read_text()
    turned = text.replace('length, rods: [rod_1]}]', 'length, ' + falling)
    assert turned != text
    (tmp_path / 'turned.yaml').write_text(turned)
    robot = load_robot(tmp_path / 'turned.yaml')
    for z in (0.3, 0.8, 0.9):
        point = np.array([0.0, 0.0, z])
        same = stewart_gough.model_object.too_far(point)
        assert robot.model_object.too_far(point) == same == (z > 0.85)


@pytest.mark.parametrize('name', ['haptic_5dof', 'stiff_flop', 'soft_parallel', 'spatial_cc'])
def test_the_nearest_pose_is_a_minimum_of_the_distance_within_the_limits(name):
    robot = load_robot(name)
    span = np.ptp(robot.limits, axis=1)
    rest = robot.forward([a.rest for a in robot.actuators]).tip[:3, 3]
    target = rest + [0.3, 0.1, 0.05]
    s = robot.inverse(target, multistart=False)
    assert s.status.code in (Code.AT_LIMIT, Code.UNREACHABLE)
    assert f'{s.position_error * 1e3:.3g} mm' in s.status.message
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(40):
        beside = s.actuation + 1e-3 * span * rng.normal(size=len(span))
        beside = np.clip(beside, *robot.limits.T)
        if not robot.feasible(beside):
            continue
        tried += 1
        tip = robot.forward(beside, guess=s).tip[:3, 3]
        assert np.linalg.norm(tip - target) > s.position_error - 1e-9
    assert tried > 5


def test_what_is_known_goes_to_another_process():
    starts = other_starts.MultiStart()
    known = starts.postures(load_robot('spatial_cc'))
    there = pickle.loads(pickle.dumps(starts))  # noqa: S301 - our own
    np.testing.assert_array_equal(there.postures(load_robot('spatial_cc')).tip, known.tip)


def test_further_starts_ask_nothing_again(monkeypatch):
    """The start in the middle, and what is beyond the limits of an end that is no nearer."""
    robot = load_robot('stiff_flop_two_segment', 'lpcc')
    begun, search = [], Search._search

    def noted(self, limits, point, *rest):
        begun.append((np.isfinite(limits.high).any(), tuple(point.z)))
        return search(self, limits, point, *rest)

    monkeypatch.setattr(Search, '_search', noted)
    alone = robot.inverse([0.05, 0.05, 0.02], multistart=False)
    once = len(begun)
    begun.clear()
    s = robot.inverse([0.05, 0.05, 0.02])
    assert alone.status.code is s.status.code is Code.AT_LIMIT
    assert s.position_error <= alone.position_error
    assert once + 2 <= len(begun) == len(set(begun))  # no start twice
    assert sum(not limited for limited, _ in begun) == 1
    misses = robot.forward(s.actuation).tip[:3, 3] - [0.05, 0.05, 0.02]
    assert np.linalg.norm(misses) == pytest.approx(s.position_error, rel=1e-6)


def test_what_nobody_can_use_is_not_looked_for_again(monkeypatch):
    robot = load_robot('pam_continuum')
    begun, search = [], Search._search

    def noted(self, limits, point, *rest):
        begun.append(tuple(point.z))
        return search(self, limits, point, *rest)

    monkeypatch.setattr(Search, '_search', noted)
    s = robot.inverse([0.035, -0.006, -0.502])
    assert s.status.code is Code.UNSTABLE
    assert len(begun) == len(set(begun)) == 6  # from rest, the middle and four postures


def test_a_search_that_goes_where_another_has_ended_gives_up():
    robot = load_robot('stiff_flop_two_segment')
    target = robot.forward(np.zeros(6)).tip
    target[:3, 3] = [-0.078, 0.054, 0.063]
    s = robot.inverse(target)
    assert s.status.code is Code.UNREACHABLE
    assert s.position_error < 0.019
    assert (
        s.status.iterations < 114
    )  # 117 where that from the middle does not, 142 where none does


def test_searches_that_end_on_the_same_fall_are_not_finished():
    """Each of them met the target where the robot does not stay, and sought less energy there."""
    s = load_robot('stiff_flop_two_segment').inverse([-0.0468, -0.0773, 0.0709])
    assert s.status.code is Code.UNSTABLE
    assert s.status.iterations < 200


def test_a_search_from_the_middle_goes_on_though_another_came_nearer_before():
    robot = load_robot('stiff_flop_two_segment')
    bar = 1e5
    there = [0.36197060, 0.48937904, 0.98997132, 0.80748634, 0.88089441, 0.90700444]
    here = [0.71696487, 0.45711438, 0.90279210, 1.02386731, 0.83048798, 0.58072582]
    target, guess = robot.forward(bar * np.array(there)).tip, robot.forward(bar * np.array(here))
    s = robot.inverse(target, guess=guess)
    assert s.status.code is Code.NONE and s.position_error < 1e-6


def test_a_target_far_outside_ends_within_its_iterations():
    robot = load_robot('stiff_flop_two_segment')
    s = robot.inverse([0.0, 0.0, 0.5])
    assert s.status.code is Code.UNREACHABLE
    assert s.status.iterations < ITERATIONS  # of one search; three of them ended here
    high = [a.maximum for a in robot.actuators]
    longest = robot.forward(high).tip[2, 3]  # by symmetry, with every chamber at its limit
    assert s.position_error == pytest.approx(0.5 - longest, rel=1e-6)


def test_the_search_for_less_energy_stays_stable():
    robot = load_robot('stiff_flop_two_segment')
    target = [-0.07767908, 0.0540541, 0.06293374]  # the least energy there is of an unstable robot
    s = robot.inverse(target, multistart=False)
    assert s.status.code is Code.NONE
    again = robot.forward(s.actuation, guess=s)
    assert again.status.stable
    np.testing.assert_allclose(again.tip[:3, 3], target, rtol=0.0, atol=2e-6)


def test_what_nobody_has_looked_beyond_is_unexplained():
    robot = load_robot('stiff_flop_two_segment', 'lpcc')
    model, load = robot.model_object, LoadCase(gravity=robot.gravity)
    pose = np.eye(4)
    pose[:3, 3] = [0.05, 0.05, 0.02]
    found = model.inverse(Target(pose, Task.POSITION), load, None)
    assert found.unexplained and not found.status.message
    explained = model.explained(Target(pose, Task.POSITION), load, found)
    assert not explained.unexplained and 'limits' in explained.status.message


@pytest.mark.parametrize('errors', [(2e-6, 0.0), (0.0, 2e-5)])
def test_what_promises_less_than_another_search_has_reached_is_hopeless(errors):
    target = Target(np.eye(4), Task.POSE, (1e-6, 1e-5))
    miss = target.miss(errors)
    assert miss == pytest.approx(2.0) and not target.hopeless(miss, 0.0)
    other = target._replace(known=1.5)
    assert other.hopeless(miss, 0.005) and not other.hopeless(miss, 0.01)
