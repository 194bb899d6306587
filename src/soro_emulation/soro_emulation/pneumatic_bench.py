# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Regulators, monitors and the safety relay of one robot. Pure: it is told the time."""

from __future__ import annotations

from dataclasses import dataclass
import threading
from typing import Any

import numpy as np

from soro_emulation.analog_input import AnalogInputs, AnalogProperties, Array
from soro_emulation.event_log import EventLog
from soro_emulation.injected_fault import finite
from soro_emulation.safety_relay import RelayProperties, SafetyRelay
from soro_mechanics.actuator_models.regulator import RegulatorBank, RegulatorProperties

CHANNEL_FAULTS = ('leak', 'blocked', 'stuck_open', 'sensor', 'sensor_frozen')
VENTED, PRESSURISED = 0.02, 0.05  # of the range: reported in the log with a gap in between


@dataclass(frozen=True)
class BenchProperties:
    """Everything a pneumatic bench is made of; `relay` None: the supply is always on."""

    regulator: RegulatorProperties
    analog: AnalogProperties
    relay: RelayProperties | None


class PneumaticBench:
    """The physical side of a robot driven by regulators. Safe from any thread.

    - `names`: actuators.
    - `span` (m,): range of each pressure [Pa], for the log.
    - `monitors`: pressure per volt of the monitors [Pa/V] and their voltages without pressure [V];
      numbers or arrays of shape (m,).
    - `now`: time of birth [s, CLOCK_MONOTONIC].
    """

    def __init__(
        self,
        names: tuple[str, ...],
        span: Array,
        monitors: tuple[Array | float, Array | float],
        properties: BenchProperties,
        seed: int,
        log: EventLog,
        now: float,
    ) -> None:
        count = len(names)
        generator = np.random.default_rng(seed)
        self.names = names
        self.regulators = RegulatorBank(count, properties.regulator, generator)
        self.inputs = AnalogInputs(count, properties.analog, generator)
        self._relay = None if properties.relay is None else SafetyRelay(properties.relay)
        self._scale, self._zero = monitors
        self._span = np.asarray(span, dtype=float)
        self._log = log
        self._setpoint = np.zeros(count)
        self._noted = np.zeros(count)
        self._now = now
        self._pressurised = False
        self._lock = threading.RLock()
        self.regulators.supplied = self._relay is None

    def advance(self, now: float) -> None:
        """Let time pass up to `now` [s]; the relay drops out on the way where it is due."""
        with self._lock:
            if self._relay is not None and self.regulators.supplied:
                drop = self._relay.drops_at
                if drop < now:
                    self._advance_to(max(drop, self._now))
                    self._switch(False, drop)
            self._advance_to(now)

    def command(self, index: int, pressure: float, now: float, noted: bool = True) -> None:
        """Set the command input of one regulator [Pa]; `noted`: in the log, if it has changed."""
        with self._lock:
            self.advance(now)
            self._setpoint[index] = pressure
            if noted and pressure != self._noted[index]:
                self._noted[index] = pressure
                self._log.write('output', now, actuator=self.names[index], pressure=pressure)

    def heartbeat(self, now: float) -> None:
        """Note an edge of the heartbeat line."""
        with self._lock:
            self.advance(now)
            if self._relay is not None:
                self._relay.edge(now)
                if self._relay.closed(now) and not self.regulators.supplied:
                    self._switch(True, now)

    def dump(self, opened: bool, now: float) -> None:
        """Open or close a dump valve: the supply cut and every line open to the air."""
        with self._lock:
            self.advance(now)
            if self.regulators.supplied == opened:
                self._switch(not opened, now)

    def fill(self, volumes: Array, within: float) -> None:
        """Let the chambers behind the regulators have other volumes `within` a time [s]."""
        with self._lock:
            self.regulators.fill(volumes, within)

    def break_channel(self, fault: str, index: int, values: dict[str, Any]) -> None:
        """Inject one of `CHANNEL_FAULTS` into a regulator or the monitor beside it."""
        if fault == 'leak':
            self.regulators.leak[index] = finite(values, 'rate', 20.0)
        elif fault == 'blocked':
            self.regulators.blocked[index] = True
        elif fault == 'stuck_open':
            self.regulators.stuck_open[index] = True
        elif fault == 'sensor':
            self.inputs.forced[index] = finite(values, 'voltage', -0.5)
        else:
            self.inputs.frozen[index] = True

    def monitors(self, now: float) -> Array:
        """Convert every monitor [V]."""
        with self._lock:
            self.advance(now)
            return self.inputs.convert(self.regulators.pressure / self._scale + self._zero)

    def pressures(self, now: float) -> Array:
        """Return the true pressures [Pa]."""
        with self._lock:
            self.advance(now)
            return self.regulators.pressure.copy()

    def in_use(self, now: float) -> bool:
        """Whether a driver keeps the supply connected, or there is still pressure."""
        with self._lock:
            self.advance(now)
            supplied = self._relay is not None and self.regulators.supplied
            return bool(supplied or self._setpoint.any() or self._pressurised)

    def clear_faults(self) -> None:
        """Repair everything."""
        with self._lock:
            self.regulators.clear_faults()
            self.inputs.clear_faults()

    def _advance_to(self, now: float) -> None:
        if now > self._now:
            self.regulators.advance(self._setpoint, now - self._now)
            self._now = now
            self._report(now)

    def _switch(self, closed: bool, now: float) -> None:
        self.regulators.supplied = closed
        self._log.write('relay', now, closed=closed)

    def _report(self, now: float) -> None:
        highest = max((self.regulators.pressure / self._span).tolist())
        if self._pressurised and highest < VENTED:
            self._pressurised = False
            self._log.write('vented', now)
        elif not self._pressurised and highest > PRESSURISED:
            self._pressurised = True
            self._log.write('pressurised', now)
