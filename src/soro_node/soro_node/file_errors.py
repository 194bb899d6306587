# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Files and folders that cannot be used: one line that names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from soro_node.user_errors import UserError


def reading(path: Path) -> AbstractContextManager[None]:
    """Turn what goes wrong while a path is read into one line about that path."""
    return _using(path, 'read')


def writing(path: Path) -> AbstractContextManager[None]:
    """Turn what goes wrong while a path is written into one line about that path."""
    return _using(path, 'written')


def unused(path: Path, option: str) -> Path:
    """Return a path; UserError, with the option that gives it: something is there."""
    if path.exists():
        raise UserError(f'{path} exists: write another name ({option})')
    return path


@contextmanager
def _using(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f'{path} cannot be {done}: {error.strerror or error}') from None
