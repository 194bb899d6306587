# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Devices behind a wire that has faults of its own: what their emulators do alike."""

from __future__ import annotations

from collections.abc import Sequence
import threading
from typing import Any, ClassVar

from soro_emulation.bus_faults import EmulatedBus
from soro_emulation.device_emulator import DeviceEmulator, EmulatorContext
from soro_emulation.serial_pty import SerialPty
from soro_mechanics.core.errors import InvalidInput, UnknownName


class WiredEmulator(DeviceEmulator):
    """A subclass sets `wire`, lists its `faults` with those of the wire, and has its own break."""

    claims: ClassVar[tuple[str, ...]] = ()  # that only an emulated board can be told to make
    wire: SerialPty | EmulatedBus
    _board: Any = None  # of a device that has one; a board to `close` runs reference firmware

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        self._lock = threading.Lock()  # of the device, between the wire's thread and others
        self._moves = False

    def start(self) -> None:
        """Listen."""
        if hasattr(self._board, 'close'):
            self._board.firmware.run()
        self.wire.start()
        self._log.write('listening', address=self.wire.address)

    def advance(self, now: float) -> None:
        """Nothing: the thread of the wire lets time pass."""

    def inject(self, fault: str, values: dict[str, Any]) -> None:
        """Break something."""
        if fault not in self.faults:
            raise UnknownName('fault', fault, self.faults)
        if fault in self.claims and hasattr(self._board, 'close'):
            raise InvalidInput('fault', fault, 'another one, or firmware: emulated')
        if fault == 'none' or fault in self.wire.faults:
            self.wire.inject(fault, values)
        if fault not in self.wire.faults:
            with self._lock:
                self._break(fault, values)

    def _hear(self, frame: Any, now: float) -> list[Any]:
        with self._lock:
            return self._board.receive(frame, now)

    def _note(self, moves: bool, now: float) -> None:
        """Log whether the device could move, where that has changed."""
        if moves != self._moves:
            self._moves = moves
            self._log.write('state', now, state='ARMED' if moves else 'SAFE')

    def in_use(self, now: float) -> bool:
        """Whether the device could move."""
        return self._moves

    @property
    def counters(self) -> dict[str, int]:
        """What faults did to the wire."""
        return self.wire.counters

    def resources(self) -> Sequence[str]:
        """Return what a driver locks."""
        return [self.wire.resource]

    def stop(self) -> None:
        """Stop listening."""
        self.wire.stop()
        if hasattr(self._board, 'close'):
            self._board.close()
