# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Read each message once in a build; Python imports this where the folder is in PYTHONPATH.

Seven generators one after the other read the same messages, by a parser that takes longer for it
than they for what they write: half of the processor time of a build. What is read is kept, by its
text, in the folder SORO_MESSAGE_CACHE.

And each of them looks for the ends of the same expressions in the same templates, once for every
message and a character at a time: found ones are remembered.

colcon asks setuptools twice for every Python package what it can do, in a process each, which
takes longer than to install the package: it is asked once.
"""

import hashlib
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
import json
import os
from pathlib import Path
import sys

PARSER, TEMPLATES = 'rosidl_parser.parser', 'em'
PACKAGES = 'colcon_core.task.python.build'
QUESTIONS = ('_get_available_commands', '_get_available_options')
FOLDER = 'SORO_MESSAGE_CACHE'
KIND = '__class__'


class _Watch(MetaPathFinder):
    """Waits for what is made faster: few programs of a build import it."""

    def find_spec(self, name, path, target=None):
        if name not in (PARSER, TEMPLATES, PACKAGES):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        run = spec.loader.exec_module

        def run_and_keep(module):
            run(module)
            if name == PARSER:
                module.parse_idl_string = _kept(module.parse_idl_string)
            elif name == PACKAGES:
                task = module.PythonBuildTask
                for question in QUESTIONS:
                    if hasattr(task, question):  # private: those of another colcon are asked
                        setattr(task, question, _asked_once(getattr(task, question)))
            else:
                module.Scanner.complex = _remembered(module.Scanner.complex)
                module.Scanner.next = _remembered(module.Scanner.next)

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


def _remembered(scan):
    """Return a scan that ends where it ended in the same text: it reads nothing else."""
    ends = {}

    def remembered(scanner, *of, **named):
        key = scanner.rest(), of, *named.items()
        if key not in ends:
            try:
                ends[key] = scan(scanner, *of, **named)
            except Exception as error:  # noqa: BLE001 - what is sought is not there, every time
                ends[key] = type(error), error.args
        if isinstance(ends[key], tuple):
            kind, why = ends[key]
            raise kind(*why)
        return ends[key]

    return remembered


def _asked_once(ask):
    """Return a question about setuptools whose answer is that of the first package."""
    answers = {}

    async def asked(task, path, environment, *what):
        if what not in answers:
            answers[what] = await ask(task, path, environment, *what)
        return answers[what]

    return asked


if FOLDER in os.environ:
    sys.meta_path.insert(0, _Watch())
