# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Key ``channels`` of a driver's section: the device's channel of each actuator."""

from __future__ import annotations

from collections.abc import Sequence

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.section import Section


def read_channels(section: Section, actuators: Sequence[Actuator]) -> tuple[int, ...]:
    """Read which channel of a device drives which actuator: its index, from 0, for each.

    ``driver.<device>`` may have ``channels: {actuator: number}``; channels count from 1. Without
    it they stand in the order of the actuators.

    RobotFileError: a channel is missing, serves two actuators, or is out of range.
    """
    count = len(actuators)
    if 'channels' not in section:
        return tuple(range(count))
    with section.section('channels') as table:
        found = tuple(table.integer(a.name, minimum=1) - 1 for a in actuators)
    if sorted(found) != list(range(count)):
        raise section.error('channels', f'each of 1 to {count} once')
    return found
