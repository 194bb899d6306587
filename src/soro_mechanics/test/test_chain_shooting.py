# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pose and stiffness of the pneumatic chains at their own mesh, by shooting that shares no code.

Pressure alone makes every segment an arc: stretch = 1 / (1 - N / EA), curvature = stretch M / EI
per present length. A load bends the thinner sections further, as Cosserat rods of EA / stretch and
EI / stretch^2. Integrated from the base with its moment sought; the tip's is given.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from soro_mechanics import Code, load_robot


class Chain(NamedTuple):
    """As papers and fits print it, not read from the robot files: N, N m^2, m, m^2."""

    axial: float
    bend: float
    shear_factor: float
    length: float  # of a segment
    area: float  # of a chamber
    offset: float
    angles: tuple[float, ...]  # deg
    link: float = 0.0

    @property
    def unit(self):
        """Of a wrench: the compliances compare."""
        return np.repeat([1.0, 1.0 / self.length], 3)


STIFF_FLOP = Chain(30.94, 1.503e-3, 0.84, 0.040, 34.99e-6, 9.048e-3, (0.0, 120.0, 240.0), 6e-3)
SPATIAL = Chain(386.1, 0.2788, 0.85, 0.1716, 250e-6, 0.038, (90.0, 210.0, 330.0))


def arc(chain, pressures):
    """Return stretch and curvature (2,) that pressures give a segment."""
    force, angles = chain.area * np.asarray(pressures), np.radians(chain.angles)
    stretch = 1.0 / (1.0 - force.sum() / chain.axial)
    bend = chain.offset * np.array([force @ np.sin(angles), -force @ np.cos(angles)])
    return stretch, stretch * bend / chain.bend


def integrated(chain, segments, force, moment):
    """Return place, rotation and moment at the tip of segments with links between."""
    place, turn = np.zeros(3), np.eye(3)
    for k, pressures in enumerate(segments):
        stretch, curvature = arc(chain, pressures)
        shear = chain.shear_factor * chain.axial / 3.0
        soft = np.array([shear, shear, chain.axial]) / stretch
        stiff = chain.bend * np.array([1.0, 1.0, 1.0 / 1.5]) / stretch**2

        def rates(s, y, soft=soft, stiff=stiff, curvature=curvature):
            r = y[3:12].reshape(3, 3)
            ahead = r @ (np.array([0.0, 0.0, 1.0]) + r.T @ force / soft)
            x, v, w = r.T @ y[12:] / stiff + [*curvature, 0.0]
            turning = r @ np.array([[0.0, -w, v], [w, 0.0, -x], [-v, x, 0.0]])
            return np.concatenate([ahead, turning.ravel(), -np.cross(ahead, force)])

        start = np.concatenate([place, turn.ravel(), moment])
        way = (0.0, stretch * chain.length)
        end = solve_ivp(rates, way, start, method='DOP853', rtol=1e-9, atol=1e-12).y[:, -1]
        place, turn, moment = end[:3], end[3:12].reshape(3, 3), end[12:]
        if k + 1 < len(segments):
            rigid = chain.link * turn[:, 2]
            place, moment = place + rigid, moment - np.cross(rigid, force)
    return place, turn, moment


def shot(chain, segments, wrench):
    """Return place and rotation of the tip under a dead wrench."""
    free = integrated(chain, segments, np.zeros(3), np.zeros(3))[0]
    first = wrench[3:] + np.cross(free, wrench[:3])

    def left(moment):
        return (integrated(chain, segments, wrench[:3], moment)[2] - wrench[3:]) / chain.bend

    found = root(left, first, tol=1e-11)
    assert np.abs(found.fun).max() < 1e-8
    return integrated(chain, segments, wrench[:3], found.x)[:2]


def compliance(chain, segments, wrench, step=1e-3):
    """Return (6, 6) by central differences of shots."""
    out = np.empty((6, 6))
    for j in range(6):
        ends = []
        for sign in (1.0, -1.0):
            change = np.zeros(6)
            change[j] = sign * step / chain.unit[j]
            ends.append(shot(chain, segments, wrench + change))
        (p, r), (q, u) = ends
        twist = np.concatenate([p - q, Rotation.from_matrix(r @ u.T).as_rotvec()])
        out[:, j] = twist * chain.unit[j] / (2.0 * step)
    return out


@pytest.mark.parametrize(
    ('robot', 'chain', 'pressures'),
    [
        (('stiff_flop',), STIFF_FLOP, [(0.9e5, 0.3e5, 0.0)]),
        (('stiff_flop_two_segment',), STIFF_FLOP, [(0.8e5, 0.2e5, 0.0), (0.1e5, 0.0, 0.9e5)]),
        (('spatial_cc', 'ncm'), SPATIAL, [(0.7e5, 0.2e5, 0.1e5)]),
    ],
    ids=lambda value: value[0] if isinstance(value[0], str) else '',
)
def test_pose_and_stiffness_are_those_of_shooting(robot, chain, pressures):
    robot = load_robot(*robot)
    robot.gravity = np.zeros(3)
    wrench = np.array([0.05, -0.04, -0.06, 4e-4, 6e-4, -5e-4])
    q = robot.forward(np.ravel(pressures), wrench)
    assert q.status.code is Code.NONE
    place, turn = shot(chain, pressures, wrench)
    np.testing.assert_allclose(q.tip[:3, 3], place, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(q.tip[:3, :3], turn, rtol=0.0, atol=1e-5)
    scale = np.outer(1.0 / chain.unit, 1.0 / chain.unit)
    soft = robot.compliance(q), compliance(chain, pressures, wrench)
    stiff, wanted = (np.linalg.inv(c) * scale for c in soft)
    assert np.abs(stiff - wanted).max() < 2e-3 * np.abs(wanted).max()
    np.testing.assert_allclose(np.diag(stiff), np.diag(wanted), rtol=2e-3)
