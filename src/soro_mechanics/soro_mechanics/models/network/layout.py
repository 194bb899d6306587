# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a checked description of a network to the flat arrays of the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
import itertools
from typing import Any

import numpy as np

from soro_mechanics.compilation.kernels_by_reference import copied
from soro_mechanics.core.configuration import Array, LoadAxes, LoadCase
from soro_mechanics.models.network import rod_loads
from soro_mechanics.models.network.arrays import Inputs, Integers, new_work, State, Structure, Work
from soro_mechanics.models.network.description.spec import (
    BodySpec,
    EndSpec,
    LENGTHS,
    NetworkSpec,
    STRAINS,
    TENDONS,
)
from soro_mechanics.models.network.drive_values import driven_sections, driven_values
from soro_mechanics.models.network.kernels.element_flexibility_kernels import stiffen_elements
from soro_mechanics.models.network.kernels.end_kernels import SPHERICAL
from soro_mechanics.models.network.kernels.newton_kernels import drive_to
from soro_mechanics.models.network.rod_sections import radius_at
from soro_mechanics.models.network.structure import integers, make_structure
from soro_mechanics.models.network.tendon.layout import with_tendon_mesh
from soro_mechanics.models.network.tendon.paths import Tendons
from soro_mechanics.numerics import lie


@dataclass(frozen=True, eq=False)
class SensorPlaces:
    """The flex sensors, those of one rod after each other."""

    rod: Integers  # (k,)
    nodes: Integers  # (k, 2) counted through the network
    axis: Array  # (k, 3)
    back: Integers  # (k,) where each sensor of the network stands here


@dataclass(frozen=True, eq=False)
class Layout:
    """A network in flat arrays, and what people call its parts."""

    spec: NetworkSpec
    structure: Structure
    sections: Array  # (pieces, TABLE) at rest
    slots: tuple[int, ...]  # slot of each drive
    actuators: int
    tip_body: int
    lengths: Array  # (rods,) at rest

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Names, the ground first."""
        return tuple(b.name for b in self.spec.bodies)

    @cached_property
    def rods(self) -> tuple[str, ...]:
        """Names of the rods."""
        return tuple(r.name for r in self.spec.rods)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of its drives."""
        return frozenset(d.kind for d in self.spec.drives)

    @cached_property
    def holds_tendons(self) -> bool:
        """Whether the length of a tendon is given."""
        return 'tendon' in self.kinds

    @cached_property
    def driven(self) -> tuple[str, ...]:
        """What its drives change, by the names of the kernels' inputs."""
        groups = {'dilution': ('unloaded_length',), 'tension': TENDONS}
        groups |= {'section': STRAINS, 'stiffness': (*LENGTHS, *STRAINS)}
        some = (name for name, kinds in groups.items() if not self.kinds.isdisjoint(kinds))
        slopes = self.holds_tendons or any(d.curve is not None for d in self.spec.drives)
        return 'length', 'theta', *('map_gain',) * slopes, *some

    @cached_property
    def driven_by(self) -> tuple[Integers, Array]:
        """Actuator of each drive, and what comes on top of what it makes of the actuator."""
        drives = self.spec.drives
        return integers([d.actuator for d in drives]), np.array([d.offset for d in drives])

    @cached_property
    def rod_nodes(self) -> tuple[slice, ...]:
        """Nodes of each rod."""
        return _slices(self.structure.rod_node)

    @cached_property
    def rod_pieces(self) -> tuple[slice, ...]:
        """Pieces of each rod."""
        return _slices(self.structure.rod_piece)

    def arcs(self, length: Array) -> tuple[Array, ...]:
        """Return where the nodes of each rod are along it [m], rods being of such lengths."""
        return self._still or self._arcs(length)

    @cached_property
    def _still(self) -> tuple[Array, ...] | None:
        """Return them where no drive changes a length; shared by configurations."""
        return None if self.kinds.intersection(LENGTHS) else self._arcs(self.rest.length, True)

    def _arcs(self, length: Array, shared: bool = False) -> tuple[Array, ...]:
        along = self.fractions * length[self.node_rod]
        along.setflags(write=not shared)
        return tuple(map(along.__getitem__, self.rod_nodes))

    @cached_property
    def node_piece(self) -> Integers:
        """Piece that begins at each node, at the last one of a rod that ends there."""
        return np.concatenate([np.r_[p, p.stop - 1] for p in self.rod_pieces])

    def __getstate__(self) -> dict[str, Any]:
        """Cross a wire without what is made again when it is asked for."""
        return {key: value for key, value in vars(self).items() if key != 'spare'}

    @cached_property
    def off_tip(self) -> Array:
        """Pose of the tip body in the frame of the tip."""
        return np.asarray(np.linalg.inv(self.spec.tip), dtype=float)

    @cached_property
    def _apart(self) -> bool:
        return not np.array_equal(self.spec.tip, np.eye(4))

    def named(self, body: Array) -> tuple[Array, dict[str, Array]]:
        """Return the tip and, in their own frames, the bodies of a state's; they lie in it."""
        tip = body[self.tip_body]
        bodies = {name: body[b] for b, name in enumerate(self.bodies) if b}
        bodies[self.spec.tip_body] = tip @ self.off_tip if self._apart else tip.copy()
        return tip, bodies

    @cached_property
    def body_units(self) -> Array:
        """What makes the tangent of the bodies dimensionless, (n, n)."""
        length, force = self.structure.scale.tolist()
        unit = np.tile([length] * 3 + [1.0] * 3, self.structure.counts.bodies - 1)
        return np.outer(unit, unit) / (force * length)

    def work(self) -> Work:
        """Allocate scratch for one thread."""
        return new_work(self.structure, self.actuators)

    def start_from(self, state: State) -> State:
        """Return a state for a solve to move; what no solve moves it shares with the other one."""
        return copied(state, *self._moved)

    @cached_property
    def _moved(self) -> tuple[str, ...]:
        kinds = self.structure.joint_kind
        joints = *('joint',) * bool(kinds.any()), *('spin',) * bool((kinds == SPHERICAL).any())
        return 'body', 'node', 'wrench', *joints, *('tension',) * self.holds_tendons

    @cached_property
    def spare(self) -> list[Work]:
        """Scratch of linearisations that nobody has any more, for the next ones."""
        return []

    def spare_work(self) -> Work:
        """Return scratch for a linearisation."""
        try:
            return self.spare.pop()
        except IndexError:
            return self.work()

    @cached_property
    def rest(self) -> Inputs:
        """Inputs without actuation, load or gravity; not to be written to."""
        return rest_inputs(self)

    @cached_property
    def sensors(self) -> SensorPlaces:
        """Where the flex sensors are."""
        rod = np.array([x.rod for x in self.spec.sensors], dtype=np.int64)
        ends = [(x.rod, at) for x in self.spec.sensors for at in (x.start, x.end)]
        nodes = [self.nearest_node(*end) for end in ends]
        axis = np.array([x.axis for x in self.spec.sensors], dtype=float).reshape(-1, 3)
        order = np.argsort(rod, kind='stable')
        places = integers(nodes).reshape(-1, 2)
        return SensorPlaces(rod[order], places[order], axis[order], np.argsort(order))

    @cached_property
    def tendons(self) -> Tendons:
        """The tendons, by actuator."""
        return Tendons(self)

    @cached_property
    def most_nodes(self) -> int:
        """Most nodes of a rod."""
        return int(np.diff(self.structure.rod_node).max())

    @cached_property
    def weighs(self) -> bool:
        """Whether any rod has mass."""
        return bool(self.sections[:, 12].any())

    @cached_property
    def fractions(self) -> Array:
        """Every node's fraction of its rod, (nodes,)."""
        return np.concatenate([r.fractions for r in self.spec.rods])

    @cached_property
    def node_rod(self) -> Integers:
        """Rod of each node."""
        return np.repeat(np.arange(len(self.spec.rods)), np.diff(self.structure.rod_node))

    @cached_property
    def radii(self) -> tuple[Array, ...]:
        """Half thickness at the nodes of each rod [m]; not to be written to."""
        found = tuple(
            np.array([radius_at(rod, f) for f in rod.fractions]) for rod in self.spec.rods
        )
        for radii in found:
            radii.flags.writeable = False
        return found

    @cached_property
    def carriers(self) -> tuple[Integers, Array]:
        """Nodes (k,) that carry a dead force at the tip body's origin; see `carrying_rods`."""
        rods, parts = rod_loads.carrying_rods(self.spec)
        return integers([self.structure.rod_node[r + 1] - 1 for r in rods]), parts

    def nearest_node(self, rod: int, at: float) -> int:
        """Return the node of a rod next to a fraction of its length."""
        fractions = self.spec.rods[rod].fractions
        return int(self.structure.rod_node[rod]) + int(np.argmin(np.abs(fractions - at)))


def _slices(first: Integers) -> tuple[slice, ...]:
    return tuple(slice(*ends) for ends in itertools.pairwise(first.tolist()))


def build_layout(spec: NetworkSpec, actuators: int) -> Layout:
    """Lay a network out. The tip body's frame is moved to the tip, where the tip's load acts."""
    return build_layout_raw(_with_tip_frame(spec), actuators)


def build_layout_raw(spec: NetworkSpec, actuators: int) -> Layout:
    """Do the same for a network whose tip body already has its frame at the tip."""
    spec = with_tendon_mesh(spec)
    structure, sections, slots = make_structure(spec)
    tip = [b.name for b in spec.bodies].index(spec.tip_body)
    lengths = np.array([r.length for r in spec.rods])
    return Layout(spec, structure, sections, slots, actuators, tip, lengths)


def _with_tip_frame(spec: NetworkSpec) -> NetworkSpec:
    back: Array = np.array(np.linalg.inv(spec.tip), dtype=np.float64)
    turn = back[:3, :3]

    def moved_body(b: BodySpec) -> BodySpec:
        pose = None if b.pose is None else b.pose @ spec.tip
        centre = turn @ b.centre + back[:3, 3]
        return replace(b, pose=pose, centre=centre, inertia=turn @ b.inertia @ turn.T)

    def moved_end(e: EndSpec) -> EndSpec:
        return replace(e, attach=back @ e.attach) if e.body == spec.tip_body else e

    bodies = (moved_body(b) if b.name == spec.tip_body else b for b in spec.bodies)
    rods = (replace(r, ends=(moved_end(r.ends[0]), moved_end(r.ends[1]))) for r in spec.rods)
    return replace(spec, bodies=tuple(bodies), rods=tuple(rods))


def rest_inputs(layout: Layout) -> Inputs:
    """Return inputs without actuation, load or gravity."""
    s = layout.structure
    rods, bodies = s.counts.rods, s.counts.bodies
    length, section, stiffness = layout.lengths, layout.sections, np.zeros((len(s.share), 6, 6))
    stiffen_elements(s, length, section, np.ones(rods, bool), np.empty((6, 6)), stiffness)
    return Inputs(
        length=length.copy(),
        section=section.copy(),
        stiffness=stiffness,
        dilution=np.ones(rods),
        theta=np.zeros((rods, 2)),
        tension=np.zeros(s.tendon.shape[:2]),
        pull=np.tile([-np.inf, 0.0], (int(layout.tendons.held.sum()), 1)),
        map_gain=np.ones(s.counts.maps),
        gravity=np.zeros(3),
        dead=np.zeros((bodies, 6)),
        follower=np.zeros((bodies, 6)),
        node_dead=np.zeros((0, 6)),
        node_follower=np.zeros((0, 6)),
        gap=np.tile(np.eye(4), (rods, 1, 1)),
        heavy=False,
    )


def actuate(layout: Layout, inputs: Inputs, actuation: Array) -> Inputs:
    """Return the inputs with the actuators at a value."""
    if 'map_gain' in layout.driven:
        return drive(layout, inputs, *driven_values(layout.spec.drives, actuation))
    by, offset = layout.driven_by
    return drive(layout, inputs, actuation[by] + offset)


def drive(layout: Layout, inputs: Inputs, value: Array, gain: float | Array = 1.0) -> Inputs:
    """Return the inputs with every drive at a value, which has a slope by its actuator."""
    x = copied(inputs, *layout.driven)
    if 'map_gain' in layout.driven:
        x.map_gain[:] = gain
    changed: dict[str, Any] = {}
    if layout.holds_tendons:
        changed['pull'] = _pulled(layout, inputs, value, x.map_gain)
    rods, params = len(x.length), layout.structure.counts.slots
    drive_to(layout.structure, x, value, np.empty((rods, 3 + params)))
    strain = driven_sections(layout, value) if layout.spec.incompressible else None
    if strain is not None:
        x.section[:] = strain
    if 'stiffness' in layout.driven:
        s = layout.structure
        stiffen_elements(s, x.length, x.section, s.restiffened, np.empty((6, 6)), x.stiffness)
    return x._replace(**changed) if changed else x


def _pulled(layout: Layout, inputs: Inputs, value: Array, gain: Array) -> Array:
    """Return the lengths of held tendons; they have columns (`gain`) per tension, and no value."""
    pull, held = inputs.pull.copy(), layout.tendons.actuators[layout.tendons.held].tolist()
    for k, d in enumerate(layout.spec.drives):
        if d.kind == 'tendon':
            pull[held.index(d.actuator)] = value[k], gain[k]
            value[k], gain[k] = 0.0, 1.0
    return pull


def load(layout: Layout, inputs: Inputs, load: LoadCase, permanent: float = 1.0) -> Inputs:
    """Return the inputs with loads and gravity; a load on a rod needs nodes where it acts.

    A load on a body acts at the body's origin, also where the body's frame was moved to the tip.
    `permanent` is the part of the robot file's own loads, and of tensions, that acts.
    """
    s = layout.structure
    dead = np.zeros((s.counts.bodies, 6))
    dead[layout.tip_body] = load.wrench
    heavy = layout.weighs and bool(load.gravity.any())
    if permanent != 1.0:
        pull = inputs.pull * [permanent, 1.0]
        inputs = inputs._replace(tension=permanent * inputs.tension, pull=pull)
    if not (layout.spec.loads or load.loads):
        return inputs._replace(dead=dead, gravity=load.gravity, heavy=heavy)
    own = [replace(x, wrench=permanent * x.wrench) for x in layout.spec.loads]
    follower = np.zeros(dead.shape)
    everything = (*own, *load.loads)
    on_nodes = any(x.on in (*layout.rods, layout.spec.tip_body) for x in everything)
    node_dead = np.zeros((s.counts.nodes if on_nodes else 0, 6))
    node_follower = np.zeros(node_dead.shape)
    for item in everything:
        base = item.axes is LoadAxes.BASE
        if item.until is not None:
            target = node_dead if base else node_follower
            r = rod_loads.rod_of(layout.spec, item)
            for at, weight in rod_loads.spread_points(layout.spec, item):
                target[layout.nearest_node(r, at)] += weight * item.wrench
        elif item.on == layout.spec.tip_body and not base:
            follower[layout.tip_body] += lie.adjoint(layout.spec.tip).T @ item.wrench
        elif item.on == layout.spec.tip_body and np.count_nonzero(item.wrench[:3]):
            nodes, parts = layout.carriers
            node_dead[nodes, :3] += parts[:, None] * item.wrench[:3]
            dead[layout.tip_body, :3] += (1.0 - parts.sum()) * item.wrench[:3]
            dead[layout.tip_body, 3:] += item.wrench[3:]
        elif item.on in ('', *layout.bodies[1:]):
            body = layout.bodies.index(item.on) if item.on else layout.tip_body
            (dead if base else follower)[body] += item.wrench
        else:
            node = layout.nearest_node(*rod_loads.point_on_rod(layout.spec, item))
            (node_dead if base else node_follower)[node] += item.wrench
    return inputs._replace(
        dead=dead,
        follower=follower,
        node_dead=node_dead,
        node_follower=node_follower,
        gravity=load.gravity,
        heavy=heavy,
    )
