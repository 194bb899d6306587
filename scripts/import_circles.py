# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""House rule: no two files of a package import each other, directly or by way of others.

Files in a circle are one file in several places: none of them can be read, tested or moved alone.
An import inside a function or under `if TYPE_CHECKING:` counts like one at the top, for it only
hides the circle: what a function needs of the class that offers it as a method is a `Protocol`
beside the function, or a base of that class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import Path

from project_files import imports_in

ROOT = Path(__file__).resolve().parent.parent

Imports = dict[str, set[str]]  # module -> the modules of this workspace that it imports


def check(files: list[Path]) -> Iterator[str]:
    """Yield one circle for every group of files that import each other."""
    for circle in circles(imports(files)):
        yield ' imports '.join(circle)


def imports(files: list[Path]) -> Imports:
    """Return what packages, scripts/ and studies/ import of each other."""
    modules = {name: file for file in files if (name := _module(file))}
    found = {}
    for name, file in modules.items():
        package = name if file.name == '__init__.py' else name.rpartition('.')[0]
        found[name] = set(_imported(file.read_text(), package, modules.keys())) - {name}
    return found


def circles(graph: Imports) -> list[list[str]]:
    """Return a shortest circle, its first module again at the end, for each group of modules."""
    reached = {module: _reached(graph, module) for module in graph}
    found: list[list[str]] = []
    told: set[str] = set()
    for module in sorted(graph):
        if module in reached[module] and module not in told:
            told |= {other for other in reached[module] if module in reached[other]}
            found.append(_shortest(graph, module))
    return found


def _reached(graph: Imports, start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph[module]
    return reached


def _shortest(graph: Imports, start: str) -> list[str]:
    ways = [[start]]
    for way in ways:  # grows while it is read: all ways of one import, then of two
        if start in graph[way[-1]]:
            return [*way, start]
        known = {module for other in ways for module in other}
        ways += ([*way, module] for module in sorted(graph[way[-1]] - known))
    raise ValueError(f'{start} is in no circle')


def _module(file: Path) -> str:
    """Return the dotted name of a source of a package, scripts/ or studies/; else nothing."""
    folder, *parts = file.relative_to(ROOT).with_suffix('').parts
    if file.suffix != '.py' or 'test' in parts:
        return ''
    if folder == 'src' and parts[:1] == parts[1:2]:
        parts = parts[1:]  # src/soro_node/soro_node/main.py
    elif folder not in ('scripts', 'studies'):
        return ''
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def _imported(source: str, package: str, known: Set[str]) -> Iterator[str]:
    for node in imports_in(source):
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        else:
            parents = package.split('.')[: 1 - node.level or None] if node.level else []
            origin = '.'.join([*parents, *([node.module] if node.module else [])])
            # Of a package, a module in it or something that its __init__ holds.
            inside = {f'{origin}.{alias.name}' for alias in node.names}
            names = {name if name in known else origin for name in inside}
        yield from names & known
