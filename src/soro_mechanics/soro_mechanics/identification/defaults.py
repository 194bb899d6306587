# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a fit varies where nobody names parameters."""

from __future__ import annotations

from typing import Any

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.identification.parameters import Change, file_tree, FitParameter, leads
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file import registry
from soro_mechanics.robot_file.reader import OLD_SCHEMA


def default_parameters(robot: Robot) -> list[FitParameter]:
    """Return what recordings without known loads usually can tell, for the robot's model.

    Raises
    ------
    InvalidInput
        There is no such list for the model; the caller has to name paths.
    """
    section = registry.MODELS[robot.model][0]
    tree = file_tree(robot.description.file)
    defaults = _OLD if tree.get('schema') == OLD_SCHEMA else _DEFAULTS
    if section not in defaults:
        raise InvalidInput(
            'parameters',
            robot.model,
            f'paths of numbers in the robot file: the section {section!r} has no default list',
        )
    return defaults[section](robot, tree)


def _of_segments(segments: Any, start: str, drive: str) -> list[FitParameter]:
    chambers: dict[str, list[str]] = {}
    for i, segment in enumerate(segments):
        for j, chamber in enumerate(segment['chambers']):
            path = f'{start}.{i}.chambers.{j}.area'
            chambers.setdefault(chamber[drive], []).append(path)
    return [
        *(FitParameter(f'area_{name}', tuple(paths)) for name, paths in chambers.items()),
        FitParameter('bending_stiffness', (f'{start}.*.bending_stiffness',)),
    ]


def _of_sections(part: Any, start: str) -> list[FitParameter]:
    """Return the stiffness of all sections and the rest curvature of rods."""
    found = []
    for name, section in part['sections'].items():
        for key in ('young', 'stiffness.bending_x'):
            if leads(section, key):
                path = f'{start}.sections.{name}.{key}'
                found.append(FitParameter(f'{name}_{key.split(".")[-1]}', (path,)))
    curved = []
    for i, rod in enumerate(part['rods']):
        if 'rest_curvature' in rod:  # one vector, or a list of them along the rod
            along = '.*.curvature' if isinstance(rod['rest_curvature'], list) else ''
            curved.append(f'{start}.rods.{i}.rest_curvature{along}')
    if curved:
        found.append(FitParameter('rest_curvature', tuple(curved)))
    return found


def _of_chain(robot: Robot, tree: Any) -> list[FitParameter]:
    return _of_segments(tree['body']['segments'], 'body.segments', 'drive')


def _of_stretch(robot: Robot, tree: Any) -> list[FitParameter]:
    legs = [leg['name'] for leg in tree['body']['legs']]
    return [
        *(
            FitParameter(f'stretch_{name}', (f'drives.{i}.curve.stretch',), Change.GROWTH)
            for i, name in enumerate(legs)
            if 'curve' in tree['drives'][i]
        ),
        FitParameter('EI', ('body.bending_stiffness',)),
    ]


def _of_rods(robot: Robot, tree: Any) -> list[FitParameter]:
    body = tree['body']
    found = _of_sections(body, 'body')
    for name in body.get('chambers', {}):
        found.append(FitParameter(f'area_{name}', (f'body.chambers.{name}.parts.*.area',)))
    return found


def _of_muscles(robot: Robot, tree: Any) -> list[FitParameter]:
    material = tree['body']['backbone']['material']
    return [FitParameter('backbone_young', (f'body.backbone.materials.{material}.young',))]


def _of_network(robot: Robot, tree: Any) -> list[FitParameter]:
    kinds = {'chain': _of_chain, 'legs': _of_stretch, 'muscles': _of_muscles, 'rods': _of_rods}
    return kinds[tree['body']['kind']](robot, tree)


def _of_elongation(robot: Robot, tree: Any) -> list[FitParameter]:
    start = 'body.segments.0'
    return [
        FitParameter('linear', (f'{start}.elongation.linear',)),
        FitParameter('quadratic', (f'{start}.elongation.quadratic',)),
        FitParameter('actuator_offset', (f'{start}.chambers.*.offset',)),
    ]


_DEFAULTS = {
    'segments': _of_chain,
    'ancf': _of_stretch,
    'network': _of_network,
    'constant_curvature': _of_elongation,
}


# Schema 1; goes away with it.


def _old_segments(robot: Robot, tree: Any) -> list[FitParameter]:
    return _of_segments(tree['segments']['chain'], 'segments.chain', 'actuator')


def _old_legs(robot: Robot, tree: Any) -> list[FitParameter]:
    legs = [leg['name'] for leg in tree['ancf']['legs']]
    return [
        *(
            FitParameter(f'stretch_{name}', (f'ancf.legs.{i}.stretch',), Change.GROWTH)
            for i, name in enumerate(legs)
        ),
        FitParameter('EI', ('ancf.EI',)),
    ]


def _old_network(robot: Robot, tree: Any) -> list[FitParameter]:
    found = _of_sections(tree['network'], 'network')
    for i, drive in enumerate(tree['network'].get('actuation', [])):
        start = f'network.actuation.{i}'
        if 'chambers' in drive:
            paths = tuple(f'{start}.chambers.{j}.area' for j in range(len(drive['chambers'])))
            found.append(FitParameter(f'area_{drive["actuator"]}', paths))
    return found


def _old_arc(robot: Robot, tree: Any) -> list[FitParameter]:
    start = 'constant_curvature'
    return [
        FitParameter('linear', (f'{start}.pressure_map.linear',)),
        FitParameter('quadratic', (f'{start}.pressure_map.quadratic',)),
        FitParameter('actuator_offset', (f'{start}.actuator_offset',)),
    ]


_OLD = {
    'segments': _old_segments,
    'ancf': _old_legs,
    'network': _old_network,
    'constant_curvature': _old_arc,
}
