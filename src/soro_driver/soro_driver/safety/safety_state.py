# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The safety state of a driven device: what may move, and what it takes to move again.

Four facts are kept (connected, armed, safe action running, latched faults and e-stop); the state
is derived from them, so that no combination of events reaches an inconsistent one. Nothing here
resumes by itself: a person arms, and what a stop, a lost command, a fault or the e-stop has ended
stays so until a person clears it. Only a source that has let go itself (a release) is followed by
the next first command from where the robot is.

    UNCONFIGURED --opened--> INACTIVE --arm--> ACTIVE --stop, command lost, release--> SAFE
         ^                    ^ ^  ^             | ^                                    | |
         |                    | |  +---disarm----+ +---first command, after a release---+ |
         |                    | +---------------------------clear-------------------------+
         +--lost (any state)  +--clear-- FAULT, ESTOP <-- fault, e-stop (any state)
"""

from __future__ import annotations

from soro_driver.device import DeviceState, Fault
from soro_driver.safety.latches import Latches
from soro_driver.safety.not_allowed import NotAllowed
from soro_mechanics.core.status import Code

# Looked up once: to take a member from its class costs more than what is asked of it in a tick.
UNCONFIGURED, INACTIVE, ACTIVE, SAFE, FAULT, ESTOP = DeviceState


class SafetyState:
    """Facts about one device and the state that follows from them.

    - `latches`: what only a person ends; default: latches of its own.

    Its attributes:
    - `connected`: whether the device answers; what does not is not confirmed safe by any request.
    - `faults`: latched fault bits.
    - `safe_done`: in SAFE: the safe action has ended; whoever carries it out says so here.
    """

    def __init__(self, latches: Latches | None = None) -> None:
        self.latches = Latches() if latches is None else latches
        self.faults = 0
        self.safe_done = False
        self._cause = ''  # of what is latched, or of the safe action
        self._loss = ''  # why the device does not answer
        self.connected = False
        self._armed = False
        self._safe = False
        self._estop_waits = False  # pressed, and not latched yet
        self._estop_latched = False

    @property
    def state(self) -> DeviceState:
        """The state, worst first."""
        if self._estop_latched:
            return ESTOP
        if not self.connected:
            return UNCONFIGURED
        if self.faults:
            return FAULT
        if not self._armed:
            return INACTIVE
        return SAFE if self._safe else ACTIVE

    @property
    def reason(self) -> str:
        """Why the state is what it is, for a person; empty while nothing is wrong."""
        now = '; '.join(part for part in (self._cause, self._loss) if part)
        return now or self.latches.stopped

    @property
    def present_faults(self) -> int:
        """Latched fault bits; COMMUNICATION while the device does not answer; STOPPED."""
        bits = self.faults | (0 if self.connected else int(Fault.COMMUNICATION))
        return bits | (int(Fault.STOPPED) if self.latches.stopped else 0)

    @property
    def armed(self) -> bool:
        """Whether set-points are sent (ACTIVE and SAFE)."""
        return self.state in (ACTIVE, SAFE)

    @property
    def accepts_commands(self) -> bool:
        """ACTIVE, or SAFE after a release when the safe action has ended; never after a stop."""
        if self.latches.stopped:
            return False
        state = self.state
        return state is ACTIVE or (state is SAFE and self.safe_done)

    def opened(self) -> None:
        """Note that the device answers: it is connected and not armed."""
        self.connected, self._armed, self._safe = True, False, False
        self._loss = ''
        if not self.faults and not self._estop_latched:
            self._cause = ''

    def lost(self, reason: str) -> None:
        """Note that the device does not answer; one that was armed waits for a person then.

        What is latched stays its own cause: the reason names both.
        """
        if self._armed:
            self.latches.stop(f'device lost: {reason}')
        self.connected, self._armed, self._safe = False, False, False
        self._loss = reason
        if not self.faults and not self._estop_latched:
            self._cause = ''

    def check_may_arm(self) -> None:
        """Refuse to arm unless the device answers and nothing is latched.

        NotAllowed: saying what has to be done first.
        """
        state = self.state
        if state is ESTOP:
            raise NotAllowed('emergency stop: release it, then call driver/clear_fault')
        if self.latches.stopped:
            raise NotAllowed(f'{self.latches.stopped}; call driver/clear_fault to move again')
        if state is UNCONFIGURED:
            raise NotAllowed(f'no device: {self._loss or "not connected yet"}')
        if state is FAULT:
            raise NotAllowed(
                f'latched fault: {self.reason}; remove the cause, then call driver/clear_fault',
                Code.DEVICE_FAULT,
            )

    def arm(self) -> None:
        """Become ACTIVE; `check_may_arm` is the condition."""
        self.check_may_arm()
        self._armed, self._safe, self.safe_done, self._cause = True, False, False, ''

    def disarm(self) -> None:
        """Become INACTIVE (from ACTIVE or SAFE)."""
        self._armed, self._safe = False, False

    def begin_safe(self, reason: str) -> bool:
        """Begin the safe action; whether it was not running already."""
        if not self._armed:
            return False
        began = not self._safe
        self._safe, self.safe_done, self._cause = True, False, reason
        return began

    def engage(self) -> None:
        """Leave SAFE after a release: a new first command was accepted."""
        if self.accepts_commands:
            self._safe, self.safe_done, self._cause = False, False, ''

    def fault(self, bits: int, reason: str) -> bool:
        """Latch faults; whether any of them is new. The first reason is kept: it is the cause."""
        new = bits & ~self.faults
        if new and not self.faults and not self._estop_latched:
            self._cause = reason
        self.faults |= bits
        if new:
            self.latches.count()
        if self.faults:
            self._armed, self._safe = False, False
        return bool(new)

    def press_estop(self) -> None:
        """Note the e-stop, from any thread; `latch_estop` acts on it, and no press is lost."""
        self._estop_waits = True

    def latch_estop(self) -> bool:
        """Latch an e-stop that was pressed since the last call; whether it was not before.

        Releasing it does not unlatch.
        """
        if not self._estop_waits:
            return False
        self._estop_waits = False  # before latching: what is pressed from here on waits again
        if self._estop_latched:
            return False
        self._estop_latched, self._armed, self._safe = True, False, False
        self.latches.count()
        self._cause = 'emergency stop'
        return True

    def clear(self) -> None:
        """Forget latched faults, stops and the e-stop; becomes INACTIVE, arms nothing."""
        self.latches.clear()
        self.faults, self._estop_latched, self._armed, self._safe = 0, False, False, False
        self._cause = ''
