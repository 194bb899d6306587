# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Transforms of the links that the solver does not know: fixed stages and driven cranks."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from soro_node.conversions import transform_to_message
from soro_visualization.drawing.rigid_parts import RigidParts, turn


def link_transforms(
    parts: RigidParts, kind: str, angles: dict[str, float], prefix: str, stamp: Time
) -> TFMessage:
    """Return parent to link for every joint of one kind.

    - `kind`: fixed or revolute; a link on a floating joint is published by the solver.
    - `angles` [rad]: by joint name.
    - `prefix`: of the frames.
    """
    message = TFMessage()
    for link, joint in parts.joints.items():
        if joint.kind != kind:
            continue
        pose = joint.origin
        if kind == 'revolute':
            pose = pose @ turn(joint.axis, angles.get(joint.name, 0.0))
        transform = TransformStamped(child_frame_id=prefix + link)
        transform.header.frame_id = prefix + joint.parent
        transform.header.stamp = stamp
        transform.transform = transform_to_message(pose)
        message.transforms.append(transform)
    return message
