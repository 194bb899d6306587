#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the whole tree: style, types, import contracts, package and launch files, house rules.

Called by `make lint` with the workspace's environment. All checks run, then the exit code says
whether any failed. Only files known to git or new to it count, so results and builds are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
import os
from pathlib import Path
import subprocess
import sys

import dependency_audit
import docs_site
import generated_tables
import house_rules
import import_circles
import launch_rules
import package_rules
from project_files import tree
import targets_page

from soro_studies.validation.provenance import digests
from soro_studies.validation.results import read_results, ROWS_FILE
from soro_studies.validation.stored import PAGES

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str, **variables: str) -> list[str]:
    """Run a tool; return its output as complaints when it is not content."""
    done = subprocess.run(
        [sys.executable, '-m', *command],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    return (done.stdout + done.stderr).splitlines() if done.returncode else []


def ruff_check(files: list[Path]) -> Iterator[str]:
    """Check style and docstrings."""
    yield from run('ruff', 'check', '--quiet', '--output-format', 'concise')


def ruff_format(files: list[Path]) -> Iterator[str]:
    """Check the layout; `make format` mends it."""
    lines = run('ruff', 'format', '--check', '--output-format', 'concise')
    yield from (line for line in lines if 'unformatted' in line)


def types(files: list[Path]) -> Iterator[str]:
    """Check types of soro_mechanics, strictly; files named *kernels* are Numba's business."""
    # The sources, not the links in build/ that PYTHONPATH offers.
    lines = run('mypy', '--no-error-summary', PYTHONPATH='')
    yield from (line for line in lines if 'kernels.py' not in line.partition(':')[0])


def import_contracts(files: list[Path]) -> Iterator[str]:
    """Check the one direction of dependency, see pyproject.toml."""
    packages = [f.parent for f in files if f.name == 'setup.py']
    names = (p.name for p in packages if p.parent.name == 'src')
    listed = (ROOT / 'pyproject.toml').read_text()
    for name in names:
        if f"    '{name}',\n" not in listed:
            yield f'pyproject.toml: {name} is not among root_packages of importlinter'
    path = os.pathsep.join(map(str, [*packages, ROOT / 'studies']))
    command = 'import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())'
    done = subprocess.run(
        [sys.executable, '-c', command, '--no-cache'],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        yield from lines[lines.index('Contracts') if 'Contracts' in lines else 0 :]


def validation_rows(files: list[Path]) -> Iterator[str]:
    """Check that the stored rows are as new as the robot files and the studies they read."""
    kept = read_results(ROWS_FILE)['computed_with']
    for what, digest in digests(PAGES).items():
        if '.py` files' not in what and kept.get(what) != digest:
            yield f'docs/evidence/validation/rows.json is older than {what}: make validate'


CHECKS: dict[str, Callable[[list[Path]], Iterator[str]]] = {
    'ruff check': ruff_check,
    'ruff format': ruff_format,
    'import contracts': import_contracts,
    'import circles': import_circles.check,
    'package.xml': package_rules.check,
    'launch files': launch_rules.check,
    'house rules': house_rules.check,
    'targets': targets_page.check,
    'generated tables': generated_tables.check,
    'validation': validation_rows,
    'mypy': types,
    'site': docs_site.check,
    'dependencies': dependency_audit.check,  # looks at the environment that `site` makes
}
BESIDE = ('mypy', 'site')  # the longest: processes of their own, beside all others


def main() -> int:
    """Run the checks named on the command line, else all."""
    chosen = sys.argv[1:] or list(CHECKS)
    unknown = [name for name in chosen if name not in CHECKS]
    if unknown:
        sys.exit(f'no such check: {unknown}; there are: {list(CHECKS)}')
    files, failed = tree(), []
    pool = ThreadPoolExecutor()
    beside = {name: pool.submit(list, CHECKS[name](files)) for name in chosen if name in BESIDE}
    for name in chosen:
        waiting = beside.get(name)
        complaints = list(CHECKS[name](files)) if waiting is None else waiting.result()
        print(f'{name}: ' + (f'{len(complaints)} complaints' if complaints else 'ok'), flush=True)
        for line in complaints:
            print(f'  {line}')
        if complaints:
            failed.append(name)
    print('lint: ' + ('failed: ' + ', '.join(failed) if failed else 'all checks passed'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
