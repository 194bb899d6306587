# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The docs page and the parameter file of the node agree with the node."""

from pathlib import Path

from soro_haptics.haptic_parameters import PARAMETERS
from soro_haptics.node import HapticRenderer
from soro_rigs.ros_session import check_parameter_file, RosSession, undocumented, wait_until

ROOT = Path(__file__).resolve().parents[3]
CHOSEN_AT_LAUNCH = {
    'robot',
    'autostart',
    'use_emulator',
    'emulator_port',
    'frame_prefix',
    'gravity',
    'loop',
    'calibration_file',
    'encoder_deviation',
    'time_constant',
    'speed_time_constant',
}


def test_page_names_everything_that_the_node_offers():
    page = (ROOT / 'docs/nodes/haptic_renderer.md').read_text(encoding='utf-8')
    for loop in ('direct', 'topics'):
        with RosSession('/arm') as ros:
            node = ros.node(HapticRenderer, '/arm', robot='haptic_5dof', loop=loop)
            # The graph knows what a node offers a moment after the node does.
            wait_until(lambda n=node: '~/set_environment' in undocumented('', n, PARAMETERS), 60.0)
            assert undocumented(page, node, PARAMETERS) == []


def test_configured_parameters_are_the_defaults():
    check_parameter_file(ROOT, 'haptic_renderer', PARAMETERS, CHOSEN_AT_LAUNCH)
