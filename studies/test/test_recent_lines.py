# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a robot said lately."""

from __future__ import annotations

from soro_studies.system.recent_lines import lines_before, MAX_LINES

OUTPUT = """[launch] starting
[driver] [INFO] [1795574002.100000000] [soak.arm.driver]: armed
[emulator] [WARN] [1795574008.250000000] [soak.arm.emulator]: injected fault: {"fault": "[x]: y"}
Traceback (most recent call last):
[driver] [ERROR] [1795574009.500000000] [driver]: device lost: no answer
"""


def test_lines_of_the_time_tell_how_long_ago_they_were_said():
    assert lines_before(1795574010.0, 5.0, OUTPUT) == [
        '-1.750 s emulator: injected fault: {"fault": "[x]: y"}',
        '-0.500 s driver: device lost: no answer',
    ]


def test_the_last_lines_are_kept_of_many():
    many = ''.join(f'[a] [INFO] [{t}.0] [a]: {t}\n' for t in range(100))
    assert lines_before(100.0, 100.0, many)[-1] == '-1.000 s a: 99'
    assert len(lines_before(100.0, 100.0, many)) == MAX_LINES


def test_a_robot_that_said_nothing_has_no_lines():
    assert lines_before(1.0, 1.0, '') == []
