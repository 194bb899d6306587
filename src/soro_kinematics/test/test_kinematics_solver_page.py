# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The docs page and the parameter file of the node agree with the node."""

from pathlib import Path

from soro_kinematics.node import KinematicsSolver, PARAMETERS
from soro_node.testing import RosSession, undocumented
import yaml

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_names_everything_the_node_has():
    page = (ROOT / 'docs/nodes/kinematics_solver.md').read_text(encoding='utf-8')
    with RosSession('/arm') as ros:
        node = ros.node(KinematicsSolver, '/arm', robot='spatial_cc')
        assert node.autostart()
        assert undocumented(page, node, PARAMETERS) == []
        # and the check notices what is missing, of each kind
        expected = {'the parameter table as rendered', 'actuator_state', '~/solve_inverse'}
        assert expected <= set(undocumented('', node, PARAMETERS))


def test_configured_parameters_exist_and_are_the_defaults():
    table = {p.name: p for p in PARAMETERS}
    file = ROOT / 'config/nodes/kinematics_solver.yaml'
    data = yaml.safe_load(file.read_text(encoding='utf-8'))
    values = data['/**/kinematics_solver']['ros__parameters']
    for name, value in values.items():
        assert table[name].checked(value) == table[name].default
    # what is left out is chosen by whoever launches the robot
    assert set(table) - set(values) == {'autostart', 'robot', 'model', 'frame_prefix', 'gravity'}
