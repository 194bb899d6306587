# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated actuators with anything at all on their socket: answered or not, never moved by it."""

from __future__ import annotations

import os
from pathlib import Path
import socket
import time
import uuid

from fuzzing import fuzz, LONG, make_context, open_files, serving
from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_mechanics.actuator_models.motor import PositionDrive
from soro_mechanics.core.actuators import Actuator
from soro_rigs.event_log import read_events
from soro_rigs.ros_session import wait_until
from soro_simulated_driver.emulator.bank import MAX_TTL, SimulatedBank
from soro_simulated_driver.emulator.device import MAX_NOTED, SimulatedEmulator
from soro_simulated_driver.protocol import HEAD, Kind, MAX_VALUES, Packet, State, unpack

pytestmark = LONG

ROBOT = 'stewart_gough'
numbers = st.sampled_from([0.0, -1.0, 1e308, 1e-320, float('nan'), float('inf')]) | st.floats()
# Whatever arms is made by the test that is about it.
kinds = st.sampled_from([k for k in Kind if k is not Kind.ARM])
packets = st.builds(
    lambda kind, sequence, ttl, values: Packet(
        kind, sequence, ttl, values=np.array(values, float)
    ).pack(),
    kinds,
    st.integers(0, 2**32 - 1),
    numbers,
    st.lists(numbers, max_size=8),
)
headers = st.builds(
    HEAD.pack,
    st.integers(0, 255),
    st.integers(0, 255).filter(lambda k: k != Kind.ARM),
    st.integers(0, 0xFFFF),
    st.integers(0, 2**32 - 1),
    numbers,
    st.integers(0, 2**32 - 1),
    st.integers(0, 255),
    st.integers(0, 255),
)
messages = st.lists(packets | headers | st.binary(max_size=100), max_size=15)


@pytest.fixture(scope='module')
def served(tmp_path_factory):
    path = Path(f'/tmp/soro-{os.getuid()}', f'fuzz-{uuid.uuid4().hex[:8]}')
    log = str(tmp_path_factory.mktemp('log') / 'log.jsonl')
    context = make_context(ROBOT, 'simulated', None, path, log)
    emulator = SimulatedEmulator(context, time.monotonic())
    with serving(emulator):
        emulator.log_file, emulator.rest = log, emulator.actuation(time.monotonic()).copy()
        yield emulator


def connect(emulator):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(str(emulator.path))
    client.settimeout(20.0)
    return client


def check(emulator):
    """Ask who is there as a driver does; one that has just gone may still be noticed."""

    def answered():
        with connect(emulator) as client:
            try:
                client.send(Packet(Kind.HELLO, 6).pack())
                while True:
                    data = client.recv(4096)
                    if not data:
                        return False  # turned away
                    if unpack(data).kind is Kind.IDENTITY:
                        return True
            except OSError:
                return False

    wait_until(answered, 30.0)
    np.testing.assert_array_equal(emulator.actuation(time.monotonic()), emulator.rest)


@given(sequence=messages)
@example(sequence=[])
@example(sequence=[b''])
@example(sequence=[HEAD.pack(1, 6, 0xFFFF, 0, 0.0, 0, 0, 0)])
@example(sequence=[b'\1' * (HEAD.size + 8 * MAX_VALUES + 100)])
@example(sequence=[Packet(Kind.SETPOINTS, 1, 1e308, values=np.full(6, 0.5)).pack()] * 3)
@fuzz(40)
def test_actuators_that_nobody_arms_stay_where_they_are(served, sequence):
    with connect(served) as client:
        try:
            for data in sequence:
                client.send(data)
        except OSError:
            pass  # hung up on, or turned away
    check(served)


def test_clients_leave_nothing_open_and_the_log_is_bounded(served):
    check(served)
    before = open_files()
    sent = 0
    while served.malformed <= 2 * MAX_NOTED:
        assert sent < 100 * MAX_NOTED, 'nonsense is not counted'
        with connect(served) as client:
            try:
                sent += bool(client.send(b'nonsense'))
            except OSError:
                sent += 1  # turned away: the one before it was still there
    check(served)
    wait_until(lambda: open_files() <= before)
    assert len(read_events(served.log_file, 'malformed')) == MAX_NOTED


@given(
    ttl=st.floats(0.0, 1e308), values=st.lists(st.floats(-1e308, 1e308), min_size=2, max_size=2)
)
@example(ttl=1e308, values=[1e308, -1e308])
@fuzz(60)
def test_armed_actuators_stay_in_range_and_do_not_wait_for_ever(ttl, values):
    actuators = (
        Actuator('chamber', 'pressure', 0.0, 2e5, 1e9, 0.0),
        Actuator('rod', 'length', 0.1, 0.5, 1e9, 0.2),
    )
    axes = [PositionDrive(a.rest, a.rate, 0.05) for a in actuators]
    bank = SimulatedBank(actuators, axes, 77, lambda *a, **b: None, 0.0)
    bank.receive(Packet(Kind.ARM, 1), 0.0)
    bank.receive(Packet(Kind.SETPOINTS, 2, ttl, values=np.array(values)), 0.0)
    for k in range(1, 100):
        bank.advance(0.01 * k)
        assert (bank.values >= [0.0, 0.1]).all() and (bank.values <= [2e5, 0.5]).all()
    bank.advance(MAX_TTL + 1.0)
    assert bank.state is State.SAFE
