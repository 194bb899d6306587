# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""JSON lists with a row on each line, so that versions of a store can be compared."""

from __future__ import annotations

from collections.abc import Iterable
import json
from pathlib import Path
from typing import Any


def json_rows(rows: Iterable[Any]) -> str:
    """Return a list as text, without a line end behind it."""
    lines = ',\n'.join(json.dumps(row) for row in rows)
    return f'[\n{lines}\n]'


def store_rows(store: Path, rows: Iterable[Any]) -> None:
    """Write a store that is one list."""
    store.write_text(json_rows(rows) + '\n', encoding='utf-8')
