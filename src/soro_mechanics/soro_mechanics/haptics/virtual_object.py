# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One thing that the hand can feel, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
import math

import numpy as np

from soro_mechanics.core.array_input import finite_array, pose_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.haptics import virtual_environment_kernels as kernels


class Shape(IntEnum):
    """Shapes, with the constants of soro_msgs/VirtualObject."""

    HOLD = kernels.HOLD
    WALL = kernels.WALL
    BOX = kernels.BOX
    LINE = kernels.LINE
    CIRCLE = kernels.CIRCLE
    ANGLE_LIMIT = kernels.ANGLE_LIMIT
    SPHERE = 7
    CYLINDER = 8
    FIELD = 9


class Control(IntEnum):
    """Ways to render, with the constants of soro_msgs/VirtualObject."""

    HYBRID = kernels.HYBRID
    ADMITTANCE = kernels.ADMITTANCE


# Beyond these an object is a mistake of unit or of typing, and the goals that follow from it
# are no numbers that can be solved with.
FARTHEST = 10.0  # m, of a place or a size
STIFFNESS = 1e-3, 1e9  # N/m, N m/rad
DAMPING = 1e-6, 1e6  # N s/m
# What something slides on; on the others an admittance would be a hybrid by another name.
SLIDING = (Shape.WALL, Shape.LINE, Shape.CIRCLE)
# Entries of `size` that a shape uses: they must be greater than zero.
# What has one surface: friction acts there.
SURFACES = (Shape.WALL, Shape.SPHERE, Shape.CYLINDER)
_SIZES = {
    Shape.BOX: (0, 1, 2),
    Shape.CIRCLE: (0,),
    Shape.ANGLE_LIMIT: (2,),
    Shape.SPHERE: (0,),
    Shape.CYLINDER: (0,),
}
MAX_FRICTION = 2.0


@dataclass(frozen=True, eq=False)
class VirtualObject:
    """One thing that the hand can feel (soro_msgs/VirtualObject)."""

    name: str  #: unique within an environment
    #: HOLD: spring to `pose`. WALL: tip stays at z >= 0 of `pose`. BOX: ``|x|, |y|, |z|`` at most
    #: size / 2. LINE: tip on the z axis. CIRCLE: radius size[0] in the xy plane. ANGLE_LIMIT:
    #: rotation about z from the neutral orientation within +-size[2] [rad]. SPHERE, CYLINDER:
    #: solid, radius size[0] about `pose` or its z axis. FIELD: `damping` in all directions,
    #: wherever the hand is.
    shape: Shape
    #: ADMITTANCE of WALL (in its plane), LINE and CIRCLE only: nothing slides on the others
    control: Control = Control.HYBRID
    pose: Array = field(default_factory=lambda: np.eye(4))  #: (4, 4); in base_link
    size: Array = field(default_factory=lambda: np.zeros(3))  #: (3,) [m, rad]
    stiffness: float = 0.0  #: [N/m]; 0: as stiff as the device allows
    #: [N m/rad]. Of ANGLE_LIMIT: 0 is as stiff as the device allows. Of the others: holds an
    #: orientation too (HOLD that of `pose`, others the environment's neutral one), infinite: as
    #: stiff as the device allows, 0: orientation free.
    rotational_stiffness: float = 0.0
    #: [N s/m]: of the surface where it is compliant, along LINE and CIRCLE of the sliding hand;
    #: for an admittance force over speed of a hand that pushes steadily, 0: the environment's
    #: default
    damping: float = 0.0
    #: of WALL, SPHERE and CYLINDER: share of the normal force that resists sliding
    friction: float = 0.0
    #: `pose` is relative to a pose that is streamed (`VirtualEnvironment.move_goal`)
    follows_goal: bool = False

    def __post_init__(self) -> None:
        """Check what came from outside."""
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput('name', self.name, 'a text that is not empty')
        for key, kind in (('shape', Shape), ('control', Control)):
            try:
                object.__setattr__(self, key, kind(getattr(self, key)))
            except ValueError:
                names = [f'{m.value} ({m.name})' for m in kind]
                raise UnknownName(key, getattr(self, key), names) from None
        if self.control is Control.ADMITTANCE and self.shape not in SLIDING:
            remedy = f'HYBRID ({Control.HYBRID.value}) for {self.shape.name}: an ADMITTANCE'
            remedy += f' ({Control.ADMITTANCE.value}) slides, on '
            remedy += ', '.join(shape.name for shape in SLIDING)
            raise InvalidInput('control', self.control.value, remedy)
        object.__setattr__(self, 'pose', pose_array('pose', self.pose))
        object.__setattr__(self, 'size', finite_array('size', self.size, (3,)))
        for index in _SIZES.get(self.shape, ()):
            if not self.size[index] > 0.0:
                raise InvalidInput(f'size[{index}]', self.size[index], 'greater than zero')
        if self.shape is Shape.ANGLE_LIMIT and self.size[2] >= math.pi:
            raise InvalidInput('size[2]', self.size[2], 'less than pi')
        for key, numbers in (('pose', self.pose[:3, 3]), ('size', self.size)):
            if np.abs(numbers).max() > FARTHEST:
                raise InvalidInput(key, numbers, f'lengths of at most {FARTHEST:g} m')
        for key in ('stiffness', 'damping', 'rotational_stiffness'):
            value = float(getattr(self, key))
            low, high = DAMPING if key == 'damping' else STIFFNESS
            rigid = key == 'rotational_stiffness' and value == math.inf
            if not (value == 0.0 or low <= value <= high or rigid):
                raise InvalidInput(key, value, f'a finite number, zero or {low:g} to {high:g}')
            object.__setattr__(self, key, value)
        friction = float(self.friction)
        if not 0.0 <= friction <= MAX_FRICTION or (friction and self.shape not in SURFACES):
            rough = ', '.join(shape.name for shape in SURFACES)
            raise InvalidInput('friction', friction, f'0 to {MAX_FRICTION:g}, of {rough} only')
        if friction and self.control is Control.ADMITTANCE:
            raise InvalidInput('friction', friction, '0 for an ADMITTANCE: it slides by damping')
        object.__setattr__(self, 'friction', friction)
        if self.shape is Shape.FIELD and not self.damping > 0.0:
            raise InvalidInput('damping', self.damping, 'greater than zero for a FIELD')
        self.pose.setflags(write=False)
        self.size.setflags(write=False)


def frame_at(position: Array, z_axis: Array) -> Array:
    """Return a pose at `position` with the given z direction, turned from base_link least."""
    z = np.asarray(z_axis, float) / np.linalg.norm(z_axis)
    pose = np.eye(4)
    pose[:3, 3] = position
    cross, cosine = np.array([-z[1], z[0], 0.0]), z[2]
    if cosine <= -1.0 + np.finfo(float).eps:
        pose[:3, :3] = np.diag([1.0, -1.0, -1.0])
        return pose
    k = np.array([[0.0, 0.0, cross[1]], [0.0, 0.0, -cross[0]], [-cross[1], cross[0], 0.0]])
    pose[:3, :3] = np.eye(3) + k + k @ k / (1.0 + cosine)
    return pose
