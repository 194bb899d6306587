# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A pump of your own on a serial line, in lines of text: the driver's half.

The host says `hello`, `arm`, `off`, `ask`, or `set TTL_MS KPA...`; the pump answers with
`at STATE KPA... APPLIED...` (`hello`: `pump SERIAL COUNT`). STATE: 0 off, 1 armed.
"""

from dataclasses import dataclass
import time

import numpy as np

from soro_driver.device import DeviceError, DeviceTimeout, Identity, Reading
from soro_driver.serial.link import SerialLink
from soro_driver.session_device import SessionDevice

KPA = 1e3  # Pa


@dataclass(frozen=True)
class Line:
    """What `SerialLink` and `SerialPty` call a frame."""

    words: tuple

    def pack(self):
        """Return the bytes on the wire."""
        return (' '.join(self.words) + '\n').encode()


class LineReader:
    """Finds lines in whatever bytes come; never raises."""

    crc_errors = malformed = 0
    _rest = b''

    def feed(self, data):
        """Return the lines that some bytes complete."""
        *lines, self._rest = (self._rest + data)[-4096:].split(b'\n')
        return [Line(tuple(line.decode('ascii', 'replace').split())) for line in lines]

    def clear(self):
        """Forget a line that has begun."""
        self._rest = b''


class PumpTransport:
    """Speaks the text and keeps the newest answer; the pump's units stay in here."""

    def __init__(self, port, count):
        self.link, self.count = SerialLink(port, 115200, reader=LineReader), count
        self.arrived, self.state, self.values = 0.0, '0', np.zeros(2 * count)
        self.close = self.link.close

    def open(self):
        """Find the pump and switch it off."""
        self.link.open()
        _, serial, count = self._request('hello', 'pump')
        if int(count) != self.count:
            raise DeviceError(f'the pump has {count} outlets, this robot {self.count}')
        self.disarm()
        return Identity('lab pump', serial)

    def arm(self):
        """Have it act on set-points."""
        self._request('arm', 'at', '1')

    def disarm(self):
        """Vent; raises where the pump does not confirm it."""
        self._request('off', 'at', '0')

    reset = disarm  # it latches nothing

    def command(self, values, ttl):
        """Send pressures [Pa] that hold for `ttl` [s]."""
        self.say('set', str(int(1e3 * ttl)), *(f'{v / KPA:.3f}' for v in values))

    def say(self, *words):
        """Send a line."""
        self.link.send_bytes(Line(words).pack())

    def poll(self):
        """Take what has arrived and return it; a measurement is kept."""
        arrivals = self.link.take()
        for words, at in ((a.frame.words, a.time) for a in arrivals):
            try:
                if words[0] == 'at' and len(words) == 2 + 2 * self.count:
                    self.values, self.state = KPA * np.array(words[2:], float), words[1]
                    self.arrived = at
            except (IndexError, ValueError):
                self.link.reader.malformed += 1
        return [a.frame.words for a in arrivals]

    def _request(self, word, *answer):
        self.say(word)
        end = time.monotonic() + 0.08
        while self.link.wait(end):
            for found in self.poll():
                if found[: len(answer)] == answer:
                    return found
        raise DeviceTimeout(f'{self.link.port}: no answer to {word}')


class PumpDevice(SessionDevice):
    """Commands pressures; the pump vents by itself when none come."""

    io_timeout, open_timeout = 0.1, 0.5

    def __init__(self, port, count):
        self.transport = PumpTransport(port, count)

    @classmethod
    def from_section(cls, section, robot, endpoint):
        """Read ``driver.lab_pump``; an emulator is a pty."""
        with section:
            port = section.text('port')
            if {a.quantity for a in robot.actuators} != {'pressure'}:
                raise section.error('port', 'this pump makes pressures')
        return cls(port if endpoint is None else str(endpoint.path), len(robot.actuators))

    def read(self):
        """Return the newest measurement, with its time of arrival."""
        t = self.transport
        t.poll()
        if not self._armed:
            t.say('ask')  # while it is armed, every set-point is answered
        measured, applied = t.values[: t.count].copy(), t.values[t.count :].copy()
        tripped = self._armed and t.state == '0'
        return Reading(t.arrived, measured, applied, np.zeros(t.count, np.uint16), 0, tripped)
