# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the pages that studies write."""

from __future__ import annotations

from collections.abc import Sequence


def page_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f'| {" | ".join(head)} |', f'|{"---|" * len(head)}']
    return '\n'.join([*lines, *(f'| {" | ".join(row)} |' for row in rows)])
