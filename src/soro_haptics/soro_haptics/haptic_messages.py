# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From the estimate of the hand to ROS messages. Nothing is decided here."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
from soro_driver.device import Array
from soro_mechanics.sensing import Sensing
from soro_node.conversions import pose_to_message, wrench_to_message
from soro_node.frames import Frames

from soro_msgs.msg import TipEstimate


def estimate_message(sensing: Sensing, rank: int, frames: Frames, stamp: Time) -> TipEstimate:
    """Return pose and wrench of the hand with their covariances."""
    message = TipEstimate(
        wrench=wrench_to_message(sensing.wrench), observable_directions=rank,
        wrench_covariance=sensing.wrench_covariance.ravel(),
    )  # fmt: skip
    message.header.stamp, message.header.frame_id = stamp, frames.base_link
    message.pose.pose = pose_to_message(sensing.pose)
    message.pose.covariance = sensing.pose_covariance.ravel()
    return message


def tip_message(pose: Array, frames: Frames, stamp: Time) -> PoseStamped:
    """Return the pose of the tip."""
    message = PoseStamped(pose=pose_to_message(pose))
    message.header.stamp, message.header.frame_id = stamp, frames.base_link
    return message


def wrench_message(wrench: Array, frames: Frames, stamp: Time) -> WrenchStamped:
    """Return the wrench of the hand on the tip."""
    message = WrenchStamped(wrench=wrench_to_message(wrench))
    message.header.stamp, message.header.frame_id = stamp, frames.tip_aligned
    return message
