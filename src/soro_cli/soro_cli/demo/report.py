# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The one page a demo ends with: what was done and the figures of the recording."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
import os
from pathlib import Path

from soro_cli.demo.journal import Tour

SHAPE = 'shape'
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><style>:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 60em; margin: auto; padding: 1em; }}
td {{ padding: 2px 18px 2px 0; vertical-align: top; }} img {{ max-width: 100%; margin: 8px 0; }}
</style></head><body><h1>{title}</h1><p>{reference}</p><table>{rows}</table>
<p>{files}</p>{figures}</body></html>
"""


def write_report(tour: Tour, folder: Path, figures: Sequence[Path], links: Sequence[Path]) -> Path:
    """Write report.html: one file with every figure in it, the shape first."""
    rows = ''.join(
        f'<tr><td>{escape(what)}</td><td>{escape(result)}</td></tr>' for what, result in tour.lines
    )
    pictures = ''.join(
        f'<img alt="{escape(f.stem)}" src="data:image/png;base64,'
        f'{base64.b64encode(f.read_bytes()).decode()}">'
        for f in sorted(figures, key=lambda figure: figure.stem != SHAPE)
    )
    files = ', '.join(
        f'<a href="{escape(os.path.relpath(p, folder))}">{escape(p.name)}</a>' for p in links
    )
    path = folder / 'report.html'
    title, reference = escape(tour.robot.title), escape(tour.robot.reference)
    parts = {'title': title, 'reference': reference, 'rows': rows, 'files': files}
    path.write_text(PAGE.format(**parts, figures=pictures), encoding='utf-8')
    return path
