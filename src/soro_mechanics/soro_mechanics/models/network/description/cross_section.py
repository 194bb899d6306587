# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Cross-sections of rods: from shape and material, or from measured stiffness."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import STRAIN_LIMIT
from soro_mechanics.robot_file.section import Section

SHAPES = ('circle', 'tube', 'rectangle')
MAX_STRAIN = 10.0  # no rubber bears more: a number above has lost its %


@dataclass(frozen=True, eq=False)
class CrossSection:
    """What a rod's section does."""

    stiffness: Array  # (6,) diagonal of K: GA (x, y), EA [N], EI about x and y, GJ [N m^2]
    mass: float  # per rest length [kg/m]
    radius: float  # half of the largest thickness [m]: drawing, self-contact and surface strain
    # strain of the outer fibre up to which the section is linear
    strain_limit: float = STRAIN_LIMIT


@dataclass(frozen=True, eq=False)
class ShapedSection:
    """A shape of one material, which can be interpolated along a taper."""

    shape: str
    size: Array  # circle: radius; tube: outer, inner radius; rectangle: width (x), thickness (y)
    young: float
    shear: float
    shear_factor: float
    density: float
    strain_limit: float = STRAIN_LIMIT

    def cross_section(self, size: Array | None = None) -> CrossSection:
        """Return the section, or the same with other dimensions."""
        size = self.size if size is None else size
        area, ix, iy, j, radius = _integrals(self.shape, size)
        ga = self.shear_factor * self.shear * area
        stiffness = np.array(
            [ga, ga, self.young * area, self.young * ix, self.young * iy, self.shear * j]
        )
        return CrossSection(stiffness, self.density * area, radius, self.strain_limit)


def _integrals(shape: str, size: Array) -> tuple[float, float, float, float, float]:
    """Return area, second moments about x and y, torsion constant, half thickness."""
    if shape == 'rectangle':
        a, b = float(size[0]), float(size[1])
        long, short = max(a, b), min(a, b)
        # Roark's series for the torsion constant, exact to 0.5 %
        ratio = short / long
        j = long * short**3 * (1.0 / 3.0 - 0.21 * ratio * (1.0 - ratio**4 / 12.0))
        return a * b, a * b**3 / 12.0, b * a**3 / 12.0, j, long / 2.0
    outer = float(size[0])
    inner = float(size[1]) if shape == 'tube' else 0.0
    i = math.pi / 4.0 * (outer**4 - inner**4)
    return math.pi * (outer**2 - inner**2), i, i, 2.0 * i, outer


def read_cross_section(item: Section) -> ShapedSection | CrossSection:
    """Read one entry of ``network.sections``."""
    limit = item.number('strain_limit', STRAIN_LIMIT, positive=True, maximum=MAX_STRAIN)
    if 'stiffness' in item:
        with item.section('stiffness') as table:
            axial = table.quantity('axial', 'N', positive=True)
            shear = table.quantity('shear', 'N', 1e3 * axial, positive=True)
            bending_x = table.quantity('bending_x', 'N m^2', positive=True)
            bending_y = table.quantity('bending_y', 'N m^2', bending_x, positive=True)
            torsion = table.quantity('torsion', 'N m^2', positive=True)
        k = np.array([shear, shear, axial, bending_x, bending_y, torsion])
        mass = item.quantity('mass_per_length', 'kg/m', 0.0, minimum=0.0)
        return CrossSection(k, mass, item.quantity('radius', 'm', positive=True), limit)
    shape = item.text('shape', choices=SHAPES)
    if shape == 'rectangle':
        size = [item.quantity('width', 'm', positive=True)]
        size.append(item.quantity('thickness', 'm', positive=True))
    else:
        size = [item.quantity('radius', 'm', positive=True)]
        if shape == 'tube':
            size.append(item.quantity('inner_radius', 'm', minimum=0.0))
            if not size[1] < size[0]:
                raise item.error('inner_radius', 'must be smaller than radius')
    young = item.quantity('young', 'Pa', positive=True)
    if 'shear_modulus' in item:
        shear = item.quantity('shear_modulus', 'Pa', positive=True)
    else:
        poisson = item.number('poisson', maximum=0.5)
        if not poisson > -1.0:
            raise item.error('poisson', 'must be greater than -1, where no shear modulus is left')
        shear = young / (2.0 * (1.0 + poisson))
    factor = item.number('shear_factor', 1.0, positive=True)
    density = item.quantity('density', 'kg/m^3', 0.0, minimum=0.0)
    return ShapedSection(shape, np.array(size), young, shear, factor, density, limit)
