# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The firmware in C against the emulated board: the same bytes at the same millisecond.

Both were written from docs/hardware/stm32.md. The C side runs under the address and
undefined-behaviour sanitizers. `SORO_FUZZ` multiplies the number of runs.
"""

from __future__ import annotations

import json
import os
import random

import numpy as np
from plain_muscles import PLAIN
import pytest

from soro_driver.serial.frame import (
    Arm,
    Disarm,
    Frame,
    FrameReader,
    Heartbeat,
    Hello,
    MAX_BODY,
    Reset,
    SerialState,
    SESSION_BODIES,
)
from soro_emulation.event_log import EventLog
from soro_emulation.host_firmware import build
from soro_stm32_driver.emulator.board import Stm32Board
from soro_stm32_driver.emulator.firmware_board import Firmware, FirmwareBoard, PACKAGE
from soro_stm32_driver.emulator.muscle_bank import MuscleBank
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.pairing import FIRST, in_order, Pairing
from soro_stm32_driver.protocol import (
    AbortAll,
    BODIES,
    SetBitmap,
    SetPairs,
    SetTimed,
    StatusFlag,
    Timed,
    VentAll,
)

RUNS = 8 * int(os.environ.get('SORO_FUZZ', '1'))
STEPS = 150
SANITIZERS = ('-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all')
TYPES = sorted({*SESSION_BODIES, *BODIES})
SHUFFLED = Pairing(tuple((63 - 2 * i, i) for i in range(6)))
QUICK = {'vent_time': 300, 'watchdog': 200, 'budget': 900, 'simultaneous': 3}


class Pair:
    """The two boards, told and asked alike; every answer is compared at once."""

    def __init__(self, program, wired, first_tick):
        properties = BoardProperties(serial=3, first_tick=first_tick, **QUICK)
        self.bank = MuscleBank(np.full(30, 0.1), PLAIN, np.random.default_rng(1), 0.0)
        self.board = Stm32Board(properties, self.bank, EventLog(''), 0.0, 0xCAFE0001, tuple, wired)
        self.c = Firmware(properties, 0xCAFE0001, 1e5, wired.minor == 0, program)
        self.reader, self.milliseconds = FrameReader(), 0
        self.sent = self.worked = 0  # frames; times that a coil was switched

    def pass_time(self, milliseconds):
        self.milliseconds += milliseconds
        frames = self.board.advance(self.milliseconds * 1e-3 + 1e-6)
        self.c.hear(f't {milliseconds}')
        self.compare(frames)

    def receive(self, data):
        frames = []
        for frame in self.reader.feed(data):
            frames += self.board.receive(frame, self.milliseconds * 1e-3)
        self.board.crc_errors = self.reader.crc_errors
        self.c.receive(data)
        self.compare(frames)

    def supply(self, pressure):
        self.bank.supply = pressure
        self.c.hear(f's {round(pressure)}')

    def compare(self, frames):
        found, coils = self.c.take()
        self.sent += len(found)
        self.worked += len(coils)
        assert [f.hex() for f in found] == [f.pack().hex() for f in frames]


def say(pair, body, seq, version=0x10):
    pair.receive(Frame(body.type, seq & 0xFFFF, body.pack(), version).pack())


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    return build(PACKAGE, tmp_path_factory.mktemp('firmware'), SANITIZERS)


def timed(generator, pair, count):
    """Return timed actions that mostly make sense."""
    ahead = generator.choice([0, 1, 100, 300, 999, 1000, 1001, -1, 40000])
    muscles = generator.sample(range(32), generator.randint(0, 5))
    if generator.random() < 0.8:
        muscles = [m % max(1, count) for m in muscles]
    if generator.random() < 0.8:
        muscles = list(dict.fromkeys(muscles))
    durations = [20, 21, 50, 100, 300, 2000] + [0, 19, 2001, 65535] * (generator.random() < 0.1)
    actions = [1, 1, 2, 2, 0] + [3, 254, 255] * (generator.random() < 0.1)
    return SetTimed(
        (pair.board.time + ahead) & 0xFFFF,
        tuple(Timed(m, generator.choice(actions), generator.choice(durations)) for m in muscles),
    )


def anything(generator, pair, session, seq):
    """Return bytes: a frame that means something, a wrong one, or none."""
    kind = generator.random()
    if kind < 0.05:
        return generator.randbytes(generator.randint(1, 600))
    if kind < 0.15:
        body = generator.randbytes(
            generator.choice([0, 2, 4, 6, 7, 18, generator.randint(0, 240)])
        )
        type_ = generator.choice([*TYPES, generator.randint(0, 255)])
        version = generator.choice([0x10, 0x11, 0x20, 0])
        return Frame(type_, seq, body[:MAX_BODY], version).pack()
    masks = generator.getrandbits(64), generator.getrandbits(64) & generator.getrandbits(64)
    body = generator.choice(
        [
            Heartbeat(session), Heartbeat(session), Disarm(), VentAll(), AbortAll(),
            Arm(session), Arm(session), Arm(session), Arm(session + 1), Reset(session),
            SetBitmap(*masks, generator.choice([1, 50, 65535])), Hello(session),
            SetBitmap(1 << generator.randint(0, 63), masks[1], 30),
        ]
    )  # fmt: skip
    data = body.frame(seq).pack()
    if generator.random() < 0.05:
        data = bytes([data[0], data[1] ^ 1 or 2, *data[2:]])  # a wrong checksum, or no COBS
    return data


def work(generator, pair, session, seq):
    """Command an armed board hard, on a few muscles; returns the last sequence number."""
    few = generator.randint(1, 3)
    lengths = generator.choice([[20, 21, 40], [200, 300], [20, 100, 600]])
    for _ in range(generator.randint(20, 45)):
        seq = (seq + 1) & 0xFFFF
        muscles = generator.sample(range(few), generator.randint(1, few))
        actions = tuple(
            Timed(m, generator.choice([1, 1, 2]), generator.choice(lengths)) for m in muscles
        )
        say(pair, SetTimed((pair.board.time + 200) & 0xFFFF, actions), seq)
        if generator.random() < 0.2:
            say(pair, SetTimed(0, actions), (seq - generator.randint(0, 18)) & 0xFFFF)
        pair.pass_time(generator.choice([1, 5, 20, 60]))
    silence = generator.choice([0, 0, 199, 201, 1199, 1200, 1201, 1300])
    pair.pass_time(silence)
    return seq


@pytest.mark.parametrize('seed', range(RUNS))
@pytest.mark.parametrize('wired', [FIRST, SHUFFLED], ids=['1.0', '1.1'])
def test_both_boards_say_the_same_at_the_same_millisecond(program, wired, seed):
    generator = random.Random(seed)
    pair = Pair(program, wired, generator.choice([0, 2**32 - 2000, 12345]))
    session, seq, minor = 9, generator.choice([0, 0xFFF0]), wired.minor
    pair.pass_time(generator.choice([299, 300, 301]))
    pair.pass_time(5)
    say(pair, Hello(session, 1, minor), seq)
    for _ in range(STEPS):
        choice = generator.random()
        seq = (seq + generator.choice([1, 1, 1, 1, 0, -1, -20, 40])) & 0xFFFF
        count = pair.board.valves.pairing.count
        if choice < 0.35:
            pair.pass_time(generator.choice([1, 2, 3, 20, 50, 100, 199, 200, 210]))
        elif choice < 0.6:
            say(pair, timed(generator, pair, count), seq)
        elif choice < 0.65:
            session = generator.choice([9, 10, 11])
            say(pair, Hello(session, 1, generator.choice([minor, minor, 0, 1, 7])), seq)
        elif choice < 0.7:
            pairs = generator.choice([SHUFFLED, SHUFFLED, FIRST, in_order(4)]).pairs
            pairs += ((1, 1),) * (generator.random() < 0.1)
            say(pair, SetPairs(pairs), seq)
        elif choice < 0.72:
            pair.supply(generator.choice([1e5, 1e5, 59e3, 61e3]))
        elif choice < 0.85:
            # What brings a board back to ARMED, as a host does it.
            for body in (Reset(session), Disarm()):
                say(pair, body, seq)
            for _ in range(8):
                say(pair, Heartbeat(session), seq)
                pair.pass_time(60)
            say(pair, Arm(session), seq)
            if generator.random() < 0.6:
                seq = work(generator, pair, session, seq)
        else:
            pair.receive(anything(generator, pair, session, seq))
    assert pair.sent > 2 * STEPS and pair.worked > 20
    assert pair.c.close() == 0


def test_coils_follow_what_the_status_says(program):
    pair = Pair(program, FIRST, 0)
    pair.pass_time(301)
    say(pair, Hello(9), 1)
    say(pair, Disarm(), 2)
    for k in range(60):
        say(pair, Heartbeat(9), 3 + k)
        pair.pass_time(10)
    say(pair, Arm(9), 70)
    say(pair, SetTimed((pair.board.time + 100) & 0xFFFF, (Timed(4, 1, 50),)), 71)
    pair.c.take()
    pair.c.hear('t 60')
    coils = [(valve, on, tick) for tick, valve, on in pair.c.take()[1]]
    (opened, on, begin), (closed, still, end) = coils
    assert (opened, closed, on, still) == (8, 8, True, False)
    assert end - begin == 50
    pair.c.hear('t 250')  # silence: the watchdog, then venting of every muscle
    pair.c.hear('t 1100')
    assert {valve for _, valve, on in pair.c.take()[1] if on} == set(range(1, 60, 2))


@pytest.mark.parametrize('kind', [Stm32Board, FirmwareBoard])
def test_with_either_brain_muscles_are_vented_and_a_restart_forgets_it(kind, tmp_path):
    file = tmp_path / 'log.jsonl'
    bank = MuscleBank(np.full(30, 0.1), PLAIN, np.random.default_rng(1), 0.0)
    board = kind(BoardProperties(**QUICK), bank, EventLog(str(file)), 0.0, 7)

    def run(begin, end, *bodies):
        for seq, body in enumerate(bodies, 1):
            board.receive(body.frame(seq), begin)
        for k in range(round(1e2 * begin), round(1e2 * end)):
            board.advance(1e-2 * k)

    run(0.0, 0.5)
    run(0.5, 1.5, Hello(9), VentAll())
    assert board.state is SerialState.SAFE
    assert board.flags & StatusFlag.VENTED
    board.reboot(1.5)
    assert (board.state, board.flags) == (SerialState.BOOT, 0)
    assert board.boot_id != 7
    run(1.5, 2.0)
    bank.supply = 0.0
    run(2.0, 3.0, Hello(9), VentAll())
    assert board.flags & StatusFlag.VENTED
    getattr(board, 'close', int)()
    events = [json.loads(line)['event'] for line in file.read_text().splitlines()]
    seen = [e for e in events if e in ('state', 'vented', 'reboot')]
    assert seen == ['state', 'vented', 'reboot', 'state', 'vented']
