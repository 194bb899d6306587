# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro demo: a tour of a robot on its emulator, with a bag, figures and a report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from soro_cli.tables import note, print_json

SUMMARY = 'start a robot on its emulator, ask it, move it, record it, and write a report'
EPILOG = """\
examples:
  soro demo                      STIFF-FLOP, with a published experiment at the end
  soro demo soft_parallel
  soro demo my_robot.yaml

Starts its own robot under the namespace `demo`; takes one to three minutes. Leaves in the output
folder: report.html (everything on one page), the bag, its figures, player.html and summary.json.
For stiff_flop the published experiment adds its bag `experiment`, experiment.csv and
experiment.png. While the robot runs, the browser viewer shows it at the address that is said.
A demo replaces the results of an earlier one. A folder `bag` or `experiment` that no demo has made
is not touched: the demo does not start.
"""
EXPERIMENT = 'stiff_flop'
PICTURE = 'viewer.png'  # of `make demo`; an earlier one's would pass for this one's


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'robot', nargs='?', default=EXPERIMENT, help=f'name or file (default: {EXPERIMENT})'
    )
    parser.add_argument('--output', type=Path, help='folder (default: out/demo/<robot>)')
    parser.add_argument(
        '--no-experiment', action='store_true', help='stiff_flop: without the experiment (90 s)'
    )
    parser.add_argument('--json', action='store_true', help='print the summary as JSON')


def output_folder(arguments: argparse.Namespace) -> Path:
    """Return where the results are."""
    return arguments.output or Path('out') / 'demo' / Path(arguments.robot).stem


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    import json

    from soro_cli.demo.report import write_report
    from soro_cli.demo.tour import NAMESPACE, run_tour
    from soro_cli.recorded_bodies import recorded_bodies
    from soro_recording.bag_reader import BagReader
    from soro_recording.run_data import RunData
    from soro_recording.run_figures import draw_all
    from soro_recording.run_player import write_player

    name = Path(arguments.robot).stem
    folder = output_folder(arguments)
    folder.mkdir(parents=True, exist_ok=True)
    experiment = name == EXPERIMENT and not arguments.no_experiment
    tour = run_tour(arguments.robot, folder, note, experiment)
    (folder / PICTURE).unlink(missing_ok=True)
    with BagReader(tour.bag) as bag:
        recorded = RunData(bag, f'/{NAMESPACE}')
        figures = [one.save(folder) for one in draw_all(recorded)]
        player = folder / 'player.html'
        write_player(recorded, player, recorded_bodies(recorded))
    links = [player, tour.bag]
    summary: dict[str, Any] = {'robot': tour.robot.name, **tour.numbers}
    if tour.marks:
        table, plot, summary['experiment'] = _experiment(folder, tour)
        figures.append(plot)
        links.append(table)
    report = write_report(tour, folder, figures, links)
    (folder / 'summary.json').write_text(json.dumps(summary, indent=2) + '\n')
    if arguments.json:
        print_json({**summary, 'report': str(report)})
    else:
        print(report)
    return 0


def _experiment(folder: Path, tour: Any) -> tuple[Path, Path, dict[str, Any]]:
    """Evaluate the published experiment and note its results in the tour."""
    from dataclasses import asdict

    from soro_cli.demo.experiment import evaluate
    from soro_cli.demo.plot import plot_demo
    from soro_cli.demo.recording import read_recording
    from soro_cli.demo.tour import NAMESPACE
    from soro_node.display_units import shown
    from soro_recording.bag_reader import BagReader
    from soro_recording.run_data import RunData

    with BagReader(tour.experiment) as bag:
        recording = read_recording(RunData(bag, f'/{NAMESPACE}'))
    rows = [evaluate(m.stretch, recording.part(m.start, m.end)) for m in tour.marks]
    table, picture = folder / 'experiment.csv', folder / 'experiment.png'
    recording.write_csv(table)
    plot_demo(recording, 'STIFF-FLOP, Experiment 1: triangular pressure patterns', picture)
    for row in rows:
        bending = f'bending {shown(row.bending_plant, "rad")} of {shown(row.bending_model, "rad")}'
        longer = f'{shown(row.elongation_plant, "m")} of {shown(row.elongation_model, "m")}'
        apart = shown(row.position_rmse, 'm')
        text = f'{bending}, elongation {longer} (plant of model), tip RMSE {apart}'
        tour.add(row.label, text)
    return table, picture, {'rows': [asdict(row) for row in rows]}
