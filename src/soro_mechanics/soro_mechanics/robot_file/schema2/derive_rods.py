# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rods between rigid bodies, with chambers and tendons, as a network."""

from __future__ import annotations

from typing import Any

from soro_mechanics.core.errors import closest
from soro_mechanics.robot_file.schema2.derived import Derived
from soro_mechanics.robot_file.schema2.tables import LATER_ACTS


def derive(made: Derived) -> None:
    """Fill ``network``."""
    body = made.data['body']
    _refuse_later(made)
    for key in ('sections', 'bodies', 'rods', 'tip'):
        made.paths[f'network.{key}'] = f'body.{key}'
    made.paths['network.actuation'] = 'drives'
    made.put_network(
        body['bodies'],
        body['rods'],
        sections=body['sections'],
        tip=body['tip'],
        actuation=_actuation(made),
    )


def _refuse_later(made: Derived) -> None:
    body = made.data['body']
    for name, item in body['sections'].items():
        if 'damping' in item:
            path = f'body.sections.{name}.damping'
            made.refuse(path, item['damping'], ('*',), 'remove it')
    for name, item in body.get('tendons', {}).items():
        if 'routing' in item:
            remedy = 'write one position or polar for the whole tendon'
            made.refuse(f'body.tendons.{name}.routing', item['routing'], ('*',), remedy)


def _actuation(made: Derived) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    used: dict[tuple[str, str], str] = {}
    for i, drive in enumerate(made.data['drives']):
        if not drive.get('acts'):
            remedy = (
                'required by a body of kind rods: what this drive does, for example '
                '[{drives: length, rods: [leg]}]'
            )
            raise made.wrong(f'drives[{i}].acts', drive.get('acts'), remedy)
        for j, acts in enumerate(drive['acts']):
            path = f'drives[{i}].acts[{j}]'
            if acts['drives'] in LATER_ACTS:
                remedy = 'write angle, length, stretch, curvature, pressure, tension or tendon'
                made.refuse(f'{path}.drives', acts['drives'], ('*',), remedy)
            if 'ratios' in acts:
                remedy = 'write one drive each, or a curve with a falling value'
                made.refuse(f'{path}.ratios', acts['ratios'], ('*',), remedy)
            rest = {k: v for k, v in acts.items() if k not in ('chambers', 'tendons')}
            base = {'actuator': drive['name'], **rest}
            parts = [base]
            for kind in ('chambers', 'tendons'):
                if kind in acts:
                    parts = [
                        {**base, **_named(made, f'{path}.{kind}[{k}]', kind, name, used)}
                        for k, name in enumerate(acts[kind])
                    ]
            for k, part in enumerate(parts):
                here = f'network.actuation[{len(found)}]'
                made.paths[here] = path
                made.paths[f'{here}.actuator'] = f'drives[{i}]'
                for kind in ('chambers', 'tendons'):
                    if kind in acts:
                        home = f'body.{kind}.{acts[kind][k]}'
                        keys = ('rods', 'chambers', 'position', 'polar', 'from', 'to', 'stiffness')
                        made.paths |= {f'{here}.{key}': f'{home}.{key}' for key in keys}
                        made.paths[f'{here}.chambers'] = f'{home}.parts'
                found.append(part)
    for kind in ('chambers', 'tendons'):
        for name, item in made.data['body'].get(kind, {}).items():
            if (kind, name) not in used:
                remedy = 'no drive acts on it; name it under acts of a drive, or remove it'
                raise made.wrong(f'body.{kind}.{name}', item, remedy)
    return found


def _named(
    made: Derived, path: str, kind: str, name: str, used: dict[tuple[str, str], str]
) -> dict[str, Any]:
    known = made.data['body'].get(kind, {})
    if name not in known:
        remedy = f'is not under body.{kind}; expected {closest(name, tuple(known))}'
        raise made.wrong(path, name, remedy)
    if (kind, name) in used:
        remedy = f'{used[kind, name]} acts on it already; describe another one, or remove this'
        raise made.wrong(path, name, remedy)
    used[kind, name] = path.partition('.')[0]
    return {('chambers' if k == 'parts' else k): v for k, v in known[name].items()}
