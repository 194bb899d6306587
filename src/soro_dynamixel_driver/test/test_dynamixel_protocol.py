# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Packets of Dynamixel protocol 2.0, against the e-Manual's examples and the vendor's library."""

from dynamixel_sdk import Protocol2PacketHandler
from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_dynamixel_driver import protocol as dxl
from soro_dynamixel_driver.protocol import Instruction, Packet, PacketReader
from soro_dynamixel_driver.wiring import read_wiring
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.section import Section

# https://emanual.robotis.com/docs/en/dxl/protocol2/
EXAMPLES = {
    'FFFFFD00010300 01 194E': Packet(1, Instruction.PING),
    'FFFFFD00010700 55 00060426 655D': Packet(1, Instruction.STATUS, bytes.fromhex('00060426')),
    'FFFFFD00010700 02 84000400 1D15': Packet(1, Instruction.READ, bytes.fromhex('84000400')),
    'FFFFFD00010800 55 00A6000000 8CC0': Packet(
        1, Instruction.STATUS, bytes.fromhex('00A6000000')
    ),
    'FFFFFD00010900 03 740000020000 CA89': Packet(
        1, Instruction.WRITE, bytes.fromhex('740000020000')
    ),
}
packets = st.builds(
    Packet,
    st.integers(0, 252),
    st.sampled_from(list(Instruction)),
    st.lists(st.sampled_from([0xFF, 0xFD, 0x00, 0x55]) | st.integers(0, 255), max_size=60).map(
        bytes
    ),
)


@pytest.mark.parametrize(('text', 'packet'), EXAMPLES.items())
def test_the_examples_of_the_manual(text, packet):
    assert packet.pack() == bytes.fromhex(text)
    assert PacketReader().feed(bytes.fromhex(text)) == [packet]


@given(st.binary(max_size=80))
def test_the_checksum_is_that_of_the_vendor(data):
    assert dxl.crc16(data) == Protocol2PacketHandler().updateCRC(0, data, len(data))


@given(packets)
def test_the_vendor_stuffs_alike(packet):
    body = [0, *packet.parameters]
    raw = [0xFF, 0xFF, 0xFD, 0, packet.id, len(body) + 2, 0, packet.instruction]
    raw += [*packet.parameters, 0, 0]
    raw = Protocol2PacketHandler().addStuffing(raw)
    assert bytes(raw)[:-2] == packet.pack()[:-2]


@settings(max_examples=200)
@given(st.lists(packets, max_size=5), st.data())
def test_packets_come_out_whatever_the_pieces(found, data):
    stream = b''.join(p.pack() for p in found)
    reader, got = PacketReader(), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        got += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert got == found
    assert (reader.crc_errors, reader.malformed) == (0, 0)


@settings(max_examples=200)
@given(
    st.lists(st.binary(max_size=40) | packets.map(lambda p: p.pack()[:-3]), max_size=6), packets
)
def test_after_any_garbage_the_next_packet_but_one_is_read(garbage, packet):
    reader = PacketReader()
    for piece in garbage:
        reader.feed(piece)
    for _ in range(2):
        got = reader.feed(packet.pack())
    assert got[-1:] == [packet]


def test_a_packet_whose_end_and_checksum_look_like_a_header_is_read():
    # A servo that stands at -20905 counts and is told -20900.
    data = bytes.fromhex('fffffd0003100055000201000a5caeffff57aefffffd00')
    reader = PacketReader()
    for _ in range(3):
        (packet,) = reader.feed(data)
        assert packet.pack() == data
    assert dxl.BLOCK.unpack(packet.parameters[1:])[-2:] == (-20900, -20905)
    assert (reader.crc_errors, reader.malformed) == (0, 0)


@given(packets, packets, st.integers(1, 5))
def test_a_packet_that_lost_its_end_does_not_cost_the_next_one(first, second, lost):
    whole, following = first.pack(), second.pack()
    assume(not whole.endswith(dxl.HEADER))  # its end would be a header itself
    completed = whole[-lost:] == following[:lost]  # what it lost is how the next one begins
    reader = PacketReader()
    assert reader.feed(whole[:-lost]) == []
    assert reader.feed(following) == [first] * completed + [second]


def test_a_packet_whose_lost_end_is_how_the_next_one_begins_is_read_as_well():
    ends = {}  # by how many bytes of a header they end with
    for counts in range(1 << 17):
        packet = Packet(1, Instruction.STATUS, dxl.GOAL.pack(counts))
        whole = packet.pack()
        ends.update({lost: packet for lost in (1, 2, 3) if whole.endswith(dxl.HEADER[:lost])})
    assert set(ends) >= {1, 2}
    following = Packet(2, Instruction.PING)
    for lost, packet in ends.items():
        reader = PacketReader()
        got = reader.feed(packet.pack()[:-lost] + following.pack())
        assert got == [packet, following]
        reader = PacketReader()
        assert reader.feed(packet.pack() + following.pack()) == [packet, following]
        assert (reader.crc_errors, reader.malformed) == (0, 0)


@given(packets, st.data())
def test_no_packet_with_a_wrong_bit_is_read(packet, data):
    wrong = bytearray(packet.pack())
    bit = data.draw(st.integers(0, 8 * len(wrong) - 1))
    wrong[bit // 8] ^= 1 << bit % 8
    assert PacketReader().feed(bytes(wrong)) == []


class Robot:
    actuators = tuple(Actuator(n, 'angle', -2.0, 2.0, 1.0, 0.0) for n in ('a', 'b'))
    file = ''

    def foreign_section(self, name):
        return Section({'device': 'dynamixel', 'rate': '100 Hz'}, 'driver')


def wiring(**changes):
    data = {'port': '/dev/x', 'baudrate': 1_000_000, 'servos': {'a': 7, 'b': 3}, **changes}
    return read_wiring(Section(data, 'driver.dynamixel'), Robot())


def test_counts_are_turns_of_4096():
    w = wiring(ratio=2, zero='0 90 deg', direction='1 -1')
    # A quarter turn of the output is half a turn of the motor; b counts the other way from 90.
    assert w.counts(np.radians([90.0, 45.0])).tolist() == [2048, 1024]
    assert w.counts(np.array([99.0, 0.0]))[0] == round(2.0 * 2.0 * 4096 / (2.0 * np.pi))


def test_a_servo_turns_as_often_as_it_can_count():
    # e-Manual, Goal Position(116): -1,048,575 to 1,048,575 in mode 4; 800 x 2 rad are 254.6 turns.
    assert 1_040_000 < wiring(ratio=800).counts(np.array([2.0, 0.0]))[0] <= 1_048_575
    with pytest.raises(RobotFileError, match='driver.dynamixel.ratio'):
        wiring(ratio=800, zero='30 -30 deg')


@pytest.mark.parametrize(
    ('changes', 'field'),
    [
        ({'servos': {'a': 7, 'b': 7}}, 'servos'),
        ({'servos': {'a': 7}}, 'servos.b'),
        ({'servos': {'a': 253, 'b': 1}}, 'servos.a'),
        ({'direction': '1 2'}, 'direction'),
        ({'baudrate': 57600}, 'baudrate'),
        ({'current': '-1 A'}, 'current'),
        ({'ratio': 1000}, 'ratio'),
        ({'speed': 1}, 'speed'),
    ],
)
def test_a_wrong_section_names_its_field(changes, field):
    with pytest.raises(RobotFileError) as error:
        wiring(**changes)
    assert f'driver.dynamixel.{field}' in str(error.value)
