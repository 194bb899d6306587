# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Between soro_msgs/VirtualObject and the mechanics' virtual objects."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import Vector3

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment, VirtualObject
from soro_msgs.msg import VirtualObject as VirtualObjectMessage
from soro_node.conversions import pose_from_message, pose_to_message


def objects_from_messages(messages: Iterable[VirtualObjectMessage]) -> tuple[VirtualObject, ...]:
    """Return the objects of a request.

    Raises InvalidInput, UnknownName: with the index of the object, the field, its value and what
    is expected.
    """
    objects = []
    for i, m in enumerate(messages):
        size = [m.size.x, m.size.y, m.size.z]
        feel = m.stiffness, m.rotational_stiffness, m.damping, m.friction, m.follows_goal
        try:
            pose = pose_from_message(m.pose)
            objects.append(VirtualObject(m.name, m.shape, m.control, pose, size, *feel))
        except InvalidInput as error:
            field = f'objects[{i}].{error.field}'
            raise InvalidInput(field, error.value, error.expected, error.code) from None
    return tuple(objects)


def object_to_message(thing: VirtualObject) -> VirtualObjectMessage:
    """Return the message of an object."""
    x, y, z = (float(v) for v in thing.size)
    return VirtualObjectMessage(
        name=thing.name,
        shape=int(thing.shape),
        control=int(thing.control),
        pose=pose_to_message(thing.pose),
        size=Vector3(x=x, y=y, z=z),
        stiffness=thing.stiffness,
        rotational_stiffness=thing.rotational_stiffness,
        damping=thing.damping,
        friction=thing.friction,
        follows_goal=thing.follows_goal,
    )


def words_of(environment: VirtualEnvironment) -> str:
    """Say in a few words what the hand can feel."""
    names = [f'{o.name} ({o.shape.name.lower()})' for o in environment.objects]
    return ', '.join(names) or 'free space'
