# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rules of this project that no off-the-shelf tool knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
import re

import unsafe_calls

ROOT = Path(__file__).resolve().parent.parent

HEADER = ('# Copyright 2026 soro contributors', '# SPDX-License-Identifier: Apache-2.0')
# What is installed is named in requirements/, where from is the business of the machine. The
# patterns are cut in two so that they do not find themselves.
REGISTRIES = re.compile(
    'py'
    r'pi\.(org|python\.org)|python'
    r'hosted\.org|npm'
    r'js\.(com|org)|crates\.'
    r'io'
    '|--(extra-)?'
    'index-url|PIP_'
    '(EXTRA_)?INDEX|ana'
    r'conda\.org|packages\.'
    r'ros\.org'
)
VAGUE_NAMES = {'utils', 'util', 'helpers', 'helper', 'misc', 'manager', 'common'}
IN_TESTS = {
    re.compile(r'\btime\.sleep\('): 'a test must wait for something, not sleep',
    re.compile(r'\bmark\.(skip|skipif|xfail)\b|\bpytest\.(skip|xfail)\('): 'tests are not skipped',
}
LINK = re.compile(r'\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)')
INTERFACES = ('.msg', '.srv', '.action')
SOURCE = re.compile(r'^Sources?: ', re.MULTILINE)  # of the formulas of kernels
OWN_LAYOUT = re.compile(r'# fmt: ?(skip|off)$', re.MULTILINE)
MAX_ARGUMENTS = 8  # by their places, of a function that is installed; kernels have no others
MAX_OWN_LAYOUTS = (
    100  # statements of the whole tree, tables mostly, that the formatter leaves alone
)


def check(files: list[Path]) -> Iterator[str]:
    """Yield what breaks a rule."""
    own_layouts = 0
    for file in files:
        where = file.relative_to(ROOT).as_posix()
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue  # pictures, recorded data
        for number, line in enumerate(text.splitlines(), start=1):
            if REGISTRIES.search(line):
                yield f'{where}:{number}: address or option of a package registry'
        if file.suffix == '.py':
            own_layouts += len(OWN_LAYOUT.findall(text))
            yield from (f'{where}{found}' for found in _check_python(file, text))
            if 'test' not in file.relative_to(ROOT).parts:  # tests run the examples of the pages
                yield from (f'{where}{found}' for found in unsafe_calls.check(text))
        elif file.suffix == '.md':
            yield from (f'{where}{text}' for text in _check_links(file, text))
        elif file.suffix in INTERFACES and file.is_relative_to(ROOT / 'src'):
            yield from (f'{where}{text}' for text in _check_interface(text))
    if own_layouts > MAX_OWN_LAYOUTS:
        yield f'{own_layouts} statements with "fmt: skip", {MAX_OWN_LAYOUTS} at most'


def _check_python(file: Path, text: str) -> Iterator[str]:
    lines = text.splitlines()
    if lines and lines[0].startswith('#!'):
        del lines[0]
    if lines and tuple(lines[:2]) != HEADER:
        yield ':1: the licence header is missing'
    if file.stem in VAGUE_NAMES:
        yield ': the name of the file does not say what is in it'
    parts = file.relative_to(ROOT).parts
    if parts[0] == 'src' and 'test' not in parts:
        module = ast.parse(text)
        functions = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)]
        for node in functions:
            if _positional(node.args) > MAX_ARGUMENTS:
                yield f':{node.lineno}: {node.name} has more than {MAX_ARGUMENTS} arguments'
        if 'kernels' in file.stem:
            yield from _check_kernels(module, [f for f in functions if _is_kernel(f)])
    if 'test' in parts:
        for number, line in enumerate(text.splitlines(), start=1):
            yield from (f':{number}: {why}' for rule, why in IN_TESTS.items() if rule.search(line))


def _check_kernels(module: ast.Module, kernels: list[ast.FunctionDef]) -> Iterator[str]:
    if kernels and not SOURCE.search(ast.get_docstring(module) or ''):
        yield ':1: no line "Source: paper and equation, or how derived" in the docstring'
    for kernel in kernels:
        text = ast.get_docstring(kernel)
        if not text:
            yield f':{kernel.lineno}: kernel {kernel.name} has no docstring'
            continue
        names = (a.arg for a in kernel.args.args)
        lacks = [n for n in names if not re.search(rf'(?<!\w){re.escape(n)}(?!\w)', text)]
        if lacks:
            yield f':{kernel.lineno}: docstring of kernel {kernel.name} lacks {", ".join(lacks)}'


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any('kernel' in ast.unparse(d) for d in function.decorator_list)


def _positional(given: ast.arguments) -> int:
    """Return how many arguments a caller may give by their places."""
    names = [a.arg for a in (*given.posonlyargs, *given.args)]
    return len(names) - (names[:1] in (['self'], ['cls']))


def _check_links(file: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        for target, place in LINK.findall(line):
            other = file.parent / target if target else file
            if not other.exists():
                yield f':{number}: the link to {target} leads nowhere'
            elif place and other.suffix == '.md' and place not in places(other.read_text()):
                yield f':{number}: {target or "this page"} has no heading #{place}'


def places(text: str) -> set[str]:
    """Return the anchors of a page's headings, as hosts of repositories make them."""
    outside = re.sub(r'^ *```.*?^ *```', '', text, flags=re.MULTILINE | re.DOTALL)
    times: dict[str, int] = {}
    found = set()
    for heading in re.findall(r'^#+ +(.+?) *$', outside, flags=re.MULTILINE):
        name = anchor(heading)
        found.add(f'{name}-{times[name]}' if name in times else name)
        times[name] = times.get(name, 0) + 1
    return found


def anchor(heading: str) -> str:
    """Return the anchor of a heading, were it the only one with these words."""
    words = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).lower()
    return re.sub(r'[^\w\- ]', '', words).replace(' ', '-')


def _check_interface(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and line != '---' and '#' not in line:
            yield f':{number}: a field without a comment: unit, frame, constraint'
