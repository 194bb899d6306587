# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Emulated drives and the codec against the library `canopen`, unmodified, on the same bus."""

import time

import canopen
from canopen.objectdictionary import datatypes, ODRecord, ODVariable
from canopen.profiles.p402 import BaseNode402, State402
from drives_on_a_bus import bench, pass_time, robot  # noqa: F401
import pytest

from soro_cia402_driver import protocol as co
from soro_cia402_driver.emulator.drive import CONSTANT, SETTINGS
from soro_cia402_driver.protocol import Entry
from soro_rigs.held_up import undisturbed
from soro_rigs.ros_session import wait_until

TYPES = {
    'I': datatypes.UNSIGNED32, 'i': datatypes.INTEGER32, 'H': datatypes.UNSIGNED16,
    'h': datatypes.INTEGER16, 'B': datatypes.UNSIGNED8, 'b': datatypes.INTEGER8,
}  # fmt: skip
PDOS = [Entry(base, sub, kind) for base in (0x1400, 0x1800) for sub, kind in ((1, 'I'), (2, 'B'))]
MAPS = [Entry(base, sub, 'I' if sub else 'B') for base in (0x1600, 0x1A00) for sub in range(5)]


def variable(entry):
    made = ODVariable(f'x{entry.index:04X}_{entry.sub}', entry.index, entry.sub)
    made.data_type = TYPES[entry.format]
    return made


def dictionary():
    """Return what an EDS of such a drive would say."""
    found = canopen.ObjectDictionary()
    for entry in (*CONSTANT, *SETTINGS, *PDOS, *MAPS):
        alone = entry.sub == 0 and entry.index not in (0x1600, 0x1A00)
        if alone:
            found.add_object(variable(entry))
            continue
        if entry.index not in found:
            found.add_object(ODRecord(f'x{entry.index:04X}', entry.index))
        found[entry.index].add_member(variable(entry))
    return found


@pytest.fixture
def network(bench):  # noqa: F811
    made = canopen.Network()
    made.connect(
        interface='socketcand', host='127.0.0.1', port=bench[0].wire.server.port, channel='can0'
    )
    yield made
    made.disconnect()


@pytest.fixture
def drive(network):
    node = BaseNode402(2, dictionary())
    network.add_node(node)
    return node


def cyclic(node, mode, target):
    """Set PDOs and mode up as the library's manual does; return the mapped target."""
    node.nmt.state = 'PRE-OPERATIONAL'
    for pdo, names in ((node.rpdo[1], (0x6040, target)), (node.tpdo[1], (0x6041, 0x6064))):
        pdo.read()
        pdo.clear()
        for index in names:
            pdo.add_variable(index)
        pdo.trans_type, pdo.enabled = 1, True
        pdo.save()
    node.op_mode = mode
    node.nmt.state = 'OPERATIONAL'
    return node.rpdo[1][1]


def exchange(network, node):
    node.rpdo[1].transmit()
    network.sync.transmit()
    assert node.tpdo[1].wait_for_reception(1.0) is not None


def switch_on(network, node):
    for word in (State402.CW_SHUTDOWN, State402.CW_SWITCH_ON, State402.CW_OPERATION_ENABLED):
        node.rpdo[1][0].raw = word
        exchange(network, node)


@pytest.mark.parametrize('word', range(0x80))
def test_states_are_read_as_the_library_reads_them(word):
    named = [name for name, (mask, bits) in State402.SW_MASK.items() if word & mask == bits]
    known = {state.value: state for state in co.State}
    ours = co.state_of(word)
    if named:
        assert ours is known[State402.SW_MASK[named[0]][1]]
    else:
        assert ours is co.State.NOT_READY


def test_identity_modes_and_what_is_refused(drive):
    drive.sdo.RESPONSE_TIMEOUT = 2.0
    assert drive.sdo[0x1000].raw & 0xFFFF == 402
    assert drive.is_op_mode_supported('CYCLIC SYNCHRONOUS POSITION')
    assert drive.is_op_mode_supported('CYCLIC SYNCHRONOUS TORQUE')
    assert not drive.is_op_mode_supported('HOMING')
    for attempt, code in (
        (lambda: drive.sdo.upload(0x2345, 0), 0x06020000),
        (lambda: drive.sdo.upload(0x1018, 9), 0x06090011),
        (lambda: drive.sdo.download(0x6041, 0, b'\0\0'), 0x06010002),
        (lambda: drive.sdo.download(0x6040, 0, b'\0'), 0x06070010),
    ):
        with pytest.raises(canopen.SdoAbortedError) as error:
            attempt()
        assert error.value.code == code


def test_the_library_moves_a_drive(network, drive):
    goal = cyclic(drive, 'CYCLIC SYNCHRONOUS POSITION', 0x607A)
    switch_on(network, drive)
    goal.raw = 300
    for _ in range(3):
        exchange(network, drive)
        pass_time(0.1)
    exchange(network, drive)
    assert drive.tpdo[1][0].raw & 0x106F == 0x1027  # enabled, follows
    assert abs(drive.tpdo[1][1].raw - 300) <= 1
    assert drive.sdo[0x6064].raw == drive.tpdo[1][1].raw


def test_states_by_sdo_and_a_restart(network, drive):
    drive.nmt.state = 'OPERATIONAL'
    drive.setup_402_state_machine(read_pdos=False)
    for state in ('READY TO SWITCH ON', 'SWITCHED ON', 'OPERATION ENABLED', 'SWITCH ON DISABLED'):
        drive.controlword = State402.CW_COMMANDS_CODE.get(state, 0)
        drive.controlword = {'SWITCH ON DISABLED': 0}.get(state, State402.CW_COMMANDS_CODE[state])
        assert drive.sdo[0x6041].raw & State402.SW_MASK[state][0] == State402.SW_MASK[state][1]
    heard = []  # from now on: the library's own wait may begin when it has come already
    drive.nmt.add_heartbeat_callback(heard.append)
    drive.nmt.state = 'RESET'
    wait_until(lambda: 0 in heard, 10.0)


@undisturbed
def test_a_lost_heartbeat_releases_or_fails_as_told(network, drive):
    seen = []
    drive.emcy.add_callback(lambda error: seen.append(error.code))
    for told, state in ((2, 'SWITCH ON DISABLED'), (1, 'FAULT')):
        cyclic(drive, 'CYCLIC SYNCHRONOUS POSITION', 0x607A)
        drive.sdo[0x6007].raw, drive.sdo[0x1016][1].raw = told, 100 << 16 | 500
        network.send_message(0x700 + 100, b'\x05')
        switch_on(network, drive)
        since = time.monotonic()
        wait_until(lambda: 0x8130 in seen)
        assert time.monotonic() - since < 2.0
        seen.clear()
        assert drive.sdo[0x6041].raw & 0x4F == State402.SW_MASK[state][1]
        assert drive.nmt.state == 'OPERATIONAL'  # as far as the host knows; its PDOs have stopped
        network.sync.transmit()
        assert drive.tpdo[1].wait_for_reception(0.3) is None
    drive.sdo[0x6040].raw = State402.CW_DISABLE_VOLTAGE
    drive.sdo[0x6040].raw = State402.CW_SWITCH_ON_DISABLED
    assert drive.sdo[0x6041].raw & 0x4F == 0x40


def test_a_mapping_is_changed_only_while_its_pdo_is_off(network, drive):
    cyclic(drive, 'CYCLIC SYNCHRONOUS POSITION', 0x607A)
    with pytest.raises(canopen.SdoAbortedError):
        drive.sdo[0x1600][0].raw = 0
