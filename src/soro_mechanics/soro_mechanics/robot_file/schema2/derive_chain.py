# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A chain of soft segments as the Cosserat and curvature models take it, and as a network."""

from __future__ import annotations

import math
from typing import Any

from soro_mechanics.robot_file.schema2.derived import Derived, rod_between
from soro_mechanics.robot_file.schema2.material import with_stiffness

OF_ARC = ('shortest_length', 'longest_length', 'elongation')
OF_NETWORK = ('torsion_stiffness', 'strain_limit')
UNITS = {
    'axial_stiffness': 'N',
    'bending_stiffness': 'N m^2',
    'torsion_stiffness': 'N m^2',
    'shear_factor': '1',
    'linear_density': 'kg/m',
}


def derive(made: Derived) -> None:
    """Fill ``segments``, ``constant_curvature`` and ``network``, as the models need them."""
    body = made.data['body']
    if not body['segments']:
        raise made.wrong('body.segments', [], 'write at least one segment')
    for i, segment in enumerate(body['segments']):
        for key in ('damping', 'rest_curvature'):
            if key in segment:
                made.refuse(f'body.segments[{i}].{key}', segment[key], ('*',), 'remove it')
        link = made.si(segment.get('link'), 'm')
        if made.si(segment.get('link_mass'), 'kg') > 0.0 and not link > 0.0:
            remedy = 'a mass without a link; write its length as link'
            raise made.wrong(f'body.segments[{i}].link_mass', segment['link_mass'], remedy)
        if link > 0.0 and segment is body['segments'][-1]:
            remedy = 'the last segment has a link with nothing behind it; remove it'
            raise made.wrong(f'body.segments[{i}].link', segment['link'], remedy)
    if 'offset' in body.get('tip', {}):
        others = tuple(name for name in made.models if name != 'network')
        remedy = 'write it into length, or keep the model network alone'
        made.refuse('body.tip.offset', body['tip']['offset'], others, remedy)
    body['segments'] = [
        with_stiffness(made, f'body.segments[{i}]', one, 'linear_density', one['chambers'])
        for i, one in enumerate(body['segments'])
    ]
    for section in made.families:
        {'segments': _segments, 'constant_curvature': _arc, 'network': _network}[section](made)


def _segments(made: Derived) -> None:
    body, tree = made.data['body'], made.numerics('segments')
    chain = []
    for i, segment in enumerate(body['segments']):
        item = {k: v for k, v in segment.items() if k not in (*OF_ARC, *OF_NETWORK)}
        item['chambers'] = [
            {('actuator' if k == 'drive' else k): v for k, v in chamber.items()}
            for chamber in segment['chambers']
        ]
        chain.append(item)
        path, home = f'segments.chain[{i}].chambers', f'body.segments[{i}].chambers'
        made.paths[path] = home
        for j in range(len(segment['chambers'])):
            made.paths[f'{path}[{j}].actuator'] = f'{home}[{j}].drive'
    if 'mass' in body.get('tip', {}):
        tree['tip_mass'] = body['tip']['mass']
    made.tree['segments'] = {**tree, 'chain': chain}
    made.paths |= {'segments.chain': 'body.segments', 'segments.tip_mass': 'body.tip.mass'}


def _arc(made: Derived) -> None:
    """Fill ``constant_curvature``: three springs at the chambers that share EA."""
    body, tree = made.data['body'], made.numerics('constant_curvature')
    home = 'body.segments[0]'
    segment, chambers = body['segments'][0], body['segments'][0]['chambers']
    model = ('constant_curvature',)
    if len(body['segments']) > 1:
        made.refuse('body.segments[1]', body['segments'][1], model, 'write one segment')
    _check_arc(made, home, chambers)
    weightless = tree.pop('weightless', False)
    length = made.positive(f'{home}.length', segment['length'], 'm')
    tree |= {
        'rest_length': segment['length'],
        'radius': segment['radius'],
        'actuator_offset': chambers[0]['offset'],
        'actuator_angles': _angles(made, chambers),
    }
    for key in OF_ARC:
        if key in segment:
            tree['pressure_map' if key == 'elongation' else key] = segment[key]
    if 'axial_stiffness' in segment:
        axial = made.si(segment['axial_stiffness'], 'N')
        tree['axial_stiffness'] = f'{axial / (3.0 * length)!r} N/m'
    density = made.si(segment.get('linear_density'), 'kg/m')
    if not weightless:
        mass = body.get('tip', {}).get('mass')
        if made.si(mass, 'kg') > 0.0:
            remedy = 'write weightless: true under that model, or remove the mass'
            made.refuse('body.tip.mass', mass, model, remedy)
        tree['mass'] = f'{density * length!r} kg'
    made.tree['constant_curvature'] = tree
    for name, key in {
        'rest_length': 'length',
        'radius': 'radius',
        'actuator_offset': 'chambers',
        'actuator_angles': 'chambers',
        'axial_stiffness': 'axial_stiffness',
        'mass': 'linear_density',
        'pressure_map': 'elongation',
        **{key: key for key in OF_ARC[:2]},
    }.items():
        made.paths[f'constant_curvature.{name}'] = f'{home}.{key}'


def _check_arc(made: Derived, home: str, chambers: list[dict[str, Any]]) -> None:
    names = [drive['name'] for drive in made.data['drives']]
    if [chamber['drive'] for chamber in chambers] != names:
        remedy = f'model constant_curvature needs one chamber per drive, in their order: {names}'
        raise made.wrong(f'{home}.chambers', chambers, remedy)
    offsets = [made.si(chamber['offset'], 'm') for chamber in chambers]
    for j, offset in enumerate(offsets):
        if offset != offsets[0]:
            path = f'{home}.chambers[{j}].offset'
            remedy = f'write that of the first ({offsets[0]:g} m)'
            made.refuse(path, chambers[j]['offset'], ('constant_curvature',), remedy)


def _angles(made: Derived, chambers: list[dict[str, Any]]) -> str:
    texts = [str(chamber.get('angle', '0 deg')) for chamber in chambers]
    parts = [text.split() for text in texts]
    if all(len(part) == 2 and part[1] == parts[0][1] for part in parts):
        return f'{" ".join(part[0] for part in parts)} {parts[0][1]}'  # digits as they stand
    return ' '.join(repr(made.si(text, 'rad')) for text in texts) + ' rad'


def _network(made: Derived) -> None:
    body = made.data['body']
    tip = body.get('tip', {})
    name = tip.get('name', 'tip')
    bodies: dict[str, Any] = {}
    sections: dict[str, Any] = {}
    rods: list[dict[str, Any]] = []
    before: dict[str, Any] = {'body': 'ground'}
    for i, segment in enumerate(body['segments']):
        home, last = f'body.segments[{i}]', i == len(body['segments']) - 1
        end = name if last else f'behind_{segment["name"]}'
        sections[segment['name']] = _section(made, home, segment)
        own = segment['name']
        rods.append(rod_between(own, own, segment['length'], before, {'body': end}))
        link = made.si(segment.get('link'), 'm')
        mass = tip.get('mass', '0 kg') if last else segment.get('link_mass', '0 kg')
        bodies[end] = {'mass': mass}
        if link > 0.0:
            bodies[end]['centre'] = f'0 0 {0.5 * link!r} m'
        before = {'body': end, 'position': f'0 0 {link!r} m'}
        stiffness = f'network.sections.{segment["name"]}.stiffness'
        made.paths |= {
            f'network.rods[{i}]': home,
            f'network.sections.{segment["name"]}': home,
            f'network.bodies.{end}': 'body.tip' if last else home,
            f'network.sections.{segment["name"]}.mass_per_length': f'{home}.linear_density',
            f'{stiffness}.axial': f'{home}.axial_stiffness',
            f'{stiffness}.shear': f'{home}.shear_factor',
            f'{stiffness}.bending_x': f'{home}.bending_stiffness',
            f'{stiffness}.torsion': f'{home}.torsion_stiffness',
        }
    made.paths |= {'network.rods': 'body.segments', 'network.tip': 'body.tip'}
    place = {'position': tip['offset']} if 'offset' in tip else {}
    made.put_network(
        bodies, rods, sections=sections, actuation=_pressures(made), tip={'body': name, **place}
    )


def _section(made: Derived, home: str, segment: dict[str, Any]) -> dict[str, Any]:
    """Return the section at rest: GA = k EA / 3, and GJ of an incompressible round rod."""
    values = {}
    for key, unit in UNITS.items():
        if key != 'torsion_stiffness' and key not in segment:
            raise made.wrong(f'{home}.{key}', None, 'required by model network, but missing')
        values[key] = made.si(segment.get(key), unit)
    axial, bending = values['axial_stiffness'], values['bending_stiffness']
    stated = 'torsion_stiffness' in segment
    torsion = values['torsion_stiffness'] if stated else 2.0 / 3.0 * bending
    found = {
        'stiffness': {
            'axial': f'{axial!r} N',
            'shear': f'{values["shear_factor"] * axial / 3.0!r} N',
            'bending_x': f'{bending!r} N m^2',
            'torsion': f'{torsion!r} N m^2',
        },
        'mass_per_length': segment['linear_density'],
        'radius': segment['radius'],
    }
    if 'strain_limit' in segment:
        found['strain_limit'] = segment['strain_limit']
    return found


def _pressures(made: Derived) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for drive in made.data['drives']:
        for i, segment in enumerate(made.data['body']['segments']):
            home = f'body.segments[{i}].chambers'
            parts = []
            for j, chamber in enumerate(segment['chambers']):
                if chamber['drive'] != drive['name']:
                    continue
                if 'area' not in chamber:
                    raise made.wrong(f'{home}[{j}].area', None, 'required by model network')
                r = made.si(chamber['offset'], 'm')
                angle = made.si(chamber.get('angle'), 'rad')
                place = f'{r * math.cos(angle)!r} {r * math.sin(angle)!r} m'
                parts.append({'area': chamber['area'], 'position': place})
            if parts:
                made.paths[f'network.actuation[{len(found)}]'] = home
                acts = {'actuator': drive['name'], 'drives': 'pressure'}
                found.append({**acts, 'rods': [segment['name']], 'chambers': parts})
    return found
