# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro track: move the tip along a curve."""

from __future__ import annotations

import argparse
from typing import Any

from soro_cli.robot_choice import add_robot_options
from soro_cli.tables import note, print_json, print_table
from soro_cli.verbs.mechanics_options import conclude, json_of, whole

SUMMARY = 'move the tip along a curve and report the error'
EPILOG = """\
examples:
  soro track circle --centre 0 0 50mm --size 10mm --speed 10mm/s
  soro track star --centre 0 0 48mm --size 8mm --plan-only
  soro track circle --centre 0 0 50mm --size 10mm --control feedback

Ctrl-C, SIGTERM or a closed terminal cancel the motion; the robot holds where it is.
"""
CURVES = ('line', 'circle', 'star', 'spiral', 'square', 'cardioid')
PHASES = ('planning', 'approaching', 'tracking')
CONTROLS = ('feedforward', 'feedback')
AGAINST = ('model', 'measured', 'emulated')
# What errors refer to: constants of TrackTrajectory.
REFERENCES = {
    1: "the model's tip at the measured actuation",
    2: "a tracker's tip",
    3: "the emulated robot's own tip",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('curve', choices=CURVES)
    parser.add_argument(
        '--centre', nargs=3, required=True, metavar=('X', 'Y', 'Z'), help='in base_link'
    )
    parser.add_argument(
        '--quaternion',
        nargs=4,
        type=float,
        default=(0.0, 0.0, 0.0, 1.0),
        metavar=('QX', 'QY', 'QZ', 'QW'),
        help='plane of the curve: its normal is the z axis',
    )
    parser.add_argument('--size', required=True, help='radius or half width')
    parser.add_argument('--speed', default='0', help="default: the planner's")
    parser.add_argument('--repetitions', type=whole(), default=1)
    parser.add_argument('--plan-only', action='store_true', help='solve and report, move nothing')
    parser.add_argument(
        '--control', choices=CONTROLS, help="who decides; default: the planner's parameter"
    )
    parser.add_argument(
        '--reference', choices=AGAINST, help="tip that errors are of; default: a live tracker's"
    )
    parser.add_argument('--max-error', default='0', help='give up above this error')
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.action_client import run_shown
    from soro_msgs.action import TrackTrajectory
    from soro_node.display_units import shown

    def said(feedback: Any) -> str:
        phase = PHASES[min(feedback.phase, len(PHASES) - 1)]
        return f'{phase}, error {shown(feedback.error, "m")}'

    goal, name = _goal(arguments), 'trajectory_planner/track_trajectory'
    result = run_shown(arguments, TrackTrajectory, name, lambda _: goal, arguments.curve, said)
    return _finish(arguments, result)


def _goal(arguments: argparse.Namespace) -> Any:
    from soro_cli.mechanics_online import pose_message
    from soro_msgs.action import TrackTrajectory
    from soro_node import display_units

    centre = display_units.position(arguments.centre)
    plane = display_units.quaternion(arguments.quaternion)
    return TrackTrajectory.Goal(
        curve=arguments.curve,
        curve_pose=pose_message(centre, plane),
        size=display_units.number(arguments.size, 'm', '--size'),
        speed=display_units.number(arguments.speed, 'm/s', '--speed'),
        repetitions=arguments.repetitions,
        plan_only=arguments.plan_only,
        control=_number(CONTROLS, arguments.control),
        reference=_number(AGAINST, arguments.reference),
        max_error=display_units.number(arguments.max_error, 'm', '--max-error'),
    )


def _number(names: tuple[str, ...], name: str | None) -> int:
    """Return the constant of TrackTrajectory; zero leaves it to the planner."""
    return 0 if name is None else names.index(name) + 1


def _finish(arguments: argparse.Namespace, result: Any) -> int:
    from soro_cli.answers import warning_names
    from soro_node.display_units import shown

    against = result.error_reference
    seconds = result.duration.sec + result.duration.nanosec * 1e-9
    errors = {name: float(getattr(result, f'{name}_error')) for name in ('mean', 'rms', 'peak')}
    if arguments.json:
        print_json(
            {
                **json_of(result, 'relative_error', 'error_reference'),
                'points': len(result.sampled_path.poses),
                'failed_points': list(result.failed_points),
                'duration': seconds,
                'warnings': warning_names(result.warnings),
                **{f'{name}_error': value for name, value in errors.items()},
            }
        )
    elif result.sampled_path.poses:  # else refused: there are no numbers
        rows = [
            ('points', str(len(result.sampled_path.poses))),
            ('not reachable', str(len(result.failed_points))),
            ('duration', f'{seconds:.1f} s'),
        ]
        if against:  # else nothing has moved
            rows += [(f'{name} error', shown(value, 'm')) for name, value in errors.items()]
            rows += [('relative error', f'{100.0 * result.relative_error:.2f} %')]
            rows += [('errors against', REFERENCES[against])]
        print_table(arguments.curve, ('', ''), rows)
    if result.error_code == 0 and (result.warnings or result.error_message):
        words = result.error_message or ', '.join(warning_names(result.warnings))
        note(f'soro: warning: {words}')
    return conclude(result)
