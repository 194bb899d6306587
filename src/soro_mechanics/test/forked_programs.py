# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs with a cache of their own: one process imports Numba once and forks for each."""

import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile

# Answers a line by what became of a program; what it says goes into two files.
SERVER = """
import json, os, sys, traceback
import numba
from soro_mechanics.compilation import kernels
for line in sys.stdin:
    program, folder, *files = json.loads(line)
    child = os.fork()
    if not child:
        for number, name in enumerate(files, 1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ['NUMBA_CACHE_DIR'] = numba.config.CACHE_DIR = folder + '/cache'
        sys.path.insert(0, folder)
        ended = 1
        try:
            exec(program, {'__name__': '__main__'})
            ended = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def own_cache(folder: Path) -> dict[str, str]:
    """Return the environment of a program with modules of a folder, and its cache there."""
    path = os.pathsep.join([str(folder), os.environ.get('PYTHONPATH', '')])
    return {**os.environ, 'NUMBA_CACHE_DIR': str(folder / 'cache'), 'PYTHONPATH': path}


class ForkedPrograms:
    """Runs programs, each as in a new process of `own_cache`."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, '-c', SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={k: v for k, v in os.environ.items() if k != 'NUMBA_CACHE_DIR'},
        )
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def run(self, program: str, folder: Path) -> tuple[str, str]:
        """Run a program to its end, which must be good; return its output and what it said."""
        with tempfile.TemporaryDirectory() as name:
            files = [f'{name}/out', f'{name}/errors']
            self._process.stdin.write(json.dumps([program, str(folder), *files]) + '\n')
            self._process.stdin.flush()
            ended = self._process.stdout.readline()
            said, errors = (Path(file).read_text() for file in files)
        assert ended == '0\n', errors
        return said, errors
