# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The `soro` command lines that stand in the pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import re
import shlex

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]
SHELLS = ('', 'sh', 'bash', 'console')
ENDS = re.compile(r'\s(\||>|&&)\s.*')


@dataclass(frozen=True)
class Documented:
    """One command line: where it stands, and its words behind `soro`."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f'{self.page}: soro {shlex.join(self.words)}'


def blocks(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield language and lines of the fenced blocks of a page."""
    language, lines = None, []
    for line in page.read_text(encoding='utf-8').splitlines():
        fence = re.match(r' *```(.*)', line)
        if fence is None:
            lines.append(line)
        elif language is None:
            language, lines = fence.group(1).strip(), []
        else:
            yield language, lines
            language = None


def commands(page: Path) -> Iterator[Documented]:
    """Yield the command lines of a page, without what a shell makes of their output."""
    name = page.relative_to(ROOT).as_posix()
    for language, lines in blocks(page):
        if language not in SHELLS:
            continue
        for line in '\n'.join(lines).replace('\\\n', ' ').splitlines():
            text = line.removeprefix('$ ').removeprefix('source scripts/env.sh && ')
            if text.startswith('soro '):
                words = shlex.split(ENDS.sub('', text), comments=True)
                yield Documented(name, tuple(words[1:]))
