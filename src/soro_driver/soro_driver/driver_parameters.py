# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the driver node. What belongs to the hardware stands in the robot file."""

from soro_node.lifecycle import autostart_parameter
from soro_node.parameters import Parameter
from soro_node.robot_binding import ROBOT

PARAMETERS = (
    ROBOT,
    autostart_parameter(),
    Parameter(
        'use_emulator', True, '', 'drive the emulated device of this namespace; false: the '
        'hardware that the robot file names', read_only=True,
    ),
    Parameter(
        'emulator_port', 0, '', 'TCP port of the emulator; 0: derived from namespace, domain and '
        'user', read_only=True, minimum=0, maximum=65535,
    ),
    Parameter(
        'connect_timeout', 10.0, 's', 'after this a missing device is an error; autostart goes on '
        'looking for it',
        read_only=True, minimum=0.0, maximum=600.0,
    ),
    Parameter(
        'priority', 0, '', 'SCHED_FIFO priority of the control loop; 0: normal scheduling',
        read_only=True, minimum=0, maximum=90,
    ),
)  # fmt: skip
