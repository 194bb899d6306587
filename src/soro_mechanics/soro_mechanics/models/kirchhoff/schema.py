# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``kirchhoff`` of a robot file: a backbone bent by modules of three muscles."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True)
class Material:
    """Young's and shear modulus."""

    young: float = given('Pa', positive=True)
    shear: float = given('Pa', positive=True)


@dataclass(frozen=True, kw_only=True)
class MuscleBackbone:
    """A backbone with constraint disks and three muscles per module (Chen 2022)."""

    length: float = given('m', positive=True)  # of the backbone: neither stretches nor shears
    rod_diameter: float = given('m', positive=True)
    materials: dict[str, Material]  # named sets; `material` is the one in use
    material: str
    mass: float = given('kg', minimum=0.0)  # of the whole robot, spread evenly
    modules: int
    elements: int  # finite differences along the whole backbone
    # distance of the muscles' ends from the backbone
    muscle_radius: float = given('m', positive=True)
    muscle_diameter: float = given('m', positive=True)  # for drawing
    stations_per_module: int  # poses returned along the backbone
    # axial, of one muscle; infinite where muscles do not give way
    muscle_stiffness: float = given('N', math.inf, positive=True)

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
                    materials[name] = read_record(item, Material)
        material = section.text('material', choices=tuple(materials))
        return read_record(
            section,
            MuscleBackbone,
            materials=materials,
            material=material,
            modules=modules,
            elements=elements,
            stations_per_module=stations,
        )
