# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The workspace as a PointCloud2."""

from __future__ import annotations

from builtin_interfaces.msg import Time
import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from soro_mechanics.analysis.workspace import Workspace


def point_cloud(cloud: Workspace, frame_id: str, stamp: Time) -> PointCloud2:
    """Return the tips of the solved samples, with how soft they are where that is known."""
    columns, names = [cloud.points], ['x', 'y', 'z']
    if len(cloud.compliance):
        columns.append(cloud.compliance[cloud.solved])
        names += ['min_compliance', 'max_compliance']
        screws = cloud.eigenstiffness[cloud.solved]
        if np.isfinite(screws).all():  # not of a model that is rigid in some direction
            columns.append(screws)
            names += ['min_eigenstiffness', 'max_eigenstiffness']
    data = np.ascontiguousarray(np.column_stack(columns), dtype='<f4')
    message = PointCloud2(
        height=1,
        width=len(data),
        is_bigendian=False,
        is_dense=True,
        point_step=4 * len(names),
        row_step=4 * len(names) * len(data),
    )
    message.header.frame_id = frame_id
    message.header.stamp = stamp
    message.fields = [
        PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1)
        for i, name in enumerate(names)
    ]
    message.data.frombytes(data.tobytes())
    return message
