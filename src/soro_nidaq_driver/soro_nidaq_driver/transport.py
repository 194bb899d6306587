# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Volts, duty cycles and tasks of NI cards. The only module that knows the vendor's units.

One code path: a task on a card in this computer and a task on a gRPC device server differ in the
`grpc_options` handed to the client, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import time
from typing import Any

import numpy as np

from soro_driver.device import Array, DeviceError, DeviceLost, DeviceTimeout, Identity
from soro_driver.safety.device_lock import DeviceLock, is_loopback
from soro_nidaq_driver.client import import_client, Link, RESET_TIMEOUT, translated
from soro_nidaq_driver.wiring import Channel, LOCAL, Wiring

MINIMUM_DUTY, MAXIMUM_DUTY = 0.002, 0.998  # shortest pulse a regulator's filter still sees
DUTY_STEP = 1e-5  # a smaller change is not worth a write (1.5 Pa at 3 bar full scale)
OPEN_TIMEOUT = 1.5  # s, of all calls of opening, up to a hundred: who asks the loop waits 2 s
SERVER_PORT = 31763  # where NI's device server listens unless it is told otherwise


def place_of(address: str) -> str:
    """Return the name of where the cards are, the same for every driver of this computer."""
    host, _, port = address.lower().rpartition(':')
    if not is_loopback(host):
        return address.lower()
    # NI's server on this computer serves the cards that `local` means. At another port are
    # emulators and tunnels to other computers: cards of their own, with the same names.
    return LOCAL if int(port) == SERVER_PORT else f'localhost:{int(port)}'


def resources(address: str, cards: Sequence[str]) -> list[str]:
    """Return what a driver of these cards locks, see `DeviceLock`."""
    return [f'nidaq {place_of(address)} {card}' for card in cards]


def duty_of(pressure: Array, wiring: Wiring) -> Array:
    """Return the duty cycles for pressures [Pa], in [0, MAXIMUM_DUTY]; 0: no pulses, line low.

    Of an analog output the part of the full voltage, in [0, 1].
    """
    duty = wiring.duties_of_pressures(pressure)
    pulses = np.where(duty < MINIMUM_DUTY, 0.0, np.minimum(duty, MAXIMUM_DUTY))
    return np.where(wiring.columns['analog'], np.clip(duty, 0.0, 1.0), pulses)


class NidaqTransport:
    """Tasks on the cards of one robot.

    - `address`: overrides the wiring's (the emulator's endpoint).
    - `timeout`: longest time of one call [s].
    """

    def __init__(self, wiring: Wiring, address: str, timeout: float) -> None:
        self.wiring = wiring
        self.address = address
        self._timeout = timeout
        count = len(wiring.channels)
        self._duty = np.zeros(count)
        self._volts = np.zeros(count)
        self._locks = [DeviceLock(name) for name in resources(address, wiring.cards)]
        self._link: Link | None = None
        self._readers: list[tuple[Any, Array, list[int]]] = []
        self._outputs: list[_Counter | _AnalogOutput] = []
        self._heartbeat: Any = None
        self._tasks: list[Any] = []
        self._level = False
        self._next_edge = 0.0
        self._ready = False  # every task is there

    @property
    def applied(self) -> Array:
        """Pressures that the outputs stand for [Pa]: duty cycles as they were written.

        NaN after a call that failed: it may have been carried out, and only its answer was lost.
        """
        return self.wiring.pressures_of_duties(self._duty)

    def open(self, idle: Callable[[], bool] = lambda: False) -> Identity:
        """Connect, identify every card, reset it (all outputs idle) and prepare the tasks.

        - `idle`: called as soon as all outputs are idle; returns whether somebody else may have
          begun one more reset. The cards are reset once more then: a late one would abort the
          tasks.
        """
        nidaqmx = import_client()
        self.take()
        self._link = Link(self.address, self._timeout)
        with translated('open'), self._link.within(OPEN_TIMEOUT):
            cards = [
                nidaqmx.system.Device(name, grpc_options=self._link.options())
                for name in self.wiring.cards
            ]
            models = [card.product_type for card in cards]
            serials = [f'{card.serial_num:08X}' for card in cards]
            for card in cards:
                card.reset_device()
            if idle():
                for card in cards:
                    card.reset_device()
            self._duty[:] = 0.0
            self._make_inputs(nidaqmx)
            for channel in self.wiring.channels:
                self._outputs.append(self._make_output(nidaqmx, channel))
            if self.wiring.heartbeat:
                self._heartbeat = self._make_line(nidaqmx, self.wiring.heartbeat)
        self._ready = True
        return Identity(' + '.join(models), ' + '.join(serials))

    def read(self) -> tuple[float, Array, Array]:
        """Return the time of arrival [s, CLOCK_MONOTONIC], pressures [Pa], and which are valid."""
        self._require_tasks()
        with translated('read'):
            for reader, sample, places in self._readers:
                reader.read_one_sample(sample, timeout=self._timeout)
                self._volts[places] = sample
        valid = (self._volts >= self.wiring.sensor_minimum) & (
            self._volts <= self.wiring.sensor_maximum
        )
        return time.monotonic(), self.wiring.pressures_of_monitors(self._volts), valid

    def write(self, pressure: Array) -> None:
        """Write set-points [Pa], shape (m,)."""
        self._require_tasks()
        if not np.all(np.isfinite(pressure)):
            raise DeviceError(f'set-points {pressure} are not finite')
        duty = duty_of(pressure, self.wiring)
        with translated('write'):
            for i, output in enumerate(self._outputs):
                same = abs(duty[i] - self._duty[i]) < DUTY_STEP  # as NaN nothing is the same
                if not same or (duty[i] == 0.0 < self._duty[i]):
                    self._duty[i] = np.nan
                    output.write(float(duty[i]))
                    self._duty[i] = duty[i]

    def beat(self, now: float) -> None:
        """Toggle the heartbeat line when an edge is due; the relay drops out without edges."""
        if self._heartbeat is None or now < self._next_edge:
            return
        self._level = not self._level
        self._next_edge = now + self.wiring.heartbeat_period
        with translated('heartbeat'):
            self._heartbeat.write_one_sample_one_line(self._level, timeout=self._timeout)

    def stop_outputs(self) -> None:
        """Stop every output: the lines go low, or to 0 V, the regulators vent.

        Every output is tried, whatever the card says about the others; not when the link to
        it does not work, because every try would take a whole timeout.

        DeviceError, DeviceLost: the first one met.
        """
        self._require_tasks()
        first: DeviceError | None = None
        for i, output in enumerate(self._outputs):
            try:
                self._duty[i] = np.nan
                with translated('stop'):
                    output.stop()
                self._duty[i] = 0.0
            except (DeviceLost, DeviceTimeout):
                raise
            except DeviceError as error:
                first = first or error
        if first is not None:
            raise first

    def reset(self) -> None:
        """Abort every task on the cards and bring all outputs to their idle state."""
        self._close_tasks()
        assert self._link is not None  # who could not stop an output is connected
        with translated('reset'), self._link.within(RESET_TIMEOUT):
            nidaqmx = import_client()
            for name in self.wiring.cards:
                nidaqmx.system.Device(name, grpc_options=self._link.options()).reset_device()
            self._duty[:] = 0.0

    def take(self) -> None:
        """Keep every other driver of this computer from these cards. Raises DeviceError."""
        for lock in self._locks:
            lock.acquire()

    def disconnect(self) -> None:
        """Give tasks and connection back, but not the cards; never raises."""
        self._close_tasks()
        if self._link is not None:
            self._link.close()
            self._link = None

    def close(self) -> None:
        """Give tasks, connection and cards back; never raises."""
        self.disconnect()
        for lock in self._locks:
            lock.release()

    def _require_tasks(self) -> None:
        """Refuse to work with what was closed, or opened by half: no task would say so."""
        if not self._ready:
            raise DeviceLost(f'cards {", ".join(self.wiring.cards)}: not connected')

    def _close_tasks(self) -> None:
        self._ready = lost = False
        for task in self._tasks:
            # A link that failed once is not asked again: each try would take a whole timeout.
            if not lost:
                try:
                    with translated('close'):
                        task.close()
                except DeviceError:
                    lost = True
        self._tasks.clear()
        self._readers.clear()
        self._outputs.clear()
        self._heartbeat = None

    def _task(self, terminal: str) -> Any:
        assert self._link is not None  # open() makes it first
        task = self._link.task(f'soro_{terminal.replace("/", "_")}')
        self._tasks.append(task)
        return task

    def _make_inputs(self, nidaqmx: Any) -> None:
        # One task per card: cards do not share a converter.
        for card in dict.fromkeys(c.feedback.split('/')[0] for c in self.wiring.channels):
            places = [
                i for i, c in enumerate(self.wiring.channels) if c.feedback.split('/')[0] == card
            ]
            task = self._task(f'{card}/ai')
            for i in places:
                task.ai_channels.add_ai_voltage_chan(
                    self.wiring.channels[i].feedback, min_val=-10.0, max_val=10.0
                )
            reader = nidaqmx.stream_readers.AnalogMultiChannelReader(task.in_stream)
            reader.verify_array_shape = False  # it would ask the device before every read
            self._readers.append((reader, np.zeros(len(places)), places))

    def _make_output(self, nidaqmx: Any, channel: Channel) -> _Counter | _AnalogOutput:
        if not channel.analog:
            return self._make_counter(nidaqmx, channel.command)
        task = self._task(channel.command)
        task.ao_channels.add_ao_voltage_chan(
            channel.command, min_val=0.0, max_val=self.wiring.full_voltage
        )
        writer = nidaqmx.stream_writers.AnalogSingleChannelWriter(task.out_stream, auto_start=True)
        output = _AnalogOutput(writer, self.wiring.full_voltage, self._timeout)
        output.stop()  # whatever the card's state after a reset is
        return output

    def _make_counter(self, nidaqmx: Any, terminal: str) -> _Counter:
        task = self._task(terminal)
        channel = task.co_channels.add_co_pulse_chan_freq(
            terminal, freq=self.wiring.pwm_frequency, duty_cycle=MINIMUM_DUTY
        )
        task.timing.cfg_implicit_timing(
            sample_mode=nidaqmx.constants.AcquisitionType.CONTINUOUS, samps_per_chan=1000
        )
        writer = nidaqmx.stream_writers.CounterWriter(task.out_stream, auto_start=False)
        return _Counter(task, channel, writer, self.wiring.pwm_frequency, self._timeout)

    def _make_line(self, nidaqmx: Any, line: str) -> Any:
        task = self._task(line)
        task.do_channels.add_do_chan(line)
        return nidaqmx.stream_writers.DigitalSingleChannelWriter(task.out_stream, auto_start=True)


@dataclass
class _AnalogOutput:
    """One analog output. It keeps its voltage when its task ends: to stop is to write 0 V."""

    writer: Any
    full_voltage: float
    timeout: float

    def write(self, part: float) -> None:
        """Put out a part of the full voltage, 0 to 1."""
        self.writer.write_one_sample(part * self.full_voltage, timeout=self.timeout)

    def stop(self) -> None:
        """Put out 0 V."""
        self.write(0.0)


@dataclass
class _Counter:
    """One counter output: pulses of a duty cycle, or none with the line low.

    A call that fails may have been carried out: then nobody knows whether the counter runs, and
    the next call stops it first.
    """

    task: Any
    channel: Any
    writer: Any
    frequency: float
    timeout: float
    running: bool | None = False  #: None: not known

    def write(self, duty: float) -> None:
        """Generate pulses of this duty cycle; stop for zero."""
        if duty == 0.0:
            self.stop()
        elif self.running:
            self.writer.write_one_sample_pulse_frequency(
                self.frequency, duty, timeout=self.timeout
            )
        else:
            if self.running is None:
                self.stop()
            # The first pulse after a start is the channel's, not the last one written.
            self.channel.co_pulse_duty_cyc = duty
            self.running = None
            self.task.start()
            self.running = True

    def stop(self) -> None:
        """Stop: the line goes to its idle level, low. A failed stop is tried again next time."""
        self.running = None
        self.task.stop()
        self.running = False
