# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the validation computed, as JSON in docs/evidence/validation: the page is made of it."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
import json
from pathlib import Path
from typing import Any

from soro_studies.validation.provenance import workspace
from soro_studies.validation.row import Kind, Row, Verdict

ROWS_FILE = 'rows.json'
MUTANTS_FILE = 'mutants.json'
CHECKS_FILE = 'model_checks.json'


def folder() -> Path:
    """Return where results are kept: of the source checkout, else below the present folder."""
    return (workspace() or Path()) / 'docs' / 'evidence' / 'validation'


def read_results(name: str) -> dict[str, Any]:
    """Return a file of results; empty where there is none yet."""
    file = folder() / name
    if not file.is_file():
        return {}
    found: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
    return found


def write_results(name: str, results: dict[str, Any]) -> Path:
    """Write a file of results; an interrupted run leaves the old one."""
    file = folder() / name
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix('.new')
    new.write_text(json.dumps(results, indent=1) + '\n', encoding='utf-8')
    new.replace(file)
    return file


def row_data(row: Row) -> dict[str, Any]:
    """Return a row as JSON takes it."""
    return {k: v.value if isinstance(v, Enum) else v for k, v in asdict(row).items()}


def row_from(data: dict[str, Any]) -> Row:
    """Return the row that `row_data` was made of."""
    return Row(**{**data, 'verdict': Verdict(data['verdict']), 'kind': Kind(data['kind'])})
