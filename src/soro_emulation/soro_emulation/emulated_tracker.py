# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A tracker that looks at the emulated robot: its true tip, with noise, late, now and then not.

Pure: the clock is an argument. What it sees is the body's own shape, never a controller's model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tf_transformations

from soro_emulation.device_emulator import Array
from soro_emulation.emulated_sensor import EmulatedSensor, sensor_parameters
from soro_emulation.injected_fault import choice, finite
from soro_node.parameters import Parameter

PARAMETERS = (
    *sensor_parameters(
        'tracker', 30.0, 0.03, 'publish tracker/pose: the true tip as a tracker sees it'
    ),
    Parameter(
        'tracker_noise', 0.2e-3, 'm', 'standard deviation of each axis', minimum=0.0, maximum=1.0
    ),
    Parameter(
        'tracker_turn_noise', 3e-3, 'rad', 'standard deviation of turns', minimum=0.0, maximum=1.0
    ),
    Parameter('tracker_marker', [0.0] * 3, 'm', 'its marker in the frame `tip`', sizes=(3,)),
)

FAULT = 'tracker'
KINDS = ('lost', 'frozen', 'jump', 'late', 'frame')
NOWHERE = 'nowhere'  # a frame that TF does not know
LATE = 0.5  # s more, beyond what a solver takes by default


@dataclass(frozen=True)
class SeenPose:
    """What goes out as one message."""

    stamp: Any  #: when it was measured, as it came
    pose: Array  #: (4, 4); of the marker, in base_link
    due: float  #: when it goes out [s, steady clock]
    frame_id: str = ''  #: Empty: base_link


class EmulatedTracker(EmulatedSensor):
    """One tracker. `values`: `PARAMETERS`, read anew for every pose."""

    def __init__(self, values: Mapping[str, Any], seed: int) -> None:
        super().__init__('tracker', values, seed)
        self._last: Array | None = None
        self._kind, self._by = '', 0.0

    def inject(self, kind: str = '', by: float = 0.05) -> None:
        """Break it; an empty `kind` repairs it. A jump is `by` [m] along x."""
        self._kind, self._by = kind, by

    def see(self, tip: Array, stamp: Any, measured: float, now: float) -> None:
        """Look at the true tip (4, 4) of a moment `measured` [s] at the time `now` [s]."""
        if not self._looks(now, self._kind == 'lost'):
            return
        pose = self._pose(tip)
        if self._kind == 'frozen' and self._last is not None:
            pose = self._last
        self._last = pose
        late = LATE if self._kind == 'late' else 0.0
        seen = SeenPose(stamp, pose, measured + self._values['tracker_latency'] + late)
        if self._kind == 'jump':
            pose = pose.copy()
            pose[0, 3] += self._by
            seen = replace(seen, pose=pose)
        self._waiting.append(replace(seen, frame_id=NOWHERE) if self._kind == 'frame' else seen)

    def _pose(self, tip: Array) -> Array:
        values, normal = self._values, self._random.standard_normal
        pose = tip.copy()
        pose[:3, 3] += tip[:3, :3] @ values['tracker_marker'] + values['tracker_noise'] * normal(3)
        turn = values['tracker_turn_noise'] * normal(3)
        angle = float(np.linalg.norm(turn))
        if angle > 0.0:
            pose[:3, :3] = pose[:3, :3] @ tf_transformations.rotation_matrix(angle, turn)[:3, :3]
        return pose


def tracker_fault(values: dict[str, Any]) -> tuple[str, float]:
    """Return kind and length of a fault of the tracker. Raises UnknownName, InvalidInput."""
    return choice(values, 'kind', KINDS[0], KINDS), finite(values, 'by', 0.05)
