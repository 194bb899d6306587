# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The F1 codec: golden frames of the documentation, round trips, wrong bodies."""

from pathlib import Path
import re

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from soro_driver.serial import frame as serial_frame
from soro_driver.serial.frame import Frame, FrameError, FrameReader
from soro_dspace_driver import protocol

ROOT = Path(__file__).resolve().parents[3]
NAMES = {
    name: value
    for module in (protocol, serial_frame)
    for name, value in vars(module).items()
    if not name.startswith('_')
}

u8, u16, u32 = st.integers(0, 255), st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)
count = st.integers(1, protocol.MAX_CHANNELS)


def each(n):
    return st.tuples(*[u16] * n)


BODIES = st.one_of(
    st.builds(protocol.Command, u8, u8, count.flatmap(each)),
    st.builds(protocol.Limits, count.flatmap(each), u16, u16),
    count.flatmap(
        lambda n: st.builds(
            protocol.Feedback, u16, u32, each(n), each(n), u8, u8, u16, st.none() | u16
        )
    ),
    st.builds(protocol.Status, u32, u32, u32, u32, u16, u16),
)


def golden_frames():
    text = (ROOT / 'docs' / 'hardware' / 'dspace.md').read_text(encoding='utf-8')
    rows = re.findall(r'^\| `(\w+\(.*\))` \| (\d+) \| ([0-9A-F ]+) \|$', text, re.MULTILINE)
    return [(source, int(seq), bytes.fromhex(data)) for source, seq, data in rows]


def of_this_protocol():
    known = {kind.__name__ for kind in protocol.BODIES.values()}
    known |= {kind.__name__ for kind in serial_frame.SESSION_BODIES.values()}
    return [row for row in golden_frames() if row[0].split('(')[0] in known]


@pytest.mark.parametrize(('source', 'seq', 'data'), of_this_protocol())
def test_golden_frames_of_the_documentation(source, seq, data):
    body = eval(source, {'__builtins__': {}, **NAMES})  # noqa: S307 - the project's own page
    assert body.frame(seq).pack() == data
    (frame,) = FrameReader().feed(data)
    assert frame.seq == seq
    kinds = {**protocol.BODIES, **serial_frame.SESSION_BODIES}
    assert kinds[frame.type].unpack(frame.body) == body


def test_every_kind_of_frame_has_a_golden_one():
    seen = {source.split('(')[0] for source, _, _ in of_this_protocol()}
    kinds = (*protocol.BODIES.values(), *serial_frame.SESSION_BODIES.values())
    assert seen == {kind.__name__ for kind in kinds}


@given(BODIES, u16)
@settings(max_examples=400, deadline=None)
def test_round_trip(body, seq):
    (frame,) = FrameReader().feed(body.frame(seq).pack())
    assert frame == Frame(body.type, seq, body.pack())
    assert protocol.BODIES[frame.type].unpack(frame.body) == body


def test_sizes_on_the_wire():
    # What the baud rate was chosen for: at 100 Hz, 16 and 30 bytes of 10 bits.
    command = protocol.Command(255, 255, (0xFFFF, 1, 2)).frame(1).pack()
    feedback = protocol.Feedback(1, 2, (3, 4, 5), (6, 7, 8), 1, 2, 3).frame(1).pack()
    assert (len(command), len(feedback)) == (16, 30)
    most = protocol.Feedback(1, 2, (1,) * 16, (2,) * 16, 1, 2, 3, 4).frame(1).pack()
    assert len(most) == 84 <= serial_frame.MAX_FRAME


N = range(1, 17)
LENGTHS = {  # of bodies, by hand from docs/hardware/dspace.md
    protocol.Command: {2 + 2 * n for n in N},
    protocol.Limits: {4 + 2 * n for n in N},
    protocol.Feedback: {10 + 4 * n for n in N} | {12 + 4 * n for n in N},
    protocol.Status: {20},
}


@given(st.integers(0, 90).flatmap(lambda n: st.binary(min_size=n, max_size=n)))
@settings(max_examples=300, deadline=None)
def test_any_body_is_read_or_refused(data):
    for kind in protocol.BODIES.values():
        try:
            body = kind.unpack(data)
        except FrameError:
            assert len(data) not in LENGTHS[kind]
        else:
            assert len(data) in LENGTHS[kind]
            assert body.pack() == data


@pytest.mark.parametrize(
    'body',
    [
        protocol.Command(256, 0, (0, 0, 0)),
        protocol.Command(100, 1, (0, 65536, 0)),
        protocol.Command(100, 1, (0, -1, 0)),
        protocol.Limits((1, 2, 3), 65536, 100),
    ],
)
def test_what_does_not_fit_is_refused(body):
    with pytest.raises(FrameError):
        body.pack()


def test_units():
    assert protocol.FULL_SCALE * protocol.COUNT == 400e3
    assert protocol.INVALID > protocol.FULL_SCALE
