# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages in commands of pages have the fields of their types, as `ros2` would find out."""

import importlib
from pathlib import Path
import re
import shlex

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
COMMAND = re.compile(r'\bros2 (topic pub|service call|action send_goal) ')
LINE = re.compile(r'(?:"[^"]*"|\'[^\']*\'|[^"\'\n])*')  # quotes hold line ends
TYPE = re.compile(r'\w+/(?:msg|srv|action)/\w+')
PART = {'topic pub': '', 'service call': 'Request', 'action send_goal': 'Goal'}


def commands():
    """Return (page, kind, type, YAML) of every command that brings a message."""
    found = []
    for page in sorted([ROOT / 'README.md', *(ROOT / 'docs').rglob('*.md')]):
        text = '\n'.join(page.read_text(encoding='utf-8').split('```')[1::2])
        text = text.replace('\\\n', ' ')
        for match in COMMAND.finditer(text):
            words = shlex.split(LINE.match(text[match.end() :])[0], comments=True)
            types = [i for i, word in enumerate(words) if TYPE.fullmatch(word)]
            if types and '...' not in words:
                kind, message = (*words[types[0] :], '{}')[:2]
                found.append((page.name, match[1], kind, message))
    return found


def check(kind, value):
    """Raise where a value is not that of a message."""
    if not isinstance(value, dict):
        return
    types = kind.get_fields_and_field_types()
    assert set(value) <= set(types), (kind.__name__, set(value) - set(types))
    for name, part in value.items():
        inner = re.sub(r'^sequence<([^,>]*).*>$|\[\d*\]$', r'\1', types[name])
        if '/' in inner:
            package, word = inner.split('/')
            found = getattr(importlib.import_module(f'{package}.msg'), word)
            for each in part if isinstance(part, list) else [part]:
                check(found, each)
        elif not isinstance(part, list):
            setattr(kind(), name, type(getattr(kind(), name))(part))


@pytest.mark.parametrize(('page', 'verb', 'kind', 'message'), commands())
def test_the_message_of_a_command_is_one(page, verb, kind, message):
    package, group, word = kind.split('/')
    found = getattr(importlib.import_module(f'{package}.{group}'), word)
    check(getattr(found, PART[verb]) if PART[verb] else found, yaml.safe_load(message))
