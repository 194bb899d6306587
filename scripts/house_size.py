#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Count the house: lines, files per folder, import circles, words. `python scripts/house_size.py`.

Product is what is installed (src/ without tests); a folder's files are its Python sources, without
those of its sub-folders. Code is what is left without docstrings, comments and blank lines. Words
are those of `wc -w`.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
import re

import house_rules
import import_circles
from project_files import tree

ROOT = Path(__file__).resolve().parent.parent
MECHANICS = Path('src/soro_mechanics/soro_mechanics')
CORE = ('core', 'numerics', 'models', 'inverse')
# Of commit 2c5b616 (November 2026), counted the same way; what the page shows, in its order.
BEFORE = {
    'lines, product (src)': '82,297',
    'lines, studies and benchmarks': 'in src',
    'lines of core, numerics, models, inverse': '19,506 (a403d920)',
    'lines of code among them': '14,436 (a403d920)',
    'lines that compile kernels': '208 (a403d920)',
    'lines of code among these': '123 (a403d920)',
    'lines, tests': '44,170',
    'files in the fullest folder': '103 (soro_mechanics)',
    'import circles': '6',
    'statements with `fmt: skip`': '1,006',
    'words of docs outside evidence': '87,658',
}


def counts(files: list[Path]) -> dict[str, str]:
    """Return what is counted, in words, and the numbers."""
    lines: Counter[str] = Counter()
    words: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    own_layouts = 0
    for file in (f for f in files if not f.is_symlink()):
        where = file.relative_to(ROOT)
        if file.suffix == '.py':
            text = file.read_text()
            kind = 'tests' if 'test' in where.parts else where.parts[0]
            lines[kind] += len(text.splitlines())
            own_layouts += len(house_rules.OWN_LAYOUT.findall(text))
            if where.is_relative_to(MECHANICS) and where.parts[3] in CORE:
                lines['core'] += len(text.splitlines())
                lines['code of core'] += code_lines(text)
            if where.is_relative_to(MECHANICS / 'compilation'):
                lines['compilation'] += len(text.splitlines())
                lines['code of compilation'] += code_lines(text)
            if kind == 'src':
                folders[where.parent.as_posix()] += 1
        elif file.suffix == '.md' and where.parts[0] == 'docs':
            kind = 'evidence' if 'evidence' in where.parts else 'guide'
            words[kind] += len(file.read_text().split())
    (fullest, most), *_ = folders.most_common(1)
    return {
        'lines, product (src)': f'{lines["src"]:,}',
        'lines, studies and benchmarks': f'{lines["studies"] + lines["benchmarks"]:,}',
        'lines of core, numerics, models, inverse': f'{lines["core"]:,}',
        'lines of code among them': f'{lines["code of core"]:,}',
        'lines that compile kernels': f'{lines["compilation"]:,}',
        'lines of code among these': f'{lines["code of compilation"]:,}',
        'lines, tests': f'{lines["tests"]:,}',
        'files in the fullest folder': f'{most} ({fullest})',
        'import circles': str(len(list(import_circles.check(files)))),
        'statements with `fmt: skip`': str(own_layouts),
        'words of docs outside evidence': f'{words["guide"]:,}',
        'words of docs/evidence': f'{words["evidence"]:,}',
    }


def code_lines(text: str) -> int:
    """Return how many lines of a source are code."""
    lines = enumerate(text.splitlines(), 1)
    plain = {n for n, line in lines if line.strip() and not line.lstrip().startswith('#')}
    for node in ast.walk(ast.parse(text)):
        named = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if named and ast.get_docstring(node):
            plain -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(plain)


def table() -> str:
    """Return before and now as a table of a page; thousands, so that it does not age every day."""
    now = counts(list(tree()))
    lines = ['| | before | now |', '|---|---|---|']
    for name, before in BEFORE.items():
        rounded = re.sub(
            r'\d+,\d{3}', lambda m: f'{round(int(m[0].replace(",", "")), -3):,}', now[name]
        )
        lines.append(f'| {name} | {before} | {rounded} |')
    return '\n'.join(lines) + '\n'


if __name__ == '__main__':
    for name, number in counts(list(tree())).items():
        print(f'{name:34} {number}')
