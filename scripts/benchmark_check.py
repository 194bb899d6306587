# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Has anything become slower? Ratios to a fixed piece of work, not seconds, beside stored ones.

Each benchmark measures that work in its own run (soro_studies.mechanics.benchmark_rows), so a busy
or a slower machine moves both alike. `make bench ARGS=--check` compares, `make bench ARGS=--store`
makes what was measured the measure.
"""

from __future__ import annotations

import json
from pathlib import Path

BASELINE = Path(__file__).resolve().parent / 'benchmark_baseline.json'
# Above the scatter of repeated runs (20 %), below what a lost optimisation costs.
TOLERANCE = 1.4


def ratios(file: Path) -> dict[str, float]:
    """Read the rows of one benchmark: each one's processor time over that of the fixed work."""
    data = json.loads(file.read_text(encoding='utf-8'))
    return {name: value / data['reference'] for name, value in data['rows'].items()}


def read_baseline() -> dict[str, dict[str, float]]:
    """Return the stored ratios by benchmark and row; empty where there are none yet."""
    return json.loads(BASELINE.read_text(encoding='utf-8')) if BASELINE.is_file() else {}


def store(measured: dict[str, dict[str, float]]) -> None:
    """Make these ratios the measure; benchmarks that were not run keep theirs."""
    data = {**read_baseline(), **measured}
    rounded = {
        name: {row: float(f'{value:.3g}') for row, value in rows.items()}
        for name, rows in sorted(data.items())
    }
    BASELINE.write_text(json.dumps(rounded, indent=1) + '\n', encoding='utf-8')


def slower(
    measured: dict[str, dict[str, float]], baseline: dict[str, dict[str, float]]
) -> list[str]:
    """Say which rows cost more than `TOLERANCE` times what they did, are unknown, or gone."""
    lines = []
    for name, rows in measured.items():
        known = baseline.get(name, {})
        for row, value in rows.items():
            if row not in known:
                lines.append(f'{name}: {row}: not stored yet; --store after a look at it')
            elif value > TOLERANCE * known[row]:
                lines.append(f'{name}: {row}: {value / known[row]:.2f} times as costly as stored')
        gone = sorted(set(known) - set(rows))
        lines += [f'{name}: {row}: stored, and not measured any more' for row in gone]
    return lines
