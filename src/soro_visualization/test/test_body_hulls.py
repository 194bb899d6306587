# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies without a URDF are closed solids that hold the ends of their rods, wherever they move."""

from __future__ import annotations

from fixed_shapes import described, network_shape, shape
import numpy as np
import pytest

from soro_mechanics.models.network.description.spec import GROUND
from soro_visualization.drawing.body_hulls import body_hulls, TIP


def moved(angle: float) -> np.ndarray:
    """Return a pose turned about x."""
    pose = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    pose[1:3, 1:3] = [[c, -s], [s, c]]
    pose[:3, 3] = 0.02, -0.01, 0.25
    return pose


def inside(hull, points) -> np.ndarray:
    """Return how far points (n, 3) are outside the outermost face; negative inside."""
    a, b, c = (hull.vertices[hull.faces[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return (np.einsum('fi,nfi->nf', normals, points[:, None] - a)).max(axis=1)


@pytest.mark.parametrize('name', ['crank_platform', 'stewart_gough', 'planar_chain'])
def test_every_end_of_a_rod_lies_in_the_body_that_holds_it(name):
    description = described(name)
    spec = description.structure['network']
    poses = {body.name: moved(0.3) for body in spec.bodies if body.name != GROUND}
    made = body_hulls(description, network_shape(spec, poses))
    assert set(poses) | {GROUND} <= set(made)
    later = network_shape(spec, {body: moved(-0.4) for body in poses})
    for part in spec.rods:
        rod = next(r for r in later.rods if r.name == part.name)
        for end, at in zip(part.ends, (0, -1), strict=True):
            pose = later.bodies.get(end.body, np.eye(4))
            place = rod.positions[at]
            if end.motor:  # the crank holds it, and turns on the body
                place = pose[:3, :3] @ end.attach[:3, 3] + pose[:3, 3]
            local = pose[:3, :3].T @ (place - pose[:3, 3])
            assert inside(made[end.body], local[None]) < 0.0


@pytest.mark.parametrize('name', ['crank_platform', 'tendon_arm'])
def test_a_body_is_one_closed_surface_seen_from_outside(name):
    description = described(name)
    spec = description.structure['network']
    poses = {body.name: moved(0.0) for body in spec.bodies if body.name != GROUND}
    for hull in body_hulls(description, network_shape(spec, poses)).values():
        edges = np.sort(hull.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        distinct, counts = np.unique(edges, axis=0, return_counts=True)
        assert (counts == 2).all()
        assert len(hull.vertices) - len(distinct) + len(hull.faces) == 2  # Euler
        a, b, c = (hull.vertices[hull.faces[:, i]] for i in range(3))
        assert np.einsum('ij,ij->', a, np.cross(b, c)) > 0.0  # six volumes


def test_what_a_urdf_draws_is_left_to_it():
    description = described('crank_platform')
    spec = description.structure['network']
    found = body_hulls(
        description, network_shape(spec, {'platform': moved(0.1)}), {'platform', GROUND}
    )
    assert found == {}


def test_a_soft_arm_stands_on_a_plate_and_has_one_at_its_tip():
    description = described('stiff_flop')
    bent = shape(0.5)
    arm = type(bent)(bent.rods, {}, bent.tip, bent.wrench, bent.actuation, 'ncm')
    made = body_hulls(description, arm)
    assert set(made) == {GROUND, TIP}
    for hull in made.values():
        across = np.linalg.norm(hull.vertices[:, :2], axis=1).max()
        assert 0.0125 < across < 1.3 * 0.0125
