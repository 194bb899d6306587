# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Marker and tracker are found where they were put, with intervals that hold what they say."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soro_mechanics import load_robot
from soro_mechanics.analysis.tracker_calibration import calibrate_tracker, mean_pose
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.sensor_sections import placed, write_section

NOISE, TURN_NOISE = 0.2e-3, 3e-3  # m, rad


def pose(position, rotation=(0.0, 0.0, 0.0)):
    made = np.eye(4)
    made[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    made[:3, 3] = position
    return made


MARKER = pose([0.003, -0.002, 0.012], [0.3, 2.0, -0.4])
BASE = pose([1.0, 2.0, 0.5], [0.1, 2.5, 1.0])


@pytest.fixture(scope='module')
def tips():
    robot, random = load_robot('stiff_flop'), np.random.default_rng(0)
    tried = 0.8 * robot.limits[:, 1] * random.random((60, 3))
    return np.array([robot.forward(a).tip for a in tried if not robot.violations(a)][:20])


def look(tips, seed, oriented=True, noise=1.0):
    random = np.random.default_rng(seed)
    seen = np.linalg.inv(BASE) @ tips @ MARKER
    seen[:, :3, 3] += noise * NOISE * random.standard_normal((len(tips), 3))
    turns = Rotation.from_rotvec(noise * TURN_NOISE * random.standard_normal((len(tips), 3)))
    seen[:, :3, :3] = seen[:, :3, :3] @ turns.as_matrix() if oriented else np.eye(3)
    return seen


@pytest.mark.parametrize('oriented', [True, False])
@pytest.mark.parametrize('base', [None, BASE])
def test_without_noise_everything_is_found(tips, base, oriented):
    found = calibrate_tracker(tips, look(tips, 0, oriented, 0.0), base)
    assert found.marker[:3, 3] == pytest.approx(MARKER[:3, 3], abs=1e-9)
    assert found.base == pytest.approx(BASE, abs=1e-7)
    assert found.half == pytest.approx(np.zeros(6), abs=1e-7)
    if oriented:
        assert found.marker == pytest.approx(MARKER, abs=1e-8)


def test_intervals_hold_the_truth_about_as_often_as_they_say(tips):
    # docs/evidence/tracker_calibration.json has 200 seeds of each kind.
    held = []
    for seed in range(40):
        found = calibrate_tracker(tips, look(tips, seed))
        turn = Rotation.from_matrix(MARKER[:3, :3].T @ found.marker[:3, :3]).as_rotvec()
        off = np.append(found.marker[:3, 3] - MARKER[:3, 3], turn)
        held.append(np.abs(off) <= found.half)
        # Two variances, of positions and turns, are told apart.
        assert found.left == pytest.approx(np.sqrt(3) * np.array([NOISE, TURN_NOISE]), rel=0.5)
    assert 0.90 <= np.mean(held) <= 0.99


def test_what_postures_cannot_tell_is_refused(tips):
    with pytest.raises(InvalidInput) as refused:
        calibrate_tracker(tips[:2], look(tips[:2], 0))
    assert refused.value.code is Code.INVALID_SIZE
    # The tip moves and never turns: marker and tracker may be moved together.
    straight = np.array([pose([0.0, 0.001 * k, 0.05 + 0.002 * (k % 3)]) for k in range(12)])
    with pytest.raises(InvalidInput) as refused:
        calibrate_tracker(straight, look(straight, 0))
    assert refused.value.code is Code.POOR_FIT
    # About one axis: along it neither is known; nearly so: hardly.
    for wobble in (0.0, 2e-3):
        random = np.random.default_rng(1)
        hinge = np.array(
            [pose([0.0, 0.0, 0.05], [0.1 * k, *(wobble * random.standard_normal(2))])
             for k in range(12)]
        )  # fmt: skip
        with pytest.raises(InvalidInput) as refused:
            calibrate_tracker(hinge, look(hinge, 0))
        assert refused.value.code is Code.POOR_FIT
    # Where the tracker stands is known: every posture tells, more of them more exactly.
    halves = [calibrate_tracker(t, look(t, 0), BASE).half.max() for t in (tips[:5], tips)]
    assert halves[0] > 1.5 * halves[1]


def test_the_mean_of_poses_is_one():
    random = np.random.default_rng(0)
    mean = mean_pose(np.array([MARKER @ pose([0.0] * 3, 0.02 * random.standard_normal(3))
                               for _ in range(200)]))  # fmt: skip
    assert mean[:3, :3].T @ mean[:3, :3] == pytest.approx(np.eye(3), abs=1e-12)
    assert mean == pytest.approx(MARKER, abs=5e-3)


def test_a_robot_file_keeps_what_was_found(tmp_path):
    file = str(find_robot_file('stiff_flop'))
    values = {
        'marker': placed(MARKER, '12 postures'),
        'base': {'frame': 'camera', **placed(BASE, '12 postures')},
    }
    write_section(file, 'tracker', values, tmp_path / 'mine.yaml')
    written = read_robot_file(tmp_path / 'mine.yaml')
    tracker = written.structure['tracker']
    assert tracker.marker == pytest.approx(MARKER, abs=1e-5)
    assert tracker.marker[:3, 3] == pytest.approx(MARKER[:3, 3], abs=1e-6)
    assert tracker.base == pytest.approx(BASE, abs=1e-5)
    assert (tracker.frame, tracker.index) == ('camera', -1)
    origins = {p.path: p.source for p in written.origins}
    assert origins['tracker.marker.position'] == 'measured'
    # Again: what is not said stays.
    write_section(str(tmp_path / 'mine.yaml'), 'tracker', {'index': 2}, tmp_path / 'more.yaml')
    again = read_robot_file(tmp_path / 'more.yaml').structure['tracker']
    assert (again.frame, again.index) == ('camera', 2)
