# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the results of an analysed recording go."""

from __future__ import annotations

from pathlib import Path

from soro_recording.bag_reader import BagReader


def default_folder(kind: str, bag: BagReader, namespace: str) -> Path:
    """Return ``out/<kind>/<bag>``, of a bag of several robots ``out/<kind>/<bag>/<namespace>``."""
    path = bag.path.resolve()
    # The name of a folder has no suffix, whatever dots are in it (p0.5bar).
    name = path.name if path.is_dir() else path.name.removesuffix('.mcap')
    folder = Path('out') / kind / name
    return folder / namespace.strip('/') if len(bag.namespaces) > 1 else folder
