# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What each family of models takes from the body: the trees that their parsers read.

A tree holds one mapping per family (``segments``, ``network``, ...) without origins. `Derived`
keeps for every part of them where it stands in the file, so that errors name what was written.
"""

from __future__ import annotations

from typing import Any

from soro_mechanics.core.actuators import COMPUTED
from soro_mechanics.robot_file.registry import FAMILIES
from soro_mechanics.robot_file.schema2 import (
    derive_chain,
    derive_legs,
    derive_muscles,
    derive_rods,
)
from soro_mechanics.robot_file.schema2.check import plain
from soro_mechanics.robot_file.schema2.derived import Derived
from soro_mechanics.robot_file.schema2.tables import SERVED
from soro_mechanics.robot_file.section import Section

KINDS = {
    'chain': derive_chain.derive,
    'legs': derive_legs.derive,
    'muscles': derive_muscles.derive,
    'rods': derive_rods.derive,
}
PAST = ('hysteresis', 'creep')  # of a drive: what the planner undoes
LATER_SENSORS = ('pressure', 'marker', 'force')
LATER_LOADS = ('spring', 'field', 'contact')


def derive(root: Section, data: dict[str, Any]) -> Derived:
    """Derive the trees of a checked file.

    Raises RobotFileError: a part of it is computed by none of the models, or twice described.
    """
    bare = plain(data)
    kind = bare['body']['kind']
    models = tuple(bare['models'])
    if not models:
        raise root.error('models', 'name at least one model')
    made = Derived({**bare, 'body': dict(bare['body'])}, root.file, models, bare)
    for name in models:
        if name not in SERVED[kind]:
            remedy = f'a body of kind {kind} serves {", ".join(SERVED[kind])}; remove this model'
            raise made.wrong(f'models.{name}', bare['models'][name], remedy)
    _check_shared(made)
    _drives(made, kind)
    KINDS[kind](made)
    _loads(made)
    _sensors(made)
    return made


def _check_shared(made: Derived) -> None:
    """Refuse numerics under two models of a family: they share them."""
    for section, members in FAMILIES.items():
        own = [name for name in made.models if name in members]
        stated = [name for name in own if made.data['models'][name]]
        for name in stated[1:]:
            key = next(iter(made.data['models'][name]))
            raise made.wrong(
                f'models.{name}.{key}',
                made.data['models'][name][key],
                f'{", ".join(own)} share their numerics; write it under models.{stated[0]}, '
                f'and {name}: {{}}',
            )
        if own:
            made.paths[section] = f'models.{(stated or own)[0]}'


def _drives(made: Derived, kind: str) -> None:
    actuators: list[dict[str, Any]] = []
    if not made.data['drives']:
        raise made.wrong('drives', [], 'write at least one drive')
    made.paths['actuators'] = 'drives'
    for i, drive in enumerate(made.data['drives']):
        path = f'drives[{i}]'
        if drive['name'] in [other['name'] for other in actuators]:
            raise made.wrong(f'{path}.name', drive['name'], 'two drives have this name')
        if drive['quantity'] not in COMPUTED:
            remedy = f'drive one of {", ".join(COMPUTED)}'
            made.refuse(f'{path}.quantity', drive['quantity'], ('*',), remedy)
        if 'acts' in drive and kind != 'rods':
            remedy = f'a body of kind {kind} names its drives itself; remove it'
            raise made.wrong(f'{path}.acts', drive['acts'], remedy)
        if 'curve' in drive and kind != 'legs':
            remedy = 'of legs only; write a curve under acts' if kind == 'rods' else 'of legs only'
            raise made.wrong(f'{path}.curve', drive['curve'], remedy)
        actuators.append({k: v for k, v in drive.items() if k not in ('acts', 'curve', *PAST)})
    made.tree['actuators'] = actuators
    pasts = [{k: drive[k] for k in PAST if k in drive} for drive in made.data['drives']]
    if any(pasts):
        made.tree['history'], made.paths['history'] = pasts, 'drives'
    if 'coupled_limits' in made.data:
        made.tree['coupled_limits'] = made.data['coupled_limits']


def _loads(made: Derived) -> None:
    others = tuple(name for name in made.models if name != 'network')
    loads = []
    for i, load in enumerate(made.data.get('loads', [])):
        path = f'loads[{i}]'
        if load['kind'] in LATER_LOADS:
            remedy = 'write a load of kind dead or follower'
            made.refuse(f'{path}.kind', load['kind'], ('*',), remedy)
        remedy = 'remove that model, or give the load in the request (tip wrench, loads)'
        made.refuse(path, load, others, remedy)
        loads.append({k: v for k, v in load.items() if k != 'kind'})
        loads[-1]['axes'] = 'local' if load['kind'] == 'follower' else 'base'
        made.paths[f'network.loads[{i}]'] = path
    if loads:
        made.tree['network']['loads'] = loads


def _sensors(made: Derived) -> None:
    bends: list[dict[str, Any]] = []
    flex = []
    others = tuple(name for name in made.models if name != 'network')
    for i, sensor in enumerate(made.data.get('sensors', [])):
        path = f'sensors[{i}]'
        if sensor['kind'] in LATER_SENSORS:
            remedy = 'remove it; flex and bend are computed'
            made.refuse(f'{path}.kind', sensor['kind'], ('*',), remedy)
        made.refuse(f'{path}.kind', sensor['kind'], others, 'remove that model, or the sensor')
        rest = {k: v for k, v in sensor.items() if k != 'kind'}
        if sensor['kind'] == 'bend':
            made.paths[f'network.sensors[{len(bends)}]'] = path
            bends.append(rest)
        else:
            flex.append((path, rest))
    if bends:
        made.tree['network']['sensors'] = bends
    control = made.data.get('control', {})
    if loop := {key: value for key, value in control.items() if key != 'haptic'}:
        made.tree['control'] = loop
    made.tree |= {key: made.data[key] for key in ('tracker', 'force_sensor') if key in made.data}
    haptic = control.get('haptic')
    if flex and haptic is None:
        sensor = made.data['sensors'][int(flex[0][0][8:-1])]
        raise made.wrong(flex[0][0], sensor, 'needs control.haptic; write that too')
    if len(flex) > 1:
        remedy = 'one entry of kind flex holds all strips, alike in distance and deviation'
        made.refuse(flex[1][0], flex[1][1], ('*',), remedy)
    if haptic is not None:
        if not flex:
            raise made.wrong('control.haptic', haptic, 'needs sensors of kind flex; write them')
        made.tree['haptic'] = {**haptic, 'flex_sensors': flex[0][1]}
        made.paths |= {'haptic': 'control.haptic', 'haptic.flex_sensors': flex[0][0]}
