# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The mutants of every robot: mistakes that a file, or whoever wrote it, may well contain.

To add one, add a line. What is changed is a dotted path of the robot file (`mutants.Change`).
The names in `REQUIRED` mean the same in every robot.
"""

from __future__ import annotations

from soro_studies.validation.mutants import Change, Mutant

NO_GRAVITY = 'gravity off'
SIDEWAYS = 'gravity sideways'
STIFFER = 'EI +15 %'
REQUIRED = (NO_GRAVITY, SIDEWAYS, STIFFER)  # each to be caught by `ENOUGH` rows of every robot
ENOUGH = 3
WEIGHT = 9.81  # m/s^2


def _gravity(name: str, x: float, z: float) -> Mutant:
    return Mutant(name, (Change('gravity', value=f'{x} 0 {z} m/s^2'),))


def _scaled(what: str, share: float, *paths: str) -> tuple[Mutant, Mutant]:
    """Return what is larger, and what is smaller, by a share."""
    up, down = (
        Mutant(
            f'{what} {sign}{100.0 * share:.0f} %',
            tuple(Change(path, 1.0 + float(f'{sign}{share}')) for path in paths),
        )
        for sign in '+-'
    )
    return up, down


def _times(what: str, factor: float, path: str) -> Mutant:
    return Mutant(f'{what} x {factor:g}', (Change(path, factor),))


def _exchanged(name: str, *pairs: tuple[str, str]) -> Mutant:
    return Mutant(name, tuple(Change(one, exchange=other) for one, other in pairs))


# Upright robots; one that hangs has the last two the other way round.
UPRIGHT = (
    _gravity(NO_GRAVITY, 0.0, 0.0),
    _gravity(SIDEWAYS, WEIGHT, 0.0),
    _gravity('hanging', 0.0, WEIGHT),
)
HANGING = (*UPRIGHT[:2], _gravity('upright', 0.0, -WEIGHT))

SEGMENT = 'body.segments.*'
CHAMBERS = f'{SEGMENT}.chambers'
CHAIN = (
    *_scaled('EI', 0.15, f'{SEGMENT}.bending_stiffness'),
    *_scaled('EA', 0.15, f'{SEGMENT}.axial_stiffness'),
    *_scaled('offset of the chambers', 0.15, f'{CHAMBERS}.*.offset'),
    *_scaled('area of the chambers', 0.1, f'{CHAMBERS}.*.area'),
    *_scaled('length', 0.05, f'{SEGMENT}.length'),
    *_scaled('mass per length', 0.25, f'{SEGMENT}.linear_density'),
    _times('tip mass', 2.0, 'body.tip.mass'),
    Mutant('no shear', (Change(f'{SEGMENT}.shear_factor', value=100.0),)),
)
COARSE_MESH = Mutant('mesh of 3 elements', (Change('models.ncm.elements', value=3),))


STIFF_FLOP = (
    *UPRIGHT,
    *CHAIN,
    COARSE_MESH,
    _exchanged('wiring mirrored, pairs 2 and 3', (f'{CHAMBERS}.1.drive', f'{CHAMBERS}.2.drive')),
    _exchanged('wiring mirrored, pairs 1 and 2', (f'{CHAMBERS}.0.drive', f'{CHAMBERS}.1.drive')),
    Mutant(
        'pressure in two steps',
        (Change('models.ncm.compensation', value={'rule': 'published', 'increments': 2}),),
    ),
)

SOFT_PARALLEL = (
    *UPRIGHT,
    *_scaled('EI', 0.15, 'body.bending_stiffness'),
    *_scaled('EA', 0.15, 'body.axial_stiffness'),
    *_scaled('GJ', 0.15, 'body.torsion_stiffness'),
    *_scaled('length of the legs', 0.05, 'body.length'),
    *_scaled('distance of the legs', 0.15, 'body.spacing_ratio'),
    *_scaled('radius of the platform', 0.15, 'body.platform.radius'),
    _times('mass of the legs', 2.0, 'body.mass'),
    _times('mass of the platform', 2.0, 'body.platform.mass'),
    _times('pressure of the curves lambda(P)', 1.15, 'drives.*.curve.at'),
    _exchanged('wiring mirrored, legs 2 and 3', ('body.legs.1.angle', 'body.legs.2.angle')),
    Mutant('mesh of 2 elements', (Change('models.ancf.elements', value=2),)),
    _times('penalty', 0.1, 'models.ancf.penalty'),
)

ELONGATION = f'{SEGMENT}.elongation'
SPATIAL_CC = (
    *UPRIGHT,
    *_scaled('EI', 0.15, f'{SEGMENT}.bending_stiffness'),
    *_scaled('EA', 0.15, f'{SEGMENT}.axial_stiffness'),
    *_scaled('offset of the actuators', 0.15, f'{CHAMBERS}.*.offset'),
    *_scaled('area of the chambers', 0.1, f'{CHAMBERS}.*.area'),
    *_scaled('length', 0.05, f'{SEGMENT}.length'),
    *_scaled('linear elongation', 0.15, f'{ELONGATION}.linear'),
    *_scaled('quadratic elongation', 0.15, f'{ELONGATION}.quadratic'),
    _times('tip mass', 2.0, 'body.tip.mass'),
    _exchanged(
        'wiring mirrored, actuators 2 and 3', (f'{CHAMBERS}.1.angle', f'{CHAMBERS}.2.angle')
    ),
    _exchanged(
        'wiring mirrored, actuators 1 and 2', (f'{CHAMBERS}.0.angle', f'{CHAMBERS}.1.angle')
    ),
    COARSE_MESH,
)

BACKBONE = 'body.backbone'
PAM_CONTINUUM = (
    *HANGING,
    *_scaled('EI', 0.15, f'{BACKBONE}.materials.*.young'),
    *_scaled('GJ', 0.15, f'{BACKBONE}.materials.*.shear_modulus'),
    *_scaled('length of the backbone', 0.05, f'{BACKBONE}.length'),
    *_scaled('diameter of the backbone', 0.1, f'{BACKBONE}.diameter'),
    *_scaled('mass', 0.15, f'{BACKBONE}.mass'),
    *_scaled('distance of the muscles', 0.15, 'body.muscles.distance'),
    *_scaled('stiffness of the muscles', 0.15, 'body.muscles.axial_stiffness'),
    Mutant('mesh of 40 elements', (Change('models.kirchhoff.elements', value=40),)),
)

STEEL = {
    'shape': 'circle',
    'radius': '0.65 mm',
    'young': '207 GPa',
    'poisson': 0.305,
    'density': '7850 kg/m^3',
}
PLATFORM_ANGLES = (-50, 50, 70, 170, 190, 290)  # deg, of the robot file


def _weighed(name: str, x: float, z: float) -> Mutant:
    """Return the robot with the weight of steel, which its benchmark leaves out."""
    return Mutant(name, (*_gravity(name, x, z).changes, Change('body.sections.rod', value=STEEL)))


STEWART_GOUGH = (
    _weighed('upright, weight of steel', 0.0, -WEIGHT),
    _weighed(SIDEWAYS, WEIGHT, 0.0),
    _weighed('hanging, weight of steel', 0.0, WEIGHT),
    *_scaled('EI', 0.15, 'body.sections.rod.young'),
    *_scaled('radius of the rods', 0.1, 'body.sections.rod.radius'),
    *_scaled('circle of the base', 0.1, 'body.rods.*.from.polar.radius'),
    *_scaled('circle of the platform', 0.1, 'body.rods.*.to.polar.radius'),
    _exchanged(
        'wiring mirrored, rods 1 and 2 at the platform',
        ('body.rods.0.to.polar.angle', 'body.rods.1.to.polar.angle'),
    ),
    _exchanged('wiring mirrored, lengths 1 and 2', ('drives.0.acts', 'drives.1.acts')),
    Mutant(
        'rods clamped at the platform',
        tuple(
            Change(
                f'body.rods.{i}.to',
                value={'body': 'platform', 'polar': {'radius': '87 mm', 'angle': f'{angle} deg'}},
            )
            for i, angle in enumerate(PLATFORM_ANGLES)
        ),
    ),
    Mutant('mesh of 3 elements', (Change('models.network.mesh', value=3),)),
)

HAPTIC_5DOF = (
    *UPRIGHT,
    *_scaled('EI', 0.15, 'body.sections.leg.young'),
    *_scaled('thin side of the legs', 0.1, 'body.sections.leg.width'),
    *_scaled('broad side of the legs', 0.1, 'body.sections.leg.thickness'),
    *_scaled('mass of the legs', 0.25, 'body.sections.leg.density'),
    _times('mass of the handle', 2.0, 'body.bodies.handle.mass'),
    *_scaled('circle of the motors', 0.05, 'body.rods.*.from.polar.radius'),
    *_scaled('height of the attachments', 0.1, 'body.rods.*.to.polar.height'),
    _exchanged('wiring mirrored, motors 2 and 3', ('drives.1.acts', 'drives.2.acts')),
    Mutant(
        'mesh of 4 elements',
        (Change('models.network.mesh', value=[0, 0.16726581, 0.39247198, 0.61767814, 1]),),
    ),
)

MUTANTS: dict[str, tuple[Mutant, ...]] = {
    'stiff_flop': STIFF_FLOP,
    'stiff_flop_two_segment': STIFF_FLOP,
    'soft_parallel': SOFT_PARALLEL,
    'spatial_cc': SPATIAL_CC,
    'pam_continuum': PAM_CONTINUUM,
    'stewart_gough': STEWART_GOUGH,
    'haptic_5dof': HAPTIC_5DOF,
}
