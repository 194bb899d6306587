# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""House rule: nothing that runs what it reads, and no listener open to the network."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import re

# Calls by their dotted name. Data is read as data: YAML by a safe loader, arrays without pickle.
CALLS = {
    'eval': 'runs its argument',
    'exec': 'runs its argument',
    'compile': 'makes code of its argument',
    'os.system': 'goes through a shell; use subprocess.run with a list',
    'os.popen': 'goes through a shell; use subprocess.run with a list',
    'subprocess.getoutput': 'goes through a shell; use subprocess.run with a list',
    'subprocess.getstatusoutput': 'goes through a shell; use subprocess.run with a list',
    'yaml.load': 'use yaml.safe_load',
    'yaml.load_all': 'use yaml.safe_load_all',
    'yaml.full_load': 'use yaml.safe_load',
    'yaml.unsafe_load': 'makes any object; use yaml.safe_load',
    'tempfile.mktemp': 'is a race; use mkstemp or TemporaryDirectory',
}
MODULES = ('pickle', 'shelve', 'marshal', 'dill', 'cloudpickle', 'jsonpickle', 'telnetlib')
KEYWORDS = {'shell': 'goes through a shell; give a list', 'allow_pickle': 'makes any object'}
LOADERS = ('Loader', 'FullLoader', 'UnsafeLoader', 'CLoader', 'CFullLoader', 'CUnsafeLoader')
EVERYWHERE = ('0.0.0.0', '[::]', '::')
LISTENING = ('bind', 'add_insecure_port', 'listen')
# Without any of these words a source has nothing to complain about.
_WORDS = (*(c.rpartition('.')[2] for c in CALLS), *MODULES, *KEYWORDS, *LOADERS, *LISTENING)
WORDS = re.compile(rf'\b(?:{"|".join(_WORDS)})\b')


def check(text: str) -> Iterator[str]:
    """Yield ':line: why' for every place in a Python source."""
    if not WORDS.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        for why in _complaints(node):
            yield f':{getattr(node, "lineno", 1)}: {why}'


def _complaints(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = _dotted(node.func)
        if name in CALLS:
            yield f'{name}(...) {CALLS[name]}'
        for keyword in node.keywords:
            off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg in KEYWORDS and not off:
                yield f'{keyword.arg}=... {KEYWORDS[keyword.arg]}'
        if name.endswith(tuple(f'.{word}' for word in LISTENING)):
            for value in ast.walk(node):
                if isinstance(value, ast.Constant) and str(value.value).startswith(EVERYWHERE):
                    yield f'{name}(...) listens to the whole network; loopback is the default'
    elif isinstance(node, ast.Import | ast.ImportFrom):
        modules = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        for module in modules:
            if (module or '').partition('.')[0] in MODULES:
                yield f'{module} makes any object of what it reads'
    elif isinstance(node, ast.Attribute) and _dotted(node) in {f'yaml.{x}' for x in LOADERS}:
        yield f'{_dotted(node)} makes more than data; derive from yaml.SafeLoader'


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f'{_dotted(node.value)}.{node.attr}'
    return ''
