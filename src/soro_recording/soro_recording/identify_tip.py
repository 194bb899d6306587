# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tip as it was measured during a recorded run: what identification believes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_node.frames import frames_for
from soro_node.user_errors import UserError
from soro_recording.run_data import COMMANDED, PRESENT, RunData, TRUTH
from soro_recording.series import Array

UPRIGHT = 1e-9  # of a quaternion's vector part: nobody measures an orientation this exactly
APART = 0.3  # s of two clocks: as long as a posture is averaged
MODELLED = ('tip_pose', 'tip_estimate', PRESENT, COMMANDED)  # computed with the robot's model
COMPUTED = (1, 2, 3)  # origins of a Configuration: FROM_MEASUREMENT, FROM_COMMAND, FROM_REQUEST


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

    `topic`: relative name of a topic of PoseStamped, TipEstimate or Configuration; default: the
    emulated robot's true configuration. Raises UserError: not recorded, of another type, computed
    by the model, not in the robot's base frame, or by a clock that is not the actuators'.
    """
    name = topic or TRUTH
    if name in MODELLED:
        raise _computed(name)
    if not run.has(name):
        raise UserError(
            f'{run.bag.path} holds no {run.prefix}/{name}; name the topic of a tracker with '
            '--tip. What the model itself says about the tip (tip_pose) cannot identify it.'
        )
    frames = _base_frames(run)

    def row(message: Any) -> list[float]:
        if getattr(message, 'origin', 0) in COMPUTED:
            raise _computed(name)
        pose = getattr(message, 'tip', None) or getattr(message, 'pose', None)
        pose = getattr(pose, 'pose', pose)  # TipEstimate: pose with covariance
        if pose is None:
            raise UserError(
                f'{name} holds no pose; --tip takes PoseStamped, TipEstimate, Configuration'
            )
        if message.header.frame_id not in ('', *frames):
            raise UserError(
                f'{name} is measured in frame {message.header.frame_id!r}, not in '
                f'{" or ".join(map(repr, frames))}: transform the poses into that frame first, '
                'or record the tracker in it'
            )
        p, q = pose.position, pose.orientation
        return [p.x, p.y, p.z, q.x, q.y, q.z, q.w]

    table = run.table(name, row, 7)
    _check_clocks(run, name, table.delay)
    return Measured(name, table.time, table.values)


def _computed(name: str) -> UserError:
    return UserError(
        f'--tip {name}: that is computed with the model itself, which would be fitted to what it '
        'says already; name the topic of a tracker'
    )


def _check_clocks(run: RunData, name: str, delay: float) -> None:
    """Refuse poses that cannot be paired with what the actuators did at the same time."""
    states = run.actuation
    for topic in (name, 'actuator_state'):
        if topic in run.clock_faults:
            raise UserError(
                f'{run.prefix}/{topic}: {run.clock_faults[topic]}, so that poses and actuators '
                'cannot be paired; record with a publisher that stamps its messages, by a clock '
                'that is not set meanwhile'
            )
    if abs(delay - states.delay) > APART:
        raise UserError(
            f'the clocks of {name} and actuator_state differ: received {delay:.2f} s and '
            f'{states.delay:.2f} s after their stamps (median), and {APART:g} s apart are '
            'allowed; synchronise the clocks of the computers (chrony) and record again'
        )


def _base_frames(run: RunData) -> tuple[str, ...]:
    """Return the names of base_link: by the namespace, and as the run's own shapes have it."""
    names = [frames_for(run.namespace).base_link]
    first = next(iter(run.entries(PRESENT)), None)
    if first is not None and first.message.header.frame_id:
        names.insert(0, first.message.header.frame_id)  # a frame_prefix of somebody's own
    return tuple(dict.fromkeys(names))
