# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equal stretching legs under one platform, as the model ancf takes them and as a network."""

from __future__ import annotations

import math
from typing import Any

from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.schema2.derived import Derived, rod_between
from soro_mechanics.robot_file.schema2.material import with_stiffness

# Key of the section ancf -> key of the body.
NAMES = {
    'flexible_length': 'length',
    'leg_radius': 'radius',
    'spacing_ratio': 'spacing_ratio',
    'EI': 'bending_stiffness',
    'GI': 'torsion_stiffness',
    'EA': 'axial_stiffness',
    'leg_mass': 'mass',
    'platform_radius': 'platform.radius',
    'platform_mass': 'platform.mass',
    'platform_centre': 'platform.centre',
    'tip': 'tip.offset',
}
REQUIRED = {
    'axial_stiffness': 'N',
    'bending_stiffness': 'N m^2',
    'torsion_stiffness': 'N m^2',
    'mass': 'kg',
}


def derive(made: Derived) -> None:
    """Fill ``ancf`` and ``network``, as the models need them."""
    body, drives = made.data['body'], made.data['drives']
    if 'damping' in body:
        made.refuse('body.damping', body['damping'], ('*',), 'remove it')
    if len(drives) < 2:
        raise made.wrong('drives', drives, 'write at least two legs')
    names = [drive['name'] for drive in drives]
    if [leg['drive'] for leg in body['legs']] != names:
        remedy = f'write one leg per drive, in their order: {names}'
        raise made.wrong('body.legs', [leg['drive'] for leg in body['legs']], remedy)
    for i, drive in enumerate(drives):
        if drive['quantity'] == 'pressure' and 'curve' not in drive:
            remedy = 'write curve: {at: 0 100 kPa, stretch: [1, 1.2]}: the stretch of its leg'
            raise made.wrong(f'drives[{i}].curve', None, remedy)
        if drive['quantity'] != 'pressure' and 'curve' in drive:
            raise made.wrong(f'drives[{i}].curve', drive['curve'], 'of drives of pressure only')
    body |= with_stiffness(made, 'body', body, 'mass', [])
    for key, unit in REQUIRED.items():
        if key not in body:
            remedy = f'write it in {unit}, or material (young, poisson, density) for all four'
            raise made.wrong(f'body.{key}', None, remedy)
    for section in made.families:
        {'ancf': _ancf, 'network': _network}[section](made)


def _ancf(made: Derived) -> None:
    body, tree = made.data['body'], made.with_body('ancf', NAMES)
    tree['legs'] = []
    made.paths['ancf.legs'] = 'body.legs'
    for i, (leg, drive) in enumerate(zip(body['legs'], made.data['drives'], strict=True)):
        item = {'name': leg['name'], 'angle': leg['angle']}
        if 'curve' in drive:
            item |= {'pressures': drive['curve']['at'], 'stretch': drive['curve']['stretch']}
        tree['legs'].append(item)
        made.paths[f'ancf.legs[{i}].pressures'] = f'drives[{i}].curve.at'
        made.paths[f'ancf.legs[{i}].stretch'] = f'drives[{i}].curve.stretch'
    made.tree['ancf'] = tree


def _network(made: Derived) -> None:
    body = made.data['body']
    platform = body['platform']
    name = platform.get('name', 'platform')
    length = made.positive('body.length', body['length'], 'm')
    spacing = made.si(body['spacing_ratio'], '1') * length
    radius = spacing / (2.0 * math.sin(math.pi / len(body['legs'])))
    mass = made.si(body['mass'], 'kg')
    section = {
        'stiffness': {
            'axial': body['axial_stiffness'],
            'bending_x': body['bending_stiffness'],
            'torsion': body['torsion_stiffness'],
        },
        'mass_per_length': f'{mass / length!r} kg/m',
        'radius': body['radius'],
    }
    rods, actuation = [], []
    for i, (leg, drive) in enumerate(zip(body['legs'], made.data['drives'], strict=True)):
        base = {'radius': f'{radius!r} m', 'angle': leg['angle']}
        top = {'radius': platform['radius'], 'angle': leg['angle']}
        start, end = {'body': 'ground', 'polar': base}, {'body': name, 'polar': top}
        rods.append(rod_between(leg['name'], 'leg', body['length'], start, end))
        points = _lengths(made, i, drive, length)
        acts = {'actuator': drive['name'], 'drives': 'unloaded_length', 'rods': [leg['name']]}
        actuation.append({**acts, 'curve': points})
        made.paths |= {
            f'network.rods[{i}]': f'body.legs[{i}]',
            f'network.actuation[{i}]': f'drives[{i}]',
        }
    made.paths |= {
        'network.sections.leg': 'body',
        f'network.bodies.{name}': 'body.platform',
        'network.rods': 'body.legs',
        'network.tip': 'body.tip',
        'network.sections.leg.stiffness.axial': 'body.axial_stiffness',
        'network.sections.leg.stiffness.bending_x': 'body.bending_stiffness',
        'network.sections.leg.stiffness.torsion': 'body.torsion_stiffness',
        'network.sections.leg.mass_per_length': 'body.mass',
    }
    plate = {k: platform[k] for k in ('mass', 'centre') if k in platform}
    tip = body.get('tip', {})
    place = {'position': tip['offset']} if 'offset' in tip else {}
    made.put_network(
        {name: plate},
        rods,
        sections={'leg': section},
        actuation=actuation,
        tip={'body': name, **place},
    )


def _lengths(made: Derived, i: int, drive: dict[str, Any], length: float) -> list[dict[str, Any]]:
    """Return points of a leg's unloaded length, lambda L by what the drive commands."""
    if 'curve' not in drive:
        return [{'at': x, 'value': f'{x * length!r} m'} for x in (1.0, 2.0)]
    curve = drive['curve']
    stretch = [quantity.parse(x, '1')[0] for x in curve['stretch']]
    try:
        if isinstance(curve['at'], list):
            at = [quantity.parse(x, 'Pa')[0] for x in curve['at']]
        else:
            at = list(quantity.parse(curve['at'], 'Pa', len(stretch)))
    except quantity.QuantityError as error:
        raise made.wrong(f'drives[{i}].curve.at', curve['at'], str(error)) from None
    if len(at) != len(stretch):
        remedy = f'{len(at)} entries given; write {len(stretch)}, as stretch has'
        raise made.wrong(f'drives[{i}].curve.at', curve['at'], remedy)
    return [
        {'at': f'{p!r} Pa', 'value': f'{x * length!r} m'} for p, x in zip(at, stretch, strict=True)
    ]
