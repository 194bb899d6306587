# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Virtual environments as data: what the hand can feel, and the goal it gives to rendering.

Koehler 2023, section VIII: free space (24), fixed pose (25), wall, box, line and circle, rendered
as hybrid (force where constrained, motion where free) or admittance (motion from the measured
force). Compliant objects, which the paper leaves open, follow its remark: their goal is the
surface moved by the measured force over the stiffness.

An admittance moves a proxy by the force over the damping, and the proxy is kept between ticks:
a hand that pushes steadily moves at force over damping, whatever the rate and the motors' lag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from soro_mechanics.core.array_input import finite_array, pose_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.haptics import virtual_environment_kernels as kernels
from soro_mechanics.robot_file.section import Section


class Shape(IntEnum):
    """Shapes, with the constants of soro_msgs/VirtualObject."""

    HOLD = kernels.HOLD
    WALL = kernels.WALL
    BOX = kernels.BOX
    LINE = kernels.LINE
    CIRCLE = kernels.CIRCLE
    ANGLE_LIMIT = kernels.ANGLE_LIMIT


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
_SIZES = {Shape.BOX: (0, 1, 2), Shape.CIRCLE: (0,), Shape.ANGLE_LIMIT: (2,)}


@dataclass(frozen=True)
class VirtualObject:
    """One thing that the hand can feel (soro_msgs/VirtualObject).

    Attributes
    ----------
    name : str
        Unique within an environment.
    shape : Shape
        HOLD: spring to `pose`. WALL: tip stays at z >= 0 of `pose`. BOX: ``|x|, |y|, |z|`` at
        most size / 2. LINE: tip on the z axis. CIRCLE: radius size[0] in the xy plane.
        ANGLE_LIMIT: rotation about z from the neutral orientation within +-size[2] [rad].
    control : Control
        ADMITTANCE of WALL (in its plane), LINE and CIRCLE only: nothing slides on the others.
    pose : ndarray, shape (4, 4)
        In base_link.
    size : ndarray, shape (3,) [m, rad]
    stiffness : float
        [N/m]; 0: as stiff as the device allows.
    rotational_stiffness : float
        [N m/rad]. Of ANGLE_LIMIT: 0 is as stiff as the device allows. Of the others: holds an
        orientation too (HOLD that of `pose`, others the environment's neutral one), infinite: as
        stiff as the device allows, 0: orientation free.
    damping : float
        [N s/m]: of the surface where it is compliant, along LINE and CIRCLE of the sliding hand;
        for an admittance force over speed of a hand that pushes steadily, 0: the environment's
        default.
    """

    name: str
    shape: Shape
    control: Control = Control.HYBRID
    pose: Array = field(default_factory=lambda: np.eye(4))
    size: Array = field(default_factory=lambda: np.zeros(3))
    stiffness: float = 0.0
    rotational_stiffness: float = 0.0
    damping: float = 0.0

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
        self.pose.setflags(write=False)
        self.size.setflags(write=False)


@dataclass(frozen=True)
class ContactFeel:
    """How contact begins and ends, and how an admittance slides (not published, assumed).

    A surface acts from the first penetration until the hand, outside or within the margin, no
    longer presses: so a rigid wall does not chatter between wall and free space.

    The hand hangs on the proxy of an admittance by a spring, the coupling. Softer than the legs
    it keeps the loop stable whoever holds the handle; stiffer it would make the sliding hand feel
    a rigid hold between two ticks. A steady push does not feel it, a sudden one feels it first.

    Attributes
    ----------
    linear_margin, angular_margin : float
        Distance at which contact always ends [m], [rad].
    release_force, release_torque : float
        Pressing less than this ends it once outside [N], [N m].
    default_damping : float
        Of an admittance whose object gives none [N s/m].
    longest_lead : float
        How far the goal of an admittance may be ahead of the hand [m], so that a handle that
        cannot follow does not wind it up: once it can, it jumps by at most this. Also the limit of
        the speed that is felt as asked: this over the loop's lag, 0.6 m/s for 15 ms.
    coupling : float
        Stiffness of the spring between proxy and hand [N/m]; below that of the legs.
    """

    linear_margin: float = 1e-3
    angular_margin: float = 0.02
    release_force: float = 0.05
    release_torque: float = 0.002
    default_damping: float = 5.0
    longest_lead: float = 0.01
    coupling: float = 120.0


class VirtualEnvironment:
    """Objects compiled for the loop; no objects: free space.

    `update` allocates nothing and overwrites `goal`, `force` and `apart`. One thread at a time.

    Parameters
    ----------
    objects : sequence of VirtualObject
        Where two constrain the same direction, the earlier one wins.
    neutral : array_like, shape (4, 4), optional
        ANGLE_LIMIT measures from its orientation; LINE, CIRCLE, WALL and BOX hold it where they
        have a rotational stiffness. Default: the axes of base_link.
    feel : ContactFeel, optional
    surface_damping : sequence of float, optional
        Of the surface of each object, where that is not the `damping` along it [N s/m].

    Attributes
    ----------
    apart : ndarray, shape (2,) [m, rad]
        How far the hand is from the goal, the sliding of an admittance aside: where nobody
        pushes, the motors have nothing to do once that is near zero.
    """

    def __init__(
        self,
        objects: Sequence[VirtualObject] = (),
        neutral: ArrayLike | None = None,
        feel: ContactFeel | None = None,
        surface_damping: Sequence[float] | None = None,
    ) -> None:
        names = [o.name for o in objects]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput('name', name, 'a different name for every object')
        self.objects = tuple(objects)
        n = len(self.objects)
        self._shapes = np.array([o.shape for o in objects], np.int64)
        self._controls = np.array([o.control for o in objects], np.int64)
        self._frames = np.array([o.pose for o in objects]).reshape(n, 4, 4)
        across = [o.damping for o in objects] if surface_damping is None else surface_damping
        self._numbers = np.array(
            [
                [*o.size, o.stiffness, o.rotational_stiffness, o.damping, b]
                for o, b in zip(objects, across, strict=True)
            ]
        ).reshape(n, kernels.NUMBERS)
        self._state = np.zeros((n, kernels.STATE))
        self._neutral = np.eye(4) if neutral is None else pose_array('neutral', neutral)
        feel = ContactFeel() if feel is None else feel
        self._feel = np.array(
            [
                feel.linear_margin,
                feel.angular_margin,
                feel.release_force,
                feel.release_torque,
                feel.default_damping,
                feel.longest_lead,
                feel.coupling,
            ]
        )
        if not np.all(np.isfinite(self._feel)) or np.any(self._feel < 0.0):
            raise InvalidInput('feel', feel, 'finite numbers, zero or greater', Code.OUT_OF_RANGE)
        for key in ('default_damping', 'longest_lead', 'coupling'):
            if not getattr(feel, key) > 0.0:
                raise InvalidInput(key, getattr(feel, key), 'greater than zero')
        self._work = np.zeros(kernels.WORK)
        self.goal, self.force = np.zeros(6), np.zeros(6)
        self.apart = self._work[kernels.APART]
        self.constrained = 0

    @property
    def kernel_arguments(self) -> tuple[NDArray[Any], ...]:
        """The compiled objects, in the order in which `goal_of_environment` takes them."""
        return (
            self._shapes,
            self._controls,
            self._frames,
            self._numbers,
            self._state,
            self._feel,
            self._neutral,
        )

    @property
    def touched(self) -> bool:
        """Whether the hand feels an object, so that replacing it would jerk."""
        return self.constrained > 0

    def reset(self) -> None:
        """Forget contacts and proxies, as after the loop was stopped."""
        self._state[:] = 0.0
        self.apart[:] = 0.0
        self.constrained = 0

    def forget_sliding(self) -> None:
        """Let every admittance begin anew at the hand, as where the motors stay on purpose."""
        self._state[:, kernels.SEEDED :] = 0.0

    def update(self, pose: Array, wrench: Array, speed: Array, dt: float) -> int:
        """Find the goal for one sample; the loop's call, unchecked.

        Parameters
        ----------
        pose, wrench, speed : ndarray, shapes (4, 4), (6,), (6,)
            Of the hand at the tip, axes of base_link, linear first.
        dt : float
            Since the last sample [s].

        Returns
        -------
        int
            Number of constrained directions. Results in `goal` (twist from hand to goal) and
            `force` (goal force), shape (6,).
        """
        self.constrained = kernels.goal_of_environment(
            *self.kernel_arguments, pose, wrench, speed, dt, self.goal, self.force, self._work
        )
        return self.constrained


def read_objects(section: Section, key: str = 'objects') -> tuple[VirtualObject, ...]:
    """Read a list of objects from a YAML section.

    Each has ``name``, ``shape``, and as needed ``control``, ``position`` ('0 0 0.1 m'), ``z_axis``
    ('0 0 1'), ``size`` ('x y z m'), ``half_angle``, ``stiffness``, ``rotational_stiffness``,
    ``damping``.

    Raises
    ------
    RobotFileError
        With the path to the field, the value found and the remedy.
    """
    objects = []
    for item in section.sections(key):
        with item:
            name = item.text('name')
            shape = Shape[item.text('shape', choices=[s.name.lower() for s in Shape]).upper()]
            control = item.text('control', 'hybrid', choices=[c.name.lower() for c in Control])
            position = item.vector('position', 'm', 3, np.zeros(3))
            axis = item.vector('z_axis', '1', 3, np.array([0.0, 0.0, 1.0]))
            if not np.linalg.norm(axis) > 0.0:
                raise item.error('z_axis', 'write a direction that is not zero')
            size = item.vector('size', 'm', 3, np.zeros(3))
            if shape is Shape.ANGLE_LIMIT:
                size[2] = item.quantity('half_angle', 'rad', positive=True)
            stiffness = item.quantity('stiffness', 'N/m', 0.0, minimum=0.0)
            rotational = item.quantity('rotational_stiffness', 'N m/rad', 0.0, minimum=0.0)
            damping = item.quantity('damping', 'N s/m', 0.0, minimum=0.0)
        try:
            objects.append(
                VirtualObject(
                    name,
                    shape,
                    Control[control.upper()],
                    frame_at(position, axis),
                    size,
                    stiffness,
                    rotational,
                    damping,
                )
            )
        except InvalidInput as error:
            field = error.field.partition('[')[0]
            key = field if field in ('control', 'stiffness', 'damping') else 'size'
            raise item.error(key, str(error)) from None
    return tuple(objects)


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


PRESETS = ('free', 'hold', 'wall', 'box', 'line', 'circle', 'angle')


def published_environment(name: str, centre: Array) -> tuple[VirtualObject, ...]:
    """Return one of the paper's environments around a pose.

    Parameters
    ----------
    name : str
        One of `PRESETS`. The 3 cm circle and the 0.2 rad limit are published; the place of the
        wall (1 cm), the size of the box (3 cm) and the direction of the line are assumed.
    centre : ndarray, shape (4, 4)
        The middle of the workspace in base_link; also the environment's neutral pose.
    """
    if name not in PRESETS:
        raise UnknownName('environment', name, PRESETS)
    centre = pose_array('centre', centre)
    place, rigid = centre[:3, 3], math.inf
    x_axis = centre[:3, 0]
    if name == 'free':
        return ()
    if name == 'hold':
        return (VirtualObject('hold', Shape.HOLD, pose=centre, rotational_stiffness=rigid),)
    if name == 'wall':
        frame = frame_at(place - 0.01 * x_axis, x_axis)
        return (VirtualObject('wall', Shape.WALL, pose=frame),)
    if name == 'box':
        return (VirtualObject('box', Shape.BOX, pose=centre, size=np.full(3, 0.03)),)
    if name == 'line':
        turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
        frame = centre.copy()
        frame[:3, :3] = centre[:3, :3] @ turn
        return (
            VirtualObject(
                'line', Shape.LINE, Control.ADMITTANCE, frame, rotational_stiffness=rigid
            ),
        )
    if name == 'circle':
        size = np.array([0.03, 0.0, 0.0])
        return (VirtualObject('circle', Shape.CIRCLE, Control.ADMITTANCE, centre, size),)
    size = np.array([0.0, 0.0, 0.2])
    frame = frame_at(place, x_axis)
    return (VirtualObject('limit', Shape.ANGLE_LIMIT, pose=frame, size=size),)
