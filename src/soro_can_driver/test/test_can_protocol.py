# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The CAN codec: golden frames of the documentation, round trips, equality with the DBC file."""

from dataclasses import fields
from pathlib import Path
import re

import cantools
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from soro_can_driver import board, protocol
from soro_can_driver.board import Access, BoardState, CanId, Mode
from soro_can_driver.frame import Control, ProtocolError, ttl_code

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(__file__).resolve().parents[1]
DBC = cantools.database.load_file(PACKAGE / 'dbc' / 'motor_board.dbc')
NAMES = {**vars(board), **vars(protocol), 'Control': Control}

u8, i8 = st.integers(0, 255), st.integers(-128, 127)
u16, i16 = st.integers(0, 0xFFFF), st.integers(-0x8000, 0x7FFF)
u32, i32 = st.integers(0, 0xFFFFFFFF), st.integers(-0x80000000, 0x7FFFFFFF)
group = st.integers(0, board.MAX_GROUPS - 1)
control = st.builds(Control, st.booleans(), st.sampled_from(Mode), st.integers(0, 7))
status = st.builds(
    lambda state, bits: int(state) | bits << 3, st.sampled_from(BoardState), st.integers(0, 7)
)


def several(element, count):
    return st.tuples(*[element] * count)


FRAMES = st.one_of(
    st.builds(protocol.EmergencyStop, u8),
    st.builds(protocol.Sync, u8),
    st.builds(protocol.Emergency, u16, st.integers(0, 63), u16, u16),
    st.builds(protocol.EmergencyWide, u16, u32, u16),
    st.builds(protocol.Command, group, u8, control, several(i16, 3)),
    st.builds(protocol.CommandFd, u8, control, several(i16, 6)),
    st.builds(protocol.Position, group, u8, status, several(i16, 3)),
    st.builds(
        protocol.FeedbackFd, u8, status, i8, several(i16, 6), several(i16, 6), several(u16, 6), u32
    ),
    st.builds(protocol.Velocity, group, several(i16, 3), st.integers(0, 2), i8),
    st.builds(protocol.Flex, group, several(u16, 3), u8, i8),
    st.builds(protocol.ParameterFrame, st.booleans(), st.sampled_from(Access), u16, u8, i32),
    st.builds(protocol.HostHeartbeat, u32),
    st.builds(
        protocol.BoardHeartbeat, st.sampled_from(BoardState), u16, u8, u8, st.tuples(u8, u8), u8
    ),
)


def golden_frames():
    text = (ROOT / 'docs' / 'hardware' / 'can.md').read_text(encoding='utf-8')
    row = r'^\| `(\w+\(.*\))` \| ([0-9A-F]{3}) \| ([0-9A-F]+) \|$'
    rows = re.findall(row, text, re.MULTILINE)
    return [(source, int(can_id, 16), bytes.fromhex(data)) for source, can_id, data in rows]


@pytest.mark.parametrize(('source', 'can_id', 'data'), golden_frames())
def test_golden_frames_of_the_documentation(source, can_id, data):
    words = {'__builtins__': {}, **NAMES}
    frame = eval(source, words, {'True': True, 'False': False})  # noqa: S307
    assert frame.id == can_id
    assert frame.pack() == data
    assert protocol.unpack(can_id, data) == frame


def test_every_kind_of_frame_has_a_golden_one():
    kinds = {source.split('(')[0] for source, _, _ in golden_frames()}
    assert kinds == {kind.__name__ for kind in protocol.FRAMES.values()}


@given(FRAMES)
@settings(max_examples=400, deadline=None)
def test_round_trip(frame):
    data = frame.pack()
    assert len(data) == frame.layout.size
    assert protocol.unpack(frame.id, data) == frame


def signals_of(frame):
    """Return the frame's fields under the names and raw values of the DBC file."""
    first = 1 + 3 * getattr(frame, 'group', 0)
    values = {}
    if isinstance(frame, protocol.EmergencyStop):
        values['magic'] = board.ESTOP_MAGIC
    for field in fields(frame):
        value = getattr(frame, field.name)
        if field.name in ('group', 'reply'):
            continue
        if field.name == 'control':
            values |= {'enable': value.enable, 'mode': value.mode, 'ttl_code': value.ttl_code}
        elif field.name == 'status':
            values |= {'state': value & 7, 'saturated': value >> 3 & 1, 'expired': value >> 4 & 1}
            values['torn'] = value >> 5 & 1
        elif field.name in ('angles', 'speeds', 'samples'):
            name = {'angles': 'angle', 'speeds': 'speed', 'samples': 'flex'}[field.name]
            values |= {f'{name}_{first + i}': v for i, v in enumerate(value)}
        elif field.name == 'firmware':
            values |= {'firmware_major': value[0], 'firmware_minor': value[1]}
        else:
            values[field.name] = value
    return {name: int(value) for name, value in values.items()}


@given(FRAMES)
@settings(max_examples=400, deadline=None)
def test_dbc_file_says_the_same(frame):
    message = DBC.get_message_by_frame_id(frame.id)
    signals = signals_of(frame)
    assert set(signals) == {signal.name for signal in message.signals}
    assert message.encode(signals, scaling=False, strict=False) == frame.pack()
    assert message.decode(frame.pack(), scaling=False, decode_choices=False) == signals
    assert message.is_fd == (frame.id in (CanId.COMMAND_FD, CanId.FEEDBACK_FD))


def test_dbc_file_and_codec_know_the_same_identifiers():
    assert {message.frame_id for message in DBC.messages} == {int(i) for i in protocol.FRAMES}
    for message in DBC.messages:
        assert message.length == protocol.FRAMES[message.frame_id].layout.size


@given(st.integers(0, 0x7FF), st.binary(max_size=64))
@settings(max_examples=1000, deadline=None)
def test_any_bytes_give_a_frame_or_a_protocol_error(can_id, data):
    try:
        frame = protocol.unpack(can_id, data)
    except ProtocolError:
        return
    assert frame.id == can_id


@given(st.sampled_from(sorted(protocol.FRAMES)), st.data())
@settings(max_examples=1000, deadline=None)
def test_any_content_of_the_right_length_gives_a_frame_or_a_protocol_error(can_id, data):
    size = protocol.FRAMES[can_id].layout.size
    content = data.draw(st.binary(min_size=size, max_size=size))
    try:
        frame = protocol.unpack(can_id, content)
    except ProtocolError:
        return
    assert protocol.unpack(can_id, frame.pack()) == frame


@pytest.mark.parametrize(
    ('can_id', 'data'),
    [
        (CanId.ESTOP, b'\xa5\x5b\x00'),
        (CanId.COMMAND_A, b'\x00\x06' + bytes(6)),  # mode 3
        (CanId.COMMAND_A, b'\x00\x40' + bytes(6)),  # reserved bit
        (CanId.POSITION_A + 1, b'\x00\x07' + bytes(6)),  # state 7
        (CanId.VELOCITY_A, bytes(6) + b'\x03\x00'),  # motor 3 of a half
        (CanId.PARAMETER_REPLY, b'\x11' + bytes(7)),
        (CanId.BOARD_HEARTBEAT, b'\x06' + bytes(7)),
        (CanId.SYNC, b''),
        (0x123, b'\x00'),
    ],
)
def test_fields_outside_their_meaning_are_refused(can_id, data):
    with pytest.raises(ProtocolError):
        protocol.unpack(can_id, data)


def test_values_that_do_not_fit_are_refused_when_packing():
    good = Control(True, Mode.POSITION, 2)
    with pytest.raises(ProtocolError):
        protocol.Command(0, 0, good, (40000, 0, 0)).pack()
    with pytest.raises(ProtocolError):
        protocol.CommandFd(0, good, (0, 0, 0)).pack()
    with pytest.raises(ProtocolError):
        protocol.Command(0, 0, Control(True, Mode.POSITION, 8), (0, 0, 0)).pack()


def test_time_to_live_is_never_longer_than_asked():
    for seconds in (0.004, 0.005, 0.02, 0.0999, 0.2, 5.0):
        assert board.TTL_MS[ttl_code(seconds)] * 1e-3 <= seconds
    assert board.TTL_MS[ttl_code(0.02)] == 20
    assert board.TTL_MS[ttl_code(0.0)] == 4


def test_bus_load_of_classic_framing():
    """1 Mbit/s carries 500 Hz and not 1 kHz; worst-case stuffing of 11-bit identifiers."""

    def bits(size):
        stuffed = 34 + 8 * size
        return stuffed + (stuffed - 1) // 4 + 13

    per_cycle = bits(1) + 8 * bits(8)
    assert 0.5 < 500 * per_cycle / 1e6 < 0.65
    assert 1000 * per_cycle / 1e6 > 1.0
