# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Packets survive the wire; whatever is no packet is refused, never half understood."""

import math
import re
import struct

from hypothesis import example, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_simulated_driver import protocol
from soro_simulated_driver.protocol import HEAD, Kind, Packet, PacketError, State, unpack

CODES = {'u8': 'B', 'u16': 'H', 'u32': 'I', 'f64': 'd'}
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WORD = st.integers(0, 2**32 - 1)


@given(
    st.sampled_from(Kind),
    WORD,
    FINITE,
    WORD,
    st.sampled_from(State),
    st.integers(0, 1),
    st.lists(FINITE, max_size=40),
)
def test_packets_survive(kind, sequence, time, boot, state, flags, values):
    packet = Packet(kind, sequence, time, boot, state, flags, np.array(values))
    back = unpack(packet.pack())
    assert (back.kind, back.sequence, back.time) == (kind, sequence, time)
    assert (back.boot, back.state, back.flags) == (boot, state, flags)
    np.testing.assert_array_equal(back.values, values)


@given(
    st.sampled_from(Kind),
    WORD,
    FINITE,
    WORD,
    st.sampled_from(State),
    st.integers(0, 1),
    st.lists(FINITE, max_size=4),
)
def test_the_description_says_the_same(kind, sequence, time, boot, state, flags, values):
    text = ' '.join(protocol.__doc__.split())
    (said,) = re.findall(r'A packet is ``(.*?)`` and ``count`` values', text)
    fields = re.findall(r'(\w+) ([uf]\d+)', said)
    packet = Packet(kind, sequence, time, boot, state, flags, np.array(values))
    known = {'version': 1, 'count': len(values)}
    content = [known.get(name, getattr(packet, name, None)) for name, _ in fields]
    head = struct.pack('<' + ''.join(CODES[code] for _, code in fields), *content)
    assert packet.pack() == head + struct.pack(f'<{len(values)}d', *values)


@settings(deadline=None)
@given(st.binary(max_size=200))
@example(b'')
def test_any_bytes_are_a_packet_or_refused(data):
    try:
        packet = unpack(data)
    except PacketError:
        return
    assert packet.pack() == data


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({0: 2}, 'version 2'),
        ({1: 99}, 'unknown kind 99'),
        ({HEAD.size - 2: 7}, 'state 7'),
        ({HEAD.size - 1: 8}, 'flags 8'),
        ({2: 3}, 'bytes for 3 values'),
    ],
)
def test_each_wrong_field_is_named(change, words):
    data = bytearray(Packet(Kind.SETPOINTS, values=np.zeros(2)).pack())
    for place, value in change.items():
        data[place] = value
    with pytest.raises(PacketError, match=words):
        unpack(bytes(data))


def test_numbers_are_finite():
    good = Packet(Kind.SETPOINTS, values=np.zeros(2)).pack()
    with pytest.raises(PacketError, match='not finite'):
        unpack(good[:-8] + struct.pack('<d', math.nan))
    with pytest.raises(PacketError, match='not finite'):
        unpack(Packet(Kind.SETPOINTS, time=math.inf).pack())
