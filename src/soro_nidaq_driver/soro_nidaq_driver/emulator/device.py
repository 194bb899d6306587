# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""NI cards with a pneumatic bench behind them, as the emulated device `nidaq`."""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import Any

import numpy as np

from soro_emulation.analog_input import AnalogProperties
from soro_emulation.device_emulator import Array, DeviceEmulator, EmulatorContext
from soro_emulation.injected_fault import actuator_index, finite
from soro_emulation.pneumatic_bench import BenchProperties, CHANNEL_FAULTS, PneumaticBench
from soro_emulation.safety_relay import RelayProperties
from soro_mechanics.actuator_models.regulator import read_regulator
from soro_mechanics.core.errors import InvalidInput, MissingPackage
from soro_mechanics.core.missing_package import how_to_install
from soro_mechanics.robot_file.record import read_optional
from soro_nidaq_driver.device import supervised
from soro_nidaq_driver.emulator.card import Cards
from soro_nidaq_driver.transport import resources
from soro_nidaq_driver.wiring import read_wiring

try:
    from soro_nidaq_driver.emulator.server import NidaqServer, NidaqService
except ImportError as error:
    hint = how_to_install('nidaqmx[grpc]')
    raise MissingPackage(
        f"the emulated NI card needs NI-DAQmx's client: {error}; {hint}"
    ) from None


class NidaqEmulator(DeviceEmulator):
    """Serves the nidaqmx client; see docs/hardware/nidaq.md for what can be broken."""

    faults = ('none', *CHANNEL_FAULTS, 'supply', 'error', 'silent', 'late')

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        self._wiring = wiring = read_wiring(context.wiring, context.robot)
        with context.properties as section:
            properties = BenchProperties(
                read_regulator(section),
                read_optional(section, 'sensor', AnalogProperties),
                read_optional(section, 'relay', RelayProperties) if wiring.heartbeat else None,
            )
        span = context.robot.maximum - context.robot.minimum
        names = tuple(c.actuator for c in wiring.channels)
        monitors = wiring.columns['feedback_scale'], wiring.columns['feedback_zero']
        self._bench = PneumaticBench(
            names, span, monitors, properties, context.seed, context.log, now
        )
        self._counters = {c.command: i for i, c in enumerate(wiring.channels)}
        self._inputs = {c.feedback: i for i, c in enumerate(wiring.channels)}
        wired = [*self._counters, *self._inputs, wiring.heartbeat]
        cards = Cards(wiring.cards, self._output, self._analog, self._line, wired)
        self._level = False
        self._service = NidaqService(cards, self._volts)
        self._server = NidaqServer(self._service, context.endpoint.port)
        self._address = context.endpoint.address

    def start(self) -> None:
        """Listen."""
        self._server.start()
        self._log.write('listening', address=self._address)

    def advance(self, now: float) -> None:
        """Let the bench follow the time."""
        self._bench.advance(now)

    def actuation(self, now: float) -> Array:
        """Return the true pressures [Pa]."""
        return self._bench.pressures(now)

    def bear(self, reaction: Array, within: float) -> None:
        """Take how much air the chambers hold."""
        self._bench.fill(reaction, within)

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        if fault == 'none':
            self._bench.clear_faults()
            self._service.inject_error('', 0)
            self._service.be_silent(False)
            self._service.be_late(0.0)
        elif fault == 'late':
            delay = finite(values, 'delay', 0.2)
            if not 0.0 <= delay <= 10.0:
                raise InvalidInput('delay', delay, 'seconds, 0 to 10')
            self._service.be_late(delay)
        elif fault == 'silent':
            self._service.be_silent(True)
        elif fault == 'error':
            call = str(values.get('call', 'ReadAnalogF64'))
            self._service.inject_error(call, int(finite(values, 'code', -201190.0)))
        elif fault == 'supply':
            self._bench.regulators.supply = finite(values, 'pressure', 0.0)
        else:
            index = actuator_index(values, self._bench.names)
            self._bench.break_channel(fault, index, values)

    @property
    def counters(self) -> dict[str, int]:
        """What happened to calls."""
        return self._service.counters

    def in_use(self, now: float) -> bool:
        """Whether the heartbeat keeps the supply connected, or pressure is still up."""
        return self._bench.in_use(now)

    def resources(self) -> Sequence[str]:
        """Return the cards, and what the supervisor beside a driver holds."""
        cards = self._wiring.cards
        return [*resources(self._address, cards), *supervised(self._address, cards)]

    def stop(self) -> None:
        """Stop listening."""
        self._server.stop()

    def _volts(self, terminals: list[str]) -> list[float]:
        all_volts = self._bench.monitors(time.monotonic())
        # An input that nothing is wired to reads zero.
        return [float(all_volts[self._inputs[t]]) if t in self._inputs else 0.0 for t in terminals]

    def _output(self, counter: str, duty: float) -> None:
        if counter in self._counters:
            index = self._counters[counter]
            pressure = self._wiring.pressures_of_duties(np.full(len(self._counters), duty))[index]
            self._bench.command(index, float(pressure), time.monotonic())

    def _analog(self, terminal: str, volts: float) -> None:
        self._output(terminal, volts / self._wiring.full_voltage)

    def _line(self, name: str, level: bool) -> None:
        if name == self._wiring.heartbeat and level != self._level:
            self._level = level
            self._bench.heartbeat(time.monotonic())
