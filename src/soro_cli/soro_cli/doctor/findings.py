# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a check has found: a level, one line, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any

from soro_cli.tables import some

SUBJECT = 20  # width of the second column


class Level(IntEnum):
    """How bad it is."""

    OK = 0
    WARN = 1
    FAIL = 2


@dataclass(frozen=True)
class Finding:
    """One line of the doctor."""

    subject: str
    level: Level
    text: str
    remedy: str = ''


def ok(subject: str, text: str) -> Finding:
    """Report that all is well."""
    return Finding(subject, Level.OK, text)


def warn(subject: str, text: str, remedy: str) -> Finding:
    """Report something that works but deserves a look."""
    return Finding(subject, Level.WARN, text, remedy)


def fail(subject: str, text: str, remedy: str) -> Finding:
    """Report something that does not work."""
    return Finding(subject, Level.FAIL, text, remedy)


def merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Make one line of findings that differ in their subjects only."""
    subjects: dict[Finding, list[str]] = {}
    for f in findings:
        subjects.setdefault(replace(f, subject=''), []).append(f.subject)
    return (replace(f, subject=some(names, 1)) for f, names in subjects.items())


def print_findings(title: str, findings: Iterable[Finding]) -> list[Finding]:
    """Print each finding as soon as it is known, what to do behind those that need it."""
    print(title, flush=True)
    shown = []
    for f in findings:
        shown.append(f)
        text = f.text if not f.remedy else f'{f.text}: {f.remedy}'
        print(f'  {f.level.name.lower():<4}  {f.subject:<{SUBJECT}}  {text}', flush=True)
    return shown


def as_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings for ``--json``."""
    return [{**asdict(f), 'level': f.level.name.lower()} for f in findings]
