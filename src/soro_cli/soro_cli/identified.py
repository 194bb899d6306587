# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `soro identify` says of a result; and what `--history` does, the past of actuators."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from soro_cli.tables import note, print_json, print_table
from soro_node.file_errors import writing
from soro_node.user_errors import UserError

Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # title, header, rows
WORSE = 'postures that the fit had not seen are met worse than before: nothing is written'


def conclude(
    arguments: argparse.Namespace,
    better: bool,
    answer: dict[str, Any],
    tables: Iterable[Table],
    picture: Path,
    written: bool,
) -> int:
    """Report a result; 1 where it is no better than what was known."""
    if not better:
        note(f'soro: {WORSE}')
    if arguments.json:
        # In the one line there is, as any other refusal says it.
        refusal = {} if better else {'error_code': 402, 'error_message': WORSE}
        print_json({**answer, 'picture': str(picture), **refusal})
        return 0 if better else 1
    for title, header, rows in tables:
        if rows:
            print_table(title, header, rows)
    print(picture)
    if arguments.write and written:
        print(arguments.write)
    return 0 if better else 1


def intervals(found: Iterable[Any]) -> dict[str, dict[str, float]]:
    """Return offsets for scripts."""
    return {o.name: {'value': o.value, 'low': o.low, 'high': o.high} for o in found}


def shares(found: Iterable[Any]) -> list[tuple[str, ...]]:
    """Return offsets for a person."""
    from soro_node.display_units import shown

    return [
        (o.name, shown(o.value, o.unit), f'{shown(o.low, o.unit)} to {shown(o.high, o.unit)}')
        for o in found
    ]


def error_table(what: str, errors: Sequence[float]) -> Table:
    """Return errors before and after [m], of what was fitted and of what was held out."""
    from soro_node.display_units import shown

    texts = [shown(error, 'm') for error in errors]
    rows = [(f'fitted {what}', *texts[:2]), (f'{what} held out', *texts[2:])]
    return 'error of the tip (RMS)', ('', 'before', 'after'), rows


def identify_past(
    arguments: argparse.Namespace, robot: Any, data: Any, tip: Any, folder: Path
) -> int:
    """Fit the past of the actuators, draw, write and report it."""
    import numpy as np

    from soro_mechanics.identification import history_fit
    from soro_recording.identify_report import draw_history
    from soro_recording.run_figures import save_figure

    others = arguments.parameter or arguments.fix or arguments.sensor_offset
    if others or arguments.marker_offset or arguments.offsets_only:
        raise UserError('--history is found by itself: leave out parameters and offsets')
    actuation = data.actuation
    commanded = actuation.commanded  # the planner's delay is from command to motion
    alone = arguments.history == ['delay'] and np.isfinite(commanded).any()
    values = commanded if alone else actuation.present
    known = np.isfinite(values).all(axis=1)
    known &= np.diff(actuation.time, prepend=-np.inf) > 0.0
    movement = history_fit.Movement(
        actuation.time[known], values[known], tip.time, tip.poses[:, :3]
    )
    if not arguments.json:
        what = 'commanded' if alone else 'present'
        note(f'{known.sum()} {what} actuations, {len(tip.time)} poses of {tip.topic}')
    found = history_fit.identify_history(robot, movement, arguments.history, arguments.hold_out)
    picture = save_figure(
        draw_history(data, found), (arguments.output or folder) / 'identification.png'
    )
    if arguments.write and found.better:
        with writing(Path(arguments.write)):
            history_fit.write_history(data.description, found, arguments.write)
    level = history_fit.LEVEL
    answer = {'found': intervals(found.found), 'level': level, 'better': found.better}
    header = ('of the past', 'identified', f'{level:.0%} interval')
    tables = [('', header, shares(found.found)), error_table('poses', [*found.errors.values()])]
    return conclude(arguments, found.better, answer | found.errors, tables, picture, found.better)
