# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a report was computed with: digests of the robot files and of the sources."""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
import os
from pathlib import Path
import re

import soro_mechanics
from soro_mechanics.robot_file.catalogue import robot_files
from soro_studies.validation.page_tables import section

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


def page_digests(pages: Iterable[str]) -> dict[str, str]:
    """Return the digests of pages that others wrote, by name; those that are not there left out.

    Parameters
    ----------
    pages : iterable of str
        Relative to the workspace. 'page#words' stands for the section whose heading has these
        words, of a page that others write to as well.
    """
    root, found = workspace(), {}
    for page in pages:
        path, _, heading = page.partition('#')
        if root is None or not (root / path).is_file():
            continue
        content = (root / path).read_bytes()
        if heading:
            content = section(content.decode('utf-8'), heading)[1].encode('utf-8')
        found[page] = _digest(content)
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def provenance(pages: Iterable[str] = ()) -> list[str]:
    """Return the lines that say what a report was computed with, and which pages it reads."""
    root = workspace()
    digests = robot_digests()
    rows = [(_place(file, root), digests[name]) for name, file in robot_files().items()]
    rows.append((f'{_place(PACKAGE, root)}, all `.py` files', source_digest()))
    rows += [(f'{page}, measured before', d) for page, d in page_digests(pages).items()]
    return [
        '| Computed with | SHA-256, first digits |',
        '|---|---|',
        *(f'| {what} | `{digest}` |' for what, digest in rows),
        '',
    ]


def _place(file: Path, root: Path | None) -> str:
    """Return a file as seen from the workspace, where it belongs to it."""
    file = file.resolve()
    inside = root is not None and file.is_relative_to(root)
    return file.relative_to(root).as_posix() if inside and root else str(file)


def recorded_digests(report: str) -> dict[str, str]:
    """Return the digests of the robot files that stand on a report, by robot."""
    rows = re.findall(r'^\| (\S+)\.yaml \| `([0-9a-f]+)` \|$', report, flags=re.MULTILINE)
    return {Path(place).name: digest for place, digest in rows}


def recorded_page_digests(report: str) -> dict[str, str]:
    """Return the digests of the pages that a report says it has read, by name."""
    pattern = r'^\| (\S+), measured before \| `([0-9a-f]+)` \|$'
    return dict(re.findall(pattern, report, flags=re.MULTILINE))
