# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bits of ActuatorState.faults that others than the driver look at."""

# Nothing moves before a person has called driver/clear_fault: the robot was stopped, or lost its
# commands. Not in SAFE after a source has let go by itself.
STOPPED_BIT = 1 << 10
