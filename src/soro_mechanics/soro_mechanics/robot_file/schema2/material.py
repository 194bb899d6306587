# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Stiffness and mass of a round soft section from its material, where no stiffness is written."""

from __future__ import annotations

import math
from typing import Any

from soro_mechanics.robot_file.schema2.derived import Derived

STIFFNESS = ('axial_stiffness', 'bending_stiffness', 'torsion_stiffness')


def with_stiffness(
    made: Derived, path: str, item: dict[str, Any], mass: str, holes: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a segment or leg with its stiffness, derived where a material is written.

    The section is a disk of `radius`, or a ring down to `inner_radius`, less the areas of
    chambers (`holes`: area, offset). A chamber of area a at the distance r takes
    a r^2 / 2 + a^2 / 4 pi from the second moment: the mean over all directions of bending.
    `mass` is the key of its mass: 'linear_density' [kg/m], or 'mass' [kg] of its length.
    """
    material = item.get('material')
    if material is None:
        if 'inner_radius' in item:
            remedy = 'of sections by their material; remove it, or write material'
            raise made.wrong(f'{path}.inner_radius', item['inner_radius'], remedy)
        return item
    for key in (*STIFFNESS, mass):
        if key in item:
            remedy = f'{path}.material says this already; keep one of the two'
            raise made.wrong(f'{path}.{key}', item[key], remedy)
    young = made.positive(f'{path}.material.young', material['young'], 'Pa')
    shear = _shear_modulus(made, f'{path}.material', material, young)
    outer = made.positive(f'{path}.radius', item['radius'], 'm')
    inner = made.si(item.get('inner_radius'), 'm')
    area = math.pi * (outer**2 - inner**2)
    second = math.pi / 4.0 * (outer**4 - inner**4)
    for hole in holes:
        a, r = made.si(hole.get('area'), 'm^2'), made.si(hole['offset'], 'm')
        area -= a
        second -= a * r**2 / 2.0 + a**2 / (4.0 * math.pi)
    if not (inner >= 0.0 and area > 0.0 and second > 0.0):
        remedy = 'nothing of the section is left: inner radius and chambers are too large'
        raise made.wrong(f'{path}.radius', item['radius'], remedy)
    found = {k: v for k, v in item.items() if k not in ('material', 'inner_radius')}
    found['axial_stiffness'] = f'{young * area!r} N'
    found['bending_stiffness'] = f'{young * second!r} N m^2'
    found['torsion_stiffness'] = f'{2.0 * shear * second!r} N m^2'
    density = made.si(material.get('density'), 'kg/m^3') * area
    if mass == 'mass':
        found['mass'] = f'{density * made.positive(f"{path}.length", item["length"], "m")!r} kg'
    else:
        found[mass] = f'{density!r} kg/m'
        # Of a chain GA = k EA / 3, as of incompressible material.
        factor = made.si(item.get('shear_factor'), '1', 1.0)
        found['shear_factor'] = 3.0 * factor * shear / young
    made.paths |= {f'{path}.{key}': f'{path}.material' for key in (*STIFFNESS, mass)}
    return found


def _shear_modulus(made: Derived, path: str, material: dict[str, Any], young: float) -> float:
    if ('poisson' in material) == ('shear_modulus' in material):
        raise made.wrong(path, material, 'write poisson or shear_modulus: one of the two')
    if 'shear_modulus' in material:
        return made.positive(f'{path}.shear_modulus', material['shear_modulus'], 'Pa')
    poisson = made.si(material['poisson'], '1')
    if not -1.0 < poisson <= 0.5:
        raise made.wrong(f'{path}.poisson', material['poisson'], 'must lie in (-1, 0.5]')
    return young / (2.0 * (1.0 + poisson))
