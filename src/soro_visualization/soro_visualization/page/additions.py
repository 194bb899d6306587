# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the page says and does beyond viser: title, names for screen readers, STOP by key, dark.

Viser builds the page itself; a script in its head adds what the server cannot say. It touches
nothing that viser draws: it names it, presses STOP, and asks viser for its own dark colours.
"""

from __future__ import annotations

import gzip
from html import escape
from pathlib import Path
from typing import Any

# Readable (WCAG AA) on the page's white and on its dark grey.
WARNING, BAD, FAINT = 'var(--soro-warning)', 'var(--soro-bad)', 'var(--soro-faint)'
SCRIPT = Path(__file__).with_name('head.html').read_text(encoding='utf-8')


def with_additions(response: Any, title: str) -> Any:
    """Return the answer to a request for the page with title and script; others as they are."""
    headers = response.headers
    if not headers.get('Content-Type', '').startswith('text/html') or response.status_code != 200:
        return response
    packed = headers.get('Content-Encoding') == 'gzip'
    page = (gzip.decompress(response.body) if packed else response.body).decode()
    start, found, end = page.partition('</title>')
    if not found:
        return response
    head = start.rpartition('<title>')[0]
    body = f'{head}<title>{escape(title)}</title>{SCRIPT}{end}'.encode()
    response.body = gzip.compress(body) if packed else body
    del headers['Content-Length']
    headers['Content-Length'] = str(len(response.body))
    return response
