# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Loads on rods: which rod, and where on its mesh they act; dead forces on the tip body."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from soro_mechanics.core.configuration import Array, Load
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.rod_nodes import cut_fractions, NODE_MERGE, with_node

ROUND_OFF = 1e-9  # of places on a body, in lengths of the rods


def spread_points(spec: NetworkSpec, item: Load) -> list[tuple[float, float]]:
    """Return where a spread load acts on the mesh: fractions of the rod, and lengths [m].

    Two Gauss points in each of equal panels: the work of the load is exact for cubic motions of a
    panel. Of second order, as the curvature jumps at every moment.

    Raises UnknownName: not a rod. Raises InvalidInput: beyond the ends of the rod.
    """
    rod = spec.rods[rod_of(spec, item)]
    until = item.arc_length if item.until is None else item.until
    a, b = item.arc_length / rod.length, until / rod.length
    if not 0.0 <= a < b <= 1.0 + 1e-12:
        raise InvalidInput('loads.until', until, f'a part of 0 ... {rod.length:g} m')
    panels = max(2, math.ceil(spec.load_panels * (b - a)))
    width = (b - a) / panels
    half = 0.5 * width / math.sqrt(3.0)
    middle = a + width * (np.arange(panels) + 0.5)
    points = np.concatenate([middle - half, middle + half]).tolist()
    return [(at, 0.5 * width * rod.length) for at in points]


def point_on_rod(spec: NetworkSpec, item: Load) -> tuple[int, float]:
    """Return the rod of a load at a point, and the fraction of its length.

    Raises UnknownName: neither a body nor a rod. Raises InvalidInput: outside the rod, or at its
    very beginning, where the load belongs on the body.
    """
    r = rod_of(spec, item, tuple(b.name for b in spec.bodies[1:]))
    length = spec.rods[r].length
    at = item.arc_length / length
    if not NODE_MERGE < at <= 1.0 + 1e-12:  # the first node is the body's, and takes no load
        expected = f'more than 0 and at most {length:g} m (put it on a body otherwise)'
        raise InvalidInput('loads.arc_length', item.arc_length, expected)
    return r, at


def carrying_rods(spec: NetworkSpec) -> tuple[list[int], Array]:
    """Return rods that end on the tip body, and what each carries of a dead force at its origin.

    The tip carries the rest. Dead forces in one direction at points of a body are one dead
    force at the weighted mean of the points. No rod where the tip is that origin.

    Raises InvalidInput: the rods end where their ends and the tip have no such mean.
    """
    scale = float(np.mean([r.length for r in spec.rods]))
    origin = np.linalg.inv(spec.tip)[:3, 3] / scale
    if np.linalg.norm(origin) <= ROUND_OFF:
        return [], np.zeros(0)
    ends = [(r, rod.ends[1]) for r, rod in enumerate(spec.rods)]
    # a crank moves the end of its rod about the body
    fixed = [(r, e) for r, e in ends if e.body == spec.tip_body and not e.crank[:3, 3].any()]
    places = np.array([e.attach[:3, 3] for _, e in fixed]).reshape(-1, 3).T / scale
    parts = np.linalg.lstsq(places, origin, rcond=ROUND_OFF)[0]
    if np.linalg.norm(places @ parts - origin) > ROUND_OFF:
        raise InvalidInput(
            'loads.on',
            spec.tip_body,
            "'' (a load at the tip), or axes that follow the body: from the ends of its rods "
            'and the tip no force fixed in base_link can be put together at its origin',
        )
    return [r for r, _ in fixed], parts


def rod_of(spec: NetworkSpec, item: Load, others: tuple[str, ...] = ()) -> int:
    """Return the rod that a load names; raises UnknownName, with `others` it could name too."""
    names = [r.name for r in spec.rods]
    if item.on not in names:
        raise UnknownName('loads.on', item.on, (*others, *names))
    return names.index(item.on)


def split_at_loads(spec: NetworkSpec, loads: tuple[Load, ...]) -> NetworkSpec:
    """Return the network with nodes for every load on a rod, and at every sensor's ends."""
    rods = list(spec.rods)
    names = [r.name for r in rods]
    places = []
    for x in (*spec.loads, *loads):
        if x.until is not None:
            r = rod_of(spec, x)
            places += [(r, at) for at, _ in spread_points(spec, x)]
        elif x.on in names:
            r = names.index(x.on)
            places.append((r, min(x.arc_length / rods[r].length, 1.0)))
    places += [(x.rod, at) for x in spec.sensors for at in (x.start, x.end)]
    for r, at in places:
        if at > 0.0:
            rods[r] = replace(rods[r], fractions=with_node(rods[r].fractions, at))
    return replace(spec, rods=tuple(rods))


def refined(spec: NetworkSpec, factor: int) -> NetworkSpec:
    """Return the same network with every element divided."""
    rods = tuple(replace(r, fractions=cut_fractions(r.fractions, factor)) for r in spec.rods)
    panels = spec.load_panels * factor
    return split_at_loads(replace(spec, rods=rods, load_panels=panels), ())
