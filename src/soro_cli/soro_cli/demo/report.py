# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The one page a demo ends with: what was done, the figures of the recording, a picture."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from html import escape
import os
from pathlib import Path

from soro_cli.demo.journal import Tour
from soro_cli.demo.viewer_picture import told
from soro_cli.page_driver import find_browser, Page
from soro_node.user_errors import UserError

PICTURE, SHAPE = 'player.png', 'shape'
SIZE = (1280, 720)
PATIENCE = 90.0  # s, for a browser without a GPU on a busy machine
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><style>:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 60em; margin: auto; padding: 1em; }}
td {{ padding: 2px 18px 2px 0; vertical-align: top; }} img {{ max-width: 100%; margin: 8px 0; }}
</style></head><body><h1>{title}</h1><p>{reference}</p><table>{rows}</table>
<p>{files}</p>{figures}</body></html>
"""


def photograph(player: Path, picture: Path) -> bool:
    """Take a picture of the player in a headless browser; False where there is none."""
    picture.unlink(missing_ok=True)  # an earlier run's would pass for this one's
    browser = find_browser()
    if browser is None or not player.exists():
        return False
    address = f'{player.resolve().as_uri()}#middle'
    with suppress(UserError), told(browser), Page(browser, address, SIZE) as page:
        page.settle(timeout=PATIENCE)
        page.picture(picture)
    return picture.exists()


def in_order(tour: Tour, figures: Sequence[Path], player: Path | None) -> list[Path]:
    """Return the figures of the page: the viewer first, or the shape where it has no picture."""
    rest = sorted(figures, key=lambda figure: figure.stem != SHAPE)  # stable: the shape first
    seen = [picture for picture in (tour.view, player) if picture is not None]
    return seen + list(figures) if tour.view is not None else rest[:1] + seen + rest[1:]


def write_report(tour: Tour, folder: Path, figures: Sequence[Path], links: Sequence[Path]) -> Path:
    """Write report.html: one file with every figure in it."""
    rows = ''.join(
        f'<tr><td>{escape(what)}</td><td>{escape(result)}</td></tr>' for what, result in tour.lines
    )
    pictures = ''.join(
        f'<img alt="{escape(f.stem)}" src="data:image/png;base64,'
        f'{base64.b64encode(f.read_bytes()).decode()}">'
        for f in figures
    )
    files = ', '.join(
        f'<a href="{escape(os.path.relpath(p, folder))}">{escape(p.name)}</a>' for p in links
    )
    path = folder / 'report.html'
    title, reference = escape(tour.robot.title), escape(tour.robot.reference)
    parts = {'title': title, 'reference': reference, 'rows': rows, 'files': files}
    path.write_text(PAGE.format(**parts, figures=pictures), encoding='utf-8')
    return path
