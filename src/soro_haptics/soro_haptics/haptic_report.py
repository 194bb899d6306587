# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the renderer says in its diagnostics, beside what every driver says."""

from __future__ import annotations

from typing import Any

from soro_driver.driver_report import Status
from soro_haptics.environment_messages import words_of
from soro_haptics.haptic_control import HapticControl
from soro_mechanics.core.status import Code
from soro_node.diagnostics import Level

UNRENDERED = 0.1  # s without a command of the law, and a person should know
WHY_UNRENDERED = {
    Code.AT_LIMIT: 'AT_LIMIT: no motor torque keeps the limits of torque and angle; less force, '
    'or an object nearer the middle',
    Code.NOT_CONVERGED: 'NOT_CONVERGED: the object asks for what cannot be solved; set another',
}


def sensor_status(control: HapticControl) -> Status:
    """Say which sensors are believed."""
    guard = control.haptics.guard
    used = int(guard.good.sum())
    values = {
        'used': used,
        'of': len(guard.names),
        'misfit': guard.misfit,
        'observable_directions': guard.rank,
    }
    if guard.paused and not (guard.reason and guard.calibrated):
        text = 'paused: the motors follow a target, the hand is not felt'
        return Status('sensors', Level.WARN, text, values)
    if not guard.reason:
        return Status('sensors', Level.OK, 'all flex sensors used', values)
    rest = f'{used} of {len(guard.names)} used' if used else 'encoders alone: hand not felt'
    if guard.paused:
        rest += '; paused: the motors follow a target'
    level = Level.ERROR if guard.calibrated else Level.WARN
    return Status('sensors', level, f'{guard.reason} ({rest})', values)


def rendering_status(control: HapticControl) -> Status:
    """Say what is rendered, and what the energy monitor counted."""
    law, limits = control.haptics.loop.law, control.haptics.limits
    monitor = law.monitor
    values: dict[str, Any] = {
        'environment': words_of(law.environment),
        'touched': law.environment.touched,
        'expected_hand': limits.hand,
        'softest_N_per_m': limits.softest,
        'stiffest_N_per_m': limits.stiffness,
        'stiffest_Nm_per_rad': limits.rotational_stiffness,
        'energy_received_J': monitor.received,
        'energy_lowest_J': monitor.lowest,
        'energy_left_J': monitor.left,
        'steps_limited': monitor.limited,
        'ringings': law.oscillation.episodes,
    }
    values |= {f'refused_{name.lower()}': n for name, n in sorted(control.refusals.items())}
    violated = monitor.lowest < -monitor.capacity
    if violated:
        return Status('rendering', Level.ERROR, 'energy given to the hand', values)
    if control.unrendered * law.setup.period > UNRENDERED:
        why = WHY_UNRENDERED.get(control.refusal, control.refusal.name)
        return Status('rendering', Level.WARN, f'not rendered, the motors stay: {why}', values)
    if law.oscillation.slow:
        text = 'the handle rang: the motors follow slowly until it has been quiet for '
        text += f'{law.oscillation.patience:g} s; held softer than expected_hand?'
        return Status('rendering', Level.WARN, text, values)
    return Status('rendering', Level.OK, 'passive', values)


def timing_status(control: HapticControl) -> Status:
    """Say how long each stage of a tick takes, since the start or since `clear_timing`."""
    values: dict[str, Any] = {'ticks': control.times.compute.count}
    for name, histogram in control.times.items():
        parts = zip(('p50', 'p99', 'p99.9'), histogram.percentiles(0.5, 0.99, 0.999), strict=True)
        values |= {f'{name}_{part}_ms': 1e3 * value for part, value in parts}
        values[f'{name}_max_ms'] = 1e3 * histogram.largest
    return Status('timing', Level.OK, 'of ticks in control', values)
