# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a fit varies where nobody names parameters."""

from __future__ import annotations

from typing import Any

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.identification.parameters import Change, FitParameter, leads
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file import registry
from soro_mechanics.robot_file.reader import file_tree


def default_parameters(robot: Robot) -> list[FitParameter]:
    """Return what recordings without known loads usually can tell, for the robot's model.

    Raises InvalidInput: there is no such list for the model; the caller has to name paths.
    """
    section = registry.MODELS[robot.model][0]
    tree = file_tree(robot.description.file)
    if section not in _DEFAULTS:
        raise InvalidInput(
            'parameters',
            robot.model,
            f'paths of numbers in the robot file: {section!r} has no default list',
        )
    return _DEFAULTS[section](tree)


def _of_chain(tree: Any) -> list[FitParameter]:
    chambers: dict[str, list[str]] = {}
    for i, segment in enumerate(tree['body']['segments']):
        for j, chamber in enumerate(segment['chambers']):
            path = f'body.segments.{i}.chambers.{j}.area'
            chambers.setdefault(chamber['drive'], []).append(path)
    return [
        *(FitParameter(f'area_{name}', tuple(paths)) for name, paths in chambers.items()),
        FitParameter('bending_stiffness', ('body.segments.*.bending_stiffness',)),
    ]


def _of_stretch(tree: Any) -> list[FitParameter]:
    legs = [leg['name'] for leg in tree['body']['legs']]
    return [
        *(
            FitParameter(f'stretch_{name}', (f'drives.{i}.curve.stretch',), Change.GROWTH)
            for i, name in enumerate(legs)
            if 'curve' in tree['drives'][i]
        ),
        FitParameter('EI', ('body.bending_stiffness',)),
    ]


def _of_rods(tree: Any) -> list[FitParameter]:
    """Return the stiffness of all sections, the rest curvature of rods, areas of chambers."""
    body, found = tree['body'], []
    for name, section in body['sections'].items():
        for key in ('young', 'stiffness.bending_x'):
            if leads(section, key):
                path = f'body.sections.{name}.{key}'
                found.append(FitParameter(f'{name}_{key.split(".")[-1]}', (path,)))
    curved = []
    for i, rod in enumerate(body['rods']):
        if 'rest_curvature' in rod:  # one vector, or a list of them along the rod
            along = '.*.curvature' if isinstance(rod['rest_curvature'], list) else ''
            curved.append(f'body.rods.{i}.rest_curvature{along}')
    if curved:
        found.append(FitParameter('rest_curvature', tuple(curved)))
    for name in body.get('chambers', {}):
        found.append(FitParameter(f'area_{name}', (f'body.chambers.{name}.parts.*.area',)))
    return found


def _of_muscles(tree: Any) -> list[FitParameter]:
    material = tree['body']['backbone']['material']
    return [FitParameter('backbone_young', (f'body.backbone.materials.{material}.young',))]


def _of_network(tree: Any) -> list[FitParameter]:
    kinds = {'chain': _of_chain, 'legs': _of_stretch, 'muscles': _of_muscles, 'rods': _of_rods}
    return kinds[tree['body']['kind']](tree)


def _of_elongation(tree: Any) -> list[FitParameter]:
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
