# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the emulated regulators let their pressure out, by the log of the emulated device."""

from __future__ import annotations

from soro_studies.system.launched_robot import LaunchedRobot


def assert_vented(robot: LaunchedRobot) -> None:
    """Fail unless pressure was up once and the last thing noted about it is that it is gone."""
    events = robot.events()
    names = [e['event'] for e in events]
    assert 'pressurised' in names, f'nothing was ever pressurised: {names}'
    last = max(i for i, name in enumerate(names) if name in ('pressurised', 'vented'))
    assert names[last] == 'vented', f'pressure stayed in the robot: {events[-10:]}'
    final = {e['actuator']: e['pressure'] for e in events if e['event'] == 'output'}
    supply = [e['closed'] for e in events if e['event'] == 'relay']
    assert not any(final.values()) or supply[-1:] == [False], f'still commanded: {final}'
