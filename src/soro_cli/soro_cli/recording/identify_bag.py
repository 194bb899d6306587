# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a recorded run to the postures that identification needs, and its report as a picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from soro_mechanics.identification import Identification, Observations, predict
from soro_mechanics.identification_offsets import Offsets
from soro_mechanics.identification_parameters import ParameterSpace
from soro_mechanics.robot import Robot
from soro_node.frames import frames_for

from soro_cli.errors import CliError
from soro_cli.file_errors import writing
from soro_cli.people_units import shown
from soro_cli.recording.run_data import Actuation, Array, PRESENT, RunData, TRUTH

WINDOW = 0.3  # s over which speed is measured and a posture is averaged
SETTLING = 1.0  # s without a command before a posture counts: ten time constants of a regulator
STILL = 0.002  # of an actuator's range: a command that changes less holds
SPACING = 0.02  # of an actuator's range: nearer postures say nothing new
MOST_POSTURES = 80
UPRIGHT = 1e-9  # of a quaternion's vector part: nobody measures an orientation this exactly


@dataclass(frozen=True)
class Measured:
    """Measured poses of the tip: times (n,) [s] and position and quaternion (n, 7)."""

    topic: str
    time: Array
    poses: Array

    @property
    def oriented(self) -> bool:
        """Whether orientations count: who measures positions alone sends (0, 0, 0, 1) for ever."""
        return bool((np.abs(self.poses[:, 3:6]) > UPRIGHT).any())


def measured_tip(run: RunData, topic: str | None) -> Measured:
    """Return the poses that count as measured.

    Parameters
    ----------
    topic : str, optional
        Relative name of a topic of PoseStamped, TipEstimate or Configuration; default: the
        emulated robot's true configuration.

    Raises
    ------
    CliError
        Not recorded, of another type, or not in the robot's base frame.
    """
    name = topic or TRUTH
    if not run.has(name):
        raise CliError(
            f'{run.bag.path} holds no {run.namespace}/{name}; name the topic of a tracker with '
            '--tip. What the model itself says about the tip (tip_pose) cannot identify it.'
        )
    frames = _base_frames(run)

    def row(message: Any) -> list[float]:
        pose = getattr(message, 'tip', None) or getattr(message, 'pose', None)
        pose = getattr(pose, 'pose', pose)  # TipEstimate: pose with covariance
        if pose is None:
            raise CliError(f'{name} holds no pose; --tip takes PoseStamped, TipEstimate, '
                           'Configuration')  # fmt: skip
        if message.header.frame_id not in ('', *frames):
            raise CliError(
                f'{name} is measured in frame {message.header.frame_id!r}, not in '
                f'{" or ".join(map(repr, frames))}: transform the poses into that frame first, '
                'or record the tracker in it'
            )
        p, q = pose.position, pose.orientation
        return [run.stamp(message.header), p.x, p.y, p.z, q.x, q.y, q.z, q.w]

    table = run.table(name, row, 8)
    return Measured(name, table[:, 0], table[:, 1:])


def _base_frames(run: RunData) -> tuple[str, ...]:
    """Return the names of base_link: by the namespace, and as the run's own shapes have it."""
    names = [frames_for(run.namespace).base_link]
    first = next(iter(run.entries(PRESENT)), None)
    if first is not None and first.message.header.frame_id:
        names.insert(0, first.message.header.frame_id)  # a frame_prefix of somebody's own
    return tuple(dict.fromkeys(names))


def postures(
    run: RunData, tip: Measured, speed: float, settling: float = SETTLING
) -> Observations:
    """Return the distinct postures of a run in which the robot rested.

    A moving body lags behind its actuators, and what is measured of them behind what they do: a
    fit to postures on the way takes that for softness. So a posture counts only where the command
    has held for `settling` [s] (where nothing is commanded: what is measured) and the tip moves
    slower than `speed` [m/s]. Each is averaged over `WINDOW`: less noise than in one message.

    Raises
    ------
    CliError
        The robot never held still enough.
    """
    data = run.actuation()
    actuation = np.column_stack([np.interp(tip.time, data.time, c) for c in data.present.T])
    inside = (tip.time >= data.time[0]) & (tip.time <= data.time[-1])
    inside &= np.isfinite(actuation).all(axis=1) & np.isfinite(tip.poses).all(axis=1)
    first = np.searchsorted(tip.time, tip.time - 0.5 * WINDOW)
    last = np.searchsorted(tip.time, tip.time + 0.5 * WINDOW, side='right') - 1
    travelled = np.linalg.norm(tip.poses[last, :3] - tip.poses[first, :3], axis=1)
    calm = inside & (last - first >= 2)
    span = np.array([a.maximum - a.minimum for a in run.actuators])
    calm &= held(data, tip.time, span, settling)
    calm &= travelled <= speed * np.maximum(tip.time[last] - tip.time[first], 1e-9)
    chosen: list[int] = []
    # The calmest first: of several visits of one posture the steadiest is kept.
    for n in np.flatnonzero(calm)[np.argsort(travelled[calm], kind='stable')]:
        apart = [np.abs(actuation[n] - actuation[k]) / span for k in chosen]
        if len(chosen) < MOST_POSTURES and all(a.max() > SPACING for a in apart):
            chosen.append(int(n))
    if not chosen:
        raise CliError(
            f'the robot never rested: no command for {settling:g} s and a tip slower than '
            f'{1e3 * speed:g} mm/s. Record postures that are held; see --settling, --speed'
        )
    chosen.sort()
    slices = [slice(first[n], last[n] + 1) for n in chosen]
    poses = np.tile(np.eye(4), (len(chosen), 1, 1))
    poses[:, :3, 3] = [tip.poses[s, :3].mean(axis=0) for s in slices]
    turns = np.array([tip.poses[n, 3:] for n in chosen])
    oriented = tip.oriented and bool((np.linalg.norm(turns, axis=1) > 0.5).all())
    if oriented:
        poses[:, :3, :3] = Rotation.from_quat(turns).as_matrix()
    return Observations(
        np.array([actuation[s].mean(axis=0) for s in slices]), poses,
        _wrenches(run, tip.time[chosen]), oriented,
    )  # fmt: skip


def held(data: Actuation, times: Array, span: Array, settling: float) -> NDArray[np.bool_]:
    """Return, for each time, whether the actuators were left alone around it.

    From `settling` [s] before the posture's window to its end no command, or where there is none
    no measured value averaged over a window, changes by more than `STILL` of its range `span`.
    """
    values = np.where(np.isnan(data.commanded), _averaged(data.time, data.present), data.commanded)
    first = np.searchsorted(data.time, times - 0.5 * WINDOW - settling)
    last = np.searchsorted(data.time, times + 0.5 * WINDOW, side='right')
    return np.array([
        b > a and bool((np.ptp(values[a:b], axis=0) <= STILL * span).all())
        for a, b in zip(first, last, strict=True)
    ])  # fmt: skip


def _averaged(time: Array, values: Array) -> Array:
    """Return the mean over `WINDOW` around every time, column by column."""
    first = np.searchsorted(time, time - 0.5 * WINDOW)
    last = np.searchsorted(time, time + 0.5 * WINDOW, side='right')
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return (total[last] - total[first]) / (last - first)[:, None]


def draw_report(
    run: RunData, space: ParameterSpace, model: str, data: Observations, found: Identification,
    gravity: Array, offsets: Offsets | None = None,
) -> Figure:  # fmt: skip
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
    names = [
        *found.names,
        *(f'{o.name}: {shown(o.value, o.unit)}' for o in found.offsets),
    ]
    rows = np.arange(len(names))
    right.errorbar(
        centre, rows, xerr=np.concatenate([found.high - found.factors, width]), fmt='o',
        capsize=4, color='#1f6feb',
    )  # fmt: skip
    right.axvline(1.0, color='#9aa5b1', ls='--', lw=1.0)
    right.set_yticks(rows, names)
    more = '; offsets: 1 + tenths of the range or length' if found.offsets else ''
    right.set_xlabel(f'factor on the robot file, {found.level:.0%} intervals{more}')
    right.grid(alpha=0.3)
    return figure


def _seen(robot: Robot, data: Observations, offsets: Offsets | None, values: Array) -> Array:
    """Return where the model puts what the tracker sees, shape (n, 3) [m]."""
    if offsets is not None:
        data = replace(data, actuation=offsets.actuation(data.actuation, values))
    tips = np.array([q.tip for q in predict(robot, data)])
    return tips[:, :3, 3] if offsets is None else offsets.markers(tips, values)


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG and return where."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
    return path


def _wrenches(run: RunData, time: Array) -> Array:
    shapes = run.shapes(PRESENT)
    if shapes is None:
        return np.zeros((len(time), 6))
    return np.column_stack([np.interp(time, shapes.time, c) for c in shapes.wrench.T])
