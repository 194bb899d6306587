# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A session with a serial device: HELLO, requests and their answers, everything else in order."""

from __future__ import annotations

import secrets

from soro_driver.device import DeviceError, DeviceTimeout
from soro_driver.serial import frame as sf
from soro_driver.serial.link import Arrival, SerialLink

ATTEMPTS = 3  # of a request, within its time; the sequence number stays the same
KIND_NAMES = {kind.value: kind.name.lower() for kind in sf.DeviceKind}


class Refused(DeviceError):
    """The device answered with NACK.

    - `reason`, `detail`: of the NACK.
    """

    def __init__(self, request: sf.Body, nack: sf.Nack, why: str) -> None:
        super().__init__(f'the device refused {type(request).__name__}: {why}')
        self.reason, self.detail = nack.reason, nack.detail


class SerialSession:
    """One host's session with one device.

    - `kind`: what has to answer.
    - `channels`: how many it must have.
    - `serial`: its serial number; 0: any.
    - `minor`: minor version that this robot needs. Whoever needs no newer one says what it always
      said.

    Its attributes:
    - `number`: of the session; 0 before the first one.
    - `peer`: who answered.
    - `rebooted`: the device was restarted since, and knows nothing of this session.
    """

    spare_channels = False  # whether a newer version may have channels that this robot leaves free

    def __init__(
        self,
        link: SerialLink,
        kind: sf.DeviceKind,
        channels: int,
        serial: int = 0,
        minor: int = sf.MINOR,
    ) -> None:
        self.link, self._minor = link, minor
        self._kind, self._channels, self._serial = kind, channels, serial
        self.number = 0
        self.peer: sf.HelloAck | None = None
        self.rebooted = False
        self.strange = 0  # well-formed frames that are not of this protocol
        self._others: list[Arrival] = []

    def open(self, timeout: float) -> sf.HelloAck:
        """Open port and session; returns who answered.

        DeviceError: another protocol, another kind of device, another one of its kind.
        DeviceTimeout, DeviceLost: nobody answers.
        """
        end = self.link.clock() + timeout
        self.link.open()
        self.link.version = sf.MAJOR << 4 | self._minor
        self.peer, self.rebooted = None, False
        self._others.clear()
        self.number = secrets.randbelow(0xFFFFFFFE) + 1
        self.link.send_bytes(b'\0')  # ends whatever the device has heard so far
        answer = self._await_hello(end, timeout / ATTEMPTS)
        self._check(answer)
        self.peer = answer
        return answer

    def request(self, body: sf.Body, timeout: float) -> sf.Ack:
        """Send a frame and return the device's ACK of it.

        Refused: NACK.
        DeviceTimeout: no answer to any attempt.
        """
        start = self.link.clock()
        seq = None
        for attempt in range(ATTEMPTS):
            seq = self.link.send(body, seq)
            end = start + (attempt + 1) * timeout / ATTEMPTS
            while self.link.wait(end):
                answer = self._answer(body, seq)
                if answer is not None:
                    return answer
        raise DeviceTimeout(f'the device did not answer {type(body).__name__} in time')

    def take(self) -> list[Arrival]:
        """Return the device's own frames that have arrived, oldest first. Raises DeviceLost."""
        self._sort(self.link.take())
        found, self._others = self._others, []
        return found

    def counts(self) -> dict[str, int]:
        """Return what was received on this connection: frames, and what was none of ours."""
        reader = self.link.reader
        return {
            'frames': reader.frames,
            'crc_errors': reader.crc_errors,
            'malformed': reader.malformed,
            'strange': self.strange,
        }

    def close(self) -> None:
        """Close the port; never raises."""
        self.link.close()

    def _await_hello(self, end: float, again: float) -> sf.HelloAck:
        while True:
            self.link.send(sf.Hello(self.number, sf.MAJOR, self._minor))
            until = min(end, self.link.clock() + again)
            while self.link.wait(until):
                for arrival in self.link.take():
                    frame = arrival.frame
                    if frame.type == sf.SessionType.HELLO_ACK:
                        answer = self._read_hello(frame.body, frame.major)
                        if answer is not None:
                            return answer
            if self.link.clock() >= end:
                raise DeviceTimeout(f'{self.link.port}: no device answers HELLO')

    def _read_hello(self, body: bytes, major: int) -> sf.HelloAck | None:
        if major != sf.MAJOR:  # its layout is unknown, but its version says enough
            raise DeviceError(f'the device speaks protocol {major}, this driver {sf.MAJOR}')
        try:
            answer = sf.HelloAck.unpack(body)
        except sf.FrameError:
            self.strange += 1
            return None
        return answer if answer.session == self.number else None

    def _check(self, answer: sf.HelloAck) -> None:
        if answer.major != sf.MAJOR:
            raise DeviceError(f'the device speaks protocol {answer.major}, this driver {sf.MAJOR}')
        if answer.kind != self._kind:
            name = KIND_NAMES.get(answer.kind, f'kind {answer.kind}')
            wanted = KIND_NAMES[self._kind]
            raise DeviceError(f'a device of kind {name} answers, this driver needs {wanted}')
        spare = self.spare_channels and self._minor > sf.MINOR and answer.channels > self._channels
        if answer.channels != self._channels and not spare:
            raise DeviceError(
                f'the device has {answer.channels} channels, this robot needs {self._channels}'
            )
        if answer.minor < self._minor:
            raise DeviceError(
                f'the device speaks protocol {sf.MAJOR}.{answer.minor}, {self._channels} channels '
                f'need {sf.MAJOR}.{self._minor}: load newer firmware'
            )
        if self._serial not in (0, answer.serial):
            wanted = self._serial
            raise DeviceError(f'device {answer.serial} answers, the robot file names {wanted}')

    def _answer(self, request: sf.Body, seq: int) -> sf.Ack | None:
        arrivals = self.link.take()
        rest: list[Arrival] = []
        answer: sf.Ack | sf.Nack | None = None
        for arrival in arrivals:
            body = self._session_body(arrival)
            if isinstance(body, sf.Ack | sf.Nack) and (body.of_seq, body.of_type) == (
                seq,
                request.type,
            ):
                answer = body
            else:
                rest.append(arrival)
        self._sort(rest)
        if isinstance(answer, sf.Nack):
            raise Refused(request, answer, self.reason(answer))
        return answer

    def reason(self, nack: sf.Nack) -> str:
        """Say why the device refused; subclasses know their device's own reasons."""
        return sf.reason_name(nack.reason)

    def _sort(self, arrivals: list[Arrival]) -> None:
        for arrival in arrivals:
            frame = arrival.frame
            if frame.major != sf.MAJOR:
                self.strange += 1
            elif frame.type == sf.SessionType.HELLO_ACK:
                self._unasked(arrival)
            else:
                self._others.append(arrival)

    def _unasked(self, arrival: Arrival) -> None:
        """Judge a HELLO_ACK that nobody waits for: a device sends one when it has started."""
        body = self._session_body(arrival)
        if isinstance(body, sf.HelloAck) and self.peer is not None:
            self.rebooted |= body.boot_id != self.peer.boot_id

    def _session_body(self, arrival: Arrival) -> sf.Body | None:
        kind = sf.SESSION_BODIES.get(arrival.frame.type)
        if kind is None:
            return None
        try:
            return kind.unpack(arrival.frame.body)
        except sf.FrameError:
            self.strange += 1
            return None
