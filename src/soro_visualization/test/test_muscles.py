# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Muscles between disks: as long as the model says, for its own models only."""

from __future__ import annotations

from dataclasses import replace

from builtin_interfaces.msg import Time
from fixed_shapes import shape
import numpy as np
import pytest
from visualization_msgs.msg import Marker

from soro_mechanics import load_robot
from soro_visualization.drawing.markers import Markers, OLD
from soro_visualization.drawing.muscles import muscles_of
from soro_visualization.drawing.tubes import straight_cylinders


@pytest.fixture(scope='module')
def bent():
    robot = load_robot('pam_continuum')
    q = robot.inverse([0.25, 0.1, 0.85]).configuration
    assert q.status.converged
    drawn = replace(shape(), bodies=q.bodies, model=q.model)
    return robot, q, muscles_of(robot.description), drawn


def test_muscles_are_as_long_as_the_model_says(bent):
    robot, q, muscles, drawn = bent
    lengths = robot.model_object.rod.lengths_of(q.state.q).reshape(-1)
    np.testing.assert_allclose(muscles.of(drawn).length, lengths, atol=1e-12)
    assert np.ptp(lengths) > 5e-3  # a bent one: a wrong order would show
    assert muscles.rest == pytest.approx(0.1)


def test_cylinders_run_from_disk_to_disk(bent):
    muscles, drawn = bent[2:]
    found = muscles.of(drawn)
    tubes = straight_cylinders(found.ends, found.radius)
    w, x, y, z = tubes.quaternions.T
    along = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    half = 0.5 * tubes.scales[:, 2:] * along
    np.testing.assert_allclose(tubes.positions + half, found.ends[:, 1], atol=1e-12)
    np.testing.assert_allclose(tubes.positions - half, found.ends[:, 0], atol=1e-12)
    np.testing.assert_allclose(tubes.scales[:, :2], 0.0075)


def test_models_with_muscles_of_their_own_and_other_robots_have_none(bent):
    robot, _, muscles, drawn = bent
    assert muscles.of(replace(drawn, model='network')) is None
    assert muscles.of(replace(drawn, bodies={})) is None
    assert muscles_of(load_robot('stiff_flop').description) is None


def test_markers_draw_them_as_lines_and_grey_when_old(bent):
    muscles, drawn = bent[2:]
    markers = Markers('b', muscles)

    def lines(**words):
        found = markers.message(Time(), drawn, **words).markers
        return {m.ns: m for m in found}['muscles']

    fresh = lines()
    assert fresh.type == Marker.LINE_LIST and len(fresh.points) == 60
    assert fresh.scale.x == pytest.approx(0.015)
    assert lines(silent=True).color == OLD != fresh.color
