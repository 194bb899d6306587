# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the emulator node. Physics stand in the robot file, section `emulator`."""

from soro_emulation.emulated_sensor import PARAMETERS as FORCE_PARAMETERS
from soro_emulation.emulated_tracker import PARAMETERS as TRACKER_PARAMETERS
from soro_node.inputs.wrench_input import WRENCH_TIMEOUT
from soro_node.parameters import fixed, Parameter
from soro_node.robot_binding import FRAME_PREFIX, ROBOT

PARAMETERS = (
    ROBOT,
    FRAME_PREFIX,
    Parameter(
        'port', 0, '', 'TCP port on 127.0.0.1; 0: derived from namespace, domain and user',
        read_only=True, minimum=0, maximum=65535,
    ),
    fixed('seed', -1, '', "start of all random numbers; negative: the robot file's", minimum=-1),
    Parameter(
        'step', 0.005, 's', 'between two looks at the clock: relays and time-outs of the device '
        'act within this', read_only=True, minimum=0.001, maximum=0.05,
    ),
    Parameter(
        'rate', 30.0, '1/s', 'rate of emulator/configuration; 0: no ground truth',
        read_only=True, minimum=0.0, maximum=200.0,
    ),
    WRENCH_TIMEOUT,
    *TRACKER_PARAMETERS,
    *FORCE_PARAMETERS,
    Parameter(
        'hidden_wrench', [0.0] * 6, 'N, N m',
        'further load of the tip, axes of base_link, that no other node knows',
        sizes=(6,),
    ),
    fixed('log_file', '', '', 'file that gets every output change as a line of JSON; empty: none'),
)  # fmt: skip
