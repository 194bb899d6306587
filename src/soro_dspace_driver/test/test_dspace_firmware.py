# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The task in C against the emulated computer: the same bytes at the same millisecond.

Both were written from docs/hardware/dspace.md. The C side runs under the address and
undefined-behaviour sanitizers. `SORO_FUZZ` multiplies the number of runs.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from soro_driver.serial import frame as sf
from soro_dspace_driver.emulator.board import DspaceBoard, SCALE
from soro_dspace_driver.emulator.device import FirmwareBoard, PACKAGE
from soro_dspace_driver.protocol import (
    BODIES,
    Command,
    CommandFlag,
    DeviceFault,
    Limits,
    minor_for,
)
from soro_emulation.event_log import EventLog
from soro_emulation.host_firmware import build

RUNS = 2 * int(os.environ.get('SORO_FUZZ', '1'))
STEPS = 110
SANITIZERS = ('-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all')
# A millisecond and a bit: no time that is compared is ever equal to its limit; and of few bits, so
# that every difference of two times is exact.
TICK = 1073743 / 2**30
TYPES = sorted({*sf.SESSION_BODIES, *BODIES})
MAXIMUM = 18000
SESSION_FRAMES = sf.Arm, sf.Reset, sf.Heartbeat


class Bench:
    """Stands for `PneumaticBench`: monitors as they are set, outputs as they are commanded."""

    def __init__(self, count):
        self.names = tuple(f'p{i}' for i in range(count))
        self.volts, self.outputs, self.opened = np.zeros(count), np.zeros(count), True

    def monitors(self, now):
        return self.volts.copy()

    def command(self, channel, pressure, now, noted=True):
        self.outputs[channel] = pressure

    def dump(self, opened, now):
        self.opened = opened


class Pair:
    """The two computers, told and asked alike; every answer is compared at once."""

    def __init__(self, program, count):
        self.benches, log = (Bench(count), Bench(count)), EventLog('')
        arguments = (0xCAFE0001, 5, log, 0.0)
        self.python = DspaceBoard(self.benches[0], *arguments)
        self.c = FirmwareBoard(self.benches[1], *arguments, program=program, tick=TICK)
        self.reader, self.count, self.ticks = sf.FrameReader(), count, 0
        self.sent, self.seen, self.faults = 0, set(), DeviceFault(0)
        self.forgotten = 0  # stale set-points before a restart

    @property
    def now(self):
        return self.ticks * TICK

    def pass_time(self, milliseconds):
        for _ in range(milliseconds):
            self.ticks += 1
            python, reader = self.python, self.reader
            python.frames, python.crc_errors = reader.frames, reader.crc_errors
            python.malformed = reader.malformed
            self.compare(python.tick(self.now), self.c.tick(self.now))

    def receive(self, data):
        ours = []
        for frame in self.reader.feed(data):
            ours += self.python.receive(frame, self.now)
        self.compare(ours, self.c.take(data, self.now))

    def measure(self, volts):
        for bench in self.benches:
            bench.volts[:] = volts

    def follow(self):
        """Let the monitors show what is put out."""
        self.measure(self.benches[0].outputs / SCALE)

    def restart(self, boot_id):
        self.reader, self.forgotten = sf.FrameReader(), self.python.stale
        for board in (self.python, self.c):
            board.start(boot_id, self.now)

    def compare(self, ours, theirs):
        self.sent += len(ours)
        self.seen.add(self.python.state)
        self.faults |= self.python.faults
        assert [f.pack().hex() for f in theirs] == [f.pack().hex() for f in ours]
        assert self.c.state is self.python.state
        assert self.c.faults == self.python.faults
        assert self.c.stale == self.python.stale - self.forgotten
        mine, other = self.benches
        assert other.outputs == pytest.approx(mine.outputs, rel=1e-12, abs=1e-9)
        assert other.opened == mine.opened


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    return build(PACKAGE, tmp_path_factory.mktemp('firmware'), SANITIZERS)


class Host:
    """Says things to a pair, mostly as a host does."""

    def __init__(self, pair, generator):
        self.pair, self.generator = pair, generator
        self.session, self.seq = 9, generator.choice([0, 0xFFF0])

    def say(self, body, version=0x10, step=1):
        self.seq = (self.seq + step) & 0xFFFF
        self.pair.receive(sf.Frame(body.type, self.seq, body.pack(), version).pack())

    def limits(self):
        g, count = self.generator, self.pair.count
        most = (g.choice([MAXIMUM, 4000]),) * count
        self.say(Limits(most, g.choice([2000, 500, 20000]), g.choice([20, 25, 100, 1000])))

    def arm(self):
        """Bring the device to ARMED, from wherever it is, and command it."""
        g, pair = self.generator, self.pair
        self.say(sf.Hello(self.session, 1, 1))
        pair.measure(np.full(pair.count, g.choice([0.0, 0.0, 0.3, 1.0])))
        pair.pass_time(g.choice([1, 60]))
        for body in (sf.Reset(self.session), sf.Disarm()):
            self.say(body)
        self.limits()
        self.say(sf.Arm(self.session))
        self.work()

    def work(self):
        g, pair = self.generator, self.pair
        goal = [g.choice([0, 1500, 6000, MAXIMUM, 40000, 65535]) for _ in range(pair.count)]
        ttl = g.choice([0, 10, 25, 100, 255])
        mute = g.random() < 0.15  # the monitors stay: nothing comes
        here = [round(float(v) * SCALE / 10.0) for v in pair.benches[0].volts]
        self.say(Command(ttl, CommandFlag.ENABLE, tuple(max(0, min(65535, h)) for h in here)))
        for _ in range(g.randint(5, 25)):
            flags = g.choice([1] * 20 + [0, 4, 5])
            self.say(Command(ttl, flags, tuple(goal)), step=g.choice([1] * 10 + [0, -3, 40]))
            pair.pass_time(g.choice([5, 10, 10, 25]))
            if not mute:
                pair.follow()
        pair.pass_time(g.choice([0, 19, 20, 21, 49, 50, 51, 199, 200, 201, 510, 1001]))

    def anything(self):
        """Say a frame that means something, a wrong one, or none."""
        g, count, kind = self.generator, self.pair.count, self.generator.random()
        if kind < 0.1:
            self.pair.receive(g.randbytes(g.randint(1, 600)))
            return
        if kind < 0.35:
            size = g.choice([0, 2, 4, 6, 7, 2 + 2 * count, 4 + 2 * count, g.randint(0, 90), 31])
            kind, version = g.choice([*TYPES, g.randint(0, 255)]), g.choice([0x10, 0x11, 0x20, 0])
            self.pair.receive(sf.Frame(kind, self.seq, g.randbytes(size), version).pack())
            return
        number = g.choice([self.session, self.session, 77, 0])
        channels = g.choice([count, count, 1, 16])
        pressures = tuple(g.choice([0, 100, 3000, 40001, 65535]) for _ in range(channels))
        body = g.choice(
            [
                sf.Disarm(), g.choice(SESSION_FRAMES)(number),
                sf.Hello(number, 1, g.choice([0, 1, 7])),
                Command(g.choice([0, 50, 255]), g.choice([0, 1, 2, 4, 7, 255]), pressures),
                Limits(pressures, g.choice([0, 1, 65535]), g.choice([0, 19, 20, 65535])),
                sf.Ack(1, 2), sf.Nack(1, 2, 3),
            ]
        )  # fmt: skip
        self.say(body, step=g.choice([1, 1, 0, -5, 300]))


@pytest.mark.parametrize('seed', range(RUNS))
@pytest.mark.parametrize('count', [3, 1, 5, 16])
def test_both_computers_say_the_same_at_the_same_millisecond(program, count, seed):
    generator = random.Random(f'{count} {seed}')
    pair = Pair(program, count)
    host = Host(pair, generator)
    pair.pass_time(generator.choice([199, 200, 201]))
    pair.pass_time(2)
    for step in range(STEPS):
        choice = generator.random() if step else 0.3
        if choice < 0.25:
            pair.pass_time(generator.choice([1, 2, 3, 20, 49, 50, 51]))
        elif choice < 0.37:
            host.arm()
        elif choice < 0.45:
            volts = generator.choice([-0.2, -0.1, 0.0, 0.04, 2.3, 4.5, 5.2, 10.2, 10.21, 11.0])
            pair.measure([volts if generator.random() < 0.4 else 0.6 for _ in range(count)])
            pair.pass_time(generator.choice([1, 49, 50, 51, 52]))
        elif choice < 0.46:
            pair.restart(generator.randint(1, 2**32 - 1))
            pair.pass_time(generator.choice([1, 199, 205]))
        else:
            host.anything()
    assert pair.sent > STEPS // 2
    assert sf.SerialState.ARMED in pair.seen
    assert pair.c.close() == 0


def test_what_the_page_lists_happens_on_both(program):
    """Every state, and every fault that a device finds by itself."""
    pair = Pair(program, 3)
    host = Host(pair, random.Random(1))
    pair.pass_time(201)

    def armed(volts, limit=MAXIMUM):
        host.say(sf.Hello(9, 1, minor_for(3)))
        host.say(sf.Reset(9))
        host.say(Limits((limit,) * 3, 2000, 100))
        pair.measure(volts)
        host.say(sf.Arm(9))
        for _ in range(30):
            host.say(Command(100, 1, (1900,) * 3))
            pair.pass_time(10)

    armed([0.0, 0.0, 0.0])
    pair.pass_time(350)  # nobody commands: a ramp, then the dump valve
    assert pair.python.state is sf.SerialState.SAFE and pair.benches[0].opened
    armed([0.2, 0.2, 11.0])
    armed([0.2, 0.9, 0.2], limit=1000)
    armed([0.5, 0.0, 0.5])
    for _ in range(80):
        host.say(Command(100, 1, (2500,) * 3))
        pair.pass_time(10)
    assert pair.python.state is sf.SerialState.FAULT
    host.say(Command(0, CommandFlag.ESTOP, (0,)))
    assert pair.seen == set(sf.SerialState)
    wanted = DeviceFault.EXPIRED | DeviceFault.SENSOR | DeviceFault.OVER_PRESSURE
    wanted |= DeviceFault.NO_PRESSURE | DeviceFault.ESTOP | DeviceFault.LIMITED
    assert pair.faults & wanted == wanted
    assert not any(b.outputs.any() for b in pair.benches) and pair.c.close() == 0
