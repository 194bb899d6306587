#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What this workspace is built on: is it what is locked, is it used, under which licence.

Part of `make lint`; works offline, on the environment that is there. Called by itself it writes
the table docs/evidence/dependencies.md anew:

    . scripts/env.sh && python scripts/dependency_audit.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
import re
import sys

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project_files import imports_in, tree

ROOT = Path(__file__).resolve().parent.parent
PAGE = 'docs/evidence/dependencies.md'
TABLE = ROOT / PAGE
SITE = ROOT / '.venv-docs'
ROS = ('kilted', 'jazzy')
# Used without being imported by a source of this workspace.
TOOLS = {
    'colcon-common-extensions': 'builds the workspace', 'ruff': 'style', 'mypy': 'types',
    'import-linter': 'import contracts', 'pytest': 'tests', 'pytest-cov': 'tests',
    'pytest-repeat': 'tests, asked for by colcon test', 'pytest-timeout': 'tests',
    'pytest-rerunfailures': 'tests, asked for by colcon test', 'setuptools': 'builds packages',
    'empy': 'generates messages', 'lark-parser': 'generates messages', 'cmake': 'builds messages',
    'distlib': 'colcon', 'notify2': 'colcon', 'protobuf': 'gRPC', 'transforms3d': 'underlay',
    'colcon-argcomplete': 'completion in a shell', 'coverage': 'tests', 'uv': 'set-up',
    'sphinx': 'the site', 'myst-parser': 'the site', 'furo': 'the site',
    'sphinx-autoapi': 'the site, API reference',
}  # fmt: skip
# Licence texts as packages state them -> SPDX. What is not here has to be looked at by a person.
SPDX = {
    'Apache Software License': 'Apache-2.0',
    'Apache 2.0': 'Apache-2.0',
    'MIT License': 'MIT',
    'BSD License': 'BSD',
    '3-Clause BSD License': 'BSD-3-Clause',
    'BSD': 'BSD',
    'Python Software Foundation License': 'PSF-2.0',
    'Mozilla Public License 2.0 (MPL 2.0)': 'MPL-2.0',
    'DFSG approved AND MIT License': 'MIT',
    'Apache License 2.0': 'Apache-2.0',
    'Apache License, Version 2.0': 'Apache-2.0',
}
# Where a package states none, or several for parts of it: read from the files it brings.
BY_HAND = {
    'setuptools': 'MIT',
    'xacro': 'BSD-3-Clause',
    'apsw': 'any-OSI',
    'docutils': 'public domain, BSD-2-Clause; one tool GPL-3.0, not used here',
}
# Licences this workspace may stand on as it is used: imported or run, never copied or changed.
ACCEPTED = {
    'MIT', 'MIT-0', 'MIT-CMU', 'BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'PSF-2.0',
    'MPL-2.0', 'LGPL-2.1-or-later', 'LGPL-3.0-only', '0BSD', 'Zlib', 'CC0-1.0', 'any-OSI',
    'Apache-2.0 WITH LLVM-exception', BY_HAND['docutils'],
}  # fmt: skip


def check(files: list[Path]) -> Iterator[str]:
    """Yield where lock files, environment, imports and table disagree."""
    locked = locks()
    installed = {n: d for n in locked if (d := _installed(n)) is not None}
    for name, (version, where) in sorted(locked.items()):
        here = installed.get(name)
        if here is not None and here.version != version:
            yield f'{where}: {name}=={version} is locked, {here.version} is installed'
        elif here is None and name not in ('cmake', 'uv'):
            yield f'{where}: {name}=={version} is locked, but not installed; `make setup`'
    for name in sorted(_all_installed() - set(locked) - {'pip'}):
        if f'ros-{name}' not in locked:
            yield f'requirements: {name} is installed, but not locked'
    yield from _unused(_direct(files), locked, installed)
    yield from _licences(locked, installed)
    yield from _site()
    yield from _hashes()


def locks() -> dict[str, tuple[str, str]]:
    """Return what this environment is locked to: name -> version, lock file."""
    return {name: lock for file in _lock_files() for name, lock in _read_lock(file).items()}


def _read_lock(file: Path) -> dict[str, tuple[str, str]]:
    found = {}
    for line in file.read_text().splitlines():
        text = line.partition('#')[0].partition(' --hash')[0].strip()
        if not text:
            continue
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate():
            version = str(wanted.specifier).removeprefix('==')
            found[canonicalize_name(wanted.name)] = version, f'requirements/{file.name}'
    return found


def _lock_files() -> list[Path]:
    folder = ROOT / 'requirements'
    wheels = [r for r in ROS if _installed('ros-rclpy') and _is_of(folder / f'{r}.txt')]
    if not wheels:
        return [folder / 'installed-ros.txt']
    return [folder / f'{name}.txt' for name in ('build', 'python', 'cmake', 'uv', *wheels)]


def _is_of(file: Path) -> bool:
    here = _installed('ros-rclpy')
    return here is not None and f'ros-rclpy=={here.version}' in file.read_text()


def _installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _all_installed() -> set[str]:
    inside = [p for p in sys.path if p.startswith(sys.prefix) and p.endswith('-packages')]
    return {canonicalize_name(d.metadata['Name']) for d in metadata.distributions(path=inside)}


def _site_packages() -> dict[str, metadata.Distribution]:
    """Return what is in the environment of `make docs`; nothing where it was not made."""
    folders = [str(f) for f in SITE.glob('lib/python*/site-packages')]
    found = {
        canonicalize_name(d.metadata['Name']): d for d in metadata.distributions(path=folders)
    }
    return {n: d for n, d in found.items() if n not in ('pip', 'setuptools')}


def _site() -> Iterator[str]:
    """Yield where the environment of `make docs`, when there is one, disagrees with its lock."""
    locked, here = _read_lock(ROOT / 'requirements' / 'docs.txt'), _site_packages()
    if not here:
        return
    for name in sorted(set(locked) ^ set(here)):
        yield f'requirements/docs.txt: {name} is not both locked and installed; `make docs`'
    both = {n: d for n, d in here.items() if n in locked}
    for name, found in sorted(both.items()):
        if found.version != locked[name][0]:
            yield f'requirements/docs.txt: {name}=={locked[name][0]} is locked, not installed'
    yield from _unused(set(TOOLS), locked, both)
    yield from _licences(locked, both)


def _imported(files: list[Path]) -> dict[str, str]:
    """Return the first parts of absolute imports, and a file of each."""
    found: dict[str, str] = {}
    for file in (f for f in files if f.suffix == '.py'):
        for node in imports_in(file.read_text()):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or '']
            for name in names:
                found.setdefault(name.partition('.')[0], file.relative_to(ROOT).as_posix())
    return found


def _direct(files: list[Path]) -> set[str]:
    """Return the distributions that sources of this workspace import, and its tools."""
    provided = metadata.packages_distributions()
    imported = {d for name in _imported(files) for d in provided.get(name, ())}
    return {canonicalize_name(d) for d in imported} | set(TOOLS)


def _unused(
    direct: set[str],
    locked: dict[str, tuple[str, str]],
    installed: dict[str, metadata.Distribution],
) -> Iterator[str]:
    """Yield locked packages that no source, no tool and nothing that these need leads to."""
    waiting = [n for n in direct if n in installed]
    reached = set(waiting)
    while waiting:
        for text in installed[waiting.pop()].requires or ():
            name = canonicalize_name(Requirement(text).name)
            if name in installed and name not in reached:
                reached.add(name)
                waiting.append(name)
    for name in sorted(set(installed) - reached):
        # ROS comes as one set of wheels that need each other without saying so.
        if not name.startswith('ros-'):
            yield f'{locked[name][1]}: nothing here uses {name}'


def licence(found: metadata.Distribution) -> str:
    """Return the licence of a package as SPDX, as far as it can be told."""
    name = canonicalize_name(found.metadata['Name'])
    if name in BY_HAND:
        return BY_HAND[name]
    stated = found.metadata.get('License-Expression')
    if stated:
        return stated
    classes = found.metadata.get_all('Classifier') or []
    said = [c.rpartition(' :: ')[2] for c in classes if c.startswith('License')]
    text = ' AND '.join(said) or (found.metadata.get('License') or '').strip()
    return SPDX.get(text, text.splitlines()[0] if text else 'unknown')


def _licences(
    locked: dict[str, tuple[str, str]], installed: dict[str, metadata.Distribution]
) -> Iterator[str]:
    listed = dict(re.findall(r'^\| ([\w.-]+) \| ([^|]+?) \|', TABLE.read_text(), re.MULTILINE))
    for name, found in sorted(installed.items()):
        if name.startswith('ros-'):
            continue  # Apache-2.0 and BSD, stated in their package.xml; see the table's foot
        stated = licence(found)
        if any(part not in ACCEPTED for part in re.split(r' (?:AND|OR) ', stated)):
            yield f'{locked[name][1]}: licence of {name}, {stated[:60]!r}, is to be looked at'
        if listed.get(name) != stated:
            yield f'{PAGE}: the row of {name} is old; scripts/dependency_audit.py'
    files = (ROOT / 'requirements').glob('*.txt')
    lines = (line for file in files for line in file.read_text().splitlines())
    known = {canonicalize_name(re.split('[=;# ]', line)[0]) for line in lines}
    for name in sorted(set(listed) - known - {'Package', '---'}):
        yield f'{PAGE}: {name} is in no lock file; scripts/dependency_audit.py'


def _hashes() -> Iterator[str]:
    """Yield lines without a hash in a lock file that has hashes: pip would refuse the file."""
    for file in sorted((ROOT / 'requirements').glob('*.txt')):
        lines = [x for x in file.read_text().splitlines() if x.strip() and not x.startswith('#')]
        hashed = [x for x in lines if '--hash=' in x]
        if hashed and len(hashed) < len(lines):
            yield f'requirements/{file.name}: {len(lines) - len(hashed)} lines without a hash'


def write_table(files: list[Path]) -> None:
    """Write docs/evidence/dependencies.md."""
    direct, rows, site = _direct(files), [], _site_packages()
    if not site:
        sys.exit('the table has rows of the site, too: `make docs` first')
    for name in sorted(locks() | site):
        found = _installed(name) or site.get(name)
        if found is not None and not name.startswith('ros-'):
            use = TOOLS.get(name) or ('imported' if name in direct else 'needed by another')
            rows.append(f'| {name} | {licence(found)} | {use} |')
    TABLE.write_text(HEAD + '\n'.join(rows) + '\n')


HEAD = """\
# Dependencies

Generated by `python scripts/dependency_audit.py`; `make lint` checks it, offline: what is
installed is what is locked in `requirements/` (`docs.txt`: what `make docs` installs for itself),
what is locked is used, every licence is known and accepted. The wheels of ROS 2 (`ros-*`, where
no ROS is installed) are Apache-2.0 and BSD-3-Clause, as their package.xml files say. Nothing of
these packages is copied into this workspace.

| Package | Licence | Use |
| --- | --- | --- |
"""

if __name__ == '__main__':
    write_table(tree())
