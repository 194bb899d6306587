# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From what a tick found to ROS messages. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
import numpy as np
from rclpy.time import Time as Moment

from soro_driver.device import Array
from soro_driver.driver_messages import flex_message, state_message
from soro_driver.loop.tick import Tick
from soro_msgs.msg import ActuatorCommand, TipEstimate
from soro_node.conversions import pose_to_message, wrench_to_message
from soro_node.frames import Frames

# About the handle's axis nothing is sensed: far more than a hand gives there, and than it turns.
UNSENSED_MOMENT = 1.0  # N m
UNSENSED_TURN = 1.0  # rad


class Hand(NamedTuple):
    """An estimate of the hand: fields of `Sensing`, and what else its message says."""

    axes: Array  #: (6, 5) of the ports
    pose: Array
    pose_covariance: Array
    wrench: Array
    wrench_covariance: Array
    rank: int  #: directions of the force that are seen
    ignored: Sequence[str]  #: sensors
    relative: float = 0.0  #: standard deviation of the force as a whole, with the modulus


class Sample(NamedTuple):
    """What one tick has to publish."""

    actuators: tuple[Sequence[str], Sequence[int]]  #: names and quantities
    tick: Tick
    stamp: Time  #: of the measurement
    command_stamp: int  #: [ns]
    hand: Hand | None  #: None without an estimate, as the next
    elongation: Array | None  #: (ns,) [m]


def messages(sample: Sample, frames: Frames, source: str) -> Iterator[Any]:
    """Yield the messages of a sample; `source`: the name of the commanding node."""
    actuators, tick, stamp, command_stamp, hand, elongation = sample
    # States and sensors of one sample go together: a calibration pairs them by their stamps.
    yield state_message(tick, *actuators, stamp)
    if tick.reading is not None and tick.reading.sensors is not None:
        yield flex_message(tick.reading.sensors, stamp, elongation)
    if tick.command is not None:
        values = tick.command.values
        yield command_message(*actuators, values, source, command_stamp, tick.stops)
    # Never an earlier estimate with a new stamp: who uses it could not know that it is old.
    if hand is not None:
        yield estimate_message(hand, frames, stamp)
        tip = PoseStamped(pose=pose_to_message(hand.pose))
        tip.header.stamp, tip.header.frame_id = stamp, frames.base_link
        yield tip
    if hand is not None and hand.rank > 0:  # a hand that is not felt is no measured zero
        wrench = WrenchStamped(wrench=wrench_to_message(hand.wrench))
        wrench.header.stamp, wrench.header.frame_id = stamp, frames.tip_aligned
        yield wrench


def estimate_message(hand: Hand, frames: Frames, stamp: Time) -> TipEstimate:
    """Return pose and wrench of the hand with their covariances.

    The turn about the handle's axis is none of the five sensed directions: its variance says that
    nothing is known of it, instead of the zero that the five alone would leave there.
    """
    axis = np.cross(hand.axes[3:, 3], hand.axes[3:, 4])
    unsensed = np.zeros((6, 6))
    unsensed[3:, 3:] = np.outer(axis, axis)
    wrench_covariance = hand.wrench_covariance + UNSENSED_MOMENT**2 * unsensed
    wrench_covariance += hand.relative**2 * np.outer(hand.wrench, hand.wrench)
    message = TipEstimate(
        wrench=wrench_to_message(hand.wrench),
        observable_directions=hand.rank,
        wrench_covariance=wrench_covariance.ravel(),
        ignored_sensors=list(hand.ignored),
    )
    message.header.stamp, message.header.frame_id = stamp, frames.base_link
    message.pose.pose = pose_to_message(hand.pose)
    message.pose.covariance = (hand.pose_covariance + UNSENSED_TURN**2 * unsensed).ravel()
    return message


def command_message(
    names: Sequence[str], codes: Sequence[int], values: Array, source: str, stamp: int, stops: int
) -> ActuatorCommand:
    """Return set-points of actuators with codes of their quantities; `stamp` [ns]."""
    message = ActuatorCommand(source=source, name=names, quantity=codes, stops=stops)
    message.value, message.header.stamp = values.tolist(), Moment(nanoseconds=stamp).to_msg()
    return message
