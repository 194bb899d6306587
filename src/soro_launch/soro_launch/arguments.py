# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The arguments a launch file declares: listing them and refusing all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
import difflib
import os
from pathlib import Path

from soro_launch.context import Context
from soro_launch.errors import LaunchError
from soro_launch.substitution_text import unescape
from soro_launch.substitutions import expand
from soro_launch.xml_reader import Element, read_launch_file


@dataclass(frozen=True)
class Argument:
    """One declared argument."""

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...]
    conditional: bool


def declared_arguments(root: Element, environment: Mapping[str, str]) -> list[Argument]:
    """Return the arguments visible before the launch, the first declaration of each name.

    As in ROS 2 launch, an include is looked into only where its file name needs no argument, and
    what stands in a group without forwarding cannot be set from outside.
    """
    found: dict[str, Argument] = {}
    context = Context(environment)
    context.folder = Path(os.path.abspath(root.file)).parent
    for argument in _arguments(root, context, False, (root.file,)):
        found.setdefault(argument.name, argument)
    return list(found.values())


def parse_assignments(words: Iterable[str]) -> dict[str, str]:
    """Read ``name:=value`` words; of two with one name the last counts."""
    given = {}
    for word in words:
        name, assignment, value = word.partition(':=')
        if not assignment or not name or not value:
            raise LaunchError(f'{word!r} is not an argument; write name:=value')
        given[name] = value
    return given


def refuse_unknown(given: Iterable[str], declared: Iterable[Argument], file: str) -> None:
    """Refuse arguments nobody declared: launch itself would ignore them without a word.

    LaunchError: with the list of valid names.
    """
    valid = [a.name for a in declared]
    for name in given:
        if name not in valid:
            near = difflib.get_close_matches(name, valid, n=1)
            hint = f' Did you mean {near[0]}?' if near else ''
            listing = ', '.join(valid) if valid else 'none'
            raise LaunchError(
                f'{name}:= is not an argument of {Path(file).name}.{hint} Valid: {listing}'
            )


def _arguments(
    parent: Element, context: Context, conditional: bool, files: tuple[str, ...]
) -> Iterator[Argument]:
    for element in parent.children:
        maybe = conditional or 'if' in element.attributes or 'unless' in element.attributes
        if element.tag == 'arg':
            yield _argument(element, maybe)
        elif element.tag == 'group' and element.attributes.get('forwarding') != 'false':
            yield from _arguments(element, context, maybe, files)
        elif element.tag == 'include':
            yield from _included(element, context, maybe, files)


def _included(
    element: Element, context: Context, conditional: bool, files: tuple[str, ...]
) -> Iterator[Argument]:
    try:
        path = Path(expand(element, element.attributes['file'], context))
        root = read_launch_file(path)
    except LaunchError:
        return  # its name depends on arguments, or evaluation will report what is wrong
    if str(path) in files:
        return  # includes itself: evaluation will report it
    context.count_include(element)
    outer, context.folder = context.folder, path.parent
    yield from _arguments(root, context, conditional, (*files, str(path)))
    context.folder = outer


def _argument(element: Element, conditional: bool) -> Argument:
    choices = tuple(unescape(c.attributes['value']) for c in element.of('choice'))
    default = element.attributes.get('default')
    description = unescape(element.attributes.get('description', ''))
    return Argument(
        unescape(element.attributes['name']), default, description, choices, conditional
    )
