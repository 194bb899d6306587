# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a report was computed with: digests of the robot files and of the sources."""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
import os
from pathlib import Path

import soro_mechanics
from soro_mechanics.robot_file.catalogue import robot_files

PACKAGE = Path(soro_mechanics.__file__).resolve().parent
DIGITS = 12  # of a digest: enough to tell versions apart


def workspace() -> Path | None:
    """Return the checkout that these sources belong to, None where they are installed alone."""
    return next((p for p in PACKAGE.parents if (p / 'colcon.meta').is_file()), None)


def robot_digests() -> dict[str, str]:
    """Return the digest of every robot file that can be named, by robot."""
    return {name: _digest(file.read_bytes()) for name, file in robot_files().items()}


def source_digest() -> str:
    """Return the digest of the Python sources of soro_mechanics, names included."""
    parts = (
        os.fsencode(file.relative_to(PACKAGE)) + b'\0' + file.read_bytes() + b'\0'
        for file in sorted(PACKAGE.rglob('*.py'))
    )
    return _digest(b''.join(parts))


def digests(pages: Iterable[str] = ()) -> dict[str, str]:
    """Return what a report is computed with: robot files, sources, stored measurements.

    Parameters
    ----------
    pages : iterable of str
        Of other studies, relative to the workspace; the JSON beside each is what is read.
    """
    root, found = workspace(), {}
    by_robot = robot_digests()
    for name, file in robot_files().items():
        found[_place(file, root)] = by_robot[name]
    found[f'{_place(PACKAGE, root)}, all `.py` files'] = source_digest()
    for page in pages:
        stored = Path(page).with_suffix('.json')
        if root is not None and (root / stored).is_file():
            found[stored.as_posix()] = _digest((root / stored).read_bytes())
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def _place(file: Path, root: Path | None) -> str:
    """Return a file as seen from the workspace, where it belongs to it."""
    file = file.resolve()
    inside = root is not None and file.is_relative_to(root)
    return file.relative_to(root).as_posix() if inside and root else str(file)
