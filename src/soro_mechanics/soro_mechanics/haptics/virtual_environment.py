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
from dataclasses import asdict, dataclass
import math

import numpy as np
from numpy.typing import ArrayLike

from soro_mechanics.core.array_input import pose_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.haptics import virtual_environment_kernels as kernels
from soro_mechanics.haptics.live_parts import LiveParts
from soro_mechanics.haptics.virtual_object import (
    Control,
    frame_at,
    Shape,
    SLIDING,
    SURFACES,
    VirtualObject,
)
from soro_mechanics.robot_file.section import Section

__all__ = [
    'Control', 'frame_at', 'PRESETS', 'published_environment', 'read_objects', 'Shape', 'SLIDING',
    'VirtualEnvironment', 'VirtualObject',
]  # fmt: skip


MAX_OBJECTS = 16  # a sphere takes 18 us of every tick


@dataclass(frozen=True)
class ContactFeel:
    """How contact begins and ends, and how an admittance slides (not published, assumed).

    A surface acts from the first penetration until the hand, outside or within the margin, no
    longer presses: so a rigid wall does not chatter between wall and free space.

    The hand hangs on the proxy of an admittance by a spring, the coupling. Softer than the legs
    it keeps the loop stable whoever holds the handle; stiffer it would make the sliding hand feel
    a rigid hold between two ticks. A steady push does not feel it, a sudden one feels it first.
    """

    #: linear_margin, angular_margin: distance at which contact always ends [m], [rad]
    linear_margin: float = 1e-3
    angular_margin: float = 0.02
    #: release_force, release_torque: pressing less than this ends it once outside [N], [N m]
    release_force: float = 0.05
    release_torque: float = 0.002
    default_damping: float = 5.0  #: of an admittance whose object gives none [N s/m]
    #: How far the goal of an admittance may be ahead of the hand [m], so that a handle that cannot
    #: follow does not wind it up: once it can, it jumps by at most this. Also the limit of the
    #: speed that is felt as asked: this over the loop's lag, 0.6 m/s for 15 ms.
    longest_lead: float = 0.01
    #: stiffness of the spring between proxy and hand [N/m]; below that of the legs
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
    drag : float
        Against motion while a wrench is added [N s/m].

    Attributes
    ----------
    apart : ndarray, shape (2,) [m, rad]
        How far the hand is from the goal, the sliding of an admittance aside: where nobody
        pushes, the motors have nothing to do once that is near zero.
    live : LiveParts
        Gets the pose that objects follow, and a wrench to be added.
    """

    def __init__(
        self,
        objects: Sequence[VirtualObject] = (),
        neutral: ArrayLike | None = None,
        feel: ContactFeel | None = None,
        surface_damping: Sequence[float] | None = None,
        drag: float = 2.0,
    ) -> None:
        if len(objects) > MAX_OBJECTS:
            expected = f'at most {MAX_OBJECTS}: each takes time of every tick'
            raise InvalidInput('objects', len(objects), expected)
        names = [o.name for o in objects]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput('name', name, 'a different name for every object')
        self.objects = tuple(objects)
        damping = [o.damping for o in objects] if surface_damping is None else surface_damping
        pairs = zip(objects, damping, strict=True)
        solid = [pair for pair in pairs if pair[0].shape is not Shape.FIELD]
        n = len(solid)
        shapes = [Shape.WALL if o.shape in SURFACES else o.shape for o, _ in solid]
        controls = np.array([o.control for o, _ in solid], np.int64)
        frames = np.array([o.pose for o, _ in solid]).reshape(n, 4, 4)
        axes = np.eye(4) if neutral is None else pose_array('neutral', neutral)
        feel = ContactFeel() if feel is None else feel
        felt = {name: float(value) for name, value in asdict(feel).items()}
        if not all(math.isfinite(value) and value >= 0.0 for value in felt.values()):
            raise InvalidInput('feel', feel, 'finite numbers, zero or greater', Code.OUT_OF_RANGE)
        for key in ('default_damping', 'longest_lead', 'coupling'):
            if not getattr(feel, key) > 0.0:
                raise InvalidInput(key, getattr(feel, key), 'greater than zero')
        self.compiled = kernels.Objects(
            shapes=np.array(shapes, np.int64),
            controls=controls,
            frames=frames,
            size=np.array([o.size for o, _ in solid], float).reshape(n, 3),
            stiffness=np.array([o.stiffness for o, _ in solid], float),
            rotational_stiffness=np.array([o.rotational_stiffness for o, _ in solid], float),
            damping=np.array([o.damping for o, _ in solid], float),
            surface_damping=np.array([across for _, across in solid], float),
            contact=np.zeros((n, 3)),
            proxy=np.zeros((n, 2)),
            seeded=np.zeros((n, 2), bool),
            feel=kernels.Feel(**felt),
            neutral=axes,
            found=kernels.Rows(*(np.zeros(size) for size in kernels.ROWS)),
        )
        self.live = LiveParts(self.objects, frames, self.compiled.contact, feel.coupling, drag)
        self.goal, self.force = np.zeros(6), np.zeros(6)
        self.apart = self.compiled.found.apart
        self.constrained = 0

    @property
    def touched(self) -> bool:
        """Whether the hand feels an object, so that replacing it would jerk."""
        return self.constrained > 0

    def reset(self) -> None:
        """Forget contacts and proxies, as after the loop was stopped."""
        self.compiled.contact[:] = 0.0
        self.forget_sliding()
        self.live.reset()
        self.apart[:] = 0.0
        self.constrained = 0

    def forget_sliding(self) -> None:
        """Let every admittance begin anew at the hand, as where the motors stay on purpose."""
        self.compiled.seeded[:] = False

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
        live, busy = self.live, not self.live.idle or self.live.pushes
        if busy:
            live.place(pose, dt)
        hand = kernels.Hand(pose, wrench, speed, dt)
        self.constrained = kernels.goal_of_environment(self.compiled, hand, self.goal, self.force)
        if busy:
            rows = self.compiled.found.rows[: self.constrained]
            live.add_forces(pose, wrench, speed, dt, rows, self.force)
        return self.constrained


def read_objects(section: Section) -> tuple[VirtualObject, ...]:
    """Read a list of objects from a YAML section.

    Each has ``name``, ``shape``, and as needed ``control``, ``position`` ('0 0 0.1 m'), ``z_axis``
    ('0 0 1'), ``size`` ('x y z m'), ``half_angle``, ``stiffness``, ``rotational_stiffness``,
    ``damping``, ``friction``, ``follows_goal``.

    Raises
    ------
    RobotFileError
        With the path to the field, the value found and the remedy.
    """
    objects = []
    for item in section.sections('objects'):
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
            friction = item.number('friction', 0.0, minimum=0.0)
            follows = item.boolean('follows_goal', False)
        feel = stiffness, rotational, damping, friction, follows
        try:
            pose, way = frame_at(position, axis), Control[control.upper()]
            objects.append(VirtualObject(name, shape, way, pose, size, *feel))
        except InvalidInput as error:
            field = error.field.partition('[')[0]
            known = 'control', 'stiffness', 'damping', 'friction'
            key = field if field in known else 'size'
            raise item.error(key, str(error)) from None
    return tuple(objects)


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
    place, rigid, slides = centre[:3, 3], math.inf, Control.ADMITTANCE
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
        return (VirtualObject('line', Shape.LINE, slides, frame, rotational_stiffness=rigid),)
    if name == 'circle':
        size = np.array([0.03, 0.0, 0.0])
        return (VirtualObject('circle', Shape.CIRCLE, slides, centre, size),)
    size = np.array([0.0, 0.0, 0.2])
    frame = frame_at(place, x_axis)
    return (VirtualObject('limit', Shape.ANGLE_LIMIT, pose=frame, size=size),)
