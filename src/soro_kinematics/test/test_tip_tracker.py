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
        self.set_by = 0.0  # s, all clocks but the steady one

    def see(self, tip=TIP, model=TIP, base=BASE, late=0.01, **more):
        self.time += 0.01
        now = START + round((self.time + self.set_by) * SECOND)
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


@pytest.mark.parametrize('set_by', [-3600.0, -0.8, 0.0, 3600.0])
def test_a_tip_that_moved_unseen_is_believed_again_though_clocks_were_set(set_by):
    bench = Bench()
    bench.see()
    bench.set_by = set_by
    bench.time += 1.0  # nobody sees it move by less than the speed allows
    there = pose((0.015, 0.0, 0.05))
    for k in range(30):
        seen = bench.see(there + 1e-6 * k * np.eye(4, k=3), there)
    assert seen is not None and bench.state == TrackerState.GOOD and bench.tracker.refused == 0
    assert bench.see(pose((0.06, 0.0, 0.05)), pose((0.06, 0.0, 0.05))) is None  # a jump is one


def test_poses_in_a_burst_have_the_speed_of_their_stamps():
    bench = Bench(replace(RULES, max_distance=1.0))
    bench.see(late=0.2)
    at = bench.time
    for k in range(1, 4):  # 50 ms apart, at 0.8 m/s, and here at once
        bench.time = at - 0.01
        there = TIP + 0.04 * k * np.eye(4, k=3)
        assert bench.see(there, there, late=0.2 - 0.05 * k) is not None


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
