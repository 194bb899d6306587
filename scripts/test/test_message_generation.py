# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A message is parsed once in a build, and what was kept of it is what the parser gives."""

import os
from pathlib import Path
import subprocess
import sys

FOLDER = Path(__file__).resolve().parents[1] / 'message_generation'
READ = """
import sys
from rosidl_parser import parser
if sys.argv[2:]:
    parser.get_ast_from_idl_string = None

def shown(value):
    if isinstance(value, str):  # of the parser, one that knows its place too
        return str(value)
    kind = type(value).__name__
    if type(value).__module__.startswith('rosidl'):
        slots = [getattr(k, '__slots__', ()) for k in type(value).__mro__]
        names = [n for s in slots for n in ([s] if isinstance(s, str) else sorted(s))]
        return kind, [(n, shown(getattr(value, n))) for n in names]
    return kind, [shown(v) for v in value] if isinstance(value, list | tuple) else repr(value)

print(shown(parser.parse_idl_string(open(sys.argv[1]).read(), png_file=None)))
"""
IDL = """
module one { module msg {
  module Some_Constants { const octet FIRST = 3; };
  struct Some { @verbatim (language="comment", text="m") double x[3]; sequence<string<4>> names; };
}; };
"""


def test_what_is_kept_of_a_message_is_what_its_parser_gives(tmp_path):
    file, cache = tmp_path / 'Some.idl', tmp_path / 'cache'
    file.write_text(IDL)

    def read(folder, *options):
        paths = f'{folder}{os.pathsep}{os.environ.get("PYTHONPATH", "")}'
        return subprocess.run(
            [sys.executable, '-c', READ, str(file), *options],
            env={**os.environ, 'PYTHONPATH': paths, 'SORO_MESSAGE_CACHE': str(cache)},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout

    plain = read('')
    assert 'Some' in plain and not cache.exists()
    assert read(FOLDER) == plain
    assert read(FOLDER, 'without the parser') == plain
    file.write_text(IDL.replace('x[3]', 'y[3]'))
    assert read(FOLDER) != plain
    for kept in cache.iterdir():
        kept.write_bytes(b'')  # a disk that was full
    assert read(FOLDER) == read('')
