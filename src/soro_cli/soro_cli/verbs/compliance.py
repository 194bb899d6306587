# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro compliance: how much the robot gives way, where and in which direction."""

from __future__ import annotations

import argparse

from soro_cli.verbs.mechanics_options import ACTUATION_HELP, add_mechanics_options

SUMMARY = 'how much the tip, or every point of the backbone, gives way under load'
EPILOG = """\
examples:
  soro compliance                     at the present actuation
  soro compliance 0.9bar 0 0 --along
  soro compliance --wrench 0 0 -0.5N --method integral
"""
ROWS = ('x', 'y', 'z', 'about x', 'about y', 'about z')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('actuation', nargs='*', help=ACTUATION_HELP + '; none: the present one')
    parser.add_argument(
        '--along', action='store_true', help='every station of the backbone instead of the tip'
    )
    parser.add_argument(
        '--method', choices=('tangent', 'integral'), default='tangent',
        help='exact tangent of the loaded equilibrium, or the published integral',
    )  # fmt: skip
    add_mechanics_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli import people_units
    from soro_cli.verbs.mechanics_options import finish, mechanics, solved

    wrench = people_units.wrench(arguments.wrench)
    with mechanics(arguments) as source:
        words = arguments.actuation
        actuation = people_units.actuation(words, source.actuators) if words else None
        answer = source.compliance(
            actuation, wrench, arguments.model, arguments.method, arguments.along
        )

    def show() -> None:
        if not all(solved(*line) for p in answer.points for line in p.matrix):
            return
        if arguments.along:
            _show_along(answer.points)
        elif answer.points:
            _show_point(answer.points[0], answer.model)

    return finish(answer, arguments.json, show)


def _show_point(point: object, model: str) -> None:
    from soro_cli.tables import print_table

    rows = [
        (f'{value * 1e3:.4g} mm/N', f'{1e-2 / value:.4g} N/cm' if value > 0.0 else '-',
         ' '.join(f'{c:+.3f}' for c in axis))
        for value, axis in zip(point.principal_compliance, point.principal_axis, strict=True)
    ]  # fmt: skip
    title = f'compliance of the tip, axes of base_link, model {model}'
    print_table(title, ('principal compliance', 'stiffness', 'direction (x y z)'), rows)
    screws = [
        (f'{k:.4g} N/rad', f'{h * 1e3:.4g} mm/rad')
        for k, h in zip(point.eigenstiffness, point.eigenscrew_pitch, strict=True)
    ]
    print_table('eigenscrews (do not depend on the frame)', ('eigenstiffness', 'pitch'), screws)
    print_table(
        'matrix: mm and deg (rows) per N and N m (columns)',
        ('', 'fx', 'fy', 'fz', 'mx', 'my', 'mz'), _matrix(point.matrix),
    )  # fmt: skip


def _matrix(matrix: list[list[float]]) -> list[tuple[str, ...]]:
    import math

    scales = (1e3,) * 3 + (180.0 / math.pi,) * 3
    return [
        (label, *(f'{value * scale:+.4g}' for value in line))
        for label, scale, line in zip(ROWS, scales, matrix, strict=True)
    ]


def _show_along(points: list) -> None:
    from soro_cli.people_units import shown
    from soro_cli.tables import print_table

    rows = [
        (p.backbone, shown(p.arc_length, 'm'), *(f'{c * 1e3:.4g}' for c in p.principal_compliance))
        for p in points
    ]
    title = 'principal compliances along the backbone [mm/N]'
    print_table(title, ('backbone', 'arc length', 'largest', 'middle', 'smallest'), rows)
