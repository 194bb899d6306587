# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a driver says in its diagnostics: device, commands, loop."""

from __future__ import annotations

from dataclasses import dataclass
import time
from typing import Any

from soro_driver.device import DeviceState, fault_names
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import CommandArbiter
from soro_node.diagnostics import Level

MISSED_WARNING = 0.01  # part of all slots: the loop is not what it is supposed to be
LOST = 'device lost, outputs not confirmed safe'
HUNG = 'control loop does not answer, outputs not confirmed safe'


@dataclass(frozen=True)
class Status:
    """One status of the diagnostics; numbers that vary are in `values`, never in `message`."""

    name: str
    level: Level
    message: str
    values: dict[str, Any]


def device_status(loop: ControlLoop, emulated: bool | None) -> Status:
    """Say what the device does and what it takes to move again.

    `emulated` is None for whoever owns no device.
    """
    safety, identity = loop.safety, loop.identity
    state = safety.state
    faults = fault_names(safety.faults, loop.device.fault_text)
    level, message = {
        DeviceState.ACTIVE: (Level.OK, 'active'),
        DeviceState.INACTIVE: (
            Level.OK,
            'inactive: outputs safe; activate or call driver/clear_fault',
        ),
        DeviceState.SAFE: (
            Level.WARN,
            'safe: stopped or commands lost; call driver/clear_fault, then send a new target'
            if safety.latches.stopped
            else 'safe: its source has let go; send a new target, after driver/clear_fault where '
            'on_command_loss is release',
        ),
        DeviceState.FAULT: (Level.ERROR, f'fault: {", ".join(faults)}; call driver/clear_fault'),
        DeviceState.ESTOP: (Level.ERROR, 'emergency stop: release it, call driver/clear_fault'),
        DeviceState.UNCONFIGURED: (Level.STALE, 'no device; reconnecting'),
    }[state]
    if state is DeviceState.UNCONFIGURED and identity is not None:
        level, message = Level.ERROR, 'device lost; reconnecting'
    if state is DeviceState.ESTOP and not safety.connected:
        message = f'emergency stop; {LOST}'
    if loop.hung:
        level, message = Level.ERROR, HUNG
    values = {
        'state': state.name,
        'reason': safety.reason,
        'faults': f'{safety.present_faults:#010x}',
        'not_made_safe': ', '.join(loop.unsafe),
        'model': '' if identity is None else identity.model,
        'serial': '' if identity is None else identity.serial,
        'reconnections': loop.reconnections,
        'timeouts': loop.timeouts,
    }
    if emulated is not None:
        values['emulated'] = str(emulated).lower()
    values |= {f'link_{name}': count for name, count in loop.device.link_counts().items()}
    return Status('device', level, message, values)


def left_unsafe(loop: ControlLoop | None) -> str:
    """Say what a loop that was told to end has left unsafe; empty: nothing."""
    if loop is None or not (loop.thread.running or loop.unsafe):
        return ''
    return ': '.join(filter(None, ('outputs not made safe from here', ', '.join(loop.unsafe))))


def command_status(inlet: CommandArbiter) -> Status:
    """Say who commands and what was refused."""
    owner = inlet.owner(time.monotonic())
    values = {'source': owner, 'accepted': inlet.accepted, 'rejected': inlet.rejected.total()}
    values |= {f'rejected_{name.lower()}': n for name, n in sorted(inlet.rejected.items())}
    values['last_rejection'] = inlet.last_rejection
    message = f'commanded by {owner}' if owner else 'nobody commands'
    return Status('commands', Level.OK, message, values)


def loop_status(loop: ControlLoop) -> Status:
    """Say how well the loop keeps time."""
    figures, note = loop.thread.statistics.figures(), loop.thread.note
    level, message = Level.OK, 'in time'
    if loop.hung:
        level, message = Level.ERROR, HUNG
    elif figures.missed_part > MISSED_WARNING:
        level, message = Level.WARN, 'slots missed'
    values: dict[str, Any] = {'rate_hz': 1.0 / figures.period}
    for name, numbers in (('lateness', figures.lateness), ('work', figures.work)):
        for part, value in zip(('p50', 'p99', 'p99.9', 'max'), numbers, strict=True):
            values[f'{name}_{part}_ms'] = 1e3 * value
    values |= {'ticks': figures.ticks, 'missed': figures.missed, 'scheduling': note}
    return Status('loop', level, message, values)
