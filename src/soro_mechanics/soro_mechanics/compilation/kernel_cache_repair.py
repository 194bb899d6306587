# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels whose cached file is broken are compiled again.

A power loss leaves files of no length, a full disk half of one; Numba ends in the traceback of
whatever was read. Its own index tells other versions and processors apart, so that what remains is
a file that cannot be read, or not be used here.
"""

from __future__ import annotations

import contextlib
from glob import escape
from pathlib import Path
import sys
from typing import Any

from soro_mechanics.compilation.numba_start import import_numba

import_numba()

from numba.core.caching import FunctionCache, IndexDataCacheFile  # noqa: E402

_told: set[str] = set()


class RepairedCache(FunctionCache):
    """Drops what it cannot load, and goes on without a cache that cannot be written."""

    def load_overload(self, *asked: Any) -> Any:
        """Return a compiled kernel, None where there is none that could be used."""
        try:
            return super().load_overload(*asked)
        except Exception as error:  # noqa: BLE001 - bytes that are no pickle can raise anything
            _drop(self._cache_file, error)
            return None

    def save_overload(self, *given: Any) -> None:
        """Keep a compiled kernel where that is possible (disk full)."""
        try:
            super().save_overload(*given)
        except OSError as error:
            _say(
                self.cache_path,
                f'compiled kernels cannot be kept in {self.cache_path} '
                f'({error}); they are compiled again in every program',
            )


class RepairedIndex(IndexDataCacheFile):
    """Drops an index that it cannot read; saving reads it, too."""

    def _load_index(self) -> dict[Any, str]:
        try:
            found = super()._load_index()
            if not isinstance(found, dict):
                raise TypeError(f'it holds {type(found).__name__}')
            return found
        except Exception as error:  # noqa: BLE001 - as above
            _drop(self, error)
            return {}


def _drop(file: Any, error: Exception) -> None:
    """Remove index and data of one function, and say so once in a process."""
    folder, index = Path(file._cache_path), Path(file._index_path)
    with contextlib.suppress(OSError):
        for data in folder.glob(f'{escape(index.name.removesuffix(".nbi"))}.*.nbc'):
            data.unlink(missing_ok=True)
        index.unlink(missing_ok=True)
    reason = str(error) or type(error).__name__
    _say(
        str(folder),
        f'compiled kernels in {folder} are damaged ({index.name}: {reason}); those '
        'are compiled again, which takes a while',
    )


def _say(folder: str, text: str) -> None:
    """Say something about a folder, once in a process."""
    if folder not in _told:
        _told.add(folder)
        print(f'soro: {text}', file=sys.stderr, flush=True)
