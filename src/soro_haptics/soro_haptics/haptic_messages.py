# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From the estimate of the hand to ROS messages. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
import numpy as np

from soro_driver.device import Array
from soro_mechanics.haptics.sensing import Sensing
from soro_msgs.msg import TipEstimate
from soro_node.conversions import pose_to_message, wrench_to_message
from soro_node.frames import Frames

# About the handle's axis nothing is sensed: far more than a hand gives there, and than it turns.
UNSENSED_MOMENT = 1.0  # N m
UNSENSED_TURN = 1.0  # rad


def estimate_message(
    sensing: Sensing,
    rank: int,
    ignored: Sequence[str],
    frames: Frames,
    stamp: Time,
    relative: float = 0.0,
) -> TipEstimate:
    """Return pose and wrench of the hand with their covariances.

    The turn about the handle's axis is none of the five sensed directions: its variance says that
    nothing is known of it, instead of the zero that the five alone would leave there. `relative`
    is what the force errs by as a whole, with the modulus of the material.
    """
    across, unsensed = sensing.ports.axes[3:, 3:], np.zeros((6, 6))
    unsensed[3:, 3:] = np.eye(3) - across @ across.T  # about the axis that is across both
    wrench_covariance = sensing.wrench_covariance + UNSENSED_MOMENT**2 * unsensed
    wrench_covariance += relative**2 * np.outer(sensing.wrench, sensing.wrench)
    message = TipEstimate(
        wrench=wrench_to_message(sensing.wrench),
        observable_directions=rank,
        wrench_covariance=wrench_covariance.ravel(),
        ignored_sensors=list(ignored),
    )
    message.header.stamp, message.header.frame_id = stamp, frames.base_link
    message.pose.pose = pose_to_message(sensing.pose)
    message.pose.covariance = (sensing.pose_covariance + UNSENSED_TURN**2 * unsensed).ravel()
    return message


def wrench_message(wrench: Array, frames: Frames, stamp: Time) -> WrenchStamped:
    """Return the wrench of the hand on the tip."""
    message = WrenchStamped(wrench=wrench_to_message(wrench))
    message.header.stamp, message.header.frame_id = stamp, frames.tip_aligned
    return message
