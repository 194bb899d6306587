#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a paper, computed anew: PNG, PDF and the numbers in them (`make figures`).

    python scripts/paper_figures.py akbari-2021 [--folder out/figures]

The numbers of a figure are what it draws, read from the drawing: a row of the CSV per point, with
its axes, series and label. What the page of the robot shows is drawn by the same functions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
import csv
from pathlib import Path
import shutil
import sys
from typing import Any

from draw_eigenstiffness import draw_eigenstiffness
from draw_soft_parallel import draw_soft_parallel
from draw_spatial_cc import draw_spatial_cc
from draw_stewart_gough import draw_stewart_gough
from draw_tracking import draw_curves, draw_muscles
from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ('axes', 'title', 'series', 'label', 'x', 'y', 'z', 'value')
Draw = Callable[[Path], Any]


def haptic_rendering(file: Path) -> None:
    """Draw what the hand feels and how the handle follows; half a minute."""
    from soro_studies.haptics.rendering_page import draw_alone

    draw_alone(load_robot('haptic_5dof'), file)


def haptic(study: str) -> Draw:
    """Return what draws a study of the haptic device from what it has stored, or in minutes."""

    def draw(file: Path) -> None:
        from soro_studies.haptics.__main__ import main as run

        for name in ('evidence', 'img'):
            (file.parent / name).mkdir(exist_ok=True)
        stored = ROOT / f'docs/evidence/haptic_5dof_{study}.json'
        if stored.is_file():
            shutil.copy(stored, file.parent / 'evidence')
        run([study, '--docs', str(file.parent), '--go-on'])

    return draw


FIGURES: dict[str, dict[str, Draw]] = {
    'shi-2023': {
        'stiff_flop_eigenstiffness': draw_eigenstiffness,
        'stewart_gough': draw_stewart_gough,
    },
    'akbari-2021': {'spatial_cc_workspace': draw_spatial_cc},
    'huang-2022': {
        'soft_parallel_stiffness': draw_soft_parallel,
        'soft_parallel_tracking': draw_curves,
    },
    'chen-2022': {'pam_continuum_tracking': draw_muscles},
    'koehler-2023': {
        'haptic_rendering': haptic_rendering,
        **{f'haptic_{s}': haptic(s) for s in ('z_width', 'workspace')},
    },
}


def numbers(figure: Figure) -> Iterator[tuple[Any, ...]]:
    """Yield the points of every line, cloud and image of a figure, in rows of `COLUMNS`."""
    for i, axes in enumerate(figure.axes):
        title = axes.get_title() or axes.get_ylabel()
        for j, line in enumerate(axes.lines):
            solid = hasattr(line, 'get_data_3d')
            places = np.array(line.get_data_3d() if solid else line.get_data(), dtype=object).T
            yield from ((i, title, f'line {j}', line.get_label(), *_three(p), '') for p in places)
        for j, cloud in enumerate(axes.collections):
            solid = getattr(cloud, '_offsets3d', None)
            places = np.ma.array(cloud.get_offsets()) if solid is None else np.stack(solid, axis=1)
            if not len(places) or (len(places) == 1 and not np.any(places)):
                continue  # surfaces and bands: their lines are drawn beside them
            colours = cloud.get_array()
            values = [''] * len(places) if colours is None else np.ravel(colours).tolist()
            for place, value in zip(places, values, strict=False):
                yield i, title, f'points {j}', cloud.get_label(), *_three(place), value
        for j, image in enumerate(axes.images):
            for (row, column), value in np.ndenumerate(np.ma.filled(image.get_array(), np.nan)):
                yield i, title, f'image {j}', image.get_label(), column, row, '', value


def _three(place: Any) -> tuple[Any, ...]:
    """Return x, y and z, which may be missing."""
    x, y, *z = place
    return x, y, z[0] if z else ''


def keep(figure: Figure, file: Path) -> int:
    """Write PDF and numbers beside a picture; return how many points."""
    save(figure, file.with_suffix('.pdf'))
    rows = list(numbers(figure))
    with file.with_suffix('.csv').open('w', newline='', encoding='utf-8') as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return len(rows)


save = Figure.savefig


def main(words: list[str] | None = None) -> int:
    """Draw the figures of one paper."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('paper', choices=sorted(FIGURES), help='see docs/references.md')
    parser.add_argument('--folder', type=Path, default=ROOT / 'out/figures')
    arguments = parser.parse_args(words)
    folder = arguments.folder / arguments.paper
    folder.mkdir(parents=True, exist_ok=True)

    def save_all(figure: Figure, path: Any, *options: Any, **more: Any) -> None:
        save(figure, path, *options, **more)
        print(f'{path}: {keep(figure, Path(path))} points', flush=True)

    Figure.savefig = save_all
    try:
        for name, draw in FIGURES[arguments.paper].items():
            draw(folder / f'{name}.png')
    finally:
        Figure.savefig = save
    return 0


if __name__ == '__main__':
    sys.exit(main())
