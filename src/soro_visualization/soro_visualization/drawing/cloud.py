# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The workspace cloud as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_visualization.drawing.shape import Array

FLOAT32 = 7  # sensor_msgs/PointField
COMPLIANCE = 'max_compliance'


def read_cloud(message: Any) -> tuple[Array, Array | None]:
    """Return points (n, 3) [m] and largest compliances (n,) [m/N] of a sensor_msgs/PointCloud2.

    The compliances are None where the cloud has none. Points that are not finite, and ones
    without a positive compliance in a cloud that has them, are left out.

    ValueError: the message has no float32 fields x, y and z, or fewer bytes than it promises.
    """
    offsets = {f.name: f.offset for f in message.fields if f.datatype == FLOAT32}
    if not {'x', 'y', 'z'} <= set(offsets):
        raise ValueError('a cloud needs the float32 fields x, y and z')
    count = message.width * message.height
    raw = np.frombuffer(bytes(message.data), dtype=np.uint8)
    if len(raw) < count * message.point_step:
        raise ValueError(f'{len(raw)} bytes are too few for {count} points')
    rows = raw[: count * message.point_step].reshape(count, message.point_step)
    order = '>f4' if message.is_bigendian else '<f4'

    def column(name: str) -> Array:
        part = np.ascontiguousarray(rows[:, offsets[name] : offsets[name] + 4])
        return part.view(order)[:, 0].astype(float)

    points = np.stack([column(name) for name in 'xyz'], axis=1)
    good = np.all(np.isfinite(points), axis=1)
    if COMPLIANCE not in offsets:
        return points[good], None
    compliance = column(COMPLIANCE)
    good &= np.isfinite(compliance) & (compliance > 0.0)
    return points[good], compliance[good]
