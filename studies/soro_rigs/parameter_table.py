# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a node as the table of its page."""

from __future__ import annotations

from collections.abc import Iterable

from soro_node.parameters import Parameter


def markdown_table(parameters: Iterable[Parameter]) -> str:
    """Render a table of parameters for a docs page."""
    lines = [
        '| parameter | type | default | unit | allowed | description |',
        '|---|---|---|---|---|---|',
    ]
    for p in parameters:
        allowed = p.range_text.replace('|', '\\|')
        if p.sizes is not None:
            allowed = f'{allowed} {" or ".join(str(n) for n in p.sizes)} elements'.strip()
        if p.read_only:
            allowed = f'{allowed}; at start only' if allowed else 'at start only'
        default = "''" if p.default == '' else p.default
        default = str(default).lower() if isinstance(default, bool) else default
        lines.append(
            f'| `{p.name}` | {p.type} | `{default}` | {p.unit} | {allowed} | {p.description} |'
        )
    return '\n'.join(lines) + '\n'
