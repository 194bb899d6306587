# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels whose cached file is broken are compiled again.

A power loss leaves files of no length, a full disk half of one; Numba ends in the traceback of
whatever was read. Its own index tells other versions and processors apart, so that what remains is
a file that cannot be read, or not be used here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
import functools
from glob import escape
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
import sys
from types import ModuleType
from typing import Any

CACHING = 'numba.core.caching'
_told: set[str] = set()


def repair_broken_caches() -> None:
    """Have Numba drop cached kernels that it cannot load, as soon as it is imported."""
    if CACHING in sys.modules:
        _install(sys.modules[CACHING])
    elif not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


class _Watch(MetaPathFinder):
    """Waits for Numba's cache: importing it for this would cost those who need no kernel."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != CACHING:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_install(module: ModuleType) -> None:
                run(module)
                _install(module)

            spec.loader.exec_module = run_and_install  # type: ignore[method-assign]
        return spec


def _install(caching: Any) -> None:
    if getattr(caching, 'soro_repairs', False):
        return
    caching.soro_repairs = True
    cache, files = caching.Cache, caching.IndexDataCacheFile
    cache.load_overload = _dropping(cache.load_overload, lambda self: self._cache_file, None)
    cache.save_overload = _unless_full(cache.save_overload)
    # Saving reads the index too.
    files._load_index = _dropping(files._load_index, lambda self: self, {})


def _dropping(load: Callable[..., Any], file_of: Callable[[Any], Any], nothing: Any) -> Any:
    """Return `load` that drops a broken file and returns as if there were none."""

    @functools.wraps(load)
    def loaded(self: Any, *arguments: Any) -> Any:
        try:
            found = load(self, *arguments)
            if nothing is not None and not isinstance(found, type(nothing)):
                raise TypeError(f'it holds {type(found).__name__}')
            return found
        except Exception as error:  # noqa: BLE001 - bytes that are no pickle can raise anything
            _drop(file_of(self), error)
            return None if nothing is None else type(nothing)()

    return loaded


def _unless_full(save: Callable[..., Any]) -> Any:
    """Return `save` that goes on without the cache where it cannot be written (disk full)."""

    @functools.wraps(save)
    def saved(self: Any, *arguments: Any) -> None:
        try:
            save(self, *arguments)
        except OSError as error:
            _say(
                self.cache_path,
                f'compiled kernels cannot be kept in {self.cache_path} '
                f'({error}); they are compiled again in every program',
            )

    return saved


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
