# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the renderer says in its diagnostics, beside what every driver says. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from soro_driver.control_loop import ControlLoop
from soro_driver.driver_report import device_status, Level, loop_status, Status

from soro_haptics.environment_messages import words_of
from soro_haptics.haptic_control import HapticControl

Maker = Callable[[], Status]


def status_makers(loop: ControlLoop, control: HapticControl) -> tuple[Maker, ...]:
    """Return what makes the statuses of device, loop, sensing, rendering and timing."""
    return (
        lambda: device_status(loop), lambda: loop_status(loop), lambda: sensor_status(control),
        lambda: rendering_status(control), lambda: timing_status(control),
    )  # fmt: skip


class StatusTurns:
    """Makes one status at a time, in turn; all of them when something has changed.

    The loop takes the interpreter back some dozen times per tick, and each time it may wait for
    the thread that reports (`soro_node.main.SWITCH_INTERVAL`). All statuses at once keep that one
    busy for longer than a tick can wait, one of them does not.
    """

    def __init__(self) -> None:
        self._seen: Hashable = None
        self._next = 0

    def due(self, makers: Sequence[Maker], state: Hashable) -> list[Status]:
        """Return what shall be said now; `state` differs when everything shall be."""
        if state != self._seen:
            self._seen = state
            return [make() for make in makers]
        self._next = (self._next + 1) % len(makers)
        return [makers[self._next]()]


def sensor_status(control: HapticControl) -> Status:
    """Say which sensors are believed."""
    guard = control.haptics.guard
    used = int(guard.good.sum())
    values = {
        'used': used, 'of': len(guard.names), 'misfit': guard.misfit,
        'observable_directions': guard.rank,
    }  # fmt: skip
    if not guard.reason:
        return Status('sensors', Level.OK, 'all flex sensors used', values)
    rest = f'{used} of {len(guard.names)} used' if used else 'encoders alone: hand not felt'
    level = Level.ERROR if guard.calibrated else Level.WARN
    return Status('sensors', level, f'{guard.reason} ({rest})', values)


def rendering_status(control: HapticControl) -> Status:
    """Say what is rendered, and what the energy monitor counted."""
    law = control.haptics.loop.law
    monitor = law.monitor
    values: dict[str, Any] = {
        'environment': words_of(law.environment), 'touched': law.environment.touched,
        'energy_received_J': monitor.received, 'energy_lowest_J': monitor.lowest,
        'energy_left_J': monitor.left, 'steps_limited': monitor.limited,
    }  # fmt: skip
    values |= {f'refused_{name.lower()}': n for name, n in sorted(control.refusals.items())}
    violated = monitor.lowest < -monitor.capacity
    level, text = (Level.ERROR, 'energy given to the hand') if violated else (Level.OK, 'passive')
    return Status('rendering', level, text, values)


def timing_status(control: HapticControl) -> Status:
    """Say how long each stage of a tick takes, since the start or since `clear_timing`."""
    values: dict[str, Any] = {'ticks': control.times.compute.count}
    for name, histogram in control.times.items():
        parts = zip(('p50', 'p99', 'p99.9'), histogram.percentiles(0.5, 0.99, 0.999), strict=True)
        values |= {f'{name}_{part}_ms': 1e3 * value for part, value in parts}
        values[f'{name}_max_ms'] = 1e3 * histogram.largest
    return Status('timing', Level.OK, 'of ticks in control', values)
