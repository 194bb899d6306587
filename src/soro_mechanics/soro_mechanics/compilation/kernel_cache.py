# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept.

Numba's file cache does not notice a change in an imported kernel module, so the folder is named by
a hash of every kernel source: a changed kernel always means a fresh folder.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import hashlib
import os
from pathlib import Path
import sys
import tempfile


def kernel_hash() -> str:
    """Return a hash over all kernel sources (files named *kernels*.py) of this package."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for file in sorted(root.rglob('*kernels*.py')):
        digest.update(file.relative_to(root).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Return the folder of all kernel caches, the first of these that this user may write.

    The workspace's .numba, the user's cache, a folder of the user among temporary files. Left to
    itself, Numba would take a folder that is not named by the hash, or refuse to compile.
    """
    return next(filter(_writable, _candidates()))


def _candidates() -> Iterator[Path]:
    for folder in Path(__file__).resolve().parents:
        if (folder / 'colcon.meta').is_file():
            yield folder / '.numba'
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'soro/numba'
    shared = Path(tempfile.gettempdir()) / f'soro-numba-{os.getuid()}'
    shared.mkdir(mode=0o700, exist_ok=True)
    if shared.stat().st_uid == os.getuid():  # compiled code of others is not run
        yield shared
    yield Path(tempfile.mkdtemp(prefix='soro-numba-'))


def _writable(folder: Path) -> bool:
    """Whether this user may write a folder, or make it."""
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    return os.access(existing, os.W_OK | os.X_OK)


def use_kernel_cache() -> None:
    """Point Numba at the folder of the present kernels; call before one is made."""
    if 'NUMBA_CACHE_DIR' not in os.environ:
        os.environ['NUMBA_CACHE_DIR'] = str(cache_root() / kernel_hash())
    numba = sys.modules.get('numba')
    if numba is not None and not numba.config.CACHE_DIR:  # read when it was imported, before us
        numba.config.CACHE_DIR = os.environ['NUMBA_CACHE_DIR']
