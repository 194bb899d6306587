# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated tracker: noise, latency, rate and losses are those that were asked for."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soro_emulation.emulated_tracker import EmulatedTracker, NOWHERE, PARAMETERS, tracker_fault
from soro_mechanics.core.errors import InvalidInput, UnknownName

DEFAULTS = {p.name: p.default for p in PARAMETERS} | {'rate': 30.0}
TIP = np.eye(4)
TIP[:3, :3] = Rotation.from_rotvec([0.4, -0.2, 0.1]).as_matrix()
TIP[:3, 3] = 0.01, 0.02, 0.05
SOLVE = 0.004  # s, that the body takes


def seen(count=300, seed=1, fault=None, **values):
    """Return what comes of so many looks at 30 Hz."""
    tracker, found = EmulatedTracker(DEFAULTS | values, seed), []
    if fault is not None:
        tracker.inject(*fault)
    for k in range(count):
        tracker.see(TIP, k, k / 30.0, k / 30.0 + SOLVE)
        found += tracker.due(k / 30.0 + SOLVE)
    return found + tracker.due(1e9)


def test_noise_is_white_and_as_large_as_asked_for():
    poses = np.array([s.pose for s in seen(3000, tracker_noise=1e-3, tracker_turn_noise=0.01)])
    off = poses[:, :3, 3] - TIP[:3, 3]
    assert off.std(axis=0) == pytest.approx([1e-3] * 3, rel=0.06)
    assert np.abs(off.mean(axis=0)).max() < 4 * 1e-3 / np.sqrt(len(off))
    turns = Rotation.from_matrix(TIP[:3, :3].T @ poses[:, :3, :3]).as_rotvec()
    assert turns.std(axis=0) == pytest.approx([0.01] * 3, rel=0.06)
    (exact,) = seen(1, tracker_noise=0.0, tracker_turn_noise=0.0, tracker_marker=[0.0, 0.0, 0.02])
    assert exact.pose[:3, 3] == pytest.approx(TIP[:3, 3] + 0.02 * TIP[:3, 2])
    assert exact.pose[:3, :3] == pytest.approx(TIP[:3, :3])


def test_poses_come_late_in_order_at_the_rate_and_some_are_lost():
    assert [s.stamp for s in seen()] == list(range(300))
    assert len(seen(tracker_rate=10.0)) == pytest.approx(100, abs=1)
    assert len(seen(tracker_drop_outs=0.3)) == pytest.approx(210, abs=30)
    tracker = EmulatedTracker(DEFAULTS | {'tracker_latency': 0.1}, 1)
    tracker.see(TIP, 'stamp', 5.0, 5.004)
    assert not tracker.due(5.099)
    assert [s.stamp for s in tracker.due(5.101)] == ['stamp']


def test_faults_are_what_they_are_called():
    assert not seen(fault=('lost',))
    frozen = np.array([s.pose for s in seen(fault=('frozen',))])
    assert (frozen == frozen[0]).all()
    jumped = np.mean([s.pose[:3, 3] for s in seen(fault=('jump', 0.03))], axis=0)
    assert jumped - TIP[:3, 3] == pytest.approx([0.03, 0.0, 0.0], abs=1e-4)
    assert {s.frame_id for s in seen(fault=('frame',))} == {NOWHERE}
    late = EmulatedTracker(DEFAULTS, 1)
    late.inject('late')
    late.see(TIP, 0, 5.0, 5.0)
    assert not late.due(5.5)
    assert len(late.due(5.55)) == 1
    assert tracker_fault({'kind': 'jump', 'by': 0.01}) == ('jump', 0.01)
    with pytest.raises(UnknownName):
        tracker_fault({'kind': 'gone'})
    with pytest.raises(InvalidInput):
        tracker_fault({'by': 'far'})
