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
import os
from pathlib import Path
import pickle
import sys

PARSER = 'rosidl_parser.parser'
FOLDER = 'SORO_MESSAGE_CACHE'


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


def _kept(parse):
    def parse_idl_string(text, *options, **named):
        name = hashlib.sha256(text.encode()).hexdigest()
        file = Path(os.environ[FOLDER], f'{name}.pickle')
        try:
            return pickle.loads(file.read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):
            content = parse(text, *options, **named)
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_suffix(f'.{os.getpid()}')
        whole.write_bytes(pickle.dumps(content))
        whole.replace(file)
        return content

    return parse_idl_string


if FOLDER in os.environ:
    sys.meta_path.insert(0, _Watch())
