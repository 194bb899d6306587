# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The codec of F3: golden frames, round trips, lengths that are refused, wraps."""

from __future__ import annotations

from pathlib import Path
import re
import struct

from hypothesis import given
from hypothesis import strategies as st
import pytest

from soro_driver.serial.frame import FrameError, MAX_FRAME
from soro_stm32_driver.pairing import MAX_MUSCLES, Pairing
from soro_stm32_driver.protocol import (
    AbortAll,
    Action,
    BODIES,
    Lengths,
    SetBitmap,
    SetPairs,
    SetTimed,
    Status,
    Timed,
    until,
    ValveTimes,
    VentAll,
    Worked,
)

PAGE = Path(__file__).resolve().parents[3] / 'docs/hardware/stm32.md'
CODES = {'u8': 'B', 'u16': 'H', 'u32': 'I', 'u64': 'Q'}
ALIASES = {'coils': 'valves', 'active muscles': 'active', 'queued': 'queue', 'n': 'count'}

U8, U16, U32, U64 = (st.integers(0, 2**n - 1) for n in (8, 16, 32, 64))
BODY = st.one_of(
    st.builds(SetTimed, U16, st.lists(st.builds(Timed, U8, U8, U16), max_size=30).map(tuple)),
    st.builds(SetBitmap, U64, U64, U16),
    st.builds(Status, U32, U16, U8, U8, U64, U32, U8, U16, U16, U16, U16, U16, U16, U16),
    st.builds(
        ValveTimes, U32, st.lists(st.builds(Worked, U16, U16, U8, U8), max_size=30).map(tuple)
    ),
    st.builds(Lengths, U32, st.lists(U16, max_size=32).map(tuple)),
    st.builds(SetPairs, st.lists(st.tuples(U8, U8), max_size=32).map(tuple)),
)


def test_golden_frame_of_a_timed_command():
    body = SetTimed(0x1234, (Timed(3, Action.INFLATE, 500), Timed(29, Action.DEFLATE, 20)))
    assert body.pack() == bytes.fromhex('3412 02 0301f401 1d021400')
    # By an independent implementation of COBS and CRC-16/IBM-3740: see the loop below.
    data = bytes((0x10, 0x20)) + struct.pack('<H', 7) + body.pack()
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    data += struct.pack('<H', crc)
    wire = body.frame(7).pack()
    assert wire[-1] == 0 and 0 not in wire[:-1]
    decoded, at = b'', 0
    while at < len(wire) - 1:
        code = wire[at]
        decoded += wire[at + 1 : at + code] + b'\0'
        at += code
    assert decoded[:-1] == data


@given(BODY)
def test_round_trip(body):
    assert BODIES[body.type].unpack(body.pack()) == body


def layout_of(type_):
    """Return the fields of a frame as the page has them: [(name, code)], and those that repeat."""
    text = PAGE.read_text(encoding='utf-8')
    (content,) = re.findall(rf'^\| (?:\w+ 0x\w\w, )*\w+ 0x{type_:02X}.*? \| (.*) \|$', text, re.M)
    once, _, several = re.sub(r' \([^)]*\)', '', content).partition(' times ')
    parts = [re.findall(r'([a-z_]+(?: muscles)?)(?: [\d.]* ?[mk]\w+)? (u\d+)', once)]
    parts.append(re.findall(r'([a-z]+)(?: ms)? (u\d+)', several))
    return [[(ALIASES.get(name, name), CODES[code]) for name, code in part] for part in parts]


def packed(fields, values):
    """Pack values by name as the page says, independently of the codec."""
    codes = ''.join(code for _, code in fields)
    return struct.pack(f'<{codes}', *(getattr(values, name) for name, _ in fields))


@given(BODY)
def test_the_page_says_the_same(body):
    once, several = layout_of(body.type)
    if isinstance(body, SetBitmap | Status):
        assert [name for name, _ in once] == list(body.__dataclass_fields__) and not several
        assert body.pack() == packed(once, body)
    elif isinstance(body, SetTimed):
        head = struct.pack('<HB', body.deadline, len(body.actions))
        assert once == [('deadline', 'H'), ('count', 'B')]
        assert body.pack() == head + b''.join(packed(several, a) for a in body.actions)
    elif isinstance(body, ValveTimes):
        rest = b''.join(packed(several, w) for w in body.muscles)
        assert body.pack() == packed(once, body) + rest
    elif isinstance(body, SetPairs):
        assert several == [('inflate', 'B'), ('deflate', 'B')] and not once
        assert body.pack() == b''.join(struct.pack('BB', *pair) for pair in body.pairs)
    else:
        assert body.pack() == packed(once, body) + b''.join(
            c.to_bytes(2, 'little') for c in body.counts
        )


def test_the_page_has_every_frame():
    for type_ in BODIES:
        layout_of(type_)
    assert AbortAll().pack() == VentAll().pack() == b''


def test_the_longest_frames_fit():
    everything = ValveTimes(0xFFFFFFFF, (Worked(65535, 65535, 255, 255),) * MAX_MUSCLES)
    assert len(everything.frame(65535).pack()) <= MAX_FRAME
    assert len(SetTimed(65535, (Timed(31, 2, 2000),) * MAX_MUSCLES).frame(1).pack()) <= MAX_FRAME


@pytest.mark.parametrize('kind', BODIES.values())
@given(data=st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(kind, data):
    try:
        body = kind.unpack(data)
    except FrameError:
        return
    assert body.pack() == data


@pytest.mark.parametrize(
    'values', [(70000, ()), (1, (Timed(300, 1, 20),)), (1, (Timed(0, 1, -1),))]
)
def test_values_that_do_not_fit_are_refused(values):
    with pytest.raises(FrameError):
        SetTimed(*values).pack()


@given(st.permutations(range(64)), st.integers(0, 31), st.sets(st.integers(0, 31)))
def test_both_valves_of_a_muscle_are_seen(order, muscle, others):
    pairing = Pairing(tuple(zip(order[::2], order[1::2], strict=True)))
    inflating = sum(pairing.bit(i, 0) for i in others)
    deflating = sum(pairing.bit(i, 1) for i in others)
    assert pairing.valid and pairing.both_open(inflating) is None
    assert pairing.both_open(deflating) is None
    both = pairing.bit(muscle, 0) | pairing.bit(muscle, 1)
    assert pairing.both_open(inflating & ~both | both) == muscle
    assert pairing.open(both).sum() == 2 and pairing.open(both)[muscle].all()
    assert pairing.muscle_of(order[2 * muscle + 1]) == (muscle, 1)


@given(U32, st.integers(-30000, 30000))
def test_deadlines_know_the_wrap(time, ahead):
    assert until((time + ahead) & 0xFFFF, time) == ahead
