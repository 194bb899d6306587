# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A node that is told to end while it still imports ends at once, in order and in silence."""

from importlib.metadata import entry_points
import os
import signal
import subprocess
import sys

import pytest

SLOW = "print('importing', flush=True)\nimport threading\nthreading.Event().wait(60.0)\n"
QUICK = "def main(code):\n    print('running', flush=True)\n    raise SystemExit(int(code))\n"
COMMAND = (
    "from soro_node.process.early_start import import_and_run; import_and_run('a_node', code='3')"
)
BY_NAME = (
    "import sys; sys.argv = ['/opt/lib/a_name']; from soro_node.process.early_start import main; "
    'main()'
)


def start(folder, text, command=COMMAND):
    (folder / 'a_node.py').write_text(text, encoding='utf-8')
    paths = [str(folder), *filter(None, [os.environ.get('PYTHONPATH')])]
    return subprocess.Popen(
        [sys.executable, '-c', command],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_import_ends_the_process_in_order(tmp_path, number):
    process = start(tmp_path, SLOW)
    assert process.stdout.readline() == 'importing\n'
    process.send_signal(number)
    _, errors = process.communicate(timeout=20.0)
    assert (process.returncode, errors) == (0, '')


def test_the_node_runs_and_its_exit_code_is_the_process_s(tmp_path):
    process = start(tmp_path, QUICK)
    output, errors = process.communicate(timeout=20.0)
    assert (process.returncode, output, errors) == (3, 'running\n', '')


def test_a_large_message_starts_no_collection_of_everything(tmp_path):
    many = (
        'import gc\n'
        'def main(code):\n'
        '    before = gc.get_stats()[2]["collections"]\n'
        '    kept = [[[] for _ in range(6)] for _ in range(100_000)]\n'
        '    print(gc.get_stats()[2]["collections"] - before, len(kept))\n'
    )
    output, errors = start(tmp_path, many).communicate(timeout=60.0)
    assert (output, errors) == ('0 100000\n', '')


def test_every_executable_that_is_found_by_its_name_has_its_node():
    scripts = entry_points(group='console_scripts')
    named = {s.name for s in scripts if s.value == 'soro_node.process.early_start:main'}
    assert named
    assert named == {e.name for e in entry_points(group='soro_node.executable')}


def test_an_executable_runs_the_node_of_its_name(tmp_path):
    package = tmp_path / 'a_package-1.0.dist-info'
    package.mkdir()
    (package / 'METADATA').write_text('Name: a_package', encoding='utf-8')
    entry = '[soro_node.executable]\na_name = a_node:main\n'
    (package / 'entry_points.txt').write_text(entry, encoding='utf-8')
    process = start(tmp_path, QUICK.replace('main(code)', "main(code='4')"), BY_NAME)
    output, errors = process.communicate(timeout=20.0)
    assert (process.returncode, output, errors) == (4, 'running\n', '')
