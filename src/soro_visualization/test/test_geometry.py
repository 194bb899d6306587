# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tubes, colours, ellipsoids and rigid parts against geometry known by other means."""

from __future__ import annotations

from fixed_shapes import arc, shape
from geometry_msgs.msg import Point, Pose, Quaternion
import numpy as np
import pytest

from soro_msgs.msg import Backbone, Compliance, Configuration
from soro_visualization.drawing.colour_scale import BLUE_TO_RED, ColourScale, rounded
from soro_visualization.drawing.ellipsoids import chosen, ellipsoids, quaternions_wxyz
from soro_visualization.drawing.rigid_parts import Primitive, read_urdf, UrdfError
from soro_visualization.drawing.shape import rotation_matrix, shape_from_message
from soro_visualization.drawing.tubes import (
    cylinders,
    quaternions_along,
    turned,
    unit_box,
    unit_cylinder,
    unit_sphere,
)
from soro_visualization.page.plots import History

rng = np.random.default_rng(7)
UP = np.array([0.48, -0.6, 0.64])


def volume(mesh):
    vertices, faces = mesh
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.einsum('ij,ij->i', a, np.cross(b, c)).sum() / 6.0


@pytest.mark.parametrize(
    ('mesh', 'expected', 'error'),
    [
        (unit_cylinder(256), np.pi, 1e-3),
        (unit_sphere(128, 256), 4 * np.pi / 3, 1e-3),
        (unit_box(), 1.0, 1e-12),
    ],
)
def test_meshes_are_closed_and_face_outwards(mesh, expected, error):
    # The divergence theorem gives the volume only of a closed surface seen from outside.
    assert volume(mesh) == pytest.approx(expected, rel=error)
    assert volume((mesh[0] + [0.3, -2.0, 5.0], mesh[1])) == pytest.approx(expected, rel=error)


def test_curvature_of_an_arc_is_its_angle_over_its_length():
    for angle in (0.0, 1e-9, 0.3, 2.5):
        tubes = cylinders([arc(angle, length=0.2)])
        # The chord of a step is shorter than its arc by sinc(half the step's angle).
        step = angle / 20
        chord = 0.2 / 20 * np.sinc(step / 2 / np.pi)
        np.testing.assert_allclose(tubes.curvature * chord, step, rtol=1e-6, atol=1e-15)


def test_cylinders_lie_along_the_rod_and_close_the_gaps_of_a_bend():
    rod = arc(1.0)
    tubes = cylinders([rod])
    for i, (w, x, y, z) in enumerate(tubes.quaternions):
        axis = rotation_matrix(np.array([x, y, z, w]))[:, 2]
        half = 0.5 * tubes.scales[i, 2] * axis
        step = rod.positions[i + 1] - rod.positions[i]
        np.testing.assert_allclose(np.cross(axis, step), 0.0, atol=1e-15)
        assert np.linalg.norm(2 * half) >= np.linalg.norm(step) + rod.radius[0] * 1.0 / 20 * 0.99
    np.testing.assert_allclose(tubes.scales[:, 0], rod.radius[0])


def test_a_direction_turns_z_onto_it_even_backwards():
    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions = np.vstack([directions, [[0, 0, 1], [0, 0, -1], [1, 0, 0]]])
    for d, (w, x, y, z) in zip(directions, quaternions_along(directions), strict=True):
        np.testing.assert_allclose(rotation_matrix(np.array([x, y, z, w]))[:, 2], d, atol=1e-12)


def test_the_angle_between_quaternions_ignores_their_sign_and_keeps_small_ones():
    small = np.array([[0, 0, 0, 1.0], [0, 0.5e-9, 0, 1.0], [0, -np.sin(1.0), 0, -np.cos(1.0)]])
    np.testing.assert_allclose(turned(small), [1e-9, 2.0 - 1e-9], rtol=1e-6)


def test_colours_run_from_one_end_to_the_other():
    scale = ColourScale(BLUE_TO_RED)
    ends = scale.colours(np.array([-5.0, 0.0, 1.0, 9.0, np.nan]), 0.0, 1.0)
    assert ends[0].tolist() == ends[1].tolist() == [0x74, 0xAD, 0xD1]
    assert ends[2].tolist() == ends[3].tolist() == [0xD7, 0x30, 0x27]
    assert scale.colours(np.array([3.0]), 3.0, 3.0).tolist() == [[0x74, 0xAD, 0xD1]]
    legend = scale.legend('stiffness <', '0', '5 N/m')
    assert '5 N/m' in legend and 'stiffness &lt;' in legend


@pytest.mark.parametrize(
    ('value', 'expected'), [(1.0, 1.0), (1.99, 1.0), (2.0, 2.0), (0.0499, 0.02), (7e5, 5e5)]
)
def test_round_numbers(value, expected):
    assert rounded(value) == pytest.approx(expected)


def compliance(matrix, backbone='segment', arc_length=0.0):
    values, axes = np.linalg.eigh(matrix)
    message = Compliance(backbone=backbone, arc_length=arc_length)
    message.pose.orientation.w = 1.0
    message.principal_compliance = values[::-1].copy()
    for out, axis in zip(message.principal_axis, axes[:, ::-1].T, strict=True):
        out.x, out.y, out.z = axis.tolist()
    return message


def test_an_ellipsoid_is_where_a_point_goes_under_every_unit_force():
    root = rng.normal(size=(3, 3))
    matrix = root @ root.T * 1e-3
    found = ellipsoids([compliance(matrix)], extent=0.1)
    rotation, half = found.rotations[0], found.half_axes[0]
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    np.testing.assert_allclose(
        rotation @ np.diag(half) @ rotation.T, matrix * found.force, atol=1e-3 * 0.1 * 2
    )
    assert 0.4 * 0.18 * 0.1 <= half.max() <= 0.18 * 0.1
    # and out of a thick rod, whatever the round number
    assert ellipsoids([compliance(matrix)], 0.1, radius=0.03).half_axes.max() >= 0.03
    w, x, y, z = quaternions_wxyz(found.rotations)[0]
    np.testing.assert_allclose(rotation_matrix(np.array([x, y, z, w])), rotation, atol=1e-12)


def test_ellipsoids_without_a_soft_point_are_none():
    assert ellipsoids([], 1.0) is None
    broken = compliance(np.eye(3))
    broken.principal_compliance = np.full(3, np.nan)
    assert ellipsoids([broken], 1.0) is None


def test_some_stations_of_every_rod_are_chosen_its_end_among_them():
    stations = [compliance(np.eye(3), rod, s) for rod in 'ab' for s in range(51)]
    picked = [(m.backbone, m.arc_length) for m in chosen(stations, 5)]
    assert picked == [(rod, s) for rod in 'ab' for s in (10.0, 20.0, 30.0, 40.0, 50.0)]
    assert [m.backbone for m in chosen([compliance(np.eye(3), '')])] == ['']


def test_a_message_becomes_a_shape():
    rod = arc(0.7)
    message = Configuration(model='ncm', actuator_name=['a'], actuation=[2.0])
    backbone = Backbone(name='s', arc_length=rod.arc_length, radius=rod.radius)
    for (x, y, z), q in zip(rod.positions.tolist(), rod.quaternions.tolist(), strict=True):
        turn = Quaternion(x=q[0], y=q[1], z=q[2], w=q[3])
        backbone.poses.append(Pose(position=Point(x=x, y=y, z=z), orientation=turn))
    message.backbones = [backbone]
    message.wrench.force.x = 0.2
    got = shape_from_message(message)
    np.testing.assert_allclose(got.rods[0].positions, rod.positions)
    assert got.loaded and got.actuation == {'a': 2.0}
    assert got.extent == pytest.approx(np.linalg.norm(rod.positions[-1]))
    backbone.poses[3].position.y = float('nan')
    assert shape_from_message(message) is None


def test_all_rods_are_drawn():
    both = cylinders(shape(0.5).rods)
    assert both.positions.shape == (20, 3)


@pytest.mark.parametrize(
    ('kind', 'size'), [('box', (0.2, 0.5, 0.9)), ('cylinder', (0.3, 0.8)), ('sphere', (0.4,))]
)
def test_a_solid_reaches_as_far_as_its_points(kind, size):
    turn = rotation_matrix(np.array([0.1, 0.5, -0.7, 0.5]))
    origin = np.eye(4)
    origin[:3, :3] = turn
    u = np.linspace(0.0, 2.0 * np.pi, 721)
    if kind == 'box':
        points = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points = 0.5 * points * size
    elif kind == 'cylinder':
        ring = np.stack([size[0] * np.cos(u), size[0] * np.sin(u)], axis=1)
        points = np.concatenate([np.column_stack([ring, np.full(721, s)]) for s in (-0.4, 0.4)])
    else:
        points = np.array([turn.T @ UP * size[0]])
    solid = Primitive(kind, size, origin, (1.0, 1.0, 1.0, 1.0))
    assert solid.reach(UP) == pytest.approx((points @ turn.T @ UP).max(), abs=1e-5)


URDF = """<robot name="x"><material name="m"><color rgba="1 0 0 0.5"/></material>
<link name="p/base_link"><visual><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
<geometry><box size="1 2 3"/></geometry><material name="m"/></visual></link>
<link name="p/crank"/><link name="p/platform"/>
<joint name="motor" type="revolute"><parent link="p/base_link"/><child link="p/crank"/>
<origin xyz="1 0 0"/><axis xyz="0 0 2"/></joint>
<joint name="f" type="floating"><parent link="p/base_link"/><child link="p/platform"/></joint>
</robot>"""


def test_rigid_parts_follow_their_joints():
    parts = read_urdf(URDF, 'p/')
    solid = parts.solids['base_link'][0]
    assert (solid.kind, solid.size, solid.rgba) == ('box', (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.5))
    np.testing.assert_allclose(solid.origin @ [1, 0, 0, 1], [0, 1, 1, 1], atol=1e-15)
    assert parts.lowest(np.array([0.0, 0.0, 1.0])) == 1.0 - 1.5
    assert parts.lowest(np.array([0.0, 0.0, -1.0])) == -1.0 - 1.5  # upside down
    assert parts.lowest(np.array([1.0, 0.0, 0.0])) == pytest.approx(-1.0)  # turned about z: y edge
    ends = parts.extremes({}, np.eye(3))
    np.testing.assert_allclose(ends.min(axis=0), [-1.0, -0.5, -0.5], atol=1e-12)
    np.testing.assert_allclose(ends.max(axis=0), [1.0, 0.5, 2.5], atol=1e-12)
    pose = parts.pose('crank', {}, {'motor': np.pi / 2})
    np.testing.assert_allclose(pose @ [1, 0, 0, 1], [1, 1, 0, 1], atol=1e-15)
    assert parts.pose('platform', {}, {}) is None
    body = np.diag([1.0, -1.0, -1.0, 1.0])
    assert parts.pose('platform', {'platform': body}, {}) is body


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('<robot', '<rob', 'not XML'),
        ('<box size="1 2 3"/>', '<mesh filename="x"/>', 'box'),
        ('size="1 2 3"', 'size="1 2"', 'finite numbers'),
        ('type="floating"', 'type="planar"', 'planar'),
        ('child link="p/platform"', 'child link="p/none"', 'does not exist'),
        ('child link="p/platform"', 'child link="p/crank"', 'two joints'),
        ('xyz="0 0 2"', 'xyz="0 0 0"', 'axis is zero'),
        ('name="p/crank"', 'name="crank"', 'prefix'),
    ],
)
def test_a_wrong_description_is_refused_with_the_reason(old, new, words):
    with pytest.raises(UrdfError, match=words):
        read_urdf(URDF.replace(old, new, 1), 'p/')


def test_history_keeps_the_last_seconds_at_its_rate():
    history = History(1, duration=2.0, rate=10.0)
    for i in range(1000):
        history.add(100.0 + 0.01 * i, np.array([i]))
    table = history.table(110.0)
    assert np.all(np.diff(table[:, 0]) > 0.0)
    assert -2.0 <= table[0, 0] < -1.8 and table[-1, 0] > -0.11
    np.testing.assert_allclose(table[:, 1], (table[:, 0] + 10.0) * 100.0, atol=1e-6)
    history.add(5.0, np.array([7.0]))  # a bag starts again
    assert history.table(5.0).tolist() == [[0.0, 7.0]]
