# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Slopes of the steps of integrated pieces, by differences and beside their variation."""

import numpy as np
import pytest

from soro_mechanics.models.network.kernels import lane_kernels, piece_kernels
from soro_mechanics.models.network.kernels.lane_kernels import BASE, COLUMN, LANES, TABLE
from soro_mechanics.models.network.kernels.lane_variation_kernels import (
    differentiate_lanes,
    result_size,
    variation_size,
)
from soro_mechanics.numerics import lie

COLUMNS = 10  # wrench at A, direction of the weight, one rest strain
BEND = np.array([0.1, 0.0, -0.2, 3.0, 1.0, -2.0])  # along which the rest strain changes
# Wrench at A, weight, change of the rest strain, length.
START = np.array([0.2, -0.1, 0.3, 0.01, 0.03, -0.02, 3.0, -6.0, -20.0, 0.0, 0.5])
# Of the differences, which are of fourth order: changes well above round-off.
STEPS = [1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4, 1e-2, 1e-2, 1e-2, 1e-3, 1e-5]
LANE = 5  # the lanes have different lengths; this one is looked at


def section(steps, bend):
    """Return the tables of a tapered, curved, heavy rod (2 steps + 1, TABLE * LANES)."""
    taper = np.linspace(1.0, 1.4, 2 * steps + 1)
    table = np.zeros((2 * steps + 1, TABLE, LANES))
    table[:, 2] = 1.0
    table[:, 3] = 0.4
    table[:, 6:9] = np.array([1e-3, 2e-3, 5e-4])[:, None]
    table[:, 9:12] = np.array([30.0, 20.0, 40.0])[:, None]
    table[:, 6:12] *= taper[:, None, None]
    table[:, 12] = 0.1 / taper[:, None]
    table[:, :6] += bend * BEND[:, None]
    return table.reshape(2 * steps + 1, -1)


def load_of(at, steps):
    """Return the load of the eight lanes."""
    load = np.zeros((lane_kernels.LOAD, LANES))
    load[:9] = at[:9, None]
    load[9] = at[10] * np.linspace(0.5, 1.2, LANES) / steps
    load[9, LANE] = at[10] / steps
    return load.ravel()


def integrated(at, steps, columns=0):
    """Return what `integrate_lanes` leaves."""
    shift = np.zeros((COLUMNS, 6, LANES))
    shift[9] = BEND[:, None]
    work = np.zeros((4, (BASE + COLUMN * columns) * LANES))
    drive = lane_kernels.unit_drive(True, 1)
    carried = lane_kernels.Variation(columns, drive, shift.ravel(), True)
    path = np.zeros((steps + 1, 0))
    lane_kernels.integrate_lanes(
        load_of(at, steps), section(steps, at[9]), steps, carried, work, path, LANES
    )
    return work[0]


def differentiated(at, steps):
    """Return what `differentiate_lanes` leaves."""
    shift = np.zeros((COLUMNS, 6, LANES))
    shift[9] = BEND[:, None]
    out = np.zeros(result_size(COLUMNS))
    work = np.zeros(variation_size(COLUMNS))
    drive = lane_kernels.unit_drive(True, 1)
    carried = lane_kernels.Variation(COLUMNS, drive, shift.ravel(), True)
    differentiate_lanes(
        load_of(at, steps), section(steps, at[9]), steps, carried, work, out, LANES
    )
    return out


def hat(twist):
    """Return the matrix (4, 4) that moves a pose along a twist in space."""
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = lie.hat3(twist[3:]), twist[:3]
    return out


def parts(y):
    """Return pose (4, 4), M (3,) and Q of the lane."""
    base = y[: BASE * LANES].reshape(BASE, LANES)[:, LANE]
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = base[:9].reshape(3, 3), base[9:12]
    return pose, base[12:15], base[15]


def slopes(at, steps, j):
    """Return differences of fourth order of `parts` by the number j of `at`."""
    change = STEPS[j] * np.eye(len(at))[j]
    near, far = (
        [
            up - down
            for up, down in zip(
                parts(integrated(at + times * change, steps)),
                parts(integrated(at - times * change, steps)),
                strict=True,
            )
        ]
        for times in (1.0, 2.0)
    )
    return [(8.0 * n - f) / (12.0 * STEPS[j]) for n, f in zip(near, far, strict=True)]


def columns_of(y, count):
    """Return (v, w, dM) of every column, shape (count, 9)."""
    return y[BASE * LANES : (BASE + count * COLUMN) * LANES].reshape(count, COLUMN, LANES)[
        :, :, LANE
    ]


@pytest.mark.parametrize('steps', [1, 3, 20])
def test_columns_are_slopes_of_the_integrated_piece(steps):
    at = START.copy()
    at[10] *= steps / 60.0  # a long step leaves R less of a rotation than a twist can tell
    out = differentiated(at, steps)
    pose, _, _ = parts(out)
    np.testing.assert_allclose(pose, parts(integrated(at, steps))[0], atol=1e-15)
    found = columns_of(out, COLUMNS + 1)
    for j in range(COLUMNS + 1):
        pose_slope, moment_slope, weight_slope = slopes(at, steps, j)
        twist = hat(found[j, :6]) @ pose
        allowed = 1e-8 * np.abs(pose_slope).max() + 1e-15 / STEPS[j]  # round-off of R
        np.testing.assert_allclose(twist, pose_slope, atol=allowed, err_msg=f'{j}')
        size = max(1.0, np.abs(moment_slope).max())
        np.testing.assert_allclose(found[j, 6:], moment_slope, atol=1e-8 * size)
    grown = out[(BASE + COLUMN * (COLUMNS + 1)) * LANES :].reshape(-1, LANES)[0, LANE]
    assert grown == pytest.approx(weight_slope, rel=1e-8)


def test_the_variation_beside_the_shape_comes_nearer_with_the_fourth_power_of_the_step():
    apart = []
    for steps in (20, 40, 80):
        exact = columns_of(differentiated(START, steps), COLUMNS)
        beside = columns_of(integrated(START, steps, COLUMNS), COLUMNS)
        apart.append(np.abs(exact - beside).max() / np.abs(exact).max())
    assert 1e-9 < apart[0] < 1e-4
    assert apart[0] / apart[1] == pytest.approx(16.0, rel=0.2)
    assert apart[1] / apart[2] == pytest.approx(16.0, rel=0.2)


def condensed(ga, gb, at, steps, gravity):
    """Force, tangent and parameter columns of a piece, its wrench iterated to closure."""
    c, force, raw = np.zeros(6), np.zeros(12), np.zeros(12)
    tangent, params = np.zeros((12, 12)), np.zeros((12, 2))
    at = at.copy()
    at[6:9] = ga[:3, :3].T @ gravity
    h = np.linalg.inv(ga) @ gb
    for _ in range(12):
        y, load = differentiated(at, steps), load_of(at, steps)
        piece = piece_kernels.Piece(y, load, LANE, h, True, 1, 1.0, 0.0, True)
        work, end = np.zeros((64, 32)), section(steps, at[9])[-1]
        piece_kernels.condense_piece(piece, end, work, c, force, tangent, params)
        piece_kernels.end_forces(y, load, LANE, h, raw)
        at[:6] = -force[:6]
    assert np.abs(c).max() < 1e-12
    return raw.copy(), tangent, params


def test_a_coarse_piece_has_the_tangent_and_the_parameter_columns_of_its_forces():
    """The condensed tangent is that of the discrete piece, weight, length and rest included."""
    steps = 4
    rng = np.random.default_rng(5)
    gravity = np.array([3.0, -6.0, -20.0])
    ga = lie.se3_exp(rng.normal(size=6))
    at = START.copy()
    at[6:9] = ga[:3, :3].T @ gravity
    gb = ga @ parts(integrated(at, steps))[0]
    _, tangent, params = condensed(ga, gb, at, steps, gravity)
    step = 1e-6
    scale = np.abs(tangent).max()
    for j in range(12):
        up, down = (
            condensed(
                ga @ lie.se3_exp(s * step * np.eye(12)[j, :6]),
                gb @ lie.se3_exp(s * step * np.eye(12)[j, 6:]),
                at,
                steps,
                gravity,
            )[0]
            for s in (1.0, -1.0)
        )
        np.testing.assert_allclose((up - down) / (2 * step), tangent[:, j], atol=1e-7 * scale)
    for j, parameter in enumerate((10, 9)):  # length, rest strain
        change = step * np.eye(11)[parameter]
        up, down = (condensed(ga, gb, at + s * change, steps, gravity)[0] for s in (1.0, -1.0))
        slope = (up - down) / (2 * step)
        scale = np.abs(slope).max()
        np.testing.assert_allclose(slope, params[:, j], atol=1e-7 * scale)
