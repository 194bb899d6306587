# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN interface that cannot be used: the message has the command that makes it usable."""

from __future__ import annotations

from dataclasses import replace
import errno

from board_on_a_link import wiring
import can
import pytest

from soro_driver.device import DeviceLost
from soro_driver.python_can_link import PythonCanLink, remedy

WIRING = replace(wiring('socketcan'), channel='can7')
UP = f'sudo ip link set can7 up type can bitrate {WIRING.bitrate}'


@pytest.mark.parametrize(
    ('number', 'said'),
    [
        (errno.EAFNOSUPPORT, 'modprobe'),
        (errno.ENODEV, 'no interface can7'),
        (errno.ENETDOWN, 'is down'),
    ],
)
def test_the_command_that_helps_is_in_the_message(monkeypatch, number, said):
    def refuse(**options):
        raise OSError(number, 'refused')

    monkeypatch.setattr(can, 'Bus', refuse)
    with pytest.raises(DeviceLost, match=said) as caught:
        PythonCanLink(WIRING, 0.01)
    assert UP in str(caught.value)


def test_the_second_bit_rate_is_named_for_can_fd():
    fd = replace(WIRING, framing='fd')
    assert f'dbitrate {fd.data_bitrate} fd on' in remedy(OSError(errno.ENETDOWN, ''), fd)


def test_nothing_is_advised_where_nothing_is_known():
    assert remedy(OSError(errno.EIO, ''), WIRING) == ''
