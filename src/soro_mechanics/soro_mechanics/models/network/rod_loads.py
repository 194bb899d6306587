# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Loads on rods: which rod, and where on its mesh they act."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from soro_mechanics.core.configuration import Load
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.models.network.rod_nodes import with_node
from soro_mechanics.models.network.spec import NetworkSpec


def spread_points(spec: NetworkSpec, item: Load) -> list[tuple[float, float]]:
    """Return where a spread load acts on the mesh: fractions of the rod, and lengths [m].

    Two Gauss points in each of equal panels: the work of the load is exact for cubic motions of a
    panel. Fourth order for forces on integrated pieces; second for spread moments, which let the
    curvature jump at every point, and on two-node elements.

    Raises
    ------
    UnknownName
        Not a rod.
    InvalidInput
        Beyond the ends of the rod.
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


def rod_of(spec: NetworkSpec, item: Load) -> int:
    """Return the rod that a load names; raises UnknownName."""
    names = [r.name for r in spec.rods]
    if item.on not in names:
        raise UnknownName('loads.on', item.on, names)
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
