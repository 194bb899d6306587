# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Every field of a message is used by a program, or docs/messages.md says what it is for."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = ROOT / 'src' / 'soro_msgs'
DEFINITIONS = sorted(f for kind in ('msg', 'srv', 'action') for f in MESSAGES.glob(f'{kind}/*'))
PROGRAMS = [
    f.read_text(encoding='utf-8')
    for f in sorted((ROOT / 'src').rglob('*.py'))
    if 'test' not in f.relative_to(ROOT).parts
]
# What requests of several kinds have in common is read there, and replies are filled.
SHARED = [
    (ROOT / 'src' / file).read_text(encoding='utf-8')
    for file in (
        'soro_node/soro_node/requests.py',
        'soro_node/soro_node/replies.py',
        'soro_kinematics/soro_kinematics/services.py',
        'soro_compliance/soro_compliance/services.py',
    )
]
FIELD = re.compile(r'^[A-Za-z][\w/]*(?:\[\d*\])?\s+(?P<name>\w+)(?P<constant>\s*=)?', re.M)


def fields_of(text: str) -> list[str]:
    """Return the fields of a definition; constants are words for values of its fields."""
    return [m['name'] for m in FIELD.finditer(text) if not m['constant']]


def listed() -> dict[str, set[str]]:
    """Return what the page lists as not used yet, by definition."""
    page = (ROOT / 'docs' / 'messages.md').read_text(encoding='utf-8')
    found: dict[str, set[str]] = {}
    for row in page.split('## Not used yet')[1].splitlines():
        if row.startswith('| ') and not row.startswith('| Definition'):
            name, words, _ = (cell.strip() for cell in row.strip('|').split('|'))
            found.setdefault(name, set()).update(w.strip() for w in words.split(','))
    return found


@pytest.mark.parametrize('file', DEFINITIONS, ids=lambda f: f.stem)
def test_every_field_is_used_or_listed(file):
    later = listed().get(file.stem, set())
    using = [text for text in PROGRAMS if re.search(rf'\b{file.stem}\b', text)]
    together = '\n'.join([*using, *SHARED])
    if later == {'all'}:
        imported = rf'from soro_msgs\.\w+ import (?:\([^)]*|[^\n]*)\b{file.stem}\b'
        assert not any(re.search(imported, text) for text in using)
        return
    for name in fields_of(file.read_text(encoding='utf-8')):
        used = re.search(rf'\.{name}\b|\b{name}=|[\'"]{name}[\'"]', together)
        assert used or name in later, f'{file.stem}.{name} is neither used nor listed'


def test_what_is_listed_exists():
    for name, words in listed().items():
        (file,) = (f for f in DEFINITIONS if f.stem == name)
        text = file.read_text(encoding='utf-8')
        for word in words - {'all'}:
            assert re.search(rf'\b{word}\b', text), f'{name}.{word}'


@pytest.mark.parametrize('file', DEFINITIONS, ids=lambda f: f.stem)
def test_every_field_says_what_it_is(file):
    lines = file.read_text(encoding='utf-8').splitlines()
    assert lines[0].startswith('#'), 'the first line says what it is'
    for i, line in enumerate(lines):
        if not FIELD.match(line) or '=' in line.split('#')[0]:
            continue
        # Within a row of fields that mean the same (a corner and its opposite) one comment does.
        assert '#' in line or line.split()[0].startswith('soro') or _is_message(line), (
            f'{file.name}:{i + 1}: {line}'
        )


def _is_message(line: str) -> bool:
    """Whether a field is a message of soro, whose definition says it."""
    kind = re.sub(r'\[\d*\]$', '', line.split()[0])
    return (MESSAGES / 'msg' / f'{kind}.msg').is_file()
