# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Three pressures speak version 1.0: every byte of a session as firmware in laboratories knows it.

The bytes were recorded when 1.0 was the only version. Whoever changes them breaks that firmware.
"""

from __future__ import annotations

from computer_on_a_link import ComputerLink, wiring
import numpy as np

from soro_driver.serial import session as serial_session
from soro_driver.serial.frame import FrameReader
from soro_dspace_driver.emulator.board import DspaceBoard, SCALE
from soro_dspace_driver.transport import DspaceTransport
from soro_emulation.analog_input import AnalogProperties
from soro_emulation.event_log import EventLog
from soro_emulation.pneumatic_bench import BenchProperties, PneumaticBench
from soro_mechanics.actuator_models.regulator import RegulatorProperties

SESSION = 0x11223344
STARTED = ['04100301010101010201050101b20401020104feca0103031403f40101010103409c0103097e00']
# What the host says (HELLO, DISARM, LIMITS, ARM, COMMAND twice), and what comes within 10 ms.
DIALOGUE = (
    (
        '041001010644332211010396ca00',
        ['04100302064433221101050101b20401020104feca0103031403f40101010103409c0103bf9400'],
    ),
    ('0410050203f51200', ['04100703020202050101010338f300']),
    ('041011030a504650465046d0076403a12b00', ['041007040203021101010103ae7700']),
    (
        '041004040744332211e19100',
        [
            '041007050204020401010103c4a200',
            '041090060101058f2efa05010101010101010101010103020101039bf800',
        ],
    ),
    (
        '04101005037d010107dc052003a94000',
        ['041090070205059f55fa0501010101010101022802280302010103074000'],
    ),
    (
        '04101006037d010107dc05200366f100',
        ['04109008020605af7cfa050102130213010102f002f0030201010363b000'],
    ),
)


class BytesLink(ComputerLink):
    """Keeps what goes over the wire."""

    def __init__(self):
        super().__init__()
        self.wire = []

    def send(self, body, seq=None):
        sent = super().send(body, seq)
        self.wire.append(body.frame(sent, self.version).pack().hex())
        return sent


def test_the_host_says_what_it_always_said(monkeypatch):
    monkeypatch.setattr(serial_session.secrets, 'randbelow', lambda _: SESSION - 1)
    transport = DspaceTransport(wiring(), 1.0, 5.0)
    transport.session.link = link = BytesLink()
    transport.open()
    transport.arm()
    transport.command(np.array([0.0, 15e3, 8e3]), 0.25)
    assert link.wire == [said for said, _ in DIALOGUE[:5]]


def test_the_device_answers_what_it_always_answered():
    properties = BenchProperties(
        RegulatorProperties(0.06, 1e6, 4e5, 0.06, 0.0), AnalogProperties(0.0, 10.5, 16), None
    )
    now, log = 100.0, EventLog('')
    bench = PneumaticBench(
        ('a', 'b', 'c'), np.full(3, 1.8e5), (SCALE, 0.0), properties, 1, log, now
    )
    board = DspaceBoard(bench, 0xCAFE0001, 1202, log, now)

    def run(duration):
        nonlocal now
        end, heard = now + duration, []
        while now < end - 1e-9:
            now += 0.002
            heard += [frame.pack().hex() for frame in board.tick(now)]
        return heard

    assert run(0.25) == STARTED
    for said, expected in DIALOGUE:
        (frame,) = FrameReader().feed(bytes.fromhex(said))
        answers = [answer.pack().hex() for answer in board.receive(frame, now)]
        assert answers + run(0.01) == expected
