# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pose and stiffness of the pneumatic chains at their own mesh, by shooting that shares no code.

Pressure alone makes every segment an arc: stretch = 1 / (1 - N / EA), curvature = stretch M / EI
per present length. A load bends the thinner sections further, as Cosserat rods of EA / stretch and
EI / stretch^2. Integrated from the base with its moment sought; the tip's is given.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from soro_mechanics import Code, load_robot

# As the papers and fits print them, not read from the robot files: N, N m^2, m, m^2.
AXIAL, BEND, SHEAR_FACTOR, LENGTH = 30.94, 1.503e-3, 0.84, 0.040
AREA, OFFSET, LINK = 34.99e-6, 9.048e-3, 6e-3
ANGLES = np.radians([0.0, 120.0, 240.0])
UNIT = np.repeat([1.0, 1.0 / LENGTH], 3)  # of a wrench: the compliances compare


def arc(pressures):
    """Return stretch and curvature (2,) that pressures give a segment."""
    force = AREA * np.asarray(pressures)
    stretch = 1.0 / (1.0 - force.sum() / AXIAL)
    bend = OFFSET * np.array([force @ np.sin(ANGLES), -force @ np.cos(ANGLES)])
    return stretch, stretch * bend / BEND


def integrated(segments, force, moment):
    """Return place, rotation and moment at the tip of segments with links between."""
    place, turn = np.zeros(3), np.eye(3)
    for k, pressures in enumerate(segments):
        stretch, curvature = arc(pressures)
        soft = np.array([SHEAR_FACTOR * AXIAL / 3.0] * 2 + [AXIAL]) / stretch
        stiff = np.array([BEND, BEND, BEND / 1.5]) / stretch**2

        def rates(s, y, soft=soft, stiff=stiff, curvature=curvature):
            r = y[3:12].reshape(3, 3)
            ahead = r @ (np.array([0.0, 0.0, 1.0]) + r.T @ force / soft)
            x, v, w = r.T @ y[12:] / stiff + [*curvature, 0.0]
            turning = r @ np.array([[0.0, -w, v], [w, 0.0, -x], [-v, x, 0.0]])
            return np.concatenate([ahead, turning.ravel(), -np.cross(ahead, force)])

        start = np.concatenate([place, turn.ravel(), moment])
        way = (0.0, stretch * LENGTH)
        end = solve_ivp(rates, way, start, method='DOP853', rtol=1e-9, atol=1e-12).y[:, -1]
        place, turn, moment = end[:3], end[3:12].reshape(3, 3), end[12:]
        if k + 1 < len(segments):
            rigid = LINK * turn[:, 2]
            place, moment = place + rigid, moment - np.cross(rigid, force)
    return place, turn, moment


def shot(segments, wrench):
    """Return place and rotation of the tip under a dead wrench."""
    free = integrated(segments, np.zeros(3), np.zeros(3))[0]
    first = wrench[3:] + np.cross(free, wrench[:3])
    found = root(
        lambda m: (integrated(segments, wrench[:3], m)[2] - wrench[3:]) / BEND, first, tol=1e-11
    )
    assert np.abs(found.fun).max() < 1e-8
    return integrated(segments, wrench[:3], found.x)[:2]


def compliance(segments, wrench, step=1e-3):
    """Return (6, 6) by central differences of shots."""
    out = np.empty((6, 6))
    for j in range(6):
        ends = []
        for sign in (1.0, -1.0):
            change = np.zeros(6)
            change[j] = sign * step / UNIT[j]
            ends.append(shot(segments, wrench + change))
        (p, r), (q, u) = ends
        twist = np.concatenate([p - q, Rotation.from_matrix(r @ u.T).as_rotvec()])
        out[:, j] = twist * UNIT[j] / (2.0 * step)
    return out


@pytest.mark.parametrize(
    ('name', 'pressures'),
    [
        ('stiff_flop', [(0.9e5, 0.3e5, 0.0)]),
        ('stiff_flop_two_segment', [(0.8e5, 0.2e5, 0.0), (0.1e5, 0.0, 0.9e5)]),
    ],
)
def test_pose_and_stiffness_are_those_of_shooting(name, pressures):
    robot = load_robot(name)
    robot.gravity = np.zeros(3)
    wrench = np.array([0.05, -0.04, -0.06, 4e-4, 6e-4, -5e-4])
    q = robot.forward(np.ravel(pressures), wrench)
    assert q.status.code is Code.NONE
    place, turn = shot(pressures, wrench)
    np.testing.assert_allclose(q.tip[:3, 3], place, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(q.tip[:3, :3], turn, rtol=0.0, atol=1e-5)
    scale = np.outer(1.0 / UNIT, 1.0 / UNIT)
    stiff, wanted = (
        np.linalg.inv(c) * scale for c in (robot.compliance(q), compliance(pressures, wrench))
    )
    assert np.abs(stiff - wanted).max() < 2e-3 * np.abs(wanted).max()
    np.testing.assert_allclose(np.diag(stiff), np.diag(wanted), rtol=2e-3)
