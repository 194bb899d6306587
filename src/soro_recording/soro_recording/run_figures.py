# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a recorded run: actuation, shape, path, stiffness, timing."""

from __future__ import annotations

from dataclasses import dataclass
import math
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, NullFormatter
import numpy as np

from soro_mechanics.robot import Robot
from soro_node.display_units import SHOWN, shown
from soro_node.file_errors import writing
from soro_recording.run_data import COMMANDED, PRESENT, RunData, Shapes, TRUTH
from soro_recording.series import Array, at, broken

if TYPE_CHECKING:
    from soro_recording.identify_tip import Measured

COLOURS = ('#1f6feb', '#d1570a', '#117a65', '#7d3c98', '#b7950b', '#555555')
FIGURES = ('actuation', 'timing', 'shape', 'stiffness', 'path', 'tip')  # all there are
SHAPES_DRAWN = 25
STIFFNESS_SAMPLES = 60
STREAMS = ('actuator_state', 'actuator_command', 'tip_pose', 'configuration')
MM, MS = 1e3, 1e3
NOISE = 1e-4  # m: a tip that has gone less far has not moved
DPI = 110
COMPARED = [
    ('measured', 'commanded'),
    ('plant', 'commanded'),
    ('model', 'commanded'),
    ('model', 'measured'),
    ('model', 'plant'),
]


@dataclass(frozen=True)
class Drawn:
    """A figure that was made, and what it says in numbers (SI; None: nothing to tell it by)."""

    name: str
    figure: Figure
    numbers: dict[str, float | None]

    def save(self, folder: Path, kind: str = 'png') -> Path:
        """Write the figure as PNG, PDF or SVG."""
        return save_figure(self.figure, folder / f'{self.name}.{kind}')


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure, in the format that the name ends with; return where."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=DPI)
    return path


def draw_all(run: RunData, measured: Measured | None = None) -> list[Drawn]:
    """Draw every figure that the recording has the data for, the tip also as a tracker saw it."""
    shapes = run.shapes(PRESENT)
    drawn = [_actuation(run), _timing(run, shapes)]
    if shapes is not None:
        drawn += [_shape(run, shapes), _stiffness(run, shapes)]
    if run.paths():
        drawn.append(_path(run))
    if run.has('tip_pose'):
        drawn.append(_tip(run, measured))
    return drawn


def _figure(run: RunData, title: str, size: tuple[float, float]) -> Figure:
    figure = Figure(figsize=size, layout='constrained')
    figure.suptitle(f'{run.description.title}: {title}', fontsize=11)
    return figure


def _actuation(run: RunData) -> Drawn:
    data, actuators = run.actuation, run.actuators
    kinds = dict.fromkeys(a.quantity for a in actuators)
    of_kind = [[i for i, a in enumerate(actuators) if a.quantity == kind] for kind in kinds]
    # each panel with one unit, and every colour once
    most = len(COLOURS)
    parts = [found[k : k + most] for found in of_kind for k in range(0, len(found), most)]
    figure = _figure(run, 'actuation', (10.0, max(5.5, 2.4 * len(parts))))
    panels = figure.subplots(len(parts), 1, sharex=True, squeeze=False)[:, 0]
    numbers: dict[str, float | None] = {}
    first: dict[str, Axes] = {}
    stand_in = data.stand_in
    for ax, part in zip(panels, parts, strict=True):
        quantity, (unit, size) = actuators[part[0]].quantity, SHOWN[actuators[part[0]].unit]
        if quantity in first:
            ax.sharey(first[quantity])
        first.setdefault(quantity, ax)
        for i, colour in zip(part, COLOURS, strict=False):
            name, measured = actuators[i].name, data.measured[:, i]
            ax.plot(data.time, data.commanded[:, i] / size, ':', color=colour, lw=1.0)
            ax.plot(data.time, stand_in[:, i] / size, '-.', color=colour, lw=1.0)
            ax.plot(data.time, measured / size, color=colour, lw=1.0, label=name)
            numbers[f'{name}_rmse'] = _rms(measured - data.commanded[:, i])
        ranges = [(actuators[i].minimum, actuators[i].maximum) for i in part]
        for limit in sorted({limit for ends in ranges for limit in ends}):
            ax.axhline(limit / size, color='#c0392b', ls='--', lw=0.8)
        ax.plot([], [], color='#c0392b', ls='--', lw=0.8, label='limit')
        ax.plot([], [], ':', color='black', lw=1.0, label='commanded')
        if np.isfinite(stand_in).any():
            ax.plot([], [], '-.', color='black', lw=1.0, label='applied, not measured')
        last = 'time [s]' if ax is panels[-1] else ''
        _finish(ax, last, f'{quantity.replace("_", " ")} [{unit}]')
    return Drawn('actuation', figure, numbers)


def _tip(run: RunData, measured: Measured | None) -> Drawn:
    figure = _figure(run, 'position of the tip', (10.0, 5.5))
    axes = figure.subplots(3, 1, sharex=True)
    time, pose = run.tip()
    source = run.actuation.source
    curves = {'model': (f'model from {source} actuation (tip_pose)', time, pose[:, :3])}
    for name, label, topic in (
        ('commanded', 'model from commanded actuation', COMMANDED),
        ('plant', 'emulated plant', TRUTH),
    ):
        other = run.shapes(topic)
        if other is not None:
            curves[name] = (label, other.time, other.tip[:, :3])
    if 'commanded' in curves:
        label, when, there = curves['commanded']
        followed = run.commanded_at(when)[:, None]
        curves['commanded'] = (label, when, np.where(followed, there, np.nan))
    if measured is not None:
        curves['measured'] = (f'measured: {measured.topic}', measured.time, measured.poses[:, :3])
    numbers: dict[str, float | None] = {}
    for one, other_one in COMPARED:
        if one in curves and other_one in curves:
            (_, when, here), (_, t, p) = curves[one], curves[other_one]
            apart = np.linalg.norm(at(t, p, when) - here, axis=1)
            numbers[f'rmse_{one}_to_{other_one}'] = _rms(apart)
    for (label, t, p), colour in zip(curves.values(), COLOURS, strict=False):
        t, p = broken(t, p)
        for i, ax in enumerate(axes):
            ax.plot(t, MM * p[:, i], color=colour, lw=1.0, label=label)
    for i, ax in enumerate(axes):
        _finish(ax, 'time [s]' if i == 2 else '', f'{"xyz"[i]} [mm]', legend=i == 0)
        ax.ticklabel_format(useOffset=False)
        low, high = ax.get_ylim()
        room = max(0.0, MM * NOISE - (high - low)) / 2.0  # what is at rest is a straight line
        ax.set_ylim(low - room, high + room)
    return Drawn('tip', figure, numbers)


def _shape(run: RunData, shapes: Shapes) -> Drawn:
    figure = _figure(run, f'shape over time, model {_named(shapes)}', (12.0, 5.5))
    chosen = _along_the_way(shapes)
    scale = Normalize(shapes.time[0], shapes.time[-1])
    colours = colormaps['viridis'](scale(shapes.time[chosen]))
    space = figure.add_subplot(1, 3, 1, projection='3d')
    flat = [figure.add_subplot(1, 3, n) for n in (2, 3)]
    backbones = run.backbones(PRESENT, chosen)
    for lines, colour in zip(backbones, colours, strict=True):
        for line in lines:
            points = MM * line.T
            space.plot(*points, color=colour, lw=1.0)
            for ax, (i, j) in zip(flat, ((0, 2), (1, 2)), strict=True):
                ax.plot(points[i], points[j], color=colour, lw=1.0)
    low, high = np.array([space.get_xlim(), space.get_ylim(), space.get_zlim()]).T
    middle, half = (low + high) / 2.0, np.max(high - low) / 2.0
    for axis, a, b in zip('xyz', middle - half, middle + half, strict=True):
        space.set(**{f'{axis}lim': (a, b)})
    space.set_box_aspect((1.0, 1.0, 1.0), zoom=0.8)
    space.locator_params(nbins=4)
    space.set(xlabel='x [mm]', ylabel='y [mm]', zlabel='z [mm]')
    for ax, name in zip(flat, 'xy', strict=True):
        ax.set_aspect('equal', adjustable='datalim')
        _finish(ax, f'{name} [mm]', 'z [mm]', legend=False)
    import matplotlib.cm

    figure.colorbar(
        matplotlib.cm.ScalarMappable(scale, 'viridis'), ax=flat, label='time [s]', shrink=0.8
    )
    shortest, longest = float(np.min(shapes.lengths)), float(np.max(shapes.lengths))
    which = 'backbone' if len(backbones[0]) == 1 else 'sum_of_backbones'
    numbers = {f'shortest_{which}': shortest, f'longest_{which}': longest}
    return Drawn('shape', figure, numbers)


def _path(run: RunData) -> Drawn:
    figure = _figure(run, 'desired and actual path', (12.0, 5.5))
    left, middle, right = figure.subplots(1, 3)
    numbers: dict[str, float | None] = {}
    for n, path in enumerate(run.paths()):
        colour = COLOURS[n % len(COLOURS)]
        for ax, (i, j) in ((left, (0, 1)), (middle, (0, 2))):
            ax.plot(MM * path.desired[:, i], MM * path.desired[:, j], 'k--', lw=1.0)
            ax.plot(MM * path.actual[:, i], MM * path.actual[:, j], color=colour, lw=1.2)
        label = f'path {n + 1}: RMSE of the distance {shown(path.rmse, "m")}'
        right.plot(
            np.linspace(0, 100, len(path.distances)),
            MM * path.distances,
            color=colour,
            lw=1.0,
            label=label,
        )
        numbers[f'path_{n + 1}_rmse'] = path.rmse
        numbers[f'path_{n + 1}_peak'] = float(path.distances.max())
    for ax, (i, j) in ((left, 'xy'), (middle, 'xz')):
        ax.set_aspect('equal', adjustable='datalim')
        _finish(ax, f'{i} [mm]', f'{j} [mm]', legend=False)
    left.set_title('dashed: desired', fontsize=9)
    # Which topic the parameter names is not recorded.
    title = "coloured: the planner's feedback (default: tip_pose, the model)"
    middle.set_title(title, fontsize=9)
    _finish(right, 'share of the recorded samples [%]', 'distance from the desired path [mm]')
    return Drawn('path', figure, numbers)


def _stiffness(run: RunData, shapes: Shapes) -> Drawn:
    robots = [Robot(run.description, model) for model in shapes.models]
    chosen = np.unique(np.linspace(0, len(shapes.time) - 1, STIFFNESS_SAMPLES).astype(int))
    values, guess, robot = np.full((len(chosen), 3), np.nan), None, robots[0]
    for row, n in enumerate(chosen):
        if robot is not robots[shapes.model[n]]:
            robot, guess = robots[shapes.model[n]], None
        if shapes.gravity is not None:
            robot.gravity = shapes.gravity[n]
        q = robot.forward(shapes.actuation[n], wrench=shapes.wrench[n], guess=guess)
        if q.status.code == 0:
            guess = q
            symmetric = robot.compliance(q)[:3, :3]
            values[row] = np.linalg.eigvalsh(0.5 * (symmetric + symmetric.T))
    figure = _figure(
        run, f'stiffness of the tip along the run, model {_named(shapes)}', (10.0, 4.5)
    )
    ax = figure.subplots()
    stiffness = 1.0 / np.where(values > 0.0, values, np.nan)
    for i, label in enumerate(('stiffest direction', 'middle', 'softest direction')):
        style = {'color': COLOURS[i], 'ls': ('-', '-', '--')[i], 'lw': 1.2}  # two may be alike
        ax.semilogy(shapes.time[chosen], stiffness[:, i], label=label, **style)
    ax.yaxis.set(major_formatter=LogFormatter(), minor_formatter=LogFormatter())  # no 6 x 10^2
    _finish(ax, 'time [s]', 'principal stiffness [N/m]')
    ends = {'softest': float(np.nanmin(stiffness)), 'stiffest': float(np.nanmax(stiffness))}
    return Drawn('stiffness', figure, ends)


def _timing(run: RunData, shapes: Shapes | None) -> Drawn:
    figure = _figure(run, "loop timing, by the senders' stamps", (10.0, 5.0))
    left, right = figure.subplots(1, 2)
    numbers: dict[str, float | None] = {}
    for topic, colour in zip(STREAMS, COLOURS, strict=False):
        periods = np.diff(run.stamps(topic)) if run.has(topic) else np.zeros(0)
        if len(periods) < 2:
            continue
        middle, late = np.median(periods), np.percentile(periods, 99)
        numbers |= {f'{topic}_period': float(middle), f'{topic}_period_p99': float(late)}
        ordered = np.sort(periods)
        left.semilogx(
            MS * np.maximum(ordered, 1e-5),
            100.0 * np.arange(1, len(ordered) + 1) / len(ordered),
            color=colour,
            label=f'{topic}: {shown(middle, "s")}, p99 {shown(late, "s")}',
        )
    left.xaxis.set_minor_formatter(NullFormatter())
    _finish(left, 'period [ms]', 'share of the periods below [%]')
    if shapes is not None and np.isfinite(shapes.solve_time).any():
        right.plot(shapes.time, MS * shapes.solve_time, '.', ms=2, color=COLOURS[0])
        numbers['solve_time'] = float(np.nanmedian(shapes.solve_time))
    _finish(right, 'time [s]', 'solving time of the model [ms]', legend=False)
    return Drawn('timing', figure, numbers)


def _finish(ax: Axes, x: str, y: str, legend: bool = True) -> None:
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(alpha=0.3)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8, loc='best')


def _along_the_way(shapes: Shapes) -> Array:
    """Return moments between which the tip goes equally far: a robot at rest is drawn once."""
    way, last = [0.0], shapes.tip[0, :3].tolist()
    for here in shapes.tip[1:, :3].tolist():
        # From where it was last counted: slow motion is less than noise from one to the next.
        step = math.dist(here, last)
        moved = step > NOISE
        way.append(way[-1] + step if moved else way[-1])
        last = here if moved else last
    wanted = np.linspace(0.0, way[-1], SHAPES_DRAWN)
    return np.unique(np.searchsorted(way, wanted))


def _named(shapes: Shapes) -> str:
    return ', then '.join(shapes.models)


def _rms(values: Array) -> float | None:
    """Return the root mean square of what is known; None where nothing is."""
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else None
