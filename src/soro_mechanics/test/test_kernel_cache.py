# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels are kept where the user may write, always in a folder named by their hash."""

import os
from pathlib import Path
import subprocess
import sys
import tempfile

import pytest

from soro_mechanics.compilation import kernel_cache


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the three places; those named in `closed` may not be written."""
    workspace, home, temporary = (tmp_path / name for name in ('workspace', 'home', 'tmp'))
    for folder in (workspace / 'package', home, temporary):
        folder.mkdir(parents=True)
    (workspace / 'colcon.meta').write_text('{}')
    closed = []
    monkeypatch.setattr(kernel_cache, '__file__', str(workspace / 'package/kernel_cache.py'))
    monkeypatch.setenv('XDG_CACHE_HOME', str(home))
    monkeypatch.setattr(tempfile, 'gettempdir', lambda: str(temporary))
    monkeypatch.setattr(os, 'access', lambda path, mode: Path(path) not in closed)
    return workspace, home, temporary, closed


def test_the_first_folder_that_can_be_written_is_used(places):
    workspace, home, temporary, closed = places
    assert kernel_cache.cache_root() == workspace / '.numba'
    closed.append(workspace)
    assert kernel_cache.cache_root() == home / 'soro/numba'
    closed.append(home)
    assert kernel_cache.cache_root() == temporary / f'soro-numba-{os.getuid()}'


def test_a_folder_of_somebody_else_among_temporary_files_is_not_used(places, monkeypatch):
    workspace, home, temporary, closed = places
    closed += [workspace, home]
    somebody = os.getuid() + 1
    (temporary / f'soro-numba-{somebody}').mkdir()
    monkeypatch.setattr(os, 'getuid', lambda: somebody)  # and the folder is not theirs
    monkeypatch.setattr(tempfile, 'mkdtemp', lambda prefix: str(temporary / f'{prefix}fresh'))
    assert kernel_cache.cache_root() == temporary / 'soro-numba-fresh'


def test_a_user_without_a_home_has_a_folder_too(places, monkeypatch):
    workspace, _, temporary, closed = places
    closed.append(workspace)
    monkeypatch.delenv('XDG_CACHE_HOME')

    def homeless():
        raise RuntimeError('Could not determine home directory.')

    monkeypatch.setattr(Path, 'home', homeless)
    assert kernel_cache.cache_root() == temporary / f'soro-numba-{os.getuid()}'


FIRST = """
import numba
from soro_mechanics.numerics.lie_kernels import so3_exp
print(so3_exp._cache.cache_path)
"""


def test_who_imports_numba_first_has_the_same_folder():
    variables = {k: v for k, v in os.environ.items() if k != 'NUMBA_CACHE_DIR'}
    done = subprocess.run(
        [sys.executable, '-c', FIRST], env=variables, capture_output=True, text=True, check=True
    )
    assert kernel_cache.kernel_hash() in Path(done.stdout.strip()).parts
