# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The loop that drives a device: read, judge, decide, limit, write; reconnect; stay safe.

One thread owns the device. Everybody else asks (`arm`, `stop`, `estop`, ...) and the loop acts
between two ticks. The driver node runs it with commands from ROS as its law, a haptic
renderer with its own; limits, watchdogs and safe states are the same.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import time
from typing import Any

import numpy as np

from soro_driver import device as dev
from soro_driver.loop.law import Command, Law
from soro_driver.loop.periodic import PeriodicThread
from soro_driver.loop.requests import Requests, TIMEOUT
from soro_driver.loop.set_point import SetPoint
from soro_driver.loop.tick import Tick
from soro_driver.loop.watchdog import Watchdog
from soro_driver.safety.command_gate import CommandGate, NotNear
from soro_driver.safety.latches import Latches
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.safety.plausibility import Plausibility
from soro_driver.safety.safety_state import ACTIVE, INACTIVE, SAFE, SafetyState
from soro_driver.settings import DriverSettings, RELEASE
from soro_mechanics.core.status import Code

FIRST_RETRY, LAST_RETRY = 0.25, 4.0  # s, doubled after every failed attempt to reconnect
READY_TIMEOUT, READY_POLL = 1.5, 0.02  # s, for helpers of a device that are still starting
IDLE_PATIENCE = 4.0  # times every timeout: a busy computer must not lose a robot at rest


class ControlLoop:
    """Drives one device by one law.

    - `device`: not opened yet; belongs to the loop from now on.
    - `gate`: actuators and their limits.
    - `observer`: gets every `Tick`, in the thread of the loop, after set-points were written.
    - `log`: gets a line whenever the state changes.
    - `failed`: gets the exception that ended the loop; outputs are safe by then.
    - `clock`: steady clock [s].
    - `priority`: SCHED_FIFO priority of the thread; 0: none.
    - `unsafe`: names of devices that could not be made safe; loops that follow each other share
      it.
    - `latches`: stops and the emergency stop; loops that follow each other share them.

    Its attribute `thread` tells how well it keeps time; while that runs, the device is its own.
    """

    def __init__(
        self,
        device: dev.Device,
        law: Law,
        gate: CommandGate,
        settings: DriverSettings,
        observer: Callable[[Tick], None] | None = None,
        log: Callable[[str], None] | None = None,
        failed: Callable[[BaseException], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        priority: int = 0,
        unsafe: set[str] | None = None,
        latches: Latches | None = None,
    ) -> None:
        self.device = device
        self.law = law
        self.gate = gate
        self.settings = settings
        self.safety = SafetyState(latches)
        self.identity: dev.Identity | None = None
        self.reconnections = 0
        self.timeouts = 0
        self._observer = observer or (lambda tick: None)
        self._log = log or (lambda line: None)
        self._report_failure = failed or (lambda error: None)
        self._clock = clock
        self._plausibility = Plausibility(gate.actuators, settings.plausibility)
        self._requests = Requests()
        self.thread = PeriodicThread(
            'control loop', settings.period, self._step, self._failed, priority, self._finish
        )
        self._commands = Watchdog(settings.command_timeout)
        self._feedback = Watchdog(settings.feedback_timeout)
        self._writes = Watchdog(settings.ttl)
        self._reading: dev.Reading | None = None
        self._set_point = SetPoint(gate, settings.period, settings.engage_band)
        self._armed_at = self._began = self._due = math.nan
        self._engaged: Command | None = None
        self._commanded = np.full(len(gate.names), math.nan)
        self._no_flags = np.zeros(len(gate.names), np.uint16)
        self._retry_at, self._retry_after = -math.inf, FIRST_RETRY
        self._unsafe: set[str] = set() if unsafe is None else unsafe
        self._passed = math.nan  # when the last pass ended
        self._finished = False
        self._stop_waits = ''  # why

    # Asked from any thread ------------------------------------------------------------------

    def open(self) -> dev.Identity:
        """Connect for the first time; afterwards the loop reconnects by itself.

        DeviceError: the device is not there or not the right one; nothing is running then.
        """
        return self.between_ticks(self._open)

    def start(self) -> None:
        """Start ticking."""
        self._passed = self._clock()
        self._feedback.feed(self._passed)
        self.thread.start()

    def arm(self) -> None:
        """Let commands move the robot. Raises NotAllowed, DeviceError."""
        end = time.monotonic() + READY_TIMEOUT
        while True:
            try:
                self.between_ticks(self._arm)
                return
            except NotAllowed as error:
                if error.code is not Code.BUSY or time.monotonic() >= end:
                    raise
            time.sleep(READY_POLL)

    def ready(self) -> bool:
        """Whether the device could be armed, as far as it is concerned."""
        return bool(self.between_ticks(self.device.ready))

    def disarm(self) -> None:
        """Make the outputs safe and refuse commands."""
        self.between_ticks(self._disarm)

    def stop(self, reason: str) -> None:
        """Carry out the safe action; nothing moves again before `clear`.

        NotAllowed: the loop does not answer; it stops before anything else once it goes on.
        """
        self._stop_waits = reason
        self.between_ticks(self._heed_stop)

    def estop(self) -> None:
        """Act on a press of the emergency stop; it stays latched until `clear`.

        Waits for nobody and cannot be lost: the loop acts on it before anything else in its next
        pass, however long the present one takes.
        """
        self.safety.press_estop()
        if not self.thread.running:
            self._heed_estop()

    def clear(self) -> None:
        """Clear what is latched and end a safe action; arms nothing, changes nothing while ACTIVE.

        Raises NotAllowed, DeviceError.
        """
        self.between_ticks(self._clear)

    def between_ticks(self, action: Callable[[], Any]) -> Any:
        """Run an action in the thread of the loop, between two ticks; return what it returns."""
        return self._requests.ask(action) if self.thread.running else action()

    def shutdown(self, timeout: float = TIMEOUT) -> bool:
        """Make the outputs safe, close the device, end the thread; whether all that worked.

        A pass that takes longer than `timeout` [s] is left alone: the loop does all that when the
        pass is over, and who asks again waits for it again.
        """
        if not self.thread.stop(timeout):
            self._log('inside a long call of the device; made safe and closed when it returns')
            return False
        self._finish()
        return not self._unsafe

    @property
    def unsafe(self) -> list[str]:
        """Devices not confirmed safe: nobody has opened them again, or the loop is to end yet."""
        names = self._unsafe.copy()  # a loop that was left alone may still change it
        if self.thread.stopping and self.safety.connected:
            names.add(_name(self.identity))
        return sorted(names)

    @property
    def hung(self) -> bool:
        """Whether a pass takes longer than any device may keep it: nobody watches the robot."""
        settings = self.settings
        longest = self.device.open_timeout + max(settings.ttl, settings.feedback_timeout)
        return self.thread.running and self._clock() - self._passed > longest

    # In the thread of the loop ----------------------------------------------------------------

    def tick(self, lateness: float = 0.0) -> Tick:
        """Do one pass (the thread calls this; tests may)."""
        period = self.settings.period
        self._due = self._clock() - lateness % period + period  # what was missed is not made up
        self._heed_estop()
        self._heed_stop()
        self._requests.answer()
        self._heed_estop()  # pressed while a request was carried out
        self._began = now = self._clock()
        flags, self._reading = self._no_flags, None
        if not self.safety.connected:
            self._try_to_reconnect(now)
        elif self.safety.armed:
            self._check_stall(min(lateness, now - self._armed_at))
        if self.safety.connected:
            flags = self._guarded(self._read_and_judge, flags)
        reading = self._reading
        if reading is not None and self.safety.connected:
            flags = flags | self._guarded(lambda: self._drive(reading), self._no_flags)
        return self._tick_result(flags)

    def _step(self, lateness: float) -> None:
        tick = self.tick(lateness)
        if not self.thread.stopping:  # nobody may be there any more to see it
            self._observer(tick)
        self._passed = self._clock()

    def _guarded(self, action: Callable[[], dev.Flags], otherwise: dev.Flags) -> dev.Flags:
        try:
            return action()
        except (dev.DeviceTimeout, dev.DeviceLost) as error:
            late = isinstance(error, dev.DeviceTimeout)
            self.timeouts += late
            # A process that was stopped inside a call has lost time, not the device.
            if self.safety.armed and self._check_stall(self._clock() - self._began):
                return otherwise
            if not late:
                self._lost(str(error))
            elif self._feedback_expired():
                self._lost(f'{error}; {self._age_text()}')
        except dev.DeviceError as error:
            self._fault(error.fault, str(error))
        return otherwise

    def _check_stall(self, lateness: float) -> bool:
        # At rest a stall harms nobody; it is counted among the missed slots.
        stalled = lateness > self.settings.ttl and not self._idle()
        if stalled:
            self._fault(dev.Fault.STALL, f'the control loop was stalled for {lateness:.3f} s')
        return stalled

    def _read_and_judge(self) -> dev.Flags:
        reading = self.device.read()
        self._feedback.feed(reading.time)
        if self._feedback_expired():
            raise dev.DeviceLost(self._age_text())
        self._reading = reading
        finding = self._plausibility.check(reading, self.safety.armed, self._outputs_at_rest())
        if finding.faults:
            names = ', '.join(dev.fault_names(finding.faults, self.device.fault_text))
            self._fault(finding.faults, finding.reason or names)
        if reading.tripped and self.safety.armed:
            self._fault(dev.Fault.DEVICE_WATCHDOG, 'the device went to its safe state by itself')
        return finding.flags

    def _outputs_at_rest(self) -> bool:
        """Whether nothing is driven, and no safe action still runs."""
        state = self.safety.state
        return (state is SAFE and self.safety.safe_done) or state is INACTIVE

    def _feedback_expired(self) -> bool:
        return self._feedback.age(self._clock()) > self._patience() * self._feedback.timeout

    def _patience(self) -> float:
        return IDLE_PATIENCE if self._idle() else 1.0

    def _idle(self) -> bool:
        """Whether nobody commands and every output is at rest: nothing could go wrong."""
        return self._engaged is None and self._set_point.at_rest

    def _age_text(self) -> str:
        return f'no fresh measurement for {self._feedback.age(self._clock()):.3f} s'

    def _drive(self, reading: dev.Reading) -> dev.Flags:
        now = self._clock()
        command = self.law.command(reading, self.safety.accepts_commands, now)
        if not self.safety.armed:
            return self._no_flags
        if self.law.has_let_go() and self._engaged is not None:
            self._begin_safe(f'{self._engaged.source} has let go')  # whoever came after it waits
        elif self.safety.accepts_commands and command is not None:
            self._take(command, reading, now)
        if self._engaged is not None and self._commands.expired(now):
            silence = self._commands.age(now)
            reason = f'no command from {self._engaged.source} for {silence:.3f} s'
            self.safety.latches.stop(reason)
            self._begin_safe(reason)
        if not self.safety.armed:  # the device was lost while it was made safe
            return self._no_flags
        if self.safety.state is SAFE:
            return self._continue_safe(now)
        target = self._set_point.hold if self._engaged is None else self._engaged.values
        return self._write(target, now)

    def _take(self, command: Command, reading: dev.Reading, now: float) -> None:
        """Act on a command from this tick on, unless it is too old or not near enough."""
        if now - command.arrival > self._commands.timeout:
            return
        self._check_finite(command)
        if self._engaged is None:
            try:
                reference = self._set_point.reference(reading)
                self.gate.check_near(command.values, reference, self.settings.engage_band)
            except NotNear as error:
                self.law.refused(command, error)
                return
            self.safety.engage()
            self._log(f'{command.source} is in control')
        self._engaged = command
        self._commanded[:] = command.values
        self._commands.feed(command.arrival)

    def _check_finite(self, command: Command) -> None:
        """Refuse what no limit holds: messages were checked, what a law computes was not."""
        values = command.values.tolist()  # numbers, as arrays of a few take several times as long
        if not all(map(math.isfinite, values)):
            pairs = zip(self.gate.names, values, strict=True)
            names = ', '.join(name for name, value in pairs if not math.isfinite(value))
            raise dev.DeviceError(
                f'{command.source} wants no number for {names}', dev.Fault.INTERNAL
            )

    def _continue_safe(self, now: float) -> dev.Flags:
        if self.settings.safe_action == RELEASE:
            return self._no_flags
        flags = self._write(self.gate.rest, now, self.settings.safe_rate)
        if self._set_point.at_rest:
            self.safety.safe_done = True
        return flags

    def _write(self, target: dev.Array, now: float, rate: dev.Array | None = None) -> dev.Flags:
        values, flags = self._set_point.toward(target, now, rate)
        try:
            self.device.write(values, self._patience() * self.settings.ttl)
        except dev.DeviceTimeout as error:
            age = self._writes.age(self._clock())
            # A device without a watchdog of its own would keep its last set-point for ever.
            if age > self._patience() * self._writes.timeout:
                raise dev.DeviceLost(f'no set-point could be written for {age:.3f} s') from error
            raise
        self._writes.feed(now)
        self._set_point.written(values, now)
        return flags

    def _tick_result(self, flags: dev.Flags) -> Tick:
        reading, safety = self._reading, self.safety
        if reading is None:
            now, applied = self._clock(), np.full(len(self.gate.names), math.nan)
            measured = applied
        else:
            now, applied, measured = reading.time, reading.applied, reading.measured
        return Tick(
            now,
            self._commanded.copy(),
            applied,
            measured,
            flags,
            safety.state,
            safety.present_faults,
            safety.reason,
            self._engaged,
            reading,
            self._due,
            safety.latches.stops,
        )

    # Transitions: outputs first, then the log, which may keep whoever writes waiting ----------

    def _open(self) -> dev.Identity:
        identity = self.device.open()
        if self.identity is not None:
            self.reconnections += 1
        self.identity = identity
        self._unsafe.discard(_name(identity))  # opening leaves the outputs safe
        self._plausibility.restart()
        self._feedback.clear()
        self._feedback.feed(self._clock())
        self._retry_after = FIRST_RETRY
        self.safety.opened()
        self._log(f'connected to {identity.model}, serial {identity.serial}')
        return identity

    def _try_to_reconnect(self, now: float) -> None:
        if now < self._retry_at or self._finished:
            return
        try:
            self._open()
        except dev.DeviceError as error:
            self.device.close()
            self.safety.lost(str(error))
            self._retry_at = self._clock() + self._retry_after
            self._retry_after = min(2.0 * self._retry_after, LAST_RETRY)

    def _lost(self, reason: str) -> None:
        self.safety.lost(reason)
        self._disengage()
        self._reading = None
        self._set_point.rest()
        self._make_safe_quietly()  # one way may still work
        self.device.close()
        self.law.stopped(self._clock())
        self._log(f'device lost: {reason}')
        self._retry_at = self._clock() + self._retry_after

    def _fault(self, bits: int, reason: str) -> None:
        if self.safety.fault(bits, reason):
            self._disengage()
            self._make_safe()
            self.law.stopped(self._clock())
            self._log(f'fault: {reason}')

    def _heed_estop(self) -> None:
        if self.safety.latch_estop():
            self._disengage()
            self._make_safe()
            self.law.stopped(self._clock())
            self._log('emergency stop')

    def _heed_stop(self) -> None:
        if reason := self._stop_waits:
            self._stop_waits = ''
            self.safety.latches.stop(reason)
            self._begin_safe(reason)
            self.law.stopped(self._clock())

    def _begin_safe(self, reason: str) -> None:
        began = self.safety.begin_safe(reason)
        self._disengage()
        if self.settings.safe_action == RELEASE:
            self._make_safe()
        if began:
            self._log(f'safe action: {reason}')

    def _arm(self) -> None:
        self.safety.check_may_arm()
        if not self.device.ready():
            raise NotAllowed(f'{self.device.not_ready}; try again', Code.BUSY)
        reading = self.device.read()
        age = self._clock() - reading.time
        if not age <= self._feedback.timeout:
            raise NotAllowed(f'the newest measurement is {age:.2f} s old', Code.BUSY)
        if np.any(reading.flags & dev.Flag.SENSOR_FAULT):
            pairs = zip(self.gate.names, reading.flags, strict=True)
            bad = [name for name, flags in pairs if flags & dev.Flag.SENSOR_FAULT]
            raise NotAllowed(f'sensor of {", ".join(bad)} is faulty')
        try:
            self.device.arm()
        except dev.DeviceError:
            self._make_safe()  # it may be armed, or a part of it
            raise
        self._set_point.start_from(reading)
        self._commanded[:] = math.nan
        self._plausibility.restart()
        self.law.armed()
        self.safety.arm()
        self._armed_at = self._clock()  # arming may have taken longer than a tick
        self._writes.feed(self._armed_at)
        self._log('armed')

    def _disarm(self) -> None:
        self._disengage()
        self.safety.disarm()
        self._make_safe()

    def _clear(self) -> None:
        self.safety.latches.check_may_clear()
        if self.safety.state is ACTIVE:
            return  # nothing is latched; whoever is in control stays so
        if self.safety.state is SAFE:
            self._disarm()  # a safe action that still ramps is not left half-way
        if self.safety.connected:
            try:
                self.device.reset()
            except dev.DeviceError as error:
                # A reset may open the device anew: without an answer there is no measurement.
                self._lost(f'could not be reset: {error}')
                raise
        self.safety.clear()
        self._plausibility.restart()
        self._log('faults cleared')

    def _disengage(self) -> None:
        self._engaged = None
        self._commands.clear()
        self.law.disengaged()

    def _make_safe(self) -> None:
        if not self.safety.connected:
            return
        self._set_point.rest()
        try:
            self.device.make_safe()
        except dev.DeviceError as error:
            self._lost(f'could not be made safe: {error}')

    def _make_safe_quietly(self) -> None:
        name = _name(self.identity)
        self._unsafe.add(name)  # until the device has answered, whatever is raised
        try:
            self.device.make_safe()
            self._unsafe.discard(name)
        except dev.DeviceError as error:
            self._log(f'not made safe from here: {error}')

    def _failed(self, error: BaseException) -> None:
        self.safety.fault(dev.Fault.INTERNAL, f'error inside the driver: {error!r}')
        self._finish()
        self._report_failure(error)

    def _finish(self) -> None:
        if self._finished:
            return
        self._finished = True
        try:
            if self.safety.connected:
                self._make_safe_quietly()
        except Exception as error:  # noqa: BLE001 - nothing may keep the process from ending
            self._log(f'not made safe from here: {error!r}')
        self.safety.lost('the driver has ended')
        self.device.close()
        self._requests.refuse()


def _name(identity: dev.Identity | None) -> str:
    return 'the device' if identity is None else f'{identity.model} {identity.serial}'.rstrip()
