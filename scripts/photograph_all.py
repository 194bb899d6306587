#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of every robot in the viewer, light and dark, wide and narrow, on one page.

    python scripts/photograph_all.py [--axe axe.min.js] [--folder out/photographs] [NAME...]

The robots of the catalogue, the examples, and files that are in neither; each with its first
actuator at two thirds of its range. What a page or axe-core complains about is printed, and
fails. Takes minutes per robot without a graphics processor; needs Chromium.
"""

from __future__ import annotations

import argparse
from html import escape
from itertools import product
from pathlib import Path
import sys

import photograph_robot

from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import EXAMPLES, OWN

ROOT = Path(__file__).resolve().parent.parent
ELSEWHERE = ROOT / 'src/soro_visualization/test/robots'
LOOKS = tuple(product((False, True), photograph_robot.HEIGHTS))


def files() -> dict[str, Path]:
    """Return the robot files by name."""
    folders = (OWN, EXAMPLES, ELSEWHERE)
    return {file.stem: file for folder in folders for file in sorted(folder.glob('*.yaml'))}


def page(taken: dict[str, list[Path]]) -> str:
    """Return an HTML page with all pictures, a row per robot."""
    rows = ''.join(
        f'<h2>{escape(name)}</h2>'
        + ''.join(f'<img src="{p.name}" alt="{p.stem}" height="420"> ' for p in pictures)
        for name, pictures in taken.items()
    )
    return f'<!doctype html><html lang="en"><title>Robots in the viewer</title>{rows}</html>\n'


def main() -> int:
    """Take the pictures; exit code 1 where there was a complaint."""
    known = files()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'of {", ".join(known)}')
    parser.add_argument('--folder', type=Path, default=ROOT / 'out/photographs')
    parser.add_argument('--axe', help='axe.min.js')
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    taken: dict[str, list[Path]] = {}
    complaints = 0
    for name in arguments.names or known:
        first = load_robot(known[name]).actuators[0].name
        for dark, width in LOOKS:
            picture = arguments.folder / f'{name}_{"dark" if dark else "light"}_{width}.png'
            words = [str(known[name]), str(picture), f'{first}=0.67', '--width', str(width)]
            words += ['--dark'] if dark else []
            words += ['--axe', arguments.axe] if arguments.axe else []
            complaints += photograph_robot.main(words)
            taken.setdefault(name, []).append(picture)
            (arguments.folder / 'index.html').write_text(page(taken), encoding='utf-8')
    return 1 if complaints else 0


if __name__ == '__main__':
    sys.exit(main())
