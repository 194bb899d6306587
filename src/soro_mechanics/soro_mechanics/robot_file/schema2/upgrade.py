# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Turn a robot file of schema 1 into schema 2; goes away with schema 1."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
import math
from pathlib import Path
import re
from typing import Any

import numpy as np
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.dotted_path import key_in, path_keys
from soro_mechanics.robot_file.reader import (
    any_schema,
    describe_robot,
    OLD_SCHEMA,
    RobotDescription,
    SCHEMA,
)
from soro_mechanics.robot_file.registry import family
from soro_mechanics.robot_file.schema2.check import plain
from soro_mechanics.robot_file.schema2.round_trip import comments, move, RoundTrip, styled
from soro_mechanics.robot_file.schema2.upgrade_bodies import BODIES

ROUNDED = 1e-3  # relative: two descriptions differ by no more than their printed digits
SAME = 1e-12
NOISE = 1e-15  # of the largest entry: cosines of right angles


@dataclass(frozen=True)
class Upgrade:
    """A file in schema 2, and what was done to it, one line each."""

    document: RoundTrip
    notes: tuple[str, ...]


def upgrade(path: Path | str) -> Upgrade:
    """Return a robot file of schema 1 in schema 2; nothing is written.

    Raises
    ------
    RobotFileError
        It is no file of schema 1, or it describes one body in two ways.
    """
    document = RoundTrip(path)
    old: Any = document.tree
    file = str(path)
    if not isinstance(old, CommentedMap) or old.get('schema') != OLD_SCHEMA:
        found = old.get('schema') if isinstance(old, CommentedMap) else old
        raise RobotFileError('schema', found, f'only schema {OLD_SCHEMA} is upgraded', file)
    with any_schema():
        before = describe_robot(plain_tree(old), file)
    kind = _kind(old, file)
    notes = [f'schema 1 -> 2: one body of kind {kind}']
    new = CommentedMap()
    new.ca.comment = old.ca.comment
    _head(old, new)
    new['body'] = BODIES[kind](old, before, file)
    new['body'].insert(0, 'kind', kind)
    _drives(old, new, kind)
    move(old, 'coupled_limits', new, 'coupled_limits')
    _loads_and_sensors(old, new)
    _models(old, new, before)
    for key in ('driver', 'emulator'):
        move(old, key, new, key)
    document.tree = new
    after = _changes(new, before, file, notes)
    _compare(before, after, notes, file)
    _keep_comments(document, notes)
    return Upgrade(document, tuple(notes))


def plain_tree(node: Any) -> Any:
    """Return a tree of the round trip as plain data."""
    if isinstance(node, dict):
        return {str(key): plain_tree(child) for key, child in node.items()}
    if isinstance(node, list):
        return [plain_tree(child) for child in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _kind(old: Any, file: str) -> str:
    kinds = {
        'segments': 'chain',
        'constant_curvature': 'chain',
        'ancf': 'legs',
        'kirchhoff': 'muscles',
    }
    used = {family(model) for model in old['models']}
    for section in (*kinds, 'network'):
        if section in old and section not in used:
            remedy = 'no model of this robot is built from it; remove it, then upgrade'
            raise RobotFileError(section, '', remedy, file)
    found = {kinds[section] for section in used if section in kinds}
    if len(found) > 1:
        remedy = f'sections of {" and ".join(sorted(found))} describe one body; keep one of them'
        raise RobotFileError('models', list(old['models']), remedy, file)
    return found.pop() if found else 'rods'


def _head(old: Any, new: CommentedMap) -> None:
    new['schema'] = SCHEMA
    if 'schema' in old.ca.items:
        new.ca.items['schema'] = old.ca.items.pop('schema')
    for key in ('name', 'title', 'reference', 'gravity'):
        move(old, key, new, key)


def _drives(old: Any, new: CommentedMap, kind: str) -> None:
    move(old, 'actuators', new, 'drives')
    if kind == 'legs':
        for drive, leg in zip(new['drives'], old['ancf']['legs'], strict=True):
            if 'stretch' in leg:
                curve = CommentedMap()
                curve['at'], curve['stretch'] = leg['pressures'], leg['stretch']
                curve.fa.set_flow_style()
                drive['curve'] = curve
    if kind != 'rods':
        return
    by_name = {drive['name']: drive for drive in new['drives']}
    body, count = new['body'], Counter(item['actuator'] for item in old['network']['actuation'])
    for i, item in enumerate(old['network']['actuation']):
        drive = by_name[item['actuator']]
        acts = CommentedMap({'drives': item['drives']})
        home = {'pressure': 'chambers', 'tension': 'tendons', 'tendon': 'tendons'}.get(
            item['drives']
        )
        keys = [key for key in item if key not in ('actuator', 'drives')]
        if home:
            name = drive['name'] if count[drive['name']] == 1 else f'{drive["name"]}_{i + 1}'
            part = CommentedMap()
            for key in keys:
                move(
                    item,
                    key,
                    acts if key == 'curve' else part,
                    'parts' if key == 'chambers' else key,
                )
            part.fa.set_flow_style()
            body.setdefault(home, CommentedMap())[name] = part
            acts[home] = styled([name])
        else:
            for key in keys:
                move(item, key, acts, key)
        if not isinstance(acts.get('curve'), list):
            acts.fa.set_flow_style()
        drive.setdefault('acts', styled([], flow='curve' not in acts)).append(acts)
        if 'curve' in acts:
            drive.fa.set_block_style()


def _loads_and_sensors(old: Any, new: CommentedMap) -> None:
    network = old.get('network', {})
    if 'loads' in network:
        move(network, 'loads', new, 'loads')
        for load in new['loads']:
            load.insert(0, 'kind', 'follower' if load.pop('axes', 'base') == 'local' else 'dead')
    sensors = CommentedSeq()
    for sensor in network.get('sensors', ()):
        sensor.insert(0, 'kind', 'bend')
        sensors.append(sensor)
    haptic = old.get('haptic')
    if haptic is not None:
        flex = haptic.pop('flex_sensors')
        flex.insert(0, 'kind', 'flex')
        sensors.append(flex)
        new['control'] = CommentedMap({'haptic': haptic})
    if sensors:
        new['sensors'] = sensors


def _models(old: Any, new: CommentedMap, before: RobotDescription) -> None:
    """Put the numerics under the first model of each family."""
    numerics = {
        'segments': ('elements', 'compensation'),
        'constant_curvature': ('stations',),
        'ancf': ('elements', 'penalty', 'stations_per_element'),
        'kirchhoff': ('elements', 'stations_per_module'),
        'network': ('steps',),
    }
    models, seen = CommentedMap(), set()
    for model in before.models:
        models[model] = item = CommentedMap()
        section = family(model)
        if section in seen:
            item.fa.set_flow_style()
            continue
        seen.add(section)
        for key in numerics[section]:
            move(old[section], key, item, key)
        if section == 'constant_curvature' and 'segments' in old:
            item['weightless'] = True
        if section == 'network':
            _mesh(old['network'], item, new['body']['kind'])
        if not item:
            item.fa.set_flow_style()
    new['models'] = models


def _mesh(network: Any, item: CommentedMap, kind: str) -> None:
    """Move meshes under the model; what all rods share is written once."""
    for key in ('formulation', 'mesh'):
        own = {rod['name']: rod.pop(key) for rod in network['rods'] if key in rod}
        values = [plain(plain_tree(value)) for value in own.values()]
        if own and len(own) == len(network['rods']) and all(v == values[0] for v in values):
            item[key] = next(iter(own.values()))
            continue
        for name, value in own.items():
            rods = item.setdefault('rods', CommentedMap())
            rods.setdefault(name, styled({}))[key] = value
    if kind in ('legs', 'chain'):
        guesses = CommentedMap()
        for name, body in network['bodies'].items():
            keys = ('position', 'polar', 'rotation', 'direction')
            pose = {key: body[key] for key in keys if key in body}
            if pose:
                guesses[name] = styled(pose)
        if guesses:
            item['guess'] = guesses


def _changes(
    new: CommentedMap, before: RobotDescription, file: str, notes: list[str]
) -> RobotDescription:
    """Translate the paths of the emulated body; returns the new description."""
    after = describe_robot(plain_tree(new), file)
    changes = new.get('emulator', {}).get('body', {}).get('changes')
    if not changes:
        return after
    seen: dict[str, Any] = {}
    for item in list(changes):
        path = re.sub(r'\.(\d+)(?=\.|$)', r'[\1]', plain(plain_tree(item['path'])))
        fresh = '.'.join(path_keys(after.written_path(path)))
        if path == fresh or not _leads(plain_tree(new), fresh):
            remedy = 'this change cannot be translated; remove it, then upgrade'
            raise RobotFileError('emulator.body.changes', item['path'], remedy, file)
        rest = {k: v for k, v in plain(plain_tree(item)).items() if k != 'path'}
        if seen.setdefault(fresh, rest) != rest:
            remedy = f'two changes of {fresh}, which is one number now; keep one'
            raise RobotFileError('emulator.body.changes', item['path'], remedy, file)
        first = [other['path'] for other in changes].count(fresh) == 0
        if first:
            item['path'] = fresh
        else:
            notes.append(f'emulator.body.changes: {item["path"]} is {fresh}, which stands there')
            changes.remove(item)
    return describe_robot(plain_tree(new), file)


def _leads(data: Any, path: str) -> bool:
    try:
        for key in path_keys(path):
            data = data[key_in(data, key)]
    except LookupError:
        return False
    return True


def _compare(
    before: RobotDescription, after: RobotDescription, notes: list[str], file: str
) -> None:
    """Refuse an upgrade that changes a number by more than a rounded copy does."""
    for name in ('actuators', 'coupled_limits', 'models', 'gravity'):
        for path, old, new, _ in differences(getattr(before, name), getattr(after, name), name):
            raise RobotFileError(path, old, f'would become {new}; please report this', file)
    for section, structure in before.structure.items():
        for path, old, new, size in differences(structure, after.structure[section], section):
            if not size <= ROUNDED:
                remedy = (
                    f'another section of this file says {new}: two descriptions of one body. '
                    'Make them one, then upgrade'
                )
                raise RobotFileError(path, old, remedy, file)
            notes.append(f'{path}: a copy rounded by {size:.1e}, the body has the exact value')


def differences(old: Any, new: Any, path: str) -> list[tuple[str, Any, Any, float]]:
    """Return (path, old, new, relative size) of all that is not the same; inf: another kind."""
    if is_dataclass(old) and type(old) is type(new):
        pairs = [
            (f'{path}.{f.name}', getattr(old, f.name), getattr(new, f.name)) for f in fields(old)
        ]
    elif isinstance(old, dict) and isinstance(new, dict) and list(old) == list(new):
        pairs = [(f'{path}.{key}', old[key], new[key]) for key in old]
    elif isinstance(old, tuple | list) and isinstance(new, tuple | list) and len(old) == len(new):
        pairs = [(f'{path}[{i}]', a, b) for i, (a, b) in enumerate(zip(old, new, strict=True))]
    elif isinstance(old, float | np.ndarray) and isinstance(new, float | np.ndarray):
        if np.shape(old) != np.shape(new):
            return [(path, old, new, math.inf)]
        a, b = np.asarray(old), np.asarray(new)
        apart = np.abs(a - b)
        apart = np.where(apart <= NOISE * np.max(np.abs(a), initial=0.0), 0.0, apart)
        with np.errstate(divide='ignore', invalid='ignore'):
            size = float(np.max(np.where(apart == 0.0, 0.0, apart / np.abs(a)), initial=0.0))
        return [(path, old, new, size)] if not size <= SAME else []
    elif isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return [(path, old, new, math.inf)]
    else:
        return [] if old == new else [(path, old, new, math.inf)]
    return [found for name, a, b in pairs for found in differences(a, b, name)]


def _keep_comments(document: RoundTrip, notes: list[str]) -> None:
    """Put comments of parts that have gone in front of the body."""
    lost = Counter(comments(document.text)) - Counter(comments(document.written()))
    ordered = [c for c in dict.fromkeys(comments(document.text)) if c in lost]
    if ordered:
        document.tree.yaml_set_comment_before_after_key('body', before='\n'.join(ordered))
        notes.append(f'{len(ordered)} comments of parts that are gone stand in front of body now')
