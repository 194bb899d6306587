# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tour's postures for every robot of the catalogue, and its report."""

from __future__ import annotations

import base64
from pathlib import Path
import re

import numpy as np
import pytest
from soro_cli.demo_report import photograph, write_report
from soro_cli.demo_tour import _posture, SHARES, Tour
from soro_mechanics.actuators import limit_violations
from soro_mechanics.catalogue import find_robot_file, robot_files
from soro_mechanics.robot_file import read_robot_file


@pytest.mark.parametrize('name', sorted(robot_files()))
@pytest.mark.parametrize('lopsided', [True, False])
def test_postures_are_allowed_for_every_robot(name, lopsided):
    robot = read_robot_file(find_robot_file(name))
    rest = np.array([a.rest for a in robot.actuators])
    postures = [_posture(robot, share, lopsided) for share in SHARES]
    for posture in postures:
        assert not list(limit_violations(robot.actuators, robot.coupled_limits, posture))
    if lopsided:
        # Far enough from each other and from rest to be seen moving.
        span = np.array([a.maximum - a.minimum for a in robot.actuators])
        for a, b in zip([rest, *postures], postures, strict=False):
            assert np.max(np.abs(a - b) / span) > 0.02


def test_the_report_is_one_page_with_everything_in_it(tmp_path):
    robot = read_robot_file(find_robot_file('stiff_flop'))
    tour = Tour(robot, tmp_path / 'bag')
    said = []
    tour.add(said.append, 'circle of <5 mm>', 'RMSE 1 mm', rms_error=1e-3)
    figure = tmp_path / 'path.png'
    figure.write_bytes(b'not really a picture')
    page = write_report(tour, tmp_path, [figure], [tmp_path / 'bag']).read_text()
    assert said == ['circle of <5 mm>: RMSE 1 mm']
    assert tour.numbers == {'rms_error': 1e-3}
    assert 'circle of &lt;5 mm&gt;' in page
    (picture,) = re.findall(r'base64,([^"]+)"', page)
    assert base64.b64decode(picture) == b'not really a picture'
    assert re.findall(r'href="([^"]+)"', page) == ['bag']
    assert not re.search(r'https?://', page)


def test_no_picture_without_a_browser(tmp_path, monkeypatch):
    monkeypatch.setenv('PATH', str(tmp_path))
    player = tmp_path / 'player.html'
    player.write_text('<html></html>')
    picture: Path = tmp_path / 'player.png'
    assert not photograph(player, picture)
    assert not picture.exists()
