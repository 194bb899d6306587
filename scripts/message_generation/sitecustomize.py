# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Read each message once in a build; Python imports this where the folder is in PYTHONPATH.

Seven generators one after the other read the same messages, by a parser that takes longer for it
than they for what they write: half of the processor time of a build. What is read is kept, by its
text, in the folder SORO_MESSAGE_CACHE.
"""

import hashlib
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
import json
import os
from pathlib import Path
import sys

PARSER = 'rosidl_parser.parser'
FOLDER = 'SORO_MESSAGE_CACHE'
KIND = '__class__'


class _Watch(MetaPathFinder):
    """Waits for the parser, which other programs of a build do not import."""

    def find_spec(self, name, path, target=None):
        if name != PARSER:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        run = spec.loader.exec_module

        def run_and_keep(module):
            run(module)
            module.parse_idl_string = _kept(module.parse_idl_string)

        spec.loader.exec_module = run_and_keep
        return spec


def _state(value):
    """Return the kind and the fields of what a message consists of, for JSON."""
    if type(value).__module__ != 'rosidl_parser.definition':
        raise TypeError(f'{value!r} is no part of a message')
    return {KIND: type(value).__name__, **(value.__reduce_ex__(2)[2] or (None, {}))[1]}


def _made(fields):
    """Return what `_state` was given; of the definition's classes only, and none of them runs."""
    from rosidl_parser import definition

    if KIND not in fields:
        return fields
    value = object.__new__(getattr(definition, fields.pop(KIND)))
    for name, content in fields.items():
        object.__setattr__(value, name, content)
    return value


def _kept(parse):
    def parse_idl_string(text, *options, **named):
        name = hashlib.sha256(text.encode()).hexdigest()
        file = Path(os.environ[FOLDER], f'{name}.json')
        try:
            return json.loads(file.read_text(), object_hook=_made)
        except (OSError, ValueError, TypeError, AttributeError):
            content = parse(text, *options, **named)
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_suffix(f'.{os.getpid()}')
        whole.write_text(json.dumps(content, default=_state))
        whole.replace(file)
        return content

    return parse_idl_string


if FOLDER in os.environ:
    sys.meta_path.insert(0, _Watch())
