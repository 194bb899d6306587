# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The files of the project: those git knows, and new ones that it does not ignore; imports."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parent.parent


def tree() -> list[Path]:
    """Return the files of the project, new ones included, results and builds not."""
    command = ['git', 'ls-files', '--cached', '--others', '--exclude-standard', '-z']
    try:
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit('lint asks git for the files of the project: this folder is no clone of it')
    return [p for p in map(ROOT.joinpath, sorted(set(done.stdout.split('\0')))) if p.is_file()]


@cache
def imports_in(source: str) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports of a Python source, wherever they stand."""
    found: list[ast.Import | ast.ImportFrom] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        for inner in ('body', 'orelse', 'handlers', 'finalbody', 'cases'):  # no expressions
            waiting += getattr(node, inner, ())
    return found
