# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What an identification found, as a picture."""

from __future__ import annotations

from dataclasses import replace

from matplotlib.figure import Figure
import numpy as np

from soro_mechanics.identification.fit import Identification, Observations, predict
from soro_mechanics.identification.history_fit import HistoryFit
from soro_mechanics.identification.offsets import Offsets
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.robot import Robot
from soro_node.display_units import shown
from soro_recording.run_data import RunData
from soro_recording.series import Array


def draw_report(
    run: RunData,
    space: ParameterSpace,
    model: str,
    data: Observations,
    found: Identification,
    gravity: Array,
    offsets: Offsets | None = None,
) -> Figure:
    """Draw errors before and after, posture by posture, and what was found with its intervals."""
    figure = Figure(figsize=(11.0, 4.5), layout='constrained')
    figure.suptitle(f'{run.description.title}: identification of model {model}', fontsize=11)
    left, right = figure.subplots(1, 2)
    values = np.array([o.value for o in found.offsets])
    for label, robot, colour in (
        ('before', Robot(run.description, model), '#9aa5b1'),
        ('after', space.robot(found.factors.tolist(), model), '#1f6feb'),
    ):
        robot.gravity = gravity
        seen = _seen(robot, data, offsets, values if label == 'after' else 0.0 * values)
        error = 1e3 * np.linalg.norm(seen - data.poses[:, :3, 3], axis=1)
        left.plot(
            error, 'o-', ms=3, lw=0.8, color=colour, label=f'{label}: worst {error.max():.2f} mm'
        )
    left.set(xlabel='posture', ylabel='error of the tip [mm]')
    left.legend(fontsize=8)
    left.grid(alpha=0.3)
    scales = np.ones(0) if offsets is None else offsets.scales
    centre = np.concatenate([found.factors, 1.0 + values / scales])
    width = [o.high - o.value for o in found.offsets] / scales
    names = [*found.names, *(f'{o.name}: {shown(o.value, o.unit)}' for o in found.offsets)]
    rows = np.arange(len(names))
    ends = np.concatenate([found.high - found.factors, width])
    right.errorbar(centre, rows, xerr=ends, fmt='o', capsize=4, color='#1f6feb')
    right.axvline(1.0, color='#9aa5b1', ls='--', lw=1.0)
    right.set_yticks(rows, names)
    more = '; offsets: 1 + tenths of the range or length' if found.offsets else ''
    right.set_xlabel(f'factor on the robot file, {found.interval}s{more}')
    right.grid(alpha=0.3)
    return figure


def draw_history(run: RunData, found: HistoryFit) -> Figure:
    """Draw errors over time before and after, and what was found of the actuators' past."""
    figure = Figure(figsize=(9.0, 4.5), layout='constrained')
    axes = figure.subplots()
    for label, error, colour in zip(
        ('before', 'after'), found.distances, ('#9aa5b1', '#1f6feb'), strict=True
    ):
        axes.plot(found.seen, 1e3 * error, '.-', ms=3, lw=0.6, color=colour, label=label)
    said = [f'{o.name} {o.low:.3g} to {o.high:.3g} {o.unit}' for o in found.found]
    axes.set(xlabel='time [s]', ylabel='error of the tip [mm]', ylim=(0.0, None))
    axes.set_title(f'{run.description.title}\n' + '\n'.join(said), fontsize=7)
    axes.legend()
    return figure


def _seen(robot: Robot, data: Observations, offsets: Offsets | None, values: Array) -> Array:
    """Return where the model puts what the tracker sees, shape (n, 3) [m]."""
    if offsets is not None:
        data = replace(data, actuation=offsets.actuation(data.actuation, values))
    tips = np.array([q.tip for q in predict(robot, data)])
    return tips[:, :3, 3] if offsets is None else offsets.markers(tips, values)
