# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A viewer with one page open."""

from __future__ import annotations

from fixed_shapes import shape
import pytest
from viewer_rig import Noted, STATE

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_rigs.page_client import PageClient
from soro_visualization.page.readout import Snapshot
from soro_visualization.page.viewer import derived_port, Viewer


@pytest.fixture
def arm():
    description = read_robot_file(find_robot_file('stiff_flop'))
    noted = Noted()
    viewer = Viewer(description, port=derived_port('test_viewer'), controls=noted)
    try:
        viewer.show(Snapshot(shape=shape(0.5), actuators=STATE, time=1.0))
        with PageClient(viewer.address) as page:
            page.wait(lambda: '/target' in page.scene and 'STOP' in page.gui, 10.0, 'page')
            yield viewer, page, noted
    finally:
        viewer.close()
