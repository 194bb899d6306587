# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Places in parsed YAML as people write them: ``body.segments.0.length``, ``drives[1].rate``."""

from __future__ import annotations

import re
from typing import Any


def path_keys(path: str) -> list[str]:
    """Return the keys of a path, the numbers of list entries among them."""
    return re.sub(r'\[(\d+)\]', r'.\1', path).split('.')


def key_in(node: Any, key: str) -> Any:
    """Return a key as its node takes it: a whole number in a list.

    Raises LookupError: the node has no such entry.
    """
    if isinstance(node, dict) and key in node:
        return key
    if isinstance(node, list) and key.isdigit() and int(key) < len(node):
        return int(key)
    raise LookupError(key)
