# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept.

Numba's file cache does not notice a change in an imported kernel module, so the folder is named by
a hash of every kernel source: a changed kernel always means a fresh folder.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def kernel_hash() -> str:
    """Return a hash over all kernel sources (files named *kernels*.py) of this package."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent
    for file in sorted(root.rglob('*kernels*.py')):
        digest.update(file.relative_to(root).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Return the folder of all kernel caches: the workspace's .numba, else the user's cache."""
    for folder in Path(__file__).resolve().parents:
        if (folder / 'colcon.meta').is_file():
            return folder / '.numba'
    base = os.environ.get('XDG_CACHE_HOME') or str(Path.home() / '.cache')
    return Path(base) / 'soro' / 'numba'


def use_kernel_cache() -> None:
    """Point Numba at the folder of the present kernels; call before numba is imported."""
    if 'NUMBA_CACHE_DIR' not in os.environ:
        os.environ['NUMBA_CACHE_DIR'] = str(cache_root() / kernel_hash())
