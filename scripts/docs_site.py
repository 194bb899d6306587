#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Build the documentation as a site in out/docs: `make docs`. A warning is an error.

The site has an environment of its own, .venv-docs, made from requirements/docs.txt when it is
missing or older. Pages and API reference are read, not imported, so that the workspace need not
be built; nothing is downloaded but the packages of that file.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import shutil
import subprocess
import sys
import time

from workspace_layout import check_place, digest, ROOT, SetupError

LOCK = ROOT / 'requirements' / 'docs.txt'
ENVIRONMENT = ROOT / '.venv-docs'
SITE = ROOT / 'out' / 'docs'
CACHE = ROOT / '.cache' / 'docs'


def prepare(environment: Path = ENVIRONMENT, lock: Path = LOCK) -> None:
    """Make an environment, by default that of the site, where it is not there as locked.

    Raises
    ------
    SetupError
        It cannot be made; the last lines of pip stand in the text.
    """
    check_place(ROOT)
    stamp = environment / '.soro_stamp'
    wanted = digest([lock.read_bytes(), sys.version, sys.base_prefix, str(ROOT)])
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f'making {environment.name} from {lock.relative_to(ROOT)}', flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    shutil.rmtree(CACHE, ignore_errors=True)
    _run([sys.executable, '-m', 'venv', environment], 'python3 -m venv')
    pip = [environment / 'bin/python', '-m', 'pip', 'install', '--disable-pip-version-check']
    # The lock is complete, hence no resolver.
    options = ['--quiet', '--no-input', '--no-deps', '--only-binary', ':all:', '--no-compile']
    _run([*pip, *options, '-r', lock], 'pip')
    stamp.write_text(wanted)


def _run(command: list[str | Path], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        tail = (done.stdout + done.stderr).splitlines()[-12:]
        raise SetupError('\n'.join([f'{name} failed:', *(f'  {line}' for line in tail)]))


def build() -> int:
    """Build the site; return the exit code of Sphinx, which is not 0 after a warning."""
    shutil.rmtree(SITE, ignore_errors=True)
    code = subprocess.run(_sphinx('html'), cwd=ROOT).returncode
    if code == 0:
        shutil.copy(SITE / 'README.html', SITE / 'index.html')
    return code


def check(files: list[Path]) -> Iterator[str]:
    """Read all pages and resolve their links as `build` does, but write none."""
    try:
        prepare()
    except SetupError as error:
        yield from str(error).splitlines()
        return
    clean = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
    done = subprocess.run(_sphinx('dummy'), cwd=ROOT, env=clean, capture_output=True, text=True)
    if done.returncode:
        yield from (done.stdout + done.stderr).splitlines()


def _sphinx(builder: str) -> list[str | Path]:
    command = [ENVIRONMENT / 'bin/python', '-m', 'sphinx', '--quiet', '--jobs', 'auto']
    command += ['--fail-on-warning', '--keep-going', '--conf-dir', ROOT / 'docs']
    return [*command, '--builder', builder, '--doctree-dir', CACHE, ROOT, SITE]


def main() -> int:
    """Prepare and build; return the exit code."""
    start = time.monotonic()
    try:
        prepare()
    except SetupError as error:
        print(f'set-up of the site failed: {error}')
        return 1
    code = build()
    if code == 0:
        place = (SITE / 'index.html').relative_to(ROOT)
        print(f'the site is {place}, built in {time.monotonic() - start:.0f} s')
    return code


if __name__ == '__main__':
    sys.exit(main())
