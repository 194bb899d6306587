# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers: what RViz gets."""

from __future__ import annotations

from dataclasses import replace

from builtin_interfaces.msg import Time
from fixed_shapes import arc, described, network_shape, shape
import numpy as np
import pytest
from visualization_msgs.msg import Marker

from soro_visualization.drawing.ellipsoids import Ellipsoids
from soro_visualization.drawing.fitting_markers import FittingMarkers
from soro_visualization.drawing.markers import Markers, OLD, tube

STAMP = Time(sec=3)


def names(message):
    return {(m.ns, m.id): m for m in message.markers}


def test_an_own_robot_is_drawn_whole():
    description = described('crank_platform')
    spec = description.structure['network']
    pose = np.eye(4)
    pose[:3, 3] = 0.01, 0.0, 0.26
    drawn = network_shape(spec, {'platform': pose})
    markers = Markers('b', None, FittingMarkers(description, None))
    for silent in (False, True):
        found: dict[str, list[Marker]] = {}
        for marker in markers.message(Time(), drawn, silent=silent).markers:
            found.setdefault(marker.ns, []).append(marker)
        assert {k: len(v) for k, v in found.items()} == {'backbone': 6, 'bodies': 3, 'cranks': 6}
        assert all((m.color == OLD) == silent for m in found['bodies'] + found['cranks'])
    platform = next(m for m in found['bodies'] if m.pose.position.x == 0.01 and m.id == 1)
    assert len(platform.points) % 3 == 0
    for crank in found['cranks']:  # from the motor at 80 mm to the joint at 120 mm
        assert crank.type == Marker.CYLINDER and crank.scale.z == pytest.approx(0.04)
        assert np.hypot(crank.pose.position.x, crank.pose.position.y) == pytest.approx(0.1)


def test_tendons_are_lines_in_the_colour_of_their_tension():
    rod = replace(arc(1.0, 0.24, 0.0007, 25), name='arm')
    drawn = replace(shape(), rods=(rod,), model='network', actuation={'near_1': 15.0})
    made = FittingMarkers(described('tendon_arm'), None).of(drawn)
    (lines,) = (m for m in made if m.ns == 'tendons')
    assert len(lines.points) == len(lines.colors) == 2 * 3 * (12 + 24)
    assert len({(c.r, c.g, c.b) for c in lines.colors}) == 2  # pulled, and not
    assert sum(m.ns == 'discs' for m in made) == 24


def test_a_thick_rod_is_spheres_that_touch_and_a_thin_one_a_line():
    thick = tube(arc(1.0), 0, 'backbone', Marker().color)
    assert thick.type == Marker.SPHERE_LIST
    points = np.array([(p.x, p.y, p.z) for p in thick.points])
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).max() <= 0.0125
    # A sphere at the very end would stick out of it by its radius.
    ends = np.linalg.norm(points[[0, -1]] - arc(1.0).positions[[0, -1]], axis=1)
    np.testing.assert_allclose(ends, 0.0125, rtol=0.02)
    thin = tube(arc(1.0, length=0.4, radius=0.65e-3), 1, 'backbone', Marker().color)
    assert thin.type == Marker.LINE_STRIP and thin.scale.x == pytest.approx(1.3e-3)
    assert len(thin.points) == 21


def test_what_is_gone_is_deleted_once():
    markers = Markers('a/base_link')
    loaded, free = shape(force=(0.0, 0.0, -0.3)), shape()
    first = names(markers.message(STAMP, loaded, ghost=free))
    assert set(first) == {('backbone', 0), ('command', 0), ('load', 0), ('load', 1)}
    assert all(m.header.frame_id == 'a/base_link' for m in first.values())
    second = names(markers.message(STAMP, free))
    gone = {k for k, m in second.items() if m.action == Marker.DELETE}
    assert gone == {('command', 0), ('load', 0), ('load', 1)}
    assert set(names(markers.message(STAMP, free))) == {('backbone', 0)}


def test_the_arrow_ends_at_the_tip_and_points_with_the_force():
    loaded = shape(force=(0.0, 0.4, -0.3))
    arrow = names(Markers('base_link').message(STAMP, loaded))['load', 0]
    start, end = (np.array([p.x, p.y, p.z]) for p in arrow.points)
    np.testing.assert_allclose(end, loaded.tip[:3, 3])
    np.testing.assert_allclose(np.cross(end - start, loaded.wrench[:3]), 0.0, atol=1e-15)
    assert (end - start) @ loaded.wrench[:3] > 0.0


def test_ellipsoids_are_spheres_with_diameters():
    found = Ellipsoids(
        np.array([[0.0, 0.0, 0.1]]), np.eye(3)[None], np.array([[1e-3, 2e-3, 3e-3]]), 0.1, 1.0, 0.1
    )
    marker = names(Markers('b').message(STAMP, shape(), ellipsoids=found))['compliance', 0]
    assert (marker.scale.x, marker.scale.y, marker.scale.z) == pytest.approx((2e-3, 4e-3, 6e-3))
    assert marker.pose.orientation.w == pytest.approx(1.0)


def test_the_last_shape_of_a_silent_solver_is_grey_and_has_no_load():
    markers = Markers('b')
    loaded = shape(force=(0.0, 0.0, -0.3))
    colour = names(markers.message(STAMP, loaded))['backbone', 0].color
    old = names(markers.message(STAMP, loaded, silent=True))
    assert old['backbone', 0].color.r == old['backbone', 0].color.g != colour.r
    assert old['load', 0].action == Marker.DELETE
    assert names(markers.message(STAMP, loaded))['backbone', 0].color == colour
