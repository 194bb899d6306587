# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the page says and does beyond viser: title, names for screen readers, STOP by key, dark.

Viser builds the page itself; a script in its head adds what the server cannot say. It touches
nothing that viser draws: it names it, presses STOP, and asks viser for its own dark colours.
"""

from __future__ import annotations

import gzip
from html import escape
from typing import Any

# Readable (WCAG AA) on the page's white and on its dark grey.
WARNING, BAD, FAINT = 'var(--soro-warning)', 'var(--soro-bad)', 'var(--soro-faint)'
SCRIPT = """
<style>
:root { --soro-warning: #a04b00; --soro-bad: #c92a2a; --soro-faint: #565c63;
  --mantine-color-red-filled: #c92a2a !important; --mantine-color-red-6: #c92a2a !important;
  --mantine-primary-color-filled: #1864ab !important;
  --mantine-color-blue-filled: #1864ab !important;
  --mantine-color-dimmed: #565c63 !important }
[data-mantine-color-scheme=dark] { --soro-warning: #ffa94d; --soro-bad: #ff8787;
  --soro-faint: #b0b5bc; --mantine-color-dimmed: #b0b5bc !important }
button[aria-keyshortcuts] .mantine-Button-label::after { content: "\\a0\\a0 Esc" }
.mantine-InputWrapper-label, label { color: inherit !important; opacity: 1 !important }
[data-mantine-color-scheme=light] .mantine-Slider-markLabel { color: #495057 }
</style>
<script>
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const follow = () => {
    const at = new URL(location)
    dark.matches ? at.searchParams.set('darkMode', '') : at.searchParams.delete('darkMode')
    history.replaceState(null, '', at)
  }
  if (dark.matches) follow()
  dark.addEventListener('change', () => { follow(); location.reload() })
  const stop = () => [...document.querySelectorAll('button')]
    .find(b => b.textContent.trim() === 'STOP')
  addEventListener('keydown', e => { if (e.key === 'Escape' && !e.repeat) stop()?.click() }, true)
  const name = (e, text) => { if (e && text && !e.getAttribute('aria-label'))
    e.setAttribute('aria-label', text) }
  const names = () => {
    const canvas = document.querySelector('canvas')
    if (canvas) { canvas.setAttribute('role', 'img'); name(canvas, document.title + ' in 3D') }
    const button = stop()
    if (button) button.setAttribute('aria-keyshortcuts', 'Escape')
    for (const label of document.querySelectorAll('label')) {
      let row = label
      for (let i = 0; i < 4 && row; i++) {
        const found = row.querySelectorAll('[role=slider], input')
        if (found.length) { found.forEach(e => name(e, label.textContent.trim())); break }
        row = row.parentElement
      }
    }
    for (const b of document.querySelectorAll('button'))
      if (!b.textContent.trim()) name(b, 'settings of the page')
  }
  new MutationObserver(names).observe(document, { childList: true, subtree: true })
})()
</script>
"""


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
