# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a checked description of a network to the flat arrays of the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
import itertools

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array, Load, LoadAxes, LoadCase
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.models.network.arrays import (
    Inputs,
    Integers,
    lane_shifts,
    lane_table,
    new_work,
    Structure,
    Work,
)
from soro_mechanics.models.network.cross_section import CrossSection, ShapedSection
from soro_mechanics.models.network.drive_values import driven_values
from soro_mechanics.models.network.element_sections import element_section
from soro_mechanics.models.network.kernels.element_flexibility_kernels import stiffen_elements
from soro_mechanics.models.network.kernels.lane_kernels import LANES, TABLE, unit_drive
from soro_mechanics.models.network.rod_loads import rod_of, split_at_loads, spread_points
from soro_mechanics.models.network.rod_nodes import cut_fractions, NODE_MERGE
from soro_mechanics.models.network.spec import (
    DriveSpec,
    EndSpec,
    GROUND,
    JOINTS,
    LENGTHS,
    NetworkSpec,
    RodSpec,
    STRAINS,
    TENDONS,
)
from soro_mechanics.models.network.tendon.layout import tendon_table, with_tendon_mesh
from soro_mechanics.models.network.tendon.paths import Tendons
from soro_mechanics.numerics import lie

ROUND_OFF = 1e-9  # of places on a body, in lengths of the rods


@dataclass(frozen=True)
class SensorPlaces:
    """The flex sensors, those of one rod after each other."""

    rod: Integers  # (k,)
    nodes: Integers  # (k, 2) counted through the network
    axis: Array  # (k, 3)
    back: Integers  # (k,) where each sensor of the network stands here
    in_order: bool  # each stands in its own place


@dataclass(frozen=True, eq=False)
class Layout:
    """A network in flat arrays, and what people call its parts."""

    spec: NetworkSpec
    structure: Structure
    sections: Array  # (pieces, stations, TABLE) at rest
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
    def parts(self) -> tuple[slice, ...]:
        """Stations of each rod."""
        first = self.stations[0].tolist()
        return tuple(slice(*ends) for ends in itertools.pairwise(first))

    @cached_property
    def off_tip(self) -> Array:
        """Pose of the tip body in the frame of the tip."""
        return np.asarray(np.linalg.inv(self.spec.tip), dtype=float)

    @cached_property
    def body_units(self) -> Array:
        """Squares of the characteristic length for moved bodies, of 1 for turned ones, (n, n)."""
        n = 6 * (int(self.structure.counts[0]) - 1)
        unit = np.tile([float(self.structure.scale[0])] * 3 + [1.0] * 3, n // 6)
        return np.outer(unit, unit)

    def work(self) -> Work:
        """Allocate scratch for one thread."""
        return new_work(self.structure, self.actuators)

    @cached_property
    def rest(self) -> Inputs:
        """Inputs without actuation, load or gravity; not to be written to."""
        return rest_inputs(self)

    @cached_property
    def sensors(self) -> SensorPlaces:
        """Where the flex sensors are."""
        rod = np.array([x.rod for x in self.spec.sensors], dtype=np.int64)
        nodes = [[self._node(x.rod, at) for at in (x.start, x.end)] for x in self.spec.sensors]
        axis = np.array([x.axis for x in self.spec.sensors], dtype=float).reshape(-1, 3)
        order = np.argsort(rod, kind='stable')
        places = _integers(nodes).reshape(-1, 2)
        same = bool((np.diff(rod) >= 0).all())
        return SensorPlaces(rod[order], places[order], axis[order], np.argsort(order), same)

    @cached_property
    def tendons(self) -> Tendons:
        """The tendons, by actuator."""
        return Tendons(self.spec, self.structure, self.sections, self.slots, self.lengths)

    @cached_property
    def restiffened(self) -> NDArray[np.bool_]:
        """Whose two-node elements a drive makes stiffer or softer, (rods,)."""
        driven = {d.rod for d in self.spec.drives if d.kind in (*LENGTHS, *STRAINS)}
        return np.array([not r.macro and i in driven for i, r in enumerate(self.spec.rods)])

    @cached_property
    def restiffens(self) -> bool:
        """Whether there is such a rod."""
        return bool(self.restiffened.any())

    @cached_property
    def rest_stiffness(self) -> Array:
        """Stiffness (pieces, 6, 6) of two-node elements at rest; not to be written to."""
        s = self.structure
        return self.stiffened(
            self.lengths, self.sections[:, 0], s.rod_macro == 0, np.zeros((len(s.share), 6, 6))
        )

    def stiffened(
        self, length: Array, section: Array, rods: NDArray[np.bool_], start: Array
    ) -> Array:
        """Return `start` with the stiffness of the two-node elements of some rods."""
        out = start.copy()
        section = np.ascontiguousarray(section)
        stiffen_elements(self.structure, length, section, rods, np.empty((10, 6)), out)
        return out

    @cached_property
    def most_nodes(self) -> int:
        """Most nodes of a rod."""
        return int(np.diff(self.structure.rod_node).max())

    @cached_property
    def weighs(self) -> bool:
        """Whether any rod has mass."""
        return bool(self.sections[:, :, 12].any())

    @cached_property
    def stations(self) -> tuple[Array, Array]:
        """First station of each rod (rods + 1,), and every station's fraction of its rod."""
        steps = int(self.structure.counts[4])
        parts = [cut_fractions(r.fractions, steps if r.macro else 1) for r in self.spec.rods]
        return np.cumsum([0, *map(len, parts)]), np.concatenate(parts)

    @cached_property
    def radii(self) -> tuple[Array, ...]:
        """Half thickness at the stations of each rod [m]; not to be written to."""
        first, fraction = self.stations
        found = tuple(
            np.array([radius_at(rod, f) for f in fraction[first[r] : first[r + 1]]])
            for r, rod in enumerate(self.spec.rods)
        )
        for radii in found:
            radii.flags.writeable = False
        return found

    @cached_property
    def carriers(self) -> tuple[Integers, Array]:
        """Nodes (k,) on the tip body, and what each carries (k,) of a dead force at its origin.

        The tip carries the rest. Dead forces in one direction at points of a body are one dead
        force at the weighted mean of the points. No node where the tip is that origin.

        Raises
        ------
        InvalidInput
            The rods end where their ends and the tip have no such mean.
        """
        s, spec = self.structure, self.spec
        origin = np.linalg.inv(spec.tip)[:3, 3] / s.scale[0]
        if np.linalg.norm(origin) <= ROUND_OFF:
            return _integers([]), np.zeros(0)
        ends = [(r, rod.ends[1]) for r, rod in enumerate(spec.rods)]
        # a crank moves the end of its rod about the body
        fixed = [(r, e) for r, e in ends if e.body == spec.tip_body and not e.crank[:3, 3].any()]
        places = np.array([e.attach[:3, 3] for _, e in fixed]).reshape(-1, 3).T / s.scale[0]
        parts = np.linalg.lstsq(places, origin, rcond=ROUND_OFF)[0]
        if np.linalg.norm(places @ parts - origin) > ROUND_OFF:
            raise InvalidInput(
                'loads.on',
                spec.tip_body,
                "'' (a load at the tip), or axes that follow the body: from the ends of its rods "
                'and the tip no force fixed in base_link can be put together at its origin',
            )
        return _integers([s.rod_node[r + 1] - 1 for r, _ in fixed]), parts

    def node_at(self, item: Load) -> int:
        """Return the node of a point load on a rod.

        Raises
        ------
        UnknownName
            Neither a body nor a rod.
        InvalidInput
            Outside the rod, or at its very beginning, where the load belongs on the body.
        """
        if item.on not in self.rods:
            raise UnknownName('loads.on', item.on, (*self.bodies[1:], *self.rods))
        r = self.rods.index(item.on)
        at = item.arc_length / self.lengths[r]
        if not NODE_MERGE < at <= 1.0 + 1e-12:  # the first node is the body's, and takes no load
            expected = (
                f'more than 0 and at most {self.lengths[r]:g} m (put it on a body otherwise)'
            )
            raise InvalidInput('loads.arc_length', item.arc_length, expected)
        node = int(np.argmin(np.abs(self.spec.rods[r].fractions - at)))
        return int(self.structure.rod_node[r]) + node

    def _node(self, rod: int, at: float) -> int:
        fractions = self.spec.rods[rod].fractions
        return int(self.structure.rod_node[rod]) + int(np.argmin(np.abs(fractions - at)))


def build_layout(spec: NetworkSpec, actuators: int) -> Layout:
    """Lay a network out. The tip body's frame is moved to the tip, where the tip's load acts."""
    return build_layout_raw(_with_tip_frame(spec), actuators)


def build_layout_raw(spec: NetworkSpec, actuators: int) -> Layout:
    """Do the same for a network whose tip body already has its frame at the tip."""
    spec = with_tendon_mesh(spec)
    bodies = [b.name for b in spec.bodies]
    rods = spec.rods
    pieces = [len(r.fractions) - 1 for r in rods]
    rod_piece = np.concatenate([[0], np.cumsum(pieces)])
    rod_node = rod_piece + np.arange(len(rods) + 1)
    owner = np.repeat(np.arange(len(rods)), pieces)
    macro = np.array([int(r.macro) for r in rods])
    lane = np.where(macro[owner] == 1, np.cumsum(macro[owner]) - 1, -1)
    batches = -(-int(np.sum(macro[owner])) // LANES)
    parts = [_sections(r, spec.steps) for r in rods]
    sections = np.concatenate([a for a, _ in parts])
    slots, shifts, tensions = _slots(spec.drives, len(rods))
    shift = _shifts(spec, slots, shifts, rods, rod_piece, sections)
    maps = [(d.actuator, d.rod, slot) for d, slot in zip(spec.drives, slots, strict=True)]
    rows = tuple(slot - 1 - shifts for slot in slots)
    share = np.concatenate([np.diff(r.fractions) for r in rods])
    lengths = np.array([r.length for r in rods])
    length = float(np.mean(lengths))
    flexible = 1.0 / np.mean(sections[:, :, 9:11])
    structure = Structure(
        counts=_integers(
            [
                len(bodies),
                len(rods),
                rod_node[-1],
                rod_piece[-1],
                spec.steps,
                shifts + tensions,
                len(maps),
                batches,
            ]
        ),
        rod_node=_integers(rod_node),
        rod_piece=_integers(rod_piece),
        rod_body=_integers([[bodies.index(e.body) for e in r.ends] for r in rods]),
        rod_macro=_integers(macro),
        attach=np.array([[e.attach for e in r.ends] for r in rods]),
        motor_axis=np.array([[e.motor_axis for e in r.ends] for r in rods]),
        offset=np.array([[e.crank for e in r.ends] for r in rods]),
        joint_kind=_integers([[JOINTS.index(e.joint) for e in r.ends] for r in rods]),
        joint_axes=np.array([[e.axes for e in r.ends] for r in rods]),
        share=share,
        lane=_integers(lane),
        shift=shift,
        change=np.concatenate([b for _, b in parts]),
        keeps_mass=_integers(
            [
                int(any(d.rod == i and d.kind == 'unloaded_length' for d in spec.drives))
                for i in range(len(rods))
            ]
        ),
        tendon=tendon_table(spec.drives, rods, rows, tensions),
        drive=unit_drive(True, shifts),
        lane_shift=lane_shifts(shift, lane, batches, 3),
        light_drive=unit_drive(False, shifts),
        light_shift=lane_shifts(shift, lane, batches, 0),
        keep_first=_integers([_keep_first(r, i, spec.drives) for i, r in enumerate(rods)]),
        map_index=_integers(maps).reshape(-1, 3),
        body_mass=np.array([b.mass for b in spec.bodies]),
        body_centre=np.array([b.centre for b in spec.bodies]),
        scale=np.array([length, flexible / length**2]),
    )
    return Layout(
        spec, structure, sections, slots, actuators, bodies.index(spec.tip_body), lengths
    )


def _with_tip_frame(spec: NetworkSpec) -> NetworkSpec:
    back: Array = np.array(np.linalg.inv(spec.tip), dtype=np.float64)
    bodies = tuple(
        replace(
            b,
            pose=None if b.pose is None else b.pose @ spec.tip,
            centre=back[:3, :3] @ b.centre + back[:3, 3],
            inertia=back[:3, :3] @ b.inertia @ back[:3, :3].T,
        )
        if b.name == spec.tip_body
        else b
        for b in spec.bodies
    )
    rods = tuple(
        replace(
            r,
            ends=(_from_tip(r.ends[0], spec, back), _from_tip(r.ends[1], spec, back)),
        )
        for r in spec.rods
    )
    return replace(spec, bodies=bodies, rods=rods)


def _from_tip(end: EndSpec, spec: NetworkSpec, back: Array) -> EndSpec:
    return replace(end, attach=back @ end.attach) if end.body == spec.tip_body else end


def refined(spec: NetworkSpec, factor: int) -> NetworkSpec:
    """Return the same network with every step and every two-node element divided."""
    rods = []
    for rod in spec.rods:
        fractions = rod.fractions
        if not rod.macro:
            parts = np.linspace(0.0, 1.0, factor, endpoint=False)
            inner = fractions[:-1, None] + np.diff(fractions)[:, None] * parts
            fractions = np.append(inner.ravel(), 1.0)
        rods.append(replace(rod, fractions=fractions))
    fine = replace(
        spec, rods=tuple(rods), steps=spec.steps * factor, load_panels=spec.load_panels * factor
    )
    return split_at_loads(fine, ())


def _integers(values: object) -> np.ndarray:
    return np.ascontiguousarray(np.array(values, dtype=np.int64))


def _keep_first(rod: RodSpec, index: int, drives: tuple[DriveSpec, ...]) -> int:
    first = rod.ends[0]
    if first.body != GROUND or first.joint != 'clamped':
        return 2
    return int(any(d.rod == index and d.kind == 'angle' and d.end == 0 for d in drives))


def _slots(drives: tuple[DriveSpec, ...], rods: int) -> tuple[tuple[int, ...], int, int]:
    """Return the slot of every drive, and the most rest strains and tensions of a rod."""
    used = [
        [sum(d.rod == r and d.kind in k for d in drives) for k in (STRAINS, TENDONS)]
        for r in range(rods)
    ]
    shifts, tensions = np.max(used, axis=0).tolist()
    slots = []
    seen = np.zeros((rods, 2), dtype=int)
    for d in drives:
        if d.kind in (*STRAINS, *TENDONS):
            row = int(d.kind in TENDONS)
            seen[d.rod, row] += 1
            slots.append(int(seen[d.rod, row]) + row * shifts)
        else:
            slots.append(0 if d.kind in LENGTHS else 1 + shifts + tensions + d.end)
    return tuple(slots), shifts, tensions


def section_at(rod: RodSpec, at: float) -> CrossSection:
    """Return the section at a fraction of the length."""
    if isinstance(rod.section, CrossSection):
        return rod.section
    if rod.section_end is None:
        return rod.section.cross_section()
    a: ShapedSection = rod.section
    return a.cross_section((1.0 - at) * a.size + at * rod.section_end.size)


def radius_at(rod: RodSpec, at: float) -> float:
    """Return the half thickness of a rod at a fraction of its length [m]."""
    return section_at(rod, at).radius


def half_sizes(rod: RodSpec, at: float) -> tuple[float, float]:
    """Return half the extent of the section along its local x and y [m]."""
    a = rod.section
    if isinstance(a, ShapedSection) and a.shape == 'rectangle':
        b = a if rod.section_end is None else rod.section_end
        size = 0.5 * ((1.0 - at) * a.size + at * b.size)
        return float(size[0]), float(size[1])
    radius = radius_at(rod, at)
    return radius, radius


def is_round(rod: RodSpec) -> bool:
    """Whether moments about x and y strain the same fibre only where they add up."""
    return not (isinstance(rod.section, ShapedSection) and rod.section.shape == 'rectangle')


def _sections(rod: RodSpec, steps: int) -> tuple[Array, Array]:
    """Return (pieces, 2 steps + 1, TABLE): every half step, or an element's mean; changes."""
    pieces = len(rod.fractions) - 1
    out = np.zeros((pieces, 2 * steps + 1, TABLE))
    change = np.zeros((pieces, 12))
    for p in range(pieces):
        a, b = rod.fractions[p], rod.fractions[p + 1]
        if not rod.macro:
            out[p], change[p] = element_section(rod, a, b, section_at)
            continue
        for k, at in enumerate(np.linspace(a, b, 2 * steps + 1)):
            section = section_at(rod, at)
            out[p, k, 2] = 1.0
            for i in range(3):
                out[p, k, 3 + i] = np.interp(at, rod.curvature[:, 0], rod.curvature[:, 1 + i])
            out[p, k, 6:12] = 1.0 / section.stiffness
            out[p, k, 12] = section.mass
    return out, change


def _shifts(
    spec: NetworkSpec,
    slots: tuple[int, ...],
    shifts: int,
    rods: tuple[RodSpec, ...],
    rod_piece: np.ndarray,
    sections: Array,
) -> Array:
    shift = np.zeros((rod_piece[-1], shifts, 6))
    for d, slot in zip(spec.drives, slots, strict=True):
        if d.kind not in STRAINS:
            continue
        for p in range(rod_piece[d.rod], rod_piece[d.rod + 1]):
            middle = sections[p, sections.shape[1] // 2, 6:12]
            # a wrench inside the rod works as the rest strain c F (Shi 2023, eq 8 ff.)
            shift[p, slot - 1] = middle * d.shift if d.kind == 'pressure' else d.shift
    return shift


def rest_inputs(layout: Layout) -> Inputs:
    """Return inputs without actuation, load or gravity, every body to be solved for."""
    s = layout.structure
    rods, bodies = int(s.counts[1]), int(s.counts[0])
    unknown = np.ones(bodies, dtype=np.int64)
    unknown[0] = 0
    return Inputs(
        length=layout.lengths.copy(),
        table=lane_table(layout.sections, s.lane, int(s.counts[7])),
        section=np.ascontiguousarray(layout.sections[:, 0]),
        stiffness=layout.rest_stiffness,
        dilution=np.ones(rods),
        theta=np.zeros((rods, 2)),
        tension=np.zeros(s.tendon.shape[:2]),
        pull=np.tile([-np.inf, 0.0], (int(layout.tendons.held.sum()), 1)),
        map_gain=np.ones(int(s.counts[6])),
        gravity=np.zeros(3),
        dead=np.zeros((bodies, 6)),
        follower=np.zeros((bodies, 6)),
        node_dead=np.zeros((0, 6)),
        node_follower=np.zeros((0, 6)),
        gap=np.tile(np.eye(4), (rods, 1, 1)),
        unknown=unknown,
        heavy=False,
    )


def actuate(layout: Layout, inputs: Inputs, actuation: Array) -> Inputs:
    """Return the inputs with the actuators at a value."""
    return drive(layout, inputs, *driven_values(layout.spec.drives, actuation))


def drive(layout: Layout, inputs: Inputs, value: Array, gain: Array) -> Inputs:
    """Return the inputs with every drive at a value."""
    s = layout.structure
    length, theta = layout.lengths.copy(), np.zeros(inputs.theta.shape)
    tension, pull, dilution = inputs.tension, inputs.pull, inputs.dilution
    held: list[int] = []
    if not layout.kinds.isdisjoint(TENDONS):
        tension, pull, gain = np.zeros(tension.shape), pull.copy(), gain.copy()
        held = layout.tendons.actuators[layout.tendons.held].tolist()
    if 'unloaded_length' in layout.kinds:
        dilution = np.ones(len(length))
    strain = None
    for k, (d, slot, x) in enumerate(zip(layout.spec.drives, layout.slots, value, strict=True)):
        if d.kind in LENGTHS:
            length[d.rod] = x
            if d.kind == 'unloaded_length':
                dilution[d.rod] = layout.lengths[d.rod] / x
        elif d.kind == 'angle':
            theta[d.rod, d.end] = x
        elif d.kind == 'tendon':
            pull[held.index(d.actuator)] = x, gain[k]
            gain[k] = 1.0  # columns are per tension
        elif d.kind == 'tension':
            p = slice(s.rod_piece[d.rod], s.rod_piece[d.rod + 1])
            row = slot - 1 - s.shift.shape[1]
            tension[p, row] = x * s.tendon[p, row, 2]
        else:
            strain = layout.sections.copy() if strain is None else strain
            p = slice(s.rod_piece[d.rod], s.rod_piece[d.rod + 1])
            strain[p, :, 0:6] += x * s.shift[p, slot - 1][:, None]
    table, section = inputs.table, inputs.section
    if strain is not None:
        table = lane_table(strain, s.lane, int(s.counts[7]))
        section = np.ascontiguousarray(strain[:, 0])
    stiffness = inputs.stiffness
    if layout.restiffens:
        stiffness = layout.stiffened(length, section, layout.restiffened, stiffness)
    return inputs._replace(
        length=length,
        stiffness=stiffness,
        dilution=dilution,
        theta=theta,
        tension=tension,
        pull=pull,
        table=table,
        section=section,
        map_gain=gain,
    )


def load(
    layout: Layout,
    inputs: Inputs,
    load: LoadCase,
    permanent: float = 1.0,
) -> Inputs:
    """Return the inputs with loads and gravity; a load on a rod needs nodes where it acts.

    A load on a body acts at the body's origin, also where the body's frame was moved to the tip.
    `permanent` is the part of the robot file's own loads, and of tensions, that acts.
    """
    s = layout.structure
    dead = np.zeros((int(s.counts[0]), 6))
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
    node_dead = np.zeros((int(s.counts[2]) if on_nodes else 0, 6))
    node_follower = np.zeros(node_dead.shape)
    for item in everything:
        base = item.axes is LoadAxes.BASE
        if item.until is not None:
            target = node_dead if base else node_follower
            r = rod_of(layout.spec, item)
            fractions = layout.spec.rods[r].fractions
            for at, weight in spread_points(layout.spec, item):
                node = int(layout.structure.rod_node[r]) + int(np.argmin(np.abs(fractions - at)))
                target[node] += weight * item.wrench
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
            node = layout.node_at(item)
            (node_dead if base else node_follower)[node] += item.wrench
    return inputs._replace(
        dead=dead,
        follower=follower,
        node_dead=node_dead,
        node_follower=node_follower,
        gravity=load.gravity,
        heavy=heavy,
    )
