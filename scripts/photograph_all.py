#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of every robot in the viewer, light and dark, wide and narrow, and sheets of them.

    python scripts/photograph_all.py [--axe axe.min.js] [--scale 0.5] [--folder DIR] [NAME...]
    python scripts/photograph_all.py --sheets [--folder DIR]

The robots of the catalogue, the examples, and files that are in neither; each with its first
actuator at two thirds of its range. What a page or axe-core complains about is printed, and
fails. `--sheets` takes none and writes those that are there into docs/img, small, a sheet per
look. Takes minutes per robot without a graphics processor; needs Chromium.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
import sys

import photograph_robot
from photograph_robot import Look
from PIL import Image

from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import EXAMPLES, OWN

ROOT = Path(__file__).resolve().parent.parent
ELSEWHERE = ROOT / 'src/soro_visualization/test/robots'
IMAGES = ROOT / 'docs/img'
LOOKS = tuple(product((False, True), photograph_robot.HEIGHTS))
TILES = {1280: ((440, 296), 3), 390: ((195, 422), 8)}  # size of a picture on a sheet, columns


def files() -> dict[str, Path]:
    """Return the robot files by name."""
    folders = (OWN, EXAMPLES, ELSEWHERE)
    return {file.stem: file for folder in folders for file in sorted(folder.glob('*.yaml'))}


def picture_of(folder: Path, name: str, dark: bool, width: int) -> Path:
    """Return where the picture of a robot is kept."""
    return folder / f'{name}_{"dark" if dark else "light"}_{width}.png'


def write_sheets(folder: Path) -> None:
    """Write all pictures of each look into one."""
    for dark, width in LOOKS:
        found = [p for n in files() if (p := picture_of(folder, n, dark, width)).is_file()]
        size, columns = TILES[width]
        rows = -(-len(found) // columns)
        sheet = Image.new('RGB', (columns * size[0], rows * size[1]), 'gray')
        for i, file in enumerate(found):
            tile = Image.open(file).convert('RGB').resize(size, Image.Resampling.LANCZOS)
            sheet.paste(tile, ((i % columns) * size[0], (i // columns) * size[1]))
        few = Image.Quantize.MAXCOVERAGE  # keeps colours of which there is little
        colours = sheet.quantize(256, few, kmeans=4, dither=Image.Dither.NONE)
        colours.save(picture_of(IMAGES, 'viewer_all', dark, width), optimize=True)


def main() -> int:
    """Take the pictures; exit code 1 where there was a complaint."""
    known = files()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'of {", ".join(known)}')
    parser.add_argument('--folder', type=Path, default=ROOT / 'out/photographs')
    parser.add_argument('--axe', type=Path, help='axe.min.js')
    parser.add_argument(
        '--scale', type=float, default=1.0, help='0.5 is fast, and does for sheets'
    )
    parser.add_argument('--sheets', action='store_true', help='write docs/img/viewer_all_*.png')
    arguments = parser.parse_args()
    if arguments.sheets:
        write_sheets(arguments.folder)
        return 0
    arguments.folder.mkdir(parents=True, exist_ok=True)
    complaints = 0
    for name in arguments.names or known:
        first = load_robot(known[name]).actuators[0].name
        looks = [
            Look(picture_of(arguments.folder, name, *look), *look, arguments.scale)
            for look in LOOKS
        ]
        complaints += photograph_robot.take(str(known[name]), {first: 0.67}, looks, arguments.axe)
    return 1 if complaints else 0


if __name__ == '__main__':
    sys.exit(main())
