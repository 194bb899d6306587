# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Curves against their closed-form lengths, schedules against their limits and optimality."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.analysis.curves import (
    curve_from_poses,
    named_curve,
    placed,
    read_curve,
    SPIRAL_TURNS,
)
from soro_mechanics.analysis.trajectory import (
    sample_curve,
    SampledPath,
    schedule,
    solve_path,
    TOO_MANY,
    tracking_error,
)
from soro_mechanics.core.configuration import Configuration, InverseSolution, LoadCase
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code, SolverStatus
from soro_mechanics.numerics import lie

R = 0.05


def spiral_length(radius, turns):
    """Arc length of r = c t from t = 0: (c/2) (t sqrt(1+t^2) + asinh t)."""
    angle = 2.0 * math.pi * turns
    c = radius / angle
    return 0.5 * c * (angle * math.sqrt(1.0 + angle**2) + math.asinh(angle))


LENGTHS = {
    'line': 2.0 * R,
    'circle': 2.0 * math.pi * R,
    'square': 8.0 * R,
    'cardioid': 16.0 * R / (1.5 * math.sqrt(3.0)),  # 16 a of the envelope form
    'spiral': spiral_length(R, SPIRAL_TURNS),
    # Ten edges of the pentagram's points: radius times (3 - sqrt 5)/2 inside; law of cosines.
    'star': 10.0
    * R
    * math.sqrt(1.0 + ((3 - math.sqrt(5)) / 2) ** 2 - (3 - math.sqrt(5)) * math.cos(math.pi / 5)),
}


@pytest.mark.parametrize('name', LENGTHS)
def test_named_curve_has_its_length(name):
    path = sample_curve(named_curve(name, R), 1e-3)
    assert path.arc_length[-1] == pytest.approx(LENGTHS[name], rel=1e-6)


@pytest.mark.parametrize('name', LENGTHS)
def test_samples_are_no_further_apart_than_asked(name):
    spacing = 0.7e-3
    path = sample_curve(named_curve(name, R), spacing)
    chord = np.linalg.norm(np.diff(path.positions, axis=0), axis=1)
    assert chord.max() <= spacing * (1 + 1e-9)
    # never more than one extra point per straight piece (the star has ten)
    assert len(path.poses) <= LENGTHS[name] / spacing + 12
    assert np.all(np.diff(path.arc_length) > 0.0)


@pytest.mark.parametrize('name', LENGTHS)
def test_half_extent_is_the_size(name):
    points = named_curve(name, R).positions
    extent = 0.5 * np.ptp(points, axis=0).max()
    reach = np.linalg.norm(points, axis=1).max()
    assert R in (pytest.approx(extent, rel=1e-6), pytest.approx(reach, rel=1e-6))


def test_corners_are_samples():
    path = sample_curve(named_curve('square', R), 0.33e-3)
    for x in (-R, R):
        for y in (-R, R):
            distance = np.linalg.norm(path.positions - [x, y, 0.0], axis=1)
            assert distance.min() == 0.0


@pytest.mark.parametrize('radius', [1e-5, 1e-4, 3e-4, 1e-3, 5e-3])
def test_a_curve_small_against_the_spacing_keeps_its_shape(radius):
    path = sample_curve(named_curve('circle', radius), 1e-3)
    assert len(path.poses) == 1 + max(72, math.ceil(2.0 * math.pi * radius / 1e-3))
    middle = 0.5 * (path.positions[1:] + path.positions[:-1])
    assert np.linalg.norm(middle, axis=1).min() > radius * (1.0 - 1e-3)
    chord = np.linalg.norm(np.diff(path.positions, axis=0), axis=1)
    assert chord.max() <= 1e-3


def test_a_polygon_of_slight_turns_keeps_its_vertices():
    angle = np.linspace(0.0, 2.0 * math.pi, 41)  # turns by 9 degrees: no corners
    poses = np.tile(np.eye(4), (41, 1, 1))
    poses[:, :2, 3] = 1e-4 * np.column_stack([np.cos(angle), np.sin(angle)])
    path = sample_curve(curve_from_poses(poses), 1e-3)
    assert path.positions == pytest.approx(poses[:, :3, 3], abs=1e-12)


def test_a_straight_line_of_many_vertices_needs_no_more_than_its_length():
    poses = np.tile(np.eye(4), (5001, 1, 1))
    poses[:, :3, 3] = np.linspace(0.0, 1.0, 5001)[:, None] * [0.003, 0.001, -0.002]
    assert len(sample_curve(curve_from_poses(poses), 1e-3).poses) == 5


def test_placed_curve_lies_in_its_plane():
    pose = np.eye(4)
    pose[:3, :3] = lie.so3_exp(np.array([0.3, -0.5, 0.8]))
    pose[:3, 3] = [0.1, 0.2, 0.3]
    path = sample_curve(placed(named_curve('star', R), pose), 1e-3)
    height = (path.positions - pose[:3, 3]) @ pose[:3, 2]
    assert np.abs(height).max() < 1e-15
    assert np.allclose(path.poses[:, :3, :3], pose[:3, :3])


def test_closed_curves_end_where_they_begin():
    for name in ('circle', 'star', 'square', 'cardioid'):
        curve = named_curve(name, R)
        assert curve.closed
        assert np.array_equal(curve.positions[0], curve.positions[-1])


def test_repetition_goes_round_a_closed_curve_and_back_on_an_open_one():
    circle = sample_curve(named_curve('circle', R), 1e-3, 3)
    assert circle.arc_length[-1] == pytest.approx(3 * LENGTHS['circle'], rel=1e-6)
    line = sample_curve(named_curve('line', R), 1e-3, 2)
    assert line.positions[-1] == pytest.approx(line.positions[0])
    assert np.linalg.norm(np.diff(line.positions, axis=0), axis=1).max() < 1.0001e-3


def test_orientation_turns_at_a_constant_rate():
    w = np.array([0.2, 0.9, -0.4])
    a, b = np.eye(4), np.eye(4)
    b[:3, :3] = lie.so3_exp(w)
    b[:3, 3] = [0.1, 0.0, 0.0]
    path = sample_curve(curve_from_poses([a, b]), 0.01)
    for k, pose in enumerate(path.poses):
        assert pose[:3, :3] == pytest.approx(lie.so3_exp(w * k / 10), abs=1e-12)


def test_a_turn_on_the_spot_keeps_both_orientations():
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[1, :3, :3] = lie.so3_exp(np.array([0.0, 0.0, 1.0]))
    poses[2] = poses[1]
    poses[2, :3, 3] = [0.01, 0.0, 0.0]
    path = sample_curve(curve_from_poses(poses), 0.005)
    assert np.array_equal(path.poses[0], poses[0])
    assert np.array_equal(path.poses[1], poses[1])
    assert path.arc_length == pytest.approx([0.0, 0.0, 0.005, 0.01])


def test_one_pose_is_a_path():
    path = sample_curve(curve_from_poses([np.eye(4)]), 1e-3)
    assert path.poses.shape == (1, 4, 4)
    plan = schedule(path, np.zeros((1, 2)), 0.01, [1.0, 1.0])
    assert plan.duration == 0.0
    assert np.array_equal(plan.actuation_at(3.0), np.zeros(2))


def turn_on_the_spot(count):
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = [lie.so3_exp([0.0, 0.0, angle]) for angle in np.linspace(0.0, 1.0, count)]
    return poses


def test_points_without_length_count_towards_the_limit():
    curve = curve_from_poses(turn_on_the_spot(201))
    assert len(sample_curve(curve, 0.001, 500).poses) == 100_001
    with pytest.raises(InvalidInput, match='at most 100000 points') as error:
        sample_curve(curve, 0.001, 501)
    assert error.value.field == 'repetitions'


def test_one_pose_that_is_repeated_is_one_pose():
    path = sample_curve(curve_from_poses(turn_on_the_spot(1)), 0.001, 3)
    assert len(path.poses) == len(path.arc_length) == 1


def test_csv_is_read_with_and_without_orientation(tmp_path):
    file = tmp_path / 'points.csv'
    file.write_text('# a comment\nx, y, z\n0, 0, 0.1\n0.01, 0, 0.1\n', encoding='utf-8')
    assert read_curve(file).positions == pytest.approx(np.array([[0, 0, 0.1], [0.01, 0, 0.1]]))
    h = math.sqrt(0.5)
    file.write_text(f'0,0,0.1,0,0,{h},{h}\n', encoding='utf-8')
    assert read_curve(file).poses[0, :3, :3] == pytest.approx(
        lie.so3_exp(np.array([0.0, 0.0, math.pi / 2])), abs=1e-15
    )


def test_every_row_has_its_own_orientation(tmp_path):
    random = np.random.default_rng(3)
    points, turns = random.normal(size=(2, 40, 3))
    rows, expected = [], []
    for i, (point, turn) in enumerate(zip(points, turns, strict=True)):
        angle = np.linalg.norm(turn)
        quaternion = [*(np.sin(angle / 2) * turn / angle), np.cos(angle / 2)]
        turned = i % 3 > 0
        row = [*point, *quaternion] if turned else point
        rows.append(','.join(repr(float(x)) for x in row))
        expected.append(lie.so3_exp(turn) if turned else np.eye(3))
    file = tmp_path / 'points.csv'
    file.write_text('\n'.join(rows), encoding='utf-8')
    poses = read_curve(file).poses
    np.testing.assert_allclose(poses[:, :3, :3], expected, atol=1e-14)
    np.testing.assert_array_equal(poses[:, :3, 3], points)
    assert np.array_equal(poses[:, 3], np.tile([0.0, 0.0, 0.0, 1.0], (40, 1)))


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('0,0\n', 'line 1'),
        ('0,0,0.1\n0,0,nan\n', 'line 2'),
        ('0,0,a\n', 'numbers'),
        ('0,0,0,1,1,1,1\n', 'unit quaternion'),
        ('', 'at least one pose'),
    ],
)
def test_wrong_csv_is_refused_with_its_line(tmp_path, text, part):
    file = tmp_path / 'wrong.csv'
    file.write_text(text, encoding='utf-8')
    with pytest.raises(InvalidInput, match=part):
        read_curve(file)


def test_wrong_requests_are_refused():
    with pytest.raises(UnknownName, match='circle'):
        named_curve('cirle', R)
    for size in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InvalidInput):
            named_curve('circle', size)
    for spacing in (0.0, -1.0, math.nan, 1e-9):
        with pytest.raises(InvalidInput):
            sample_curve(named_curve('circle', R), spacing)
    with pytest.raises(InvalidInput):
        sample_curve(named_curve('circle', R), 1e-3, 0)


def straight_path(n, length):
    poses = np.tile(np.eye(4), (n, 1, 1))
    s = np.linspace(0.0, length, n)
    poses[:, 0, 3] = s
    return SampledPath(poses, s)


def test_speed_alone_gives_length_over_speed():
    path = straight_path(101, 0.2)
    plan = schedule(path, np.zeros((101, 3)), 0.04, [1.0, 1.0, 1.0])
    assert plan.duration == pytest.approx(5.0)
    assert plan.slew_bound == 0.0


def test_slew_alone_gives_the_time_of_the_slowest_actuator():
    path = straight_path(11, 0.1)
    table = np.column_stack([np.linspace(0.0, 1.0, 11), np.linspace(0.0, -3.0, 11)])
    plan = schedule(path, table, 1e3, [0.5, 1.0])
    assert plan.duration == pytest.approx(3.0)
    assert plan.slew_bound == pytest.approx(1.0)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    acceleration=st.sampled_from([math.inf, 1.0, 0.05]),
)
def test_schedule_respects_every_limit(seed, n, acceleration):
    rng = np.random.default_rng(seed)
    path = straight_path(n, 0.1)
    table = np.cumsum(rng.normal(size=(n, 3)), axis=0)
    rates = rng.uniform(0.5, 2.0, 3)
    plan = schedule(path, table, 0.02, rates, acceleration)
    dt = np.diff(plan.time)
    assert np.all(dt > 0.0)
    assert np.all(np.abs(np.diff(table, axis=0)) <= rates * dt[:, None] * (1 + 1e-9))
    assert np.all(np.diff(path.arc_length) <= 0.02 * dt * (1 + 1e-9))
    # and between the points, where the stream samples it
    t = np.linspace(0.0, plan.duration, 500)
    a = np.array([plan.actuation_at(x) for x in t])
    slew = np.abs(np.diff(a, axis=0)) / np.diff(t)[:, None]
    assert np.all(slew <= rates * (1 + 1e-6))


@pytest.mark.parametrize('n', [2, 3, 40])
@pytest.mark.parametrize('repetitions', [1, 3])
def test_the_acceleration_is_kept_by_what_is_sent(n, repetitions):
    rng = np.random.default_rng(n)
    once = straight_path(n, 0.1)
    poses = np.concatenate([once.poses, *[once.poses[:-1][::-1], once.poses[1:]]])
    path = SampledPath(poses, 0.1 / (n - 1) * np.arange(len(poses)))
    if repetitions == 1:
        path = once
    table = np.cumsum(rng.normal(size=(len(path.poses), 2)), axis=0) * (0.1 if n > 3 else 0.0)
    plan = schedule(path, table, 0.02, [0.5, 2.0], 0.1)
    period = 1e-3
    times = np.arange(-2.0 * period, plan.duration + 2.0 * period, period)
    x = np.array([plan.position_at(t)[0] for t in times])
    assert np.abs(np.diff(x, 2)).max() <= 0.1 * period**2 * (1 + 1e-6)
    assert np.abs(np.diff(x)).max() <= 0.02 * period * (1 + 1e-6)
    sent = np.array([plan.actuation_at(t) for t in times])
    most = period * np.array([0.5, 2.0]) * (1 + 1e-6)
    assert np.all(np.abs(np.diff(sent, axis=0)).max(axis=0) <= most)


def test_each_interval_of_the_optimum_touches_a_limit():
    rng = np.random.default_rng(3)
    path = straight_path(40, 0.1)
    table = np.cumsum(rng.normal(size=(40, 3)), axis=0)
    rates = np.array([1.0, 2.0, 0.5])
    plan = schedule(path, table, 0.02, rates)
    dt = np.diff(plan.time)
    used = np.abs(np.diff(table, axis=0)) / (rates * dt[:, None])
    used = np.column_stack([used, np.diff(path.arc_length) / (0.02 * dt)])
    assert used.max(axis=1) == pytest.approx(np.ones(39))


def test_acceleration_gives_the_trapezoid():
    v, a, length = 0.1, 0.5, 0.2
    plan = schedule(straight_path(2001, length), np.zeros((2001, 1)), v, [1.0], a)
    assert plan.duration == pytest.approx(length / v + v / a, rel=1e-3)
    triangle = schedule(straight_path(2001, 0.01), np.zeros((2001, 1)), v, [1.0], a)
    assert triangle.duration == pytest.approx(2.0 * math.sqrt(0.01 / a), rel=1e-3)
    single = schedule(straight_path(2, length), np.zeros((2, 1)), v, [1.0], a)
    assert single.duration == pytest.approx(length / v + v / a)


@pytest.mark.parametrize('spacing', [1e-3, 0.2])
def test_a_turn_on_the_spot_is_entered_and_left_at_rest(spacing):
    poses = np.tile(np.eye(4), (4, 1, 1))
    poses[1:, 0, 3] = [0.1, 0.1, 0.2]
    poses[2:, :3, :3] = lie.so3_exp(np.array([0.0, 0.0, math.pi / 2.0]))
    path = sample_curve(curve_from_poses(poses), spacing)
    turned = path.poses[:, 1, 0] > 0.5
    time = schedule(path, turned[:, None].astype(float), 0.05, [0.5], 0.1).time
    after = int(np.argmax(turned))
    assert time[after] - time[after - 1] == pytest.approx(2.0)  # what the actuator needs
    assert time[after - 1] == pytest.approx(0.1 / 0.05 + 0.05 / 0.1, rel=1e-3)
    assert time[-1] - time[after] == pytest.approx(0.1 / 0.05 + 0.05 / 0.1, rel=1e-3)


def test_points_that_repeat_do_not_interrupt_a_path():
    poses = np.tile(np.eye(4), (4, 1, 1))
    poses[1:, 0, 3] = [0.1, 0.1, 0.2]
    path = sample_curve(curve_from_poses(poses), 1e-3)
    time = schedule(path, np.zeros((len(path.poses), 1)), 0.05, [0.5], 0.1).time
    assert time[-1] == pytest.approx(0.2 / 0.05 + 0.05 / 0.1, rel=1e-3)


@pytest.mark.parametrize(
    'change', [{'speed': 0.0}, {'speed': math.nan}, {'rates': [0.0]}, {'acceleration': -1.0}]
)
def test_schedule_refuses_impossible_limits(change):
    limits = {'speed': 0.1, 'rates': [1.0], **change}
    with pytest.raises(InvalidInput):
        schedule(straight_path(3, 0.1), np.zeros((3, 1)), **limits)


class LinearRobot:
    """Tip = actuation; reaches |x| <= 0.05 only. Remembers where it was started from."""

    actuators = (None, None, None)

    def __init__(self):
        self.guesses = []

    def inverse(self, pose, wrench, guess, loads, task, position, orientation):
        self.guesses.append(guess)
        p = np.clip(pose[:3, 3], -0.05, 0.05)
        miss = float(np.linalg.norm(p - pose[:3, 3]))
        tip = np.eye(4)
        tip[:3, 3] = p
        code = Code.NONE if miss <= position else Code.UNREACHABLE
        status = SolverStatus(code, 'too far' if code else '')
        q = Configuration('toy', p, LoadCase(), tip, (), (), (), (), status)
        return InverseSolution(p, q, miss, 0.0, (), status)


def test_solve_path_names_every_unreachable_point_and_goes_on():
    robot = LinearRobot()
    path = straight_path(11, 0.1)
    path.poses[8:, 0, 3] = 0.0  # comes back inside
    result = solve_path(robot, path)
    assert result.failed == (6, 7)
    assert result.codes[6] is Code.UNREACHABLE
    assert result.message == 'point 6 at (0.0600, 0.0000, 0.0000) m: too far'
    assert result.complete
    assert result.actuation[5] == pytest.approx([0.05, 0, 0])
    # warm starts come from the last point that was reached, never from a failed one
    assert robot.guesses[8].actuation == pytest.approx([0.05, 0, 0])
    assert robot.guesses[0] is None


def test_a_path_that_is_nowhere_in_reach_is_given_up():
    robot = LinearRobot()
    path = straight_path(4001, 4000.0)  # in millimetres
    result = solve_path(robot, path)
    assert len(robot.guesses) == len(result.codes) == len(result.tip) < 120
    assert result.failed == tuple(range(1, 1 + TOO_MANY)) and result.complete
    assert 'point 1 at' in result.message


class Counting:
    """A robot that counts how often it is asked to search from other postures."""

    def __init__(self, robot):
        self.actuators, self._robot, self.searches = robot.actuators, robot, 0

    def inverse(self, pose, wrench, guess, *rest):
        self.searches += guess is None
        return self._robot.inverse(pose, wrench, guess, *rest)


def curve_through(points):
    poses = np.tile(np.eye(4), (len(points), 1, 1))
    poses[:, :3, 3] = points
    return SampledPath(poses, np.arange(len(points)) * 1e-3)


@pytest.mark.parametrize('name', ['stiff_flop', 'stiff_flop_two_segment'])
def test_a_curve_out_of_reach_is_searched_from_elsewhere_once(name):
    robot = Counting(load_robot(name))
    angles = np.linspace(0.0, 2.0 * math.pi, 5)
    circle = np.stack([np.cos(angles), np.sin(angles), np.full(5, 5.0)], axis=1) * 0.06
    result = solve_path(robot, curve_through(circle))
    assert result.failed == tuple(range(5)) and robot.searches == 1


def test_points_after_a_beginning_out_of_reach_are_judged_as_if_alone():
    robot = load_robot('stiff_flop')
    tip = robot.forward(np.full(len(robot.actuators), 2e4)).tip[:3, 3]
    points = tip + np.outer(np.linspace(1.0, 0.0, 9), [0.0, 0.3, 0.6]) * np.linalg.norm(tip)
    alone = tuple(i for i, p in enumerate(points) if robot.inverse(p).status.code)
    assert alone and alone != tuple(range(9))
    assert solve_path(robot, curve_through(points)).failed == alone


def test_solve_path_can_be_cancelled():
    result = solve_path(LinearRobot(), straight_path(11, 0.05), proceed=lambda i: i < 4)
    assert not result.complete
    assert result.actuation.shape == (4, 3)


def test_tracking_error_is_equation_36():
    desired = np.zeros((4, 3))
    actual = np.array([[3.0, 4.0, 0.0], [0, 0, 0], [0, 0, 5.0], [0, 0, 0]])
    mean, rms, peak = tracking_error(desired, actual)
    assert (mean, peak) == (2.5, 5.0)
    assert rms == pytest.approx(math.sqrt(12.5))
    assert all(math.isnan(x) for x in tracking_error(np.empty((0, 3)), np.empty((0, 3))))
