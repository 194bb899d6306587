# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is believed of a tracker, against scipy's rotations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soro_kinematics.tip_tracker import MarkerPose, TipTracker, TrackerRules
from soro_msgs.msg import TrackerState

SECOND = 10**9
START = 1000 * SECOND
RULES = TrackerRules(0.5, 0.25, 0.02, 1.0, np.eye(4))


def pose(position, turn=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    matrix[:3, 3] = position
    return matrix


BASE = pose((0.0, 0.0, 0.0))
TIP = pose((0.0, 0.0, 0.05), (0.1, 0.0, 0.0))


class Bench:
    """A tracker at 100 Hz whose poses take 10 ms, and its time."""

    def __init__(self, rules=RULES):
        self.tracker = TipTracker(rules)
        self.time = 0.0

    def see(self, tip=TIP, model=TIP, base=BASE, late=0.01, **more):
        self.time += 0.01
        now = START + round(self.time * SECOND)
        seen = MarkerPose(now - round(late * SECOND), 'camera', tip, True)
        return self.tracker.take(replace(seen, **more), base, model, now, self.time)

    @property
    def state(self):
        return self.tracker.state(self.time)[0]


def test_marker_and_frame_are_taken_off():
    marker, camera = pose((0.01, 0.002, 0.03), (0.3, -0.2, 1.0)), pose((1, 2, 3), (0, 2, 1))
    bench = Bench(replace(RULES, marker=marker))
    seen = np.linalg.inv(camera) @ TIP @ marker
    assert bench.see(seen, base=camera) == pytest.approx(TIP, abs=1e-12)
    assert bench.state == TrackerState.GOOD


def test_positions_alone_have_no_orientation_and_turn_the_marker_as_the_model():
    marker, camera = pose((0.01, 0.002, 0.03)), pose((1, 2, 3), (0, 2, 1))
    bench = Bench(replace(RULES, marker=marker))
    seen = pose((np.linalg.inv(camera) @ TIP @ marker)[:3, 3])
    measured = bench.see(seen, base=camera, oriented=False)
    assert measured == pytest.approx(pose(TIP[:3, 3]), abs=1e-12)
    assert bench.see(seen, model=None, base=camera, oriented=False) is None


def test_late_future_repeated_and_unconnected_poses_are_refused_and_named():
    for fields, state in (
        ({'late': 0.3}, TrackerState.LATE),
        ({'late': -1.0}, TrackerState.LATE),
        ({'base': 'no transform'}, TrackerState.NO_TRANSFORM),
        ({'tip': pose((0.0, 0.0, 0.08))}, TrackerState.OUTLIER),
    ):
        bench = Bench()
        assert bench.state == TrackerState.ABSENT
        assert bench.see(**fields) is None
        assert (bench.state, bench.tracker.refused) == (state, 1)
        assert bench.see() is not None  # one that is refused spoils nothing
        assert bench.state == TrackerState.GOOD
    assert bench.see(stamp=bench.tracker.newest.stamp) is None


def test_a_jump_is_refused_and_a_place_that_lasts_is_believed_in_the_end():
    bench = Bench()
    assert bench.see() is not None
    there = pose((0.015, 0.0, 0.05))  # 15 mm: at 1 m/s it takes 15 ms
    assert bench.see(there) is None
    assert bench.state == TrackerState.GOOD  # one jump is not the end of a tracker
    assert bench.see(there) == pytest.approx(there)


def test_silence_is_a_loss_and_a_frozen_pose_too():
    bench = Bench()
    bench.see()
    bench.time += 0.6
    assert bench.state == TrackerState.LOST
    assert bench.see() is not None  # the robot stands still: the same pose is right
    for k in range(60):
        moved = pose((0.0, 0.0, 0.05 + 0.001 * min(k, 5)), (0.1, 0.0, 0.0))
        bench.see(model=moved)
    assert bench.state == TrackerState.LOST
    assert 'frozen' in bench.tracker.state(bench.time)[1]
    assert bench.see(pose((0.0, 0.0, 0.0541)), model=moved) is not None


def test_latency_and_rate_are_those_of_the_last_second():
    bench = Bench()
    for k in range(150):
        bench.see(late=0.2 if k < 40 else 0.03)
    assert bench.tracker.latency() == pytest.approx(0.03)
    assert bench.tracker.rate(bench.time) == pytest.approx(100.0, abs=1.5)
    assert bench.tracker.rate(bench.time + 2.0) == 0.0
    assert np.isnan(bench.tracker.latency())
