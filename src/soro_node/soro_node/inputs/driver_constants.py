# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What others than the driver know of it: a bit of its state, and how long sources may be silent.

The driver counts by these times where the robot file says none, and whoever takes a robot over
pauses by them.
"""

# Of ActuatorState.faults. Nothing moves before a person has called driver/clear_fault: the robot
# was stopped, or lost its commands. Not in SAFE after a source has let go by itself.
STOPPED_BIT = 1 << 10
COMMAND_TIMEOUT = 0.2  # s, a section `driver` without the key
SIMULATED_COMMAND_TIMEOUT = 0.5  # s, a robot without that section
