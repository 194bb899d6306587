# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro demo: a published experiment on an emulated robot, with a plot at the end."""

from __future__ import annotations

import argparse
from pathlib import Path

SUMMARY = 'move STIFF-FLOP through a published experiment and plot model against plant'
EPILOG = """\
Starts its own robot under the namespace `demo`, takes about 90 s, leaves stiff_flop.csv,
stiff_flop.png and summary.json in the output folder.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        '--output', type=Path, default=Path('out') / 'demo', help='folder (default: %(default)s)'
    )
    parser.add_argument('--json', action='store_true', help='print the summary as JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from dataclasses import asdict
    import json

    from soro_cli.demo import run_demo
    from soro_cli.demo_plot import plot_demo
    from soro_cli.tables import note, print_json

    folder = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    result = run_demo(folder, note)
    table, picture = folder / 'stiff_flop.csv', folder / 'stiff_flop.png'
    result.recording.write_csv(table)
    plot_demo(result.recording, 'STIFF-FLOP, Experiment 1: triangular pressure patterns', picture)
    summary = {
        'start_seconds': result.start_seconds, 'answers': result.answers,
        'rows': [asdict(row) for row in result.rows],
    }  # fmt: skip
    (folder / 'summary.json').write_text(json.dumps(summary, indent=2) + '\n')
    if arguments.json:
        print_json(summary)
    else:
        _show(result)
        print(f'{table}  {picture}  {folder / "summary.json"}')
    return 0


def _show(result: object) -> None:
    from soro_cli.people_units import shown
    from soro_cli.tables import print_table

    rows = [
        (r.label, shown(r.bending_plant, 'rad'), shown(r.bending_model, 'rad'),
         shown(r.elongation_plant, 'm'), shown(r.elongation_model, 'm'),
         shown(r.position_rmse, 'm'), shown(r.pressure_rmse, 'Pa'))
        for r in result.rows
    ]  # fmt: skip
    columns = (
        'pattern', 'bending: plant', 'model', 'elongation: plant', 'model', 'tip RMSE',
        'pressure RMSE',
    )  # fmt: skip
    print_table('largest values, and model against plant', columns, rows)
    for answer in result.answers:
        print(answer)
