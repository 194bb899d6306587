# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rigid parts of a robot from its URDF: boxes, cylinders and spheres on links.

Only what our descriptions use is read: primitive geometry, plain colours, and joints that are
fixed, floating (the solver knows the pose) or revolute (driven cranks).
"""

from __future__ import annotations

from dataclasses import dataclass
import functools
import math
import xml.etree.ElementTree as ElementTree

import numpy as np

from soro_mechanics.core.errors import SoroError
from soro_mechanics.models.network.description.spec import GROUND
from soro_visualization.drawing.shape import Array

GREY = (0.6, 0.6, 0.62, 1.0)


class UrdfError(SoroError):
    """A description that cannot be read or that uses what is not supported."""


@dataclass(frozen=True)
class Primitive:
    """One solid on a link."""

    kind: str  #: box, cylinder or sphere
    #: [m]; edges of a box; radius and length of a cylinder; radius of a sphere
    size: tuple[float, ...]
    origin: Array  #: (4, 4); in the link's frame
    rgba: tuple[float, ...]  #: 0-1

    def reach(self, direction: Array) -> float:
        """Return how far it extends from its centre along a unit vector of the link [m]."""
        along = np.abs(self.origin[:3, :3].T @ direction)
        if self.kind == 'box':
            return float(0.5 * np.asarray(self.size) @ along)
        if self.kind == 'cylinder':
            radius, length = self.size
            return float(0.5 * length * along[2] + radius * math.hypot(along[0], along[1]))
        return self.size[0]


@dataclass(frozen=True)
class Joint:
    """How a link hangs on its parent."""

    name: str
    kind: str
    parent: str
    origin: Array
    axis: Array


@dataclass(frozen=True)
class RigidParts:
    """Links with their solids and joints; names without the frame prefix."""

    root: str
    solids: dict[str, tuple[Primitive, ...]]  #: by link
    joints: dict[str, Joint]  #: by child link

    def pose(self, link: str, bodies: dict[str, Array], angles: dict[str, float]) -> Array | None:
        """Return the (4, 4) pose of a link in the root's frame, None while it is not known.

        `bodies`: poses (4, 4) of links on floating joints; `angles` [rad]: by revolute joint.
        """
        if link == self.root:
            return np.eye(4)
        joint = self.joints[link]
        if joint.kind == 'floating':
            return bodies.get(link)
        pose = joint.origin
        if joint.parent != self.root:
            parent = self.pose(joint.parent, bodies, angles)
            if parent is None:
                return None
            pose = parent @ pose
        if joint.kind == 'revolute':
            pose = pose @ turn(joint.axis, angles.get(joint.name, 0.0))
        return pose

    def fixed(self, link: str) -> bool:
        """Whether a link never moves against the root."""
        while link != self.root:
            joint = self.joints[link]
            if joint.kind != 'fixed':
                return False
            link = joint.parent
        return True

    @functools.cached_property
    def drawn(self) -> tuple[str, ...]:
        """Every link with solids, the root first."""
        return tuple(link for link in (self.root, *self.joints) if self.solids[link])

    @property
    def drawn_bodies(self) -> set[str]:
        """Every body that needs no other picture: links with solids, and what stands still."""
        return {*self.drawn, GROUND}

    def lowest(self, up: Array) -> float:
        """Return the least height [m] of the root's solids along a unit vector; zero without."""
        heights = [
            float(solid.origin[:3, 3] @ up) - solid.reach(up) for solid in self.solids[self.root]
        ]
        return min(heights, default=0.0)

    def extremes(self, bodies: dict[str, Array], axes: Array) -> Array:
        """Return points (n, 3) [m] that the solids lie between, along axes (m, 3), both ways."""
        axes, points = np.concatenate([axes, -axes]), [np.zeros((0, 3))]
        for link in self.drawn:
            pose = self.pose(link, bodies, {})
            for solid in () if pose is None else self.solids[link]:
                reach = np.array([[solid.reach(axis)] for axis in axes @ pose[:3, :3]])
                points.append((pose @ solid.origin)[:3, 3] + reach * axes)
        return np.concatenate(points)


def turn(axis: Array, angle: float) -> Array:
    """Return the (4, 4) rotation about a unit axis."""
    from scipy.spatial.transform import Rotation  # a third of a node's start

    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(angle * axis).as_matrix()
    return pose


def read_urdf(text: str, prefix: str = '') -> RigidParts:
    """Return the rigid parts of a URDF.

    - `text`: the XML.
    - `prefix`: stands in front of every link's name, which is a frame, and is taken off. Joints
      have the names of joint_states, without it.

    UrdfError: not XML, not a robot, a tree with several roots, or geometry other than primitives.
    """
    try:
        robot = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UrdfError(f'the robot description is not XML: {error}') from None
    if robot.tag != 'robot':
        raise UrdfError(f'the root of a robot description is <robot>, not <{robot.tag}>')
    materials = {
        m.get('name', ''): _rgba(m)
        for m in robot.findall('material')
        if m.find('color') is not None
    }
    solids = {
        _name(link, prefix): tuple(_solid(v, materials) for v in link.findall('visual'))
        for link in robot.findall('link')
    }
    joints: dict[str, Joint] = {}
    for element in robot.findall('joint'):
        child, joint = _joint(element, prefix)
        if child in joints:
            raise UrdfError(f'link {child} hangs on two joints')
        if child not in solids or joint.parent not in solids:
            raise UrdfError(f'joint {joint.name} names a link that does not exist')
        joints[child] = joint
    roots = [name for name in solids if name not in joints]
    if len(roots) != 1:
        raise UrdfError(f'a robot description has one root, not {len(roots)}: {roots}')
    return RigidParts(roots[0], solids, joints)


def _name(element: ElementTree.Element, prefix: str, attribute: str = 'name') -> str:
    name = element.get(attribute, '')
    if not name.startswith(prefix) or name == prefix:
        raise UrdfError(f'<{element.tag}> {attribute}={name!r}: expected the prefix {prefix!r}')
    return name.removeprefix(prefix)


def _numbers(text: str, count: int, what: str) -> tuple[float, ...]:
    try:
        values = tuple(float(x) for x in text.split())
    except ValueError:
        values = ()
    if len(values) != count or not np.all(np.isfinite(values)):
        raise UrdfError(f'{what}: {text!r} is not {count} finite numbers')
    return values


def _origin(element: ElementTree.Element) -> Array:
    from scipy.spatial.transform import Rotation

    origin = element.find('origin')
    pose = np.eye(4)
    if origin is not None:
        angles = _numbers(origin.get('rpy', '0 0 0'), 3, 'origin rpy')
        pose[:3, :3] = Rotation.from_euler('xyz', angles).as_matrix()
        pose[:3, 3] = _numbers(origin.get('xyz', '0 0 0'), 3, 'origin xyz')
    return pose


def _rgba(material: ElementTree.Element) -> tuple[float, ...]:
    colour = material.find('color')
    return GREY if colour is None else _numbers(colour.get('rgba', ''), 4, 'color rgba')


def _solid(visual: ElementTree.Element, materials: dict[str, tuple[float, ...]]) -> Primitive:
    material = visual.find('material')
    rgba = GREY
    if material is not None:
        inline = material.find('color') is not None
        rgba = _rgba(material) if inline else materials.get(material.get('name', ''), GREY)
    geometry = visual.find('geometry')
    for shape in () if geometry is None else tuple(geometry):
        if shape.tag == 'box':
            size = _numbers(shape.get('size', ''), 3, 'box size')
        elif shape.tag == 'cylinder':
            text = f'{shape.get("radius", "")} {shape.get("length", "")}'
            size = _numbers(text, 2, 'cylinder radius and length')
        elif shape.tag == 'sphere':
            size = _numbers(shape.get('radius', ''), 1, 'sphere radius')
        else:
            break
        return Primitive(shape.tag, size, _origin(visual), rgba)
    raise UrdfError('a visual needs a box, a cylinder or a sphere')


def _joint(element: ElementTree.Element, prefix: str) -> tuple[str, Joint]:
    name, kind = element.get('name', ''), element.get('type', '')
    if kind not in ('fixed', 'floating', 'revolute'):
        raise UrdfError(f'joint {name}: type {kind!r} is not fixed, floating or revolute')
    parent, child = element.find('parent'), element.find('child')
    if parent is None or child is None:
        raise UrdfError(f'joint {name} needs a parent and a child')
    axis = element.find('axis')
    text = '1 0 0' if axis is None else axis.get('xyz', '')
    direction = np.array(_numbers(text, 3, 'axis xyz'))
    length = np.linalg.norm(direction)
    if length == 0.0:
        raise UrdfError(f'joint {name}: the axis is zero')
    joint = Joint(name, kind, _name(parent, prefix, 'link'), _origin(element), direction / length)
    return _name(child, prefix, 'link'), joint
