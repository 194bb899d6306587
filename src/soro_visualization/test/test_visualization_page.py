# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The docs page and the parameter file of the node agree with the node."""

from pathlib import Path

from soro_rigs.ros_session import check_node_page
from soro_visualization.node import PARAMETERS, Visualization

ROOT = Path(__file__).resolve().parents[3]


def test_page_and_parameter_file_agree_with_the_node():
    check_node_page(
        ROOT,
        Visualization,
        PARAMETERS,
        {'the parameter table as rendered', 'configuration', 'target_pose', 'markers'},
        {'autostart', 'robot', 'frame_prefix', 'viewer', 'urdf', 'publish_description'},
        robot='stiff_flop',
        viewer=False,
    )
