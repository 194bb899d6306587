# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sampling, batches, volumes and files of the workspace analysis."""

from concurrent.futures import ThreadPoolExecutor
import csv
import json

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from soro_compliance import workspace_analysis as analysis
from soro_compliance.workspace_action import point_cloud
from soro_mechanics import load_robot
from soro_mechanics.analysis.workspace import sample_workspace
from soro_mechanics.core.configuration import Load
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.numerics import lie

ZERO = np.zeros(6)


@pytest.fixture(scope='module')
def robot():
    return load_robot('spatial_cc')


@pytest.fixture(scope='module')
def coupled():
    return load_robot('stiff_flop')


def run(robot, samples, compliance=False, proceed=lambda done, failed: True, loads=()):
    with ThreadPoolExecutor(2) as pool:
        return sample_workspace(robot, samples, pool, ZERO, loads, compliance, proceed)


def test_further_loads_bend_every_sample(coupled):
    low, high = analysis.bounds(coupled, [], [])
    samples = analysis.random_samples(coupled, low, high, 20, seed=4)
    pull = (Load(np.array([0.05, 0.0, 0.0, 0.0, 0.0, 0.0]), 'segment_1', 0.02),)
    loaded = run(coupled, samples, loads=pull)
    expected = [coupled.forward(a, None, None, pull).tip for a in samples]
    np.testing.assert_allclose(loaded.tip, expected, atol=1e-7)
    assert np.abs(loaded.tip - run(coupled, samples).tip).max() > 1e-4


def test_random_samples_are_feasible_reproducible_and_inside(coupled):
    low, high = analysis.bounds(coupled, [], [])
    a = analysis.random_samples(coupled, low, high, 200, seed=4)
    assert a.shape == (200, 3)
    assert all(coupled.feasible(x) for x in a)
    assert np.array_equal(a, analysis.random_samples(coupled, low, high, 200, seed=4))
    assert not np.array_equal(a, analysis.random_samples(coupled, low, high, 200, seed=5))


def test_grid_is_regular_and_not_larger_than_asked(robot):
    low, high = analysis.bounds(robot, [], [])
    for count in (8, 26, 27, 28, 64, 1000):
        grid = analysis.grid_samples(robot, low, high, count)
        assert len(grid) == round(np.floor(count ** (1 / 3) + 1e-9)) ** 3
    flat = analysis.grid_samples(robot, low, np.array([high[0], low[1], low[2]]), 10)
    assert len(flat) == 10
    assert np.ptp(flat[:, 0]) == high[0] - low[0]


def test_a_grid_of_less_than_two_values_each_is_refused(robot):
    low, high = robot.limits.T
    with pytest.raises(InvalidInput, match=r'samples.*at least 2\^3 = 8 .*RANDOM'):
        analysis.grid_samples(robot, low, high, 7)
    assert analysis.grid_samples(robot, low, low, 1).tolist() == [low.tolist()]
    many = load_robot('pam_continuum')
    with pytest.raises(InvalidInput, match='30 actuators'):
        analysis.grid_samples(many, *many.limits.T, 5000)


@pytest.mark.parametrize(
    ('lower', 'upper'),
    [([0.0], []), ([], [np.nan] * 3), ([-1.0, 0, 0], []), ([], [2e5] * 3), ([5e4] * 3, [4e4] * 3)],
)
def test_wrong_bounds_are_refused(robot, lower, upper):
    with pytest.raises(InvalidInput):
        analysis.bounds(robot, lower, upper)


def test_batch_equals_single_solves(robot):
    samples = analysis.random_samples(robot, *robot.limits.T, 80, seed=1)
    cloud = run(robot, samples, compliance=True)
    assert cloud.solved.all()
    for i in (0, 31, 32, 79):
        q = robot.forward(samples[i])
        assert cloud.tip[i] == pytest.approx(q.tip, abs=1e-9)
        values = np.linalg.eigvalsh(robot.compliance(q)[:3, :3])
        assert cloud.compliance[i] == pytest.approx([values[0], values[-1]], rel=1e-6)


def test_eigenstiffness_is_that_of_the_published_decomposition(coupled):
    samples = analysis.grid_samples(coupled, *coupled.limits.T, 8)
    cloud = run(coupled, samples, compliance=True)
    swap = np.roll(np.eye(6), 3, axis=0)
    for actuation, found in zip(samples, cloud.eigenstiffness, strict=True):
        # K Delta x = tau x, by another solver.
        compliance = coupled.compliance(coupled.forward(actuation))
        values = np.linalg.eigvals(np.linalg.solve(compliance, swap)).real
        positive = values[values > 0.0]
        assert found == pytest.approx([positive.min(), positive.max()], rel=1e-6)
    message = point_cloud(cloud, 'base_link', Time())
    assert [f.name for f in message.fields][5:] == ['min_eigenstiffness', 'max_eigenstiffness']
    table = np.frombuffer(bytes(message.data), '<f4').reshape(-1, 7)
    np.testing.assert_allclose(table[:, 5:], cloud.eigenstiffness, rtol=1e-6)


def test_a_model_that_is_rigid_somewhere_has_no_eigenstiffness(robot):
    samples = analysis.random_samples(robot, *robot.limits.T, 5, seed=1)
    cloud = run(robot, samples, compliance=True)
    assert np.isfinite(cloud.compliance).all() and np.isnan(cloud.eigenstiffness).all()
    fields = [f.name for f in point_cloud(cloud, 'base_link', Time()).fields]
    assert fields == ['x', 'y', 'z', 'min_compliance', 'max_compliance']


def test_cancelling_stops_early(robot):
    samples = analysis.random_samples(robot, *robot.limits.T, 400, seed=1)
    seen = []

    def proceed(done, failed):
        seen.append(done)
        return done < 100

    cloud = run(robot, samples, proceed=proceed)
    assert len(cloud.actuation) == len(cloud.codes) == len(cloud.tip) == seen[-1] < 200


def test_volume_and_extent_of_a_box():
    rng = np.random.default_rng(0)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=float)
    inside = rng.uniform([0, 0, 0], [1, 2, 3], (50, 3))
    points = np.vstack([corners, inside])
    assert analysis.hull_volume(points) == pytest.approx(6.0)
    assert analysis.longest_extent(points) == pytest.approx(np.sqrt(14.0))
    plane = points * [1.0, 1.0, 0.0]
    assert analysis.hull_volume(plane) == 0.0
    assert analysis.longest_extent(plane) == pytest.approx(np.sqrt(5.0))
    assert analysis.hull_volume(points[:3]) == analysis.longest_extent(points[:1]) == 0.0


@pytest.mark.parametrize('turns', [0.25, 1.0])
def test_extent_of_an_arc_takes_no_time_quadratic_in_its_points(turns):
    """100,000 points, all of them corners of their hull: comparing all takes minutes."""
    angle = np.linspace(0.0, 2.0 * np.pi * turns, 100_000)
    plane = lie.so3_exp(np.array([0.4, -0.3, 0.2]))[:, :2]
    arc = 0.05 * np.column_stack([np.cos(angle), np.sin(angle)]) @ plane.T
    longest = 0.1 if turns == 1.0 else 0.1 * np.sin(np.pi * turns)
    assert analysis.longest_extent(arc) == pytest.approx(longest, rel=1e-6)
    assert analysis.longest_extent(angle[:, None] * [1.0, 2.0, 2.0]) == pytest.approx(
        3.0 * angle[-1]
    )


def test_extent_of_a_flat_cloud_is_that_of_all_its_pairs():
    rng = np.random.default_rng(2)
    for shape in ((300, 2), (40, 1), (3, 2), (2, 2)):
        flat = rng.normal(size=shape) @ rng.normal(size=(shape[1], 3)) + [0.1, 0.2, 0.3]
        pairs = np.linalg.norm(flat[:, None] - flat[None], axis=2)
        assert analysis.longest_extent(flat) == pytest.approx(pairs.max())
    assert analysis.longest_extent(np.ones((5, 3))) == 0.0


def test_files_hold_what_was_computed(robot, tmp_path):
    samples = analysis.grid_samples(robot, *robot.limits.T, 27)
    cloud = run(robot, samples, compliance=True)
    names = [a.name for a in robot.actuators]
    npz = analysis.check_file(str(tmp_path / 'cloud.npz'))
    origin = {'robot': 'arm', 'seed': None, 'gravity': [0.0, -9.81]}
    analysis.save(cloud, names, npz, origin)
    with np.load(npz) as data:
        assert np.array_equal(data['tip'], cloud.tip)
        assert data['actuator_name'].tolist() == names
        assert json.loads(str(data['origin'])) == origin
    text = analysis.check_file(str(tmp_path / 'cloud.csv'))
    analysis.save(cloud, names, text, origin)
    lines = text.read_text(encoding='utf-8').splitlines()
    said = dict(line.removeprefix('# ').split(': ', 1) for line in lines[:3])
    assert {key: json.loads(value) for key, value in said.items()} == origin
    rows = list(csv.reader(lines[3:]))
    assert len(np.loadtxt(text, delimiter=',', skiprows=4)) == len(samples)
    assert rows[0][:4] == [*names, 'x [m]']
    assert len(rows) == 1 + len(samples)
    assert [float(x) for x in rows[1][3:6]] == pytest.approx(cloud.tip[0, :3, 3], abs=1e-9)
    assert sorted(p.name for p in tmp_path.iterdir()) == ['cloud.csv', 'cloud.npz']
    assert [analysis.check_file(str(file)) for file in (npz, text)] == [npz, text]  # once more


@pytest.mark.parametrize('name', ['pulls.csv', 'cloud.npz'])
def test_a_file_that_is_no_workspace_is_not_replaced(name, tmp_path):
    for content in (b'', b'force [N], x [mm]\n1, 2\n', b'PK\3\4' + bytes(26) + b'tips.npy'):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput) as error:
            analysis.check_file(str(tmp_path / name))
        assert error.value.field == 'save_to' and name in str(error.value)


def test_wrong_file_names_are_refused(tmp_path):
    assert analysis.check_file('') is None
    for name in ('cloud.txt', str(tmp_path / 'missing' / 'cloud.npz')):
        with pytest.raises(InvalidInput):
            analysis.check_file(name)
