# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A message is parsed once in a build, and what was kept of it is what the parser gives.

What templates become is the same, too. What setuptools can do is asked for one package.
"""

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


def run_with(folder, cache, program, *words):
    """Run a program that finds `folder` first, as programs of a build do, with a cache."""
    paths = f'{folder}{os.pathsep}{os.environ.get("PYTHONPATH", "")}'
    return subprocess.run(
        [sys.executable, '-c', program, *words],
        env={**os.environ, 'PYTHONPATH': paths, 'SORO_MESSAGE_CACHE': str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )


def test_what_is_kept_of_a_message_is_what_its_parser_gives(tmp_path):
    file, cache = tmp_path / 'Some.idl', tmp_path / 'cache'
    file.write_text(IDL)

    def read(folder, *options):
        return run_with(folder, cache, READ, str(file), *options).stdout

    plain = read('')
    assert 'Some' in plain and not cache.exists()
    assert read(FOLDER) == plain
    assert read(FOLDER, 'without the parser') == plain
    file.write_text(IDL.replace('x[3]', 'y[3]'))
    assert read(FOLDER) != plain
    for kept in cache.iterdir():
        kept.write_bytes(b'')  # a disk that was full
    assert read(FOLDER) == read('')


EXPAND = """
import sys
import em
from rosidl_pycommon import expand_template
looks, out = [], sys.stdout
check = em.Scanner.check
em.Scanner.check = lambda *of: looks.append(of) or check(*of)
for names in (['one', 'two'], ['three']):
    before = len(looks)
    try:
        expand_template(sys.argv[1], {'names': names}, sys.argv[2])
    except Exception as error:
        print(type(error), error, file=out)
    else:
        print(open(sys.argv[2]).read(), file=out)
    print('looks', len(looks) - before, file=sys.stderr)
"""
TEMPLATE = """
@{ends = {'[': "]", ')': '}'}}@
@[for name in names]@
@(name if len(name) else ")")@[if len(name) > 3] is "long"@[else] isn't@[end if] @(names[1]$'no')
@{print("'@(name)'", ends['['])}@
@[end for]@
"""


def test_templates_become_what_they_become_without_a_memory(tmp_path):
    template, output = tmp_path / 'some.em', tmp_path / 'some.txt'

    def expand(folder):
        output.unlink(missing_ok=True)
        done = run_with(folder, tmp_path, EXPAND, str(template), str(output))
        looks = [int(line[6:]) for line in done.stderr.splitlines() if line[:6] == 'looks ']
        return done.stdout, looks

    template.write_text(TEMPLATE)
    (plain, often), (found, seldom) = expand(''), expand(FOLDER)
    assert 'three is "long"' in plain and "one isn't" in plain and found == plain
    assert seldom[0] == often[0] and seldom[1] < 0.1 * often[1]
    template.write_text(TEMPLATE.replace('[end for]', '[end if]'))
    broken = expand('')[0]
    assert 'Error' in broken and expand(FOLDER)[0] == broken


ASK = """
import asyncio
from colcon_core.task.python import build

asked = []

async def check_output(command, **named):
    asked.append(command)
    return b'  develop  links\\n' if len(command) < 8 else b'  --editable (-e)\\n'

async def ask():
    for _ in range(3):
        task = build.PythonBuildTask()
        print(await task._get_available_commands('.', {}))
        print(await task._get_available_options('.', {}, 'develop'))

build.check_output = check_output
asyncio.run(ask())
print('asked', len(asked))
"""


def test_setuptools_says_once_what_it_can_do(tmp_path):
    plain, found = (run_with(folder, tmp_path, ASK).stdout for folder in ('', FOLDER))
    assert "'develop'" in plain and "{'--editable'}" in plain
    assert plain.partition('asked')[0] == found.partition('asked')[0]
    assert (plain.split()[-1], found.split()[-1]) == ('6', '2')
