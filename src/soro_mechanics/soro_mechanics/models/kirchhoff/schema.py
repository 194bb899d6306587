# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``kirchhoff`` of a robot file: a backbone bent by modules of three muscles."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True)
class Material:
    """Young's and shear modulus [Pa]."""

    young: float
    shear: float


@dataclass(frozen=True)
class MuscleBackbone:
    """A backbone with constraint disks and three muscles per module (Chen 2022)."""

    length: float  # of the backbone, which neither stretches nor shears [m]
    rod_diameter: float  # [m]
    materials: dict[str, Material]  # named sets; `material` is the one in use
    material: str
    mass: float  # of the whole robot, spread evenly [kg]
    modules: int
    elements: int  # finite differences along the whole backbone
    muscle_radius: float  # distance of the muscles' ends from the backbone [m]
    muscle_diameter: float  # for drawing [m]
    stations_per_module: int  # poses returned along the backbone
    # axial, of one muscle; infinite where muscles do not give way [N]
    muscle_stiffness: float = math.inf

    @property
    def stiffness(self) -> Array:
        """Return A, B, C: bending about x and y, torsion [N m^2]."""
        chosen = self.materials[self.material]
        fourth = self.rod_diameter**4
        bending = chosen.young * math.pi * fourth / 64.0
        return np.array([bending, bending, chosen.shear * math.pi * fourth / 32.0])

    @property
    def bend_give(self) -> float:
        """Return what a bend gives way per multiplier [m/N]; the mean of three lengths is free."""
        return 2.0 / 3.0 * self.length / self.modules / self.muscle_stiffness

    @property
    def muscle_angles(self) -> Array:
        """Return where muscles meet the disks at both ends of a module, (modules, 3) [rad].

        120 deg (i - 1) + 60 deg (t mod 2) for muscle i of module t, both counted from 1: every
        module is turned by 60 deg against the one below.
        """
        turn = (np.arange(self.modules) + 1) % 2
        return np.radians(120.0 * np.arange(3) + 60.0 * turn[:, None])


def read_kirchhoff(root: Section, actuators: tuple[Actuator, ...]) -> MuscleBackbone:
    """Read ``kirchhoff``; the robot needs three drives of length per module."""
    with root.section('kirchhoff') as section:
        modules = section.count('modules')
        if len(actuators) != 3 * modules or {a.quantity for a in actuators} != {'length'}:
            remedy = f'this model needs three drives of length per module ({3 * modules})'
            raise root.error('actuators', remedy)
        elements = section.count('elements', minimum=2 * modules)
        stations = section.count('stations_per_module', 4)
        if elements % (2 * modules) != 0:
            remedy = f'must be a multiple of {2 * modules}: Simpson takes pairs in every module'
            raise section.error('elements', remedy)
        if (elements // modules) % stations != 0:
            remedy = f'must divide the elements of a module ({elements // modules})'
            raise section.error('stations_per_module', remedy)
        materials = {}
        with section.section('materials') as table:
            for name in table.keys:
                with table.section(name) as item:
                    materials[name] = Material(
                        item.quantity('young', 'Pa', positive=True),
                        item.quantity('shear', 'Pa', positive=True),
                    )
        material = section.text('material', choices=tuple(materials))
        return MuscleBackbone(
            length=section.quantity('length', 'm', positive=True),
            rod_diameter=section.quantity('rod_diameter', 'm', positive=True),
            materials=materials,
            material=material,
            mass=section.quantity('mass', 'kg', minimum=0.0),
            modules=modules,
            elements=elements,
            muscle_radius=section.quantity('muscle_radius', 'm', positive=True),
            muscle_diameter=section.quantity('muscle_diameter', 'm', positive=True),
            stations_per_module=stations,
            muscle_stiffness=section.quantity('muscle_stiffness', 'N', math.inf, positive=True),
        )
