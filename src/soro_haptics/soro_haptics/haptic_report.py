# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the renderer says in its diagnostics, beside what every driver says. Pure."""

from __future__ import annotations

from typing import Any

from soro_driver.driver_report import Level, Status

from soro_haptics.environment_messages import words_of
from soro_haptics.haptic_control import HapticControl


def haptic_statuses(control: HapticControl) -> list[Status]:
    """Return the statuses of sensing, rendering and timing."""
    return [sensor_status(control), rendering_status(control), timing_status(control)]


def sensor_status(control: HapticControl) -> Status:
    """Say which sensors are believed."""
    guard = control.haptics.guard
    used = int(guard.good.sum())
    values = {
        'used': used, 'of': len(guard.names), 'misfit': guard.misfit,
        'observable_directions': guard.rank,
    }  # fmt: skip
    if guard.paused:
        text = 'paused: the motors follow a target, the hand is not felt'
        return Status('sensors', Level.WARN, text, values)
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
