# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The trees that the parsers of the families read, and where each part stands in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from soro_mechanics.core.errors import closest, RobotFileError
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.registry import family

PLACES = ({'position', 'polar'}, {'rotation', 'direction'})  # two ways of writing one
OF_RODS = ('mesh',)  # numerics that stand under the model, for all or for one


@dataclass
class Derived:
    """Trees of the families that a robot's models need."""

    data: dict[str, Any]  # the file without origins, its body completed by what follows from it
    file: str
    models: tuple[str, ...]
    written: dict[str, Any]  # the file without origins
    tree: dict[str, Any] = field(default_factory=dict)  # what the parsers read
    # path in `tree` -> path in the file; the longest that fits counts
    paths: dict[str, str] = field(default_factory=dict)

    @property
    def families(self) -> tuple[str, ...]:
        """Sections of the registry that the models are built from."""
        return tuple(dict.fromkeys(family(name) for name in self.models))

    def numerics(self, section: str) -> dict[str, Any]:
        """Return what stands under the models of a family; one of them has it."""
        return dict(self.data['models'][self.paths[section].partition('.')[2]])

    def with_body(self, section: str, names: dict[str, str]) -> dict[str, Any]:
        """Return the numerics of a family and what the body says: key of the section -> of it."""
        tree = self.numerics(section)
        for name, path in names.items():
            self.paths[f'{section}.{name}'] = f'body.{path}'
            value = self.data['body']
            for key in path.split('.'):
                value = value.get(key, {})
            if value != {}:
                tree[name] = value
        return tree

    def put_network(
        self, bodies: dict[str, Any], rods: list[dict[str, Any]], **parts: Any
    ) -> None:
        """Fill ``network``: bodies and rods with what the model states of them, other parts."""
        home = self.paths['network']
        tree = self.numerics('network')
        guess, own = tree.pop('guess', {}), tree.pop('rods', {})
        shared = {key: tree.pop(key) for key in OF_RODS if key in tree}
        names = [rod['name'] for rod in rods]
        for key, stated, known in (('rods', own, names), ('guess', guess, list(bodies))):
            for name, item in stated.items():
                if name not in known:
                    remedy = f'expected {closest(name, tuple(known))}'
                    raise self.wrong(f'{home}.{key}.{name}', item, remedy)
        for i, name in enumerate(names):
            for key in OF_RODS:
                where = f'.rods.{name}' if key in own.get(name, {}) else ''
                self.paths[f'network.rods[{i}].{key}'] = f'{home}{where}.{key}'
        for name, pose in guess.items():
            found = {f'network.bodies.{name}.{key}': f'{home}.guess.{name}.{key}' for key in pose}
            self.paths |= found
        self.tree['network'] = (
            tree
            | parts
            | {
                'bodies': {
                    name: _sought(body, guess.get(name, {})) for name, body in bodies.items()
                },
                'rods': [{**rod, **shared, **own.get(rod['name'], {})} for rod in rods],
            }
        )

    def si(self, value: Any, unit: str, default: float = 0.0) -> float:
        """Return one number in SI; it was checked before."""
        return default if value is None else quantity.parse(value, unit)[0]

    def positive(self, path: str, value: Any, unit: str) -> float:
        """Return one number in SI that must be above zero."""
        number = self.si(value, unit)
        if not number > 0.0:
            raise self.wrong(path, value, 'must be greater than zero')
        return number

    def refuse(self, path: str, value: Any, models: tuple[str, ...], remedy: str) -> None:
        """Refuse what one of the robot's models does not compute; never ignore it."""
        for name in self.models:
            if name in models or '*' in models:
                raise RobotFileError(
                    path, value, f'not supported yet by model {name}; {remedy}', self.file
                )

    def wrong(self, path: str, value: Any, remedy: str) -> RobotFileError:
        """Make an error."""
        return RobotFileError(path, value, remedy, self.file)


def rod_between(name: str, section: str, length: Any, start: Any, end: Any) -> dict[str, Any]:
    """Return a rod as the network's parser reads it."""
    return {'name': name, 'section': section, 'length': length, 'from': start, 'to': end}


def _sought(body: dict[str, Any], guess: dict[str, Any]) -> dict[str, Any]:
    """Return a body where it is sought first: a guessed place or turn replaces its own."""
    gone = {key for pair in PLACES if guess.keys() & pair for key in pair}
    return {**{key: value for key, value in body.items() if key not in gone}, **guess}
