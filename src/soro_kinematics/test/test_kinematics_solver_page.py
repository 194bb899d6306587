# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The docs page and the parameter file of the node agree with the node."""

from pathlib import Path

from soro_kinematics.node import KinematicsSolver, PARAMETERS
from soro_rigs.ros_session import check_node_page

ROOT = Path(__file__).resolve().parents[3]


def test_page_and_parameter_file_agree_with_the_node():
    some = {'the parameter table as rendered', 'actuator_state', '~/solve_inverse'}
    check_node_page(ROOT, KinematicsSolver, PARAMETERS, some)
