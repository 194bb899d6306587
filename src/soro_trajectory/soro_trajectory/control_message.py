# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the controller of the tip does, as a ControlState."""

from __future__ import annotations

import math
from typing import Any

from geometry_msgs.msg import Point, Pose, Quaternion, Vector3, Wrench
import numpy as np

from soro_mechanics.core.configuration import Array
from soro_msgs.action import TrackTrajectory
from soro_msgs.msg import ControlState
from soro_node.conversions import pose_to_message
from soro_trajectory.measured_tip import TipSample
from soro_trajectory.tip_disturbance import TipDisturbance
from soro_trajectory.tip_feedback import pose_error

NAN = math.nan


def control_message(
    control: int,
    reason: str,
    frame_id: str,
    stamp: Any,
    desired: Array | None,
    sample: TipSample | None,
    saturated: tuple[str, ...],
    disturbance: TipDisturbance,
) -> ControlState:
    """Return the message; what is not known is NaN, and then `reference` is zero.

    `control`: constant of ControlState. `reason`: why it is not feedback where that was asked for.
    `frame_id`: base_link. `desired` (4, 4): at the stamp of the sample.
    """
    message = ControlState(control=control, reason=reason, saturated=list(saturated))
    message.header.frame_id, message.header.stamp = frame_id, stamp
    unknown = Vector3(x=NAN, y=NAN, z=NAN)
    message.disturbance = Wrench(force=unknown, torque=unknown)
    message.disturbance_covariance[0] = -1.0
    if disturbance.covariance is not None:
        force = dict(zip('xyz', disturbance.force.tolist(), strict=True))
        message.disturbance = Wrench(force=Vector3(**force))  # all of it is taken for a force
        covariance = np.zeros((6, 6))
        covariance[:3, :3] = disturbance.covariance
        message.disturbance_covariance = covariance.ravel()
    message.desired = _pose(desired)
    message.actual = _pose(None if sample is None else sample.pose)
    error = [NAN] * 6
    if desired is not None and sample is not None:
        message.reference = TrackTrajectory.Goal.MEASURED
        error = pose_error(desired, sample.pose, sample.oriented).tolist()
        error[3:] = error[3:] if sample.oriented else [NAN] * 3
    message.position_error = Vector3(x=error[0], y=error[1], z=error[2])
    message.orientation_error = Vector3(x=error[3], y=error[4], z=error[5])
    return message


def _pose(pose: Array | None) -> Pose:
    if pose is None:
        nothing = Quaternion(x=NAN, y=NAN, z=NAN, w=NAN)
        return Pose(position=Point(x=NAN, y=NAN, z=NAN), orientation=nothing)
    return pose_to_message(pose)
