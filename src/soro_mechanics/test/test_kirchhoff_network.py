# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The backbone of least energy against the beam network: two formulations of one robot.

In the network every muscle is an elastic tube. With growing stiffness its robot must become the
one whose muscle lengths are held exactly: the difference falls as one over the stiffness, to
nothing. That is so for loads that do not twist the robot: twist changes the mean of three lengths,
which the backbone leaves free and stiff tubes do not.
"""

from __future__ import annotations

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file

STIFF = 1e6  # N, axial stiffness of a tube: hardly gives way
CASES = [
    ([0.15, 0.0, 0.93], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ([0.1, 0.2, 0.85], [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]),
    ([0.15, 0.0, 0.93], [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]),
]


@pytest.fixture(scope='module')
def robots(tmp_path_factory):
    """Return the backbone, and networks with tubes of one and of twice the stiffness."""
    text = find_robot_file('pam_continuum').read_text(encoding='utf-8')
    assert 'axial_stiffness: {value: 2e4 N,' in text
    file = tmp_path_factory.mktemp('networks') / 'pam_continuum.yaml'
    networks = []
    for factor in (1.0, 2.0):
        stiff = text.replace('value: 2e4 N,', f'value: {factor * STIFF} N,')
        file.write_text(stiff, encoding='utf-8')
        networks.append(load_robot(file, 'network'))
    # The backbone's finite differences are of second order: 800 put their error out of the way.
    assert 'elements: {value: 200,' in text
    file.write_text(text.replace('elements: {value: 200,', 'elements: {value: 800,', 1))
    return load_robot(file, 'kirchhoff'), networks


@pytest.mark.parametrize(('target', 'wrench'), CASES)
def test_stiff_muscles_make_the_network_the_backbone(robots, target, wrench):
    backbone, networks = robots
    lengths = backbone.inverse(target).actuation
    held = backbone.forward(lengths, wrench).tip[:3, 3]
    tips = []
    for network in networks:
        q = network.forward(lengths, wrench)
        assert q.status.converged, q.status.message
        tips.append(q.tip[:3, 3])
    soft, stiff = (np.linalg.norm(tip - held) for tip in tips)
    assert stiff < 0.6 * soft < 6e-4
    # To first order in the compliance of the tubes: at infinite stiffness they are the same.
    limit = 2.0 * tips[1] - tips[0]
    assert np.linalg.norm(limit - held) < 6e-5
