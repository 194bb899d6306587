# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a checked description of a network to the flat arrays of the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from soro_mechanics.configuration import Array, Load, LoadAxes
from soro_mechanics.errors import InvalidInput, UnknownName
from soro_mechanics.network.arrays import (
    Inputs,
    lane_shifts,
    lane_table,
    new_work,
    Structure,
    Work,
)
from soro_mechanics.network.cross_section import CrossSection, ShapedSection
from soro_mechanics.network.lane_kernels import LANES, TABLE, unit_drive
from soro_mechanics.network.schema import (
    DriveSpec,
    EndSpec,
    GROUND,
    JOINTS,
    NetworkSpec,
    RodSpec,
)

NODE_MERGE = 1e-9  # fraction of a rod below which two nodes are one: round-off of arc lengths
STRAINS = ('stretch', 'curvature', 'pressure')


@dataclass(frozen=True)
class Layout:
    """A network in flat arrays, and what people call its parts."""

    spec: NetworkSpec
    structure: Structure
    sections: Array  # (pieces, stations, TABLE) at rest
    slots: tuple[int, ...]  # slot of each drive
    actuators: int
    tip_body: int
    lengths: Array  # (rods,) at rest

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names, the ground first."""
        return tuple(b.name for b in self.spec.bodies)

    @property
    def rods(self) -> tuple[str, ...]:
        """Names of the rods."""
        return tuple(r.name for r in self.spec.rods)

    def work(self) -> Work:
        """Allocate scratch for one thread."""
        return new_work(self.structure, self.actuators)


def build_layout(spec: NetworkSpec, actuators: int) -> Layout:
    """Lay a network out. The tip body's frame is moved to the tip, where its load acts."""
    return build_layout_raw(_with_tip_frame(spec), actuators)


def build_layout_raw(spec: NetworkSpec, actuators: int) -> Layout:
    """Do the same for a network whose tip body already has its frame at the tip."""
    bodies = [b.name for b in spec.bodies]
    rods = spec.rods
    pieces = [len(r.fractions) - 1 for r in rods]
    rod_piece = np.concatenate([[0], np.cumsum(pieces)])
    rod_node = rod_piece + np.arange(len(rods) + 1)
    owner = np.repeat(np.arange(len(rods)), pieces)
    macro = np.array([int(r.macro) for r in rods])
    lane = np.where(macro[owner] == 1, np.cumsum(macro[owner]) - 1, -1)
    batches = -(-int(np.sum(macro[owner])) // LANES)
    sections = np.concatenate([_sections(r, spec.steps) for r in rods])
    slots, shifts = _slots(spec.drives, len(rods))
    shift = _shifts(spec, slots, shifts, rods, rod_piece, sections)
    maps = [(d.actuator, d.rod, slot) for d, slot in zip(spec.drives, slots, strict=True)]
    share = np.concatenate([np.diff(r.fractions) for r in rods])
    lengths = np.array([r.length for r in rods])
    length = float(np.mean(lengths))
    flexible = 1.0 / np.mean(sections[:, :, 9:11])
    structure = Structure(
        counts=_integers([
            len(bodies), len(rods), rod_node[-1], rod_piece[-1], spec.steps, shifts, len(maps),
            batches,
        ]),
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
        drive=unit_drive(True, shifts),
        lane_shift=lane_shifts(shift, lane, batches, 3),
        light_drive=unit_drive(False, shifts),
        light_shift=lane_shifts(shift, lane, batches, 0),
        keep_first=_integers([_keep_first(r, i, spec.drives) for i, r in enumerate(rods)]),
        map_index=_integers(maps).reshape(-1, 3),
        body_mass=np.array([b.mass for b in spec.bodies]),
        body_centre=np.array([b.centre for b in spec.bodies]),
        scale=np.array([length, flexible / length**2]),
    )  # fmt: skip
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
    return replace(spec, rods=tuple(rods), steps=spec.steps * factor)


def _integers(values: object) -> np.ndarray:
    return np.ascontiguousarray(np.array(values, dtype=np.int64))


def _keep_first(rod: RodSpec, index: int, drives: tuple[DriveSpec, ...]) -> int:
    first = rod.ends[0]
    if first.body != GROUND or first.joint != 'clamped':
        return 2
    return int(any(d.rod == index and d.kind == 'angle' and d.end == 0 for d in drives))


def _slots(drives: tuple[DriveSpec, ...], rods: int) -> tuple[tuple[int, ...], int]:
    """Return the slot of every drive, and the largest number of rest strains of a rod."""
    used = [0] * rods
    for d in drives:
        used[d.rod] += d.kind in STRAINS
    shifts = max(used)
    slots = []
    seen = [0] * rods
    for d in drives:
        if d.kind in STRAINS:
            seen[d.rod] += 1
            slots.append(seen[d.rod])
        else:
            slots.append(0 if d.kind == 'length' else 1 + shifts + d.end)
    return tuple(slots), shifts


def _section_at(rod: RodSpec, at: float) -> CrossSection:
    if isinstance(rod.section, CrossSection):
        return rod.section
    if rod.section_end is None:
        return rod.section.cross_section()
    a: ShapedSection = rod.section
    return a.cross_section((1.0 - at) * a.size + at * rod.section_end.size)


def radius_at(rod: RodSpec, at: float) -> float:
    """Return the half thickness of a rod at a fraction of its length [m]."""
    return _section_at(rod, at).radius


def _sections(rod: RodSpec, steps: int) -> Array:
    """Return (pieces, 2 steps + 1, TABLE): every half step, or the middle of an element."""
    pieces = len(rod.fractions) - 1
    out = np.zeros((pieces, 2 * steps + 1, TABLE))
    for p in range(pieces):
        a, b = rod.fractions[p], rod.fractions[p + 1]
        stations = np.linspace(a, b, 2 * steps + 1)
        if not rod.macro:
            stations[:] = 0.5 * (a + b)
        for k, at in enumerate(stations):
            section = _section_at(rod, at)
            out[p, k, 2] = 1.0
            for i in range(3):
                out[p, k, 3 + i] = np.interp(at, rod.curvature[:, 0], rod.curvature[:, 1 + i])
            out[p, k, 6:12] = 1.0 / section.stiffness
            out[p, k, 12] = section.mass
    return out


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


def driven_values(layout: Layout, actuation: Array) -> tuple[Array, Array]:
    """Return the value of every drive and its slope by the actuator."""
    drives = layout.spec.drives
    value = np.empty(len(drives))
    gain = np.ones(len(drives))
    for k, d in enumerate(drives):
        a = actuation[d.actuator]
        if d.curve is not None:
            a, gain[k] = _monotone(d.curve, a)
        value[k] = a + d.offset
    return value, gain


def driven_ranges(layout: Layout, actuation: Array) -> Array:
    """Return the driven value of each actuator before any offset (what a curve makes of it)."""
    out = np.array(actuation, dtype=float)
    for d in layout.spec.drives:
        if d.curve is not None:
            out[d.actuator] = _monotone(d.curve, actuation[d.actuator])[0]
    return out


def actuation_of(layout: Layout, driven: Array, limits: Array) -> Array:
    """Return the actuation whose driven values these are: the inverse of `driven_ranges`."""
    out = np.array(driven, dtype=float)
    for d in layout.spec.drives:
        if d.curve is None:
            continue
        low, high = limits[d.actuator]
        rising = d.curve[-1, 1] > d.curve[0, 1]
        for _ in range(80):  # bisection: the interval ends below double precision
            middle = 0.5 * (low + high)
            above = _monotone(d.curve, middle)[0] > driven[d.actuator]
            low, high = (low, middle) if above == rising else (middle, high)
        out[d.actuator] = 0.5 * (low + high)
    return out


def _monotone(curve: Array, at: float) -> tuple[float, float]:
    """Return value and slope of a curve through its points, C1 and without overshoot.

    Fritsch-Butland slopes, linear beyond the ends.
    """
    x, y = curve[:, 0], curve[:, 1]
    h = np.diff(x)
    secant = np.diff(y) / h
    slope = np.empty(len(x))
    slope[0], slope[-1] = secant[0], secant[-1]
    for i in range(1, len(x) - 1):
        a, b = secant[i - 1], secant[i]
        w1, w2 = 2.0 * h[i] + h[i - 1], h[i] + 2.0 * h[i - 1]
        slope[i] = (w1 + w2) * a * b / (w1 * b + w2 * a) if a * b > 0.0 else 0.0
    if at <= x[0]:
        return float(y[0] + slope[0] * (at - x[0])), float(slope[0])
    if at >= x[-1]:
        return float(y[-1] + slope[-1] * (at - x[-1])), float(slope[-1])
    i = int(np.searchsorted(x, at)) - 1
    t = (at - x[i]) / h[i]
    c = y[i], h[i] * slope[i], y[i + 1], h[i] * slope[i + 1]
    value = (
        c[0] * (1 + 2 * t) * (1 - t) ** 2 + c[1] * t * (1 - t) ** 2
        + c[2] * t**2 * (3 - 2 * t) + c[3] * t**2 * (t - 1)
    )  # fmt: skip
    rate = (
        6 * t * (t - 1) * (c[0] - c[2]) + c[1] * (1 - t) * (1 - 3 * t) + c[3] * t * (3 * t - 2)
    ) / h[i]
    return float(value), float(rate)


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
        theta=np.zeros((rods, 2)),
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
    return drive(layout, inputs, *driven_values(layout, actuation))


def drive(layout: Layout, inputs: Inputs, value: Array, gain: Array) -> Inputs:
    """Return the inputs with every drive at a value."""
    s = layout.structure
    length = layout.lengths.copy()
    theta = np.zeros_like(inputs.theta)
    strain = None
    for d, slot, x in zip(layout.spec.drives, layout.slots, value, strict=True):
        if d.kind == 'length':
            length[d.rod] = x
        elif d.kind == 'angle':
            theta[d.rod, d.end] = x
        else:
            strain = layout.sections.copy() if strain is None else strain
            p = slice(s.rod_piece[d.rod], s.rod_piece[d.rod + 1])
            strain[p, :, 0:6] += x * s.shift[p, slot - 1][:, None]
    table, section = inputs.table, inputs.section
    if strain is not None:
        table = lane_table(strain, s.lane, int(s.counts[7]))
        section = np.ascontiguousarray(strain[:, 0])
    return inputs._replace(length=length, theta=theta, table=table, section=section, map_gain=gain)


def load(
    layout: Layout, inputs: Inputs, wrench: Array, loads: tuple[Load, ...], gravity: Array
) -> Inputs:
    """Return the inputs with loads and gravity; a point load needs a node where it acts."""
    s = layout.structure
    dead = np.zeros((int(s.counts[0]), 6))
    follower = np.zeros_like(dead)
    dead[layout.tip_body] += wrench
    nodes = int(s.counts[2])
    node_dead, node_follower = np.zeros((nodes, 6)), np.zeros((nodes, 6))
    used = False
    for item in loads:
        base = item.axes is LoadAxes.BASE
        if item.on in ('', *layout.bodies[1:]):
            body = layout.bodies.index(item.on) if item.on else layout.tip_body
            (dead if base else follower)[body] += item.wrench
        else:
            node = node_at(layout, item)
            (node_dead if base else node_follower)[node] += item.wrench
            used = True
    if not used:
        node_dead, node_follower = node_dead[:0], node_follower[:0]
    heavy = bool(layout.sections[:, :, 12].any() and np.any(gravity))
    return inputs._replace(
        dead=dead, follower=follower, node_dead=node_dead, node_follower=node_follower,
        gravity=np.array(gravity, dtype=float), heavy=heavy,
    )  # fmt: skip


def node_at(layout: Layout, item: Load) -> int:
    """Return the node of a point load on a rod.

    Raises
    ------
    UnknownName
        Neither a body nor a rod.
    InvalidInput
        Outside the rod, or at its very beginning, where the load belongs on the body.
    """
    if item.on not in layout.rods:
        raise UnknownName('loads.on', item.on, (*layout.bodies[1:], *layout.rods))
    r = layout.rods.index(item.on)
    at = item.arc_length / layout.lengths[r]
    if not 0.0 < at <= 1.0 + 1e-12:
        expected = f'more than 0 and at most {layout.lengths[r]:g} m (put it on a body otherwise)'
        raise InvalidInput('loads.arc_length', item.arc_length, expected)
    node = int(np.argmin(np.abs(layout.spec.rods[r].fractions - at)))
    return int(layout.structure.rod_node[r]) + node


def split_at_loads(spec: NetworkSpec, loads: tuple[Load, ...]) -> NetworkSpec:
    """Return the network with a node at every point load on a rod and at every sensor's ends."""
    rods = list(spec.rods)
    names = [r.name for r in rods]
    places = [(names.index(x.on), x.arc_length) for x in loads if x.on in names]
    places = [(r, min(at / rods[r].length, 1.0)) for r, at in places]
    places += [(x.rod, at) for x in spec.sensors for at in (x.start, x.end)]
    for r, at in places:
        fractions = rods[r].fractions
        if at > 0.0 and np.min(np.abs(fractions - at)) > NODE_MERGE:
            fractions = np.sort(np.append(fractions, at))
            rods[r] = replace(rods[r], fractions=fractions)
    return replace(spec, rods=tuple(rods))
