# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro compliance: how much the robot gives way, where and in which direction."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from soro_cli.tables import note, print_table
from soro_cli.verbs import mechanics_options as options
from soro_node.user_errors import UserError

if TYPE_CHECKING:
    from soro_cli.pulls import MeasuredPulls

SUMMARY = 'how much the tip, or every point of the backbone, gives way under load'
EPILOG = """\
examples:
  soro compliance                     at the present actuation
  soro compliance 0.9bar 0 0 --along
  soro compliance --wrench 0 0 -0.5N --method integral
  soro compliance 0.9bar 0.9bar 0 --measured pulls.csv

pulls.csv: fx [N], fy [N], fz [N], x [mm], y [mm], z [mm] of the tip, axes of base_link; a row
without force says where it rests.
"""
MM_AND_DEG = (1e3,) * 3 + (180.0 / math.pi,) * 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('actuation', nargs='*', help=options.PRESENT_OR_TYPED)
    parser.add_argument(
        '--along', action='store_true', help='every station of the backbone instead of the tip'
    )
    parser.add_argument(
        '--method',
        choices=('tangent', 'integral', 'midpoint', 'trapezoid'),
        default='tangent',
        help='exact tangent of the loaded equilibrium; published: the integral, or the sums over '
        'the elements of a segment model',
    )
    parser.add_argument(
        '--measured',
        metavar='PULLS.csv',
        help='the tip only: predict each pull of a recorded table with the model, and compare',
    )
    options.add_mechanics_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if arguments.measured and arguments.along:
        raise UserError('--measured is of the tip: leave out --along')
    pulls = measured = None
    if arguments.measured:
        from soro_mechanics.analysis.measured_compliance import read_pulls

        pulls = read_pulls(arguments.measured)
    with options.asked(arguments) as (source, actuation, wrench):
        answer = source.compliance(
            actuation, wrench, arguments.model, arguments.method, arguments.along
        )
        if pulls is not None and answer.points:
            from soro_cli.pulls import compare_pulls

            measured = compare_pulls(source, answer, wrench, arguments.model, pulls)

    def show() -> None:
        if not answer.points:
            return
        if arguments.along:
            _show_along(answer.points)
        else:
            _show_point(answer.points[0], answer.model)
            if measured is not None:
                _show_measured(measured, answer.points[0].matrix)
                _show_pulls(measured)

    beside = None
    if measured is not None:
        beside = {'measured': _as_json(measured, answer.points[0].matrix)}
    return options.finish(answer, arguments.json, show, beside)


def _as_json(measured: MeasuredPulls, model: list[list[float]]) -> dict[str, object]:
    fit, check = measured.fit, measured.check
    return {
        'matrix': fit.matrix.tolist(),
        'deviation': fit.deviation.tolist(),
        'pulls': fit.pulls,
        'residual': fit.residual,
        'asymmetry': fit.asymmetry,
        'norm_error': fit.norm_error(model),
        'difference': fit.difference(model),
        'displacements': measured.pulls.displacements.tolist(),
        'predicted': check.predicted.tolist(),
        'prediction_rms': check.rms,
        'scatter': check.scatter,
        'skew': check.skew,
        'skew_error': None if math.isnan(check.skew_error) else check.skew_error,
        'outliers': [measured.pulls.lines[i] for i in check.outliers],
    }


def _show_pulls(measured: MeasuredPulls) -> None:
    from soro_node.display_units import shown

    pulls, check = measured.pulls, measured.check
    worst = dict.fromkeys(check.outliers, 'not expected by the others')
    rows = [
        (
            str(line),
            *(' '.join(f'{s * v:+.3f}' for v in row) for s, row in ((1.0, f), (1e3, d), (1e3, p))),
            ' '.join(f'{1e3 * v:+.3f}' for v in d - p),
            worst.get(i, ''),
        )
        for i, (line, f, d, p) in enumerate(
            zip(pulls.lines, pulls.forces, pulls.displacements, check.predicted, strict=True)
        )
    ]
    title = (
        'every pull, solved by the model under its whole force: left '
        f'{shown(check.rms, "m")} rms, scatter {shown(check.scatter, "m")}'
    )
    header = ('line', 'force [N]', 'measured [mm]', 'model [mm]', 'difference [mm]', '')
    print_table(title, header, rows)
    if check.outliers:
        lines = ', '.join(str(pulls.lines[i]) for i in check.outliers)
        note(f'soro: line {lines} of the table: take the pull again, or leave it out')


def _show_measured(pulls: MeasuredPulls, model: list[list[float]]) -> None:
    import numpy as np

    from soro_node.display_units import shown

    measured, check = pulls.fit, pulls.check
    rows = [
        (axis, *(f'{1e3 * c:+.4g} +- {1e3 * s:.2g}' for c, s in zip(*line, strict=True)))
        for axis, *line in zip('xyz', measured.matrix, measured.deviation, strict=True)
    ]
    title = f'measured by {measured.pulls} pulls [mm/N], standard deviation by their scatter'
    print_table(title, ('', 'fx', 'fy', 'fz'), rows)
    computed = np.array(model)[:3, :3]
    sizes = [np.linalg.eigvalsh(0.5 * (c + c.T))[::-1] for c in (measured.matrix, computed)]
    rows = [
        ('principal compliances', *(', '.join(f'{1e3 * v:.4g}' for v in s) for s in sizes)),
        (
            'Frobenius norm',
            *(f'{1e3 * np.linalg.norm(c):.4g}' for c in (measured.matrix, computed)),
        ),
        ('error of the norm', '', f'{measured.norm_error(computed):+.1%}'),
        ('norm of the difference', '', f'{measured.difference(computed):.1%}'),
        ('residual of the pulls', shown(measured.residual, 'm'), ''),
        ('skew part of a fit without symmetry', f'{measured.asymmetry:.1%}', ''),
        ('skew part beside the model', f'{check.skew:.1%} +- {check.skew_error:.1%}', ''),
    ]
    print_table('model beside it [mm/N]', ('', 'measured', 'model'), rows)


def _show_point(point: object, model: str) -> None:
    rows = [
        (
            f'{value * 1e3:.4g} mm/N',
            f'{1e-2 / value:.4g} N/cm' if value > 0.0 else '-',
            ' '.join(f'{c:+.3f}' for c in axis),
        )
        for value, axis in zip(point.principal_compliance, point.principal_axis, strict=True)
    ]
    title = f'compliance of the tip, axes of base_link, model {model}'
    print_table(title, ('principal compliance', 'stiffness', 'direction (x y z)'), rows)
    screws = [
        (f'{k:.4g} N', f'{h * 1e3:.4g} mm/rad')
        for k, h in zip(point.eigenstiffness, point.eigenscrew_pitch, strict=True)
    ]
    print_table('eigenscrews (do not depend on the frame)', ('eigenstiffness', 'pitch'), screws)
    print_table(
        'matrix: mm and deg (rows) per N and N m (columns)',
        ('', 'fx', 'fy', 'fz', 'mx', 'my', 'mz'),
        [
            (label, *(f'{round(value * scale, 9) + 0.0:+.4g}' for value in line))
            for label, scale, line in zip(options.ROWS, MM_AND_DEG, point.matrix, strict=True)
        ],
    )


def _show_along(points: list) -> None:
    from soro_node.display_units import shown

    rows = [
        (p.backbone, shown(p.arc_length, 'm'), *(f'{c * 1e3:.4g}' for c in p.principal_compliance))
        for p in points
    ]
    title = 'principal compliances along the backbone [mm/N]'
    print_table(title, ('backbone', 'arc length', 'largest', 'middle', 'smallest'), rows)
