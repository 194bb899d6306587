# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The text of a message type with everything it uses, as rosbag2 puts it into a file (ros2msg)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
import json
from pathlib import Path
import re
from typing import Any

from soro_node.user_errors import UserError

SEPARATOR = '=' * 80
# The types that a field can have without being a message itself.
PRIMITIVES = {
    'bool', 'byte', 'char', 'float32', 'float64', 'int8', 'uint8', 'int16', 'uint16', 'int32',
    'uint32', 'int64', 'uint64', 'string', 'wstring',
}  # fmt: skip
_FIELD = re.compile(r'^\s*([A-Za-z][\w/]*)(<=\d+)?(\[[<=\d]*\])?\s+[A-Za-z]\w*')


def full_definition(kind: str, read: Callable[[str], str] | None = None) -> str:
    """Return the text of ``package/msg/Type`` followed by those of all types inside it.

    - `read`: returns the text of one type; default: from the installed packages.

    UserError: a package or file is not installed.
    """
    read = read or (lambda name: _installed(name, 'msg'))
    texts = {kind: read(kind)}
    waiting = [kind]
    while waiting:
        current = waiting.pop(0)
        for inner in used_types(current, texts[current]):
            if inner not in texts:
                texts[inner] = read(inner)
                waiting.append(inner)
    parts = [texts.pop(kind).rstrip('\n') + '\n']
    for name, text in texts.items():
        package, _, message = name.split('/')
        parts.append(f'{SEPARATOR}\nMSG: {package}/{message}\n' + text.rstrip('\n') + '\n')
    return ''.join(parts)


def used_types(kind: str, text: str) -> list[str]:
    """Return the message types that a definition names, as ``package/msg/Type``."""
    found = []
    for line in text.splitlines():
        match = _FIELD.match(line.partition('#')[0])
        if match is None or match[1] in PRIMITIVES:
            continue
        parts = match[1].split('/')
        package = parts[0] if len(parts) > 1 else kind.split('/')[0]
        found.append(f'{package}/msg/{parts[-1]}')
    return list(dict.fromkeys(found))


def check_type(kind: str, published: str) -> None:
    """Raise UserError where a type is published with another hash than the installed one has."""
    told = json.loads(_installed(kind, 'json'))['type_hashes']
    own = {h['type_name']: h['hash_string'] for h in told}[kind]
    if published.startswith('RIHS') and published != own:  # else its publisher does not tell
        raise UserError(f'{kind} is published by another definition than the installed one')


def _installed(kind: str, suffix: str) -> str:
    from ament_index_python.packages import get_package_share_directory, PackageNotFoundError

    package, folder, message = kind.split('/')
    try:
        file = Path(get_package_share_directory(package)) / folder / f'{message}.{suffix}'
        return file.read_text(encoding='utf-8')
    except (PackageNotFoundError, OSError) as error:
        raise UserError(f'the definition of {kind} is not installed: {error}') from None


def message_class(kind: str) -> Any:
    """Return the Python class of ``package/msg/Type``.

    UserError: its package is not installed, or not for Python.
    """
    package, folder, message = kind.split('/')
    try:
        return getattr(import_module(f'{package}.{folder}'), message)
    except (ImportError, AttributeError) as error:
        raise UserError(f'messages of type {kind} cannot be received here: {error}') from None
