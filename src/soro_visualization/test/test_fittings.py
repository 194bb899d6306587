# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tendons, discs, chambers, cranks and sensors: where the robot file says, on a bent rod."""

from __future__ import annotations

from dataclasses import replace

from fixed_shapes import arc, described, network_shape, shape
import numpy as np
import pytest

from soro_visualization.drawing.fittings import Fittings

ANGLE, LENGTH, HOLE = 1.2, 0.24, 0.008


def made(name, drawn):
    return {f.name: f for f in Fittings(described(name)).of(drawn)}


@pytest.fixture(scope='module')
def tendon_arm():
    rod = replace(arc(ANGLE, LENGTH, 0.0007, 61), name='arm')
    pulled = {'near_1': 3.0, 'far_2': 7.5}
    drawn = replace(shape(), rods=(rod,), model='network', actuation=pulled)
    return rod, made('tendon_arm', drawn)


def test_a_tendon_on_the_inner_side_of_a_bend_is_shorter_by_its_distance_times_the_angle(
    tendon_arm,
):
    tendons = tendon_arm[1]['tendons']
    # near_1 runs half-way at 0 deg, where the rod bends to; far_2 all the way at 180 deg.
    for value, share, side in ((3.0, 0.5, -1.0), (7.5, 1.0, 1.0)):
        rows = tendons.values == value
        along = tendons.tubes.positions[rows]
        length = np.linalg.norm(np.diff(along, axis=0), axis=1)
        whole = length.sum() * len(along) / len(length)
        middle = [LENGTH / ANGLE, 0.0, 0.0]
        away = np.linalg.norm(along - middle, axis=1)
        np.testing.assert_allclose(away, LENGTH / ANGLE + side * HOLE, rtol=1e-4)
        assert whole == pytest.approx(share * (LENGTH + side * HOLE * ANGLE), rel=2e-3)


def test_tendons_have_the_colour_of_their_tension_with_its_unit(tendon_arm):
    tendons = tendon_arm[1]['tendons']
    assert (tendons.low, tendons.high, tendons.unit) == (0.0, 15.0, 'N')
    assert set(tendons.values[np.isfinite(tendons.values)]) == {3.0, 7.5}


def test_discs_stand_across_the_rod_and_are_wider_than_the_holes(tendon_arm):
    rod, found = tendon_arm
    discs = found['discs'].tubes
    assert (discs.scales[:, 0] > HOLE).all()
    w, x, y, z = discs.quaternions.T
    normals = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    nearest = np.linalg.norm(discs.positions[:, None] - rod.positions, axis=2).argmin(axis=1)
    at = ANGLE * rod.arc_length / LENGTH
    tangents = np.stack([np.sin(at), 0.0 * at, np.cos(at)], axis=1)
    assert np.einsum('ij,ij->i', normals, tangents[nearest]).min() > 0.999


def test_chambers_lie_on_the_surface_at_their_angles_and_show_their_pressure():
    rod = replace(arc(0.0, 0.04, 0.0125, 21), name='segment_1')
    actuation = {'pair_1': 1.2e5, 'pair_2': 0.0, 'pair_3': 0.3e5}
    drawn = replace(shape(0.0), rods=(rod,), model='ncm', actuation=actuation)
    description = described('stiff_flop')
    segment = description.structure['segments'].segments[0]
    drawn = replace(drawn, rods=(replace(rod, name=segment.name),))
    chambers = made('stiff_flop', drawn)['chambers']
    assert chambers.unit == 'bar'
    for chamber in segment.chambers:
        value = actuation[description.actuators[chamber.actuator].name] / 1e5
        x, y, _ = chambers.tubes.positions[np.isclose(chambers.values, value)].T
        np.testing.assert_allclose(np.cos(np.arctan2(y, x) - chamber.angle), 1.0, atol=1e-9)
        outermost = np.hypot(x, y) + chambers.tubes.scales[0, 0]
        assert (outermost > 0.0125).all() and (outermost < 1.2 * 0.0125).all()


def test_legs_have_neither_chambers_nor_links_between_them():
    legs = tuple(replace(arc(0.2, 0.15, 0.009), name=f'leg_{i}') for i in range(3))
    assert made('soft_parallel', replace(shape(), rods=legs, model='ancf')) == {}


def test_cranks_reach_from_their_motor_to_their_rod():
    spec = described('crank_platform').structure['network']
    pose = np.eye(4)
    pose[2, 3] = 0.26
    cranks = made('crank_platform', network_shape(spec, {'platform': pose}))['cranks'].tubes
    np.testing.assert_allclose(cranks.scales[:, 2], 0.04, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(cranks.positions[:, :2], axis=1), 0.1, rtol=1e-6)


def test_flex_sensors_cover_the_part_of_the_leg_that_the_file_says():
    description = described('haptic_5dof')
    strips = description.structure['haptic'].strips
    spec = description.structure['network']
    drawn = network_shape(spec, {b.name: np.eye(4) for b in spec.bodies if b.name != 'ground'})
    rods = tuple(replace(arc(0.0, r.length, 0.001, 41), name=r.name) for r in spec.rods)
    sleeves = made('haptic_5dof', replace(drawn, rods=rods))['sensors'].tubes
    z = sleeves.positions[:, 2]
    half = 0.5 * sleeves.scales[:, 2]
    assert (z - half).min() == pytest.approx(min(s.start for s in strips), abs=1e-6)
    assert (z + half).max() == pytest.approx(max(s.start + s.length for s in strips), abs=1e-6)
