# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The body of a robot file of schema 1 in the words of schema 2; goes away with schema 1."""

from __future__ import annotations

from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.schema2 import derive_legs, derive_muscles
from soro_mechanics.robot_file.schema2.check import plain
from soro_mechanics.robot_file.schema2.round_trip import move, styled


def _value(node: Any, unit: str) -> float:
    return quantity.parse(plain(node), unit)[0]


def _like(node: Any, value: Any, note: str) -> Any:
    """Return a value derived from one of schema 1, with its origin."""
    if isinstance(node, dict) and 'value' in node:
        old = f'{node["note"]}; ' if 'note' in node else ''
        return styled(
            {'value': value, 'source': node.get('source', 'assumed'), 'note': f'{old}{note}'}
        )
    return value


def _chain(old: Any, before: RobotDescription, file: str) -> CommentedMap:
    body = CommentedMap()
    segments = _segments(old) if 'segments' in old else _arc_alone(old)
    if 'constant_curvature' in old:
        arc = old['constant_curvature']
        for key in ('shortest_length', 'longest_length'):
            move(arc, key, segments[0], key)
        move(arc, 'pressure_map', segments[0], 'elongation')
    tip = CommentedMap()
    network = old.get('network')
    if network:
        tip['name'] = network['tip']['body']
        last = network['bodies'][tip['name']]
        move(last, 'mass', tip, 'mass')
        move(network['tip'], 'position', tip, 'offset')
        for segment, rod in zip(segments, network['rods'], strict=False):
            section = network['sections'][rod['section']]
            move(section.get('stiffness', CommentedMap()), 'torsion', segment, 'torsion_stiffness')
            move(section, 'strain_limit', segment, 'strain_limit')
    if 'segments' in old:
        move(old['segments'], 'tip_mass', tip, 'mass')
    if tip:
        body['tip'] = tip
    for segment in segments:
        segment.move_to_end('chambers')  # a comment behind it belongs to what follows
    body['segments'] = segments
    return body


def _segments(old: Any) -> Any:
    chain = old['segments']['chain']
    for segment in chain:
        for chamber in segment['chambers']:
            position = list(chamber).index('actuator')
            chamber.insert(position, 'drive', chamber.pop('actuator'))
    return chain


def _arc_alone(old: Any) -> CommentedSeq:
    """Return one segment of a robot that has the arc as its only model."""
    arc, segment = old['constant_curvature'], CommentedMap({'name': 'arm'})
    move(arc, 'rest_length', segment, 'length')
    move(arc, 'radius', segment, 'radius')
    length = _value(segment['length'], 'm')
    if 'axial_stiffness' in arc:
        k = _value(arc['axial_stiffness'], 'N/m')
        segment['axial_stiffness'] = _like(
            arc['axial_stiffness'], f'{3.0 * k * length!r} N', f'3 k l of {k:g} N/m'
        )
    if 'mass' in arc:
        mass = _value(arc['mass'], 'kg')
        segment['linear_density'] = _like(arc['mass'], f'{mass / length!r} kg/m', f'{mass:g} kg')
    angles = plain(arc['actuator_angles'])
    *numbers, unit = angles.split() if isinstance(angles, str) else ('', '')
    if not isinstance(angles, str):
        numbers, unit = [str(x).rsplit(' ', 1)[0] for x in angles], 'rad'
    chambers = CommentedSeq()
    for drive, number in zip(old['actuators'], numbers, strict=True):
        chambers.append(
            styled(
                {
                    'drive': drive['name'],
                    'offset': arc['actuator_offset'],
                    'angle': _like(arc['actuator_angles'], f'{number} {unit}', drive['name']),
                }
            )
        )
    segment['chambers'] = chambers
    return CommentedSeq([segment])


def _legs(old: Any, before: RobotDescription, file: str) -> CommentedMap:
    ancf, body = old['ancf'], CommentedMap()
    platform, network = CommentedMap(), old.get('network')
    if network:
        platform['name'] = network['tip']['body']
    for name, path in derive_legs.NAMES.items():
        if name in ancf:
            home, _, key = path.rpartition('.')
            target = (
                body
                if not home
                else platform
                if home == 'platform'
                else body.setdefault(home, CommentedMap())
            )
            move(ancf, name, target, key)
    body['platform'] = platform
    body['legs'] = legs = CommentedSeq()
    for leg, drive in zip(ancf['legs'], old['actuators'], strict=True):
        legs.append(styled({'name': leg['name'], 'drive': drive['name'], 'angle': leg['angle']}))
    return body


def _muscles(old: Any, before: RobotDescription, file: str) -> CommentedMap:
    kirchhoff, body = old['kirchhoff'], CommentedMap()
    backbone, muscles = CommentedMap(), CommentedMap()
    for name, path in derive_muscles.NAMES.items():
        home, _, key = path.rpartition('.')
        move(kirchhoff, name, {'backbone': backbone, 'muscles': muscles}.get(home, body), key)
    for item in kirchhoff['materials'].values():
        move(item, 'shear', item, 'shear_modulus')
        del item['shear']
    move(kirchhoff, 'materials', backbone, 'materials')
    network = old.get('network')
    if network:
        stiffness = network['sections']['backbone']['stiffness']
        material = plain(kirchhoff['materials'][kirchhoff['material']])
        if 'shear' in stiffness:
            area = 3.141592653589793 / 4.0 * _value(kirchhoff['rod_diameter'], 'm') ** 2
            shear = _value(stiffness['shear'], 'N')
            backbone['shear_factor'] = _like(
                stiffness['shear'],
                shear / (_value(material['shear_modulus'], 'Pa') * area),
                f'of {shear:g} N',
            )
        tube = network['sections']['muscle']['stiffness']
        for key in ('axial', 'shear', 'bending_x', 'torsion'):
            move(tube, key, muscles, f'{key.removesuffix("_x")}_stiffness')
    body['backbone'], body['muscles'] = backbone, muscles
    return body


def _rods(old: Any, before: RobotDescription, file: str) -> CommentedMap:
    network, body = old['network'], CommentedMap()
    for key in ('sections', 'bodies', 'rods', 'tip'):
        move(network, key, body, key)
    return body


BODIES = {'chain': _chain, 'legs': _legs, 'muscles': _muscles, 'rods': _rods}
