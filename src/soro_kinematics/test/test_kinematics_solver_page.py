# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The docs page and the parameter file of the node agree with the node."""

from pathlib import Path

from soro_kinematics.node import KinematicsSolver, PARAMETERS
from soro_node.robot_binding import ROBOT_PARAMETERS
from soro_rigs.ros_session import check_node_page

ROOT = Path(__file__).resolve().parents[3]


def test_page_and_parameter_file_agree_with_the_node():
    some = {'the parameter table as rendered', 'actuator_state', '~/solve_inverse'}
    # an empty list has no type in a parameter file
    chosen = {'autostart', 'marker', *(p.name for p in ROBOT_PARAMETERS)}
    check_node_page(ROOT, KinematicsSolver, PARAMETERS, some, chosen)
