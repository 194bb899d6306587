# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The docs page and the parameter file of the node agree with the node."""

from pathlib import Path

from soro_flex_calibration.node import FlexCalibrationNode, PARAMETERS
from soro_rigs.ros_session import check_node_page

ROOT = Path(__file__).resolve().parents[3]


def test_page_and_parameter_file_agree_with_the_node():
    check_node_page(
        ROOT,
        FlexCalibrationNode,
        PARAMETERS,
        {'~/calibrate'},
        {'autostart', 'robot', 'use_emulator', 'gravity', 'seed', 'calibration_file'},
        robot='haptic_5dof',
    )
