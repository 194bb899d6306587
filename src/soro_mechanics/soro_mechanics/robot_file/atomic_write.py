# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Files that somebody else reads: complete, or those of before."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
from typing import BinaryIO

from soro_mechanics.core.errors import InvalidInput


def write_whole(path: Path, write: Callable[[BinaryIO], object], field: str = 'file') -> None:
    """Write a file whole or not at all, also where the power fails; `write` fills the open file.

    Raises InvalidInput of `field`: the disk does not take it; what was there before stays.
    """
    part = path.with_name(f'{path.name}.part')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open('wb') as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)  # half a file would keep a full disk full
            raise
    except OSError as error:
        expected = f'a place that can be written ({error}): free space there, or make it writable'
        raise InvalidInput(field, str(path), expected) from None
