# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The rigid bodies of a recorded robot, for the page that plays the recording."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from soro_recording.run_data import PRESENT, RunData
from soro_visualization.drawing.body_hulls import body_hulls
from soro_visualization.drawing.shape import shape_from_message


def recorded_bodies(run: RunData) -> dict[str, NDArray[np.float64]]:
    """Return the corners (n, 3) [m] of each body in its frame; none where no shape says it."""
    first = next(iter(run.entries(PRESENT)), None)
    try:
        shape = None if first is None else shape_from_message(first.message)
    except (ValueError, AttributeError):  # damaged, or of an old revision
        shape = None
    hulls = {} if shape is None else body_hulls(run.description, shape)
    return {name: hull.vertices for name, hull in hulls.items()}
