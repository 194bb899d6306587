# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The log of an emulated device on a disk that is full."""

from soro_emulation.event_log import EventLog


def test_a_full_disk_ends_the_log_and_not_the_device(capsys):
    log = EventLog('/dev/full')
    log.write('armed', value=1)
    log.write('stopped')
    log.close()
    said = capsys.readouterr().err
    assert said.count('the log ends here') == 1 and 'No space left on device' in said
