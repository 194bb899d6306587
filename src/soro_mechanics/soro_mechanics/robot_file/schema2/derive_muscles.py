# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A backbone with three muscles per module, as the model kirchhoff takes it and as a network."""

from __future__ import annotations

import math
from typing import Any

from soro_mechanics.core.errors import closest
from soro_mechanics.robot_file.schema2.derived import Derived, rod_between

# Key of the section kirchhoff -> key of the body.
NAMES = {
    'modules': 'modules',
    'length': 'backbone.length',
    'rod_diameter': 'backbone.diameter',
    'mass': 'backbone.mass',
    'material': 'backbone.material',
    'muscle_radius': 'muscles.distance',
    'muscle_diameter': 'muscles.diameter',
    'muscle_stiffness': 'muscles.axial_stiffness',
}
# Stiffness of a muscle in the network -> key of the body.
TUBE = {
    'axial': 'axial_stiffness',
    'shear': 'shear_stiffness',
    'bending_x': 'bending_stiffness',
    'torsion': 'torsion_stiffness',
}
UNIVERSAL = {'joint': 'universal', 'axis': '1 0 0', 'second_axis': '0 1 0'}


def derive(made: Derived) -> None:
    """Fill ``kirchhoff`` and ``network``, as the models need them."""
    backbone = made.data['body']['backbone']
    if 'damping' in backbone:
        made.refuse('body.backbone.damping', backbone['damping'], ('*',), 'remove it')
    if backbone['material'] not in backbone['materials']:
        remedy = f'expected {closest(backbone["material"], tuple(backbone["materials"]))}'
        raise made.wrong('body.backbone.material', backbone['material'], remedy)
    for section in made.families:
        {'kirchhoff': _kirchhoff, 'network': _network}[section](made)


def _kirchhoff(made: Derived) -> None:
    tree = made.with_body('kirchhoff', NAMES)
    tree['materials'] = {
        name: {'young': item['young'], 'shear': item['shear_modulus']}
        for name, item in made.data['body']['backbone']['materials'].items()
    }
    made.paths['kirchhoff.materials'] = 'body.backbone.materials'
    made.tree['kirchhoff'] = tree


def _sections(made: Derived) -> dict[str, Any]:
    backbone, muscles = made.data['body']['backbone'], made.data['body']['muscles']
    material = backbone['materials'][backbone['material']]
    young = made.si(material['young'], 'Pa')
    shear = made.si(material['shear_modulus'], 'Pa')
    d = made.si(backbone['diameter'], 'm')
    factor = made.si(backbone.get('shear_factor'), '1', 1.0)
    area, second = math.pi * d**2 / 4.0, math.pi * d**4 / 64.0
    length = made.positive('body.backbone.length', backbone['length'], 'm')
    mass = made.si(backbone['mass'], 'kg') / length
    for name in TUBE.values():
        if name not in muscles:
            unit = 'N' if name in ('axial_stiffness', 'shear_stiffness') else 'N m^2'
            raise made.wrong(f'body.muscles.{name}', None, f'model network needs it, in {unit}')
    return {
        'backbone': {
            'stiffness': {
                'axial': f'{young * area!r} N',
                'shear': f'{factor * shear * area!r} N',
                'bending_x': f'{young * second!r} N m^2',
                'torsion': f'{2.0 * shear * second!r} N m^2',
            },
            'mass_per_length': f'{mass!r} kg/m',
            'radius': f'{0.5 * d!r} m',
        },
        'muscle': {
            'stiffness': {key: muscles[name] for key, name in TUBE.items()},
            'mass_per_length': '0 kg/m',
            'radius': f'{0.5 * made.si(muscles["diameter"], "m")!r} m',
        },
    }


def _network(made: Derived) -> None:
    body, drives = made.data['body'], made.data['drives']
    modules = int(body['modules'])
    if modules < 1 or len(drives) != 3 * modules:
        remedy = f'must be a third of the drives, which are {len(drives)}: three of each module'
        raise made.wrong('body.modules', modules, remedy)
    piece = made.si(body['backbone']['length'], 'm') / modules
    length = f'{piece!r} m'
    rods: list[dict[str, Any]] = []
    actuation: list[dict[str, Any]] = []
    bodies: dict[str, Any] = {}
    bundles = []
    for t in range(1, modules + 1):
        below, disk = f'disk_{t - 1}' if t > 1 else 'ground', f'disk_{t}'
        bodies[disk] = {'position': f'0 0 {piece * t!r} m'}
        ends = {'body': below}, {'body': disk}
        rods.append(rod_between(f'backbone_{t}', 'backbone', length, *ends))
        for i in range(3):
            angle = 120 * i + 60 * (t % 2)
            polar = {'radius': body['muscles']['distance'], 'angle': f'{angle} deg'}
            tube = f'tube_{t}_{i + 1}'
            start = {'body': below, 'polar': polar, **UNIVERSAL}
            end = {'body': disk, 'polar': polar, 'joint': 'spherical'}
            rods.append(rod_between(tube, 'muscle', length, start, end))
            made.paths[f'network.actuation[{len(actuation)}]'] = f'drives[{len(actuation)}]'
            drive = drives[len(actuation)]['name']
            actuation.append({'actuator': drive, 'drives': 'unloaded_length', 'rods': [tube]})
        bundles.append({'actuators': [item['actuator'] for item in actuation[-3:]]})
    sections = _sections(made)
    material = f'body.backbone.materials.{body["backbone"]["material"]}'
    made.paths |= {
        'network.rods': 'body.muscles',
        'network.bodies': 'body.backbone',
        'network.bundles': 'drives',
        'network.sections.backbone': 'body.backbone',
        'network.sections.muscle': 'body.muscles',
        'network.sections.backbone.mass_per_length': 'body.backbone.mass',
        'network.sections.backbone.radius': 'body.backbone.diameter',
        'network.sections.muscle.radius': 'body.muscles.diameter',
        'network.sections.backbone.stiffness.shear': 'body.backbone.shear_factor',
        'network.sections.backbone.stiffness.bending_x': f'{material}.young',
        'network.sections.backbone.stiffness.torsion': f'{material}.shear_modulus',
        **{
            f'network.sections.muscle.stiffness.{key}': f'body.muscles.{name}'
            for key, name in TUBE.items()
        },
    }
    made.put_network(
        bodies,
        rods,
        sections=sections,
        actuation=actuation,
        bundles=bundles,
        tip={'body': f'disk_{modules}'},
    )
