# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The serial frame layer: published check values, round trips, garbage."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_driver.serial import frame as sf

u8, u16, u32 = st.integers(0, 255), st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)
i32 = st.integers(-0x80000000, 0x7FFFFFFF)
frames = st.builds(sf.Frame, u8, u16, st.binary(max_size=sf.MAX_BODY), u8)
bodies = st.one_of(
    st.builds(sf.Hello, u32, u8, u8),
    st.builds(sf.HelloAck, u32, u8, u8, u8, u8, u32, u32, u8, u8, u8, u16, u16, i32, i32),
    st.builds(sf.Heartbeat, u32),
    st.builds(sf.Arm, u32),
    st.builds(sf.Disarm),
    st.builds(sf.Reset, u32),
    st.builds(sf.Ack, u16, u8, u32),
    st.builds(sf.Nack, u16, u8, u8, u32),
)


def test_checksum_has_the_check_value_of_the_catalogue():
    assert sf.crc16(b'123456789') == 0x29B1


# Cheshire and Baker 1999, and the examples everybody tests COBS with.
@pytest.mark.parametrize(
    ('data', 'coded'),
    [
        ('00', '0101'),
        ('0000', '010101'),
        ('11220033', '0311220233'),
        ('11223344', '0511223344'),
        ('11000000', '0211010101'),
    ],
)
def test_cobs_examples(data, coded):
    assert sf.cobs_encode(bytes.fromhex(data)).hex() == coded
    assert sf.cobs_decode(bytes.fromhex(coded)).hex() == data


GOLDEN = {'041001010644332211010396ca00': sf.Hello(0x11223344).frame(1)}


def test_golden_frame():
    # Made with an independent bitwise CRC and a byte-wise COBS coder (below).
    for text, frame in GOLDEN.items():
        assert slow_pack(frame).hex() == text
        assert frame.pack().hex() == text


def slow_pack(frame):
    data = bytes([frame.version, frame.type]) + frame.seq.to_bytes(2, 'little') + frame.body
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    coded, start = bytearray([0]), 0
    for byte in data + crc.to_bytes(2, 'little'):
        if byte:
            coded.append(byte)
        else:
            coded[start] = len(coded) - start
            start = len(coded)
            coded.append(0)
    coded[start] = len(coded) - start
    return bytes(coded) + b'\0'


@given(frames)
@settings(max_examples=300, deadline=None)
def test_round_trip_of_frames(frame):
    wire = frame.pack()
    assert wire == slow_pack(frame)
    assert len(wire) <= sf.MAX_FRAME
    assert wire.count(0) == 1 and wire.endswith(b'\0')
    assert sf.FrameReader().feed(wire) == [frame]


@given(bodies, u16)
@settings(max_examples=300, deadline=None)
def test_round_trip_of_session_bodies(body, seq):
    frame = body.frame(seq)
    assert sf.SESSION_BODIES[frame.type].unpack(frame.body) == body
    with pytest.raises(sf.FrameError, match='bytes'):
        type(body).unpack(frame.body + b'\1')


def test_fields_that_do_not_fit_are_refused():
    with pytest.raises(sf.FrameError):
        sf.Hello(1 << 32).pack()
    with pytest.raises(sf.FrameError):
        sf.Frame(256, 0).pack()
    with pytest.raises(sf.FrameError, match='at most'):
        sf.Frame(1, 0, bytes(sf.MAX_BODY + 1)).pack()
    with pytest.raises(sf.FrameError, match='too long'):
        sf.cobs_encode(b'\1' * 300)


@given(st.lists(frames, max_size=6), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_any_cut_of_the_stream_gives_the_same_frames(sent, size):
    stream = b''.join(f.pack() for f in sent)
    reader, got = sf.FrameReader(), []
    for at in range(0, len(stream), size):
        got += reader.feed(stream[at : at + size])
    assert got == sent
    assert (reader.crc_errors, reader.malformed) == (0, 0)


@given(st.binary(max_size=600), frames)
@settings(max_examples=300, deadline=None)
def test_after_garbage_the_second_frame_is_found(garbage, frame):
    reader = sf.FrameReader()
    reader.feed(garbage)
    # The first one may have been glued to the garbage; from its closing zero on all is well.
    reader.feed(frame.pack())
    assert reader.feed(frame.pack()) == [frame]


def test_a_million_bytes_of_noise():
    noise = np.random.default_rng(3).integers(0, 256, 1_000_000, dtype=np.uint8).tobytes()
    reader = sf.FrameReader()
    found = []
    for at in range(0, len(noise), 977):
        found += reader.feed(noise[at : at + 977])
    blocks = reader.frames + reader.crc_errors + reader.malformed
    empty = noise.count(b'\0\0')  # overlapping runs aside
    assert noise.count(0) - 2 * empty - 1 <= blocks <= noise.count(0)
    # COBS alone refuses nearly everything; a checksum passes one block in 65536 of the rest.
    assert len(found) <= 2


def test_every_flipped_bit_is_noticed():
    wire = sf.Arm(0x01020304).frame(77).pack()
    for at in range(len(wire) - 1):
        for bit in range(8):
            broken = bytearray(wire)
            broken[at] ^= 1 << bit
            reader = sf.FrameReader()
            assert reader.feed(bytes(broken)) == []
            assert reader.crc_errors + reader.malformed >= 1


def test_oversize_is_counted_once_and_forgotten():
    reader = sf.FrameReader()
    assert reader.feed(b'\1' * 10_000) == []
    assert len(reader._pending) == 0
    frame = sf.Frame(16, 5, b'abc')
    assert reader.feed(b'\0' + frame.pack()) == [frame]
    assert (reader.malformed, reader.crc_errors) == (1, 0)


def test_longest_body_is_carried():
    frame = sf.Frame(16, 5, b'\7' * sf.MAX_BODY)
    assert len(frame.pack()) <= sf.MAX_FRAME
    assert sf.FrameReader().feed(frame.pack()) == [frame]


@given(u16, st.integers(1, 0x7FFF))
def test_sequence_numbers_wrap(seq, ahead):
    assert sf.is_newer((seq + ahead) & 0xFFFF, seq)
    assert not sf.is_newer(seq, (seq + ahead) & 0xFFFF)
    assert not sf.is_newer(seq, seq)


def test_reasons_in_words():
    assert sf.reason_name(sf.Reason.BAD_LENGTH) == 'bad length'
    assert sf.reason_name(0x41) == 'reason 0x41'
