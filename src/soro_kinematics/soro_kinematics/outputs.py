# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages made of a configuration: transforms and joint states."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TransformStamped
import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
import tf_transformations

from soro_mechanics.core.configuration import Array, Configuration
from soro_node.conversions import HasActuators, stamped_pose, transform_to_message
from soro_node.frames import Frames

JOINTS = 'angle', 'length'  # what sensor_msgs/JointState calls a position: [rad], [m]


def tip_pose_message(q: Configuration, frames: Frames, stamp: Time) -> PoseStamped:
    """Return the pose of the tip in base_link."""
    return stamped_pose(q.tip, frames.base_link, stamp)


def transforms_message(q: Configuration, frames: Frames, stamp: Time) -> TFMessage:
    """Return base_link to tip, to tip_aligned (axes of base_link) and to every rigid body."""
    aligned = np.eye(4)
    aligned[:3, 3] = q.tip[:3, 3]
    poses = {frames.tip: q.tip, frames.tip_aligned: aligned}
    poses.update({frames.body(name): pose for name, pose in q.bodies.items()})
    return TFMessage(
        transforms=[_transform(frames.base_link, c, g, stamp) for c, g in poses.items()]
    )


def base_transform_message(
    world: str, frames: Frames, base_pose: list[float], stamp: Time
) -> TFMessage:
    """Return world to base_link; `base_pose` is that of `pose_of_six`."""
    pose = pose_of_six(base_pose)
    return TFMessage(transforms=[_transform(world, frames.base_link, pose, stamp)])


def pose_of_six(numbers: list[float]) -> Array:
    """Return the pose (4, 4) of x, y, z [m], roll, pitch, yaw [rad]."""
    pose: Array = tf_transformations.quaternion_matrix(
        tf_transformations.quaternion_from_euler(*numbers[3:])
    )
    pose[:3, 3] = numbers[:3]
    return pose


def joint_state_message(q: Configuration, robot: HasActuators, stamp: Time) -> JointState | None:
    """Return the positions of joints that turn or slide; None for a robot that has none."""
    driven = [i for i, a in enumerate(robot.actuators) if a.quantity in JOINTS]
    if not driven:
        return None
    return JointState(
        header=Header(stamp=stamp),
        name=[robot.actuators[i].name for i in driven],
        position=[float(q.actuation[i]) for i in driven],
    )


def _transform(parent: str, child: str, pose: Array, stamp: Time) -> TransformStamped:
    header, turn = Header(frame_id=parent, stamp=stamp), transform_to_message(pose)
    return TransformStamped(header=header, child_frame_id=child, transform=turn)
