# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A section of a page that a measurement writes, and the computer it was measured on."""

from __future__ import annotations

import json
import os
from pathlib import Path
import platform
from typing import Any


def machine() -> str:
    """Name the processor, its cores in use, the system and Python."""
    model = platform.machine()
    for line in Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines():
        if line.startswith('model name'):
            model = line.partition(':')[2].strip()
            break
    cores = len(os.sched_getaffinity(0))
    return (
        f'{model}, {cores} cores, Linux {platform.release()}, Python {platform.python_version()}'
    )


def kept_values(page: Path) -> dict[str, Any]:
    """Read the JSON beside a page; nothing without one."""
    file = page.with_suffix('.json')
    return json.loads(file.read_text(encoding='utf-8')) if file.is_file() else {}


def keep_values(page: Path, new: dict[str, Any]) -> None:
    """Put numbers into the JSON beside a page, in the place of those with the same names."""
    text = json.dumps({**kept_values(page), **new}, indent=1)
    page.with_suffix('.json').write_text(text + '\n', encoding='utf-8')


def replace_section(page: Path, text: str) -> None:
    """Put a section into a page, in the place of the one with the same heading or at its end."""
    heading = text.partition('\n')[0]
    parts = page.read_text(encoding='utf-8').rstrip('\n').split('\n\n## ')
    kept = [parts[0], *(f'## {p}' for p in parts[1:])]
    same = [i for i, part in enumerate(kept) if part.startswith(heading)]
    if same:
        kept[same[0]] = text.rstrip('\n')
    else:
        kept.append(text.rstrip('\n'))
    page.write_text('\n\n'.join(kept) + '\n', encoding='utf-8')
