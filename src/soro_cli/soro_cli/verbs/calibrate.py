# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro calibrate: move, record the flex sensors or the tracker, fit, keep."""

from __future__ import annotations

import argparse
from typing import Any

from soro_cli.robot_choice import add_robot_options, running_robot, RunningRobot
from soro_cli.tables import print_json, print_table
from soro_cli.verbs.mechanics_options import conclude

SUMMARY = 'calibrate flex sensors of a haptic device, or the tracker; the robot moves'
EPILOG = """\
Nobody may touch the handle meanwhile. The fit is kept only where it is good enough; what was
measured is kept in any case and can be fitted again (--recorded).

examples:
  soro calibrate                     64 extremes of the motors in random order, then fit and keep
  soro calibrate --poses 16 --try    fewer, and only report
  soro calibrate tracker --write my_robot.yaml      marker, and the tracker where TF knows it not
  soro calibrate --weight 200g       then: hang a weight on when asked to; shows how stiff legs are
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'sensors', nargs='*', metavar='SENSOR', help='default: all of them; or: tracker'
    )
    parser.add_argument('--poses', type=int, default=0, help='extremes or postures to visit')
    parser.add_argument('--amplitude', type=float, default=0.0, help='part of the range')
    parser.add_argument('--settle', default='0', help='rest at each of them, for example 200ms')
    parser.add_argument('--samples', type=int, default=0, help='readings at each extreme')
    parser.add_argument('--max-residual', default='0', help='RMS above which a fit is refused')
    parser.add_argument('--weight', help='of what is hung on the handle, to find the modulus')
    parser.add_argument('--recorded', action='store_true', help='fit the last recording again')
    parser.add_argument('--try', action='store_true', dest='only_try', help='do not keep the fit')
    parser.add_argument('--base', action='store_true', help='tracker: seek where it stands too')
    parser.add_argument('--write', metavar='FILE', help='tracker: robot file that gets the result')
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if arguments.sensors == ['tracker']:
        return _tracker(arguments)
    from soro_cli.action_client import run_shown
    from soro_msgs.action import CalibrateFlexSensors
    from soro_node.display_units import number

    goal = CalibrateFlexSensors.Goal(
        sensor_name=arguments.sensors,
        poses=arguments.poses,
        amplitude=arguments.amplitude,
        settle_time=number(arguments.settle, 's', '--settle'),
        samples_per_pose=arguments.samples,
        max_residual=number(arguments.max_residual, 'm', '--max-residual'),
        use_recorded=arguments.recorded,
        keep=not arguments.only_try,
    )
    weight = None if arguments.weight is None else number(arguments.weight, 'kg', '--weight')

    def prepared(robot: RunningRobot) -> CalibrateFlexSensors.Goal:
        if weight is not None:
            robot.session.set_parameter(f'{robot.namespace}/flex_calibration', 'weight', weight)
        return goal

    name = 'flex_calibration/calibrate' if weight is None else 'flex_calibration/weigh'
    result = run_shown(
        arguments, CalibrateFlexSensors, name, prepared, 'calibrate', lambda f: f.step
    )
    return _finish(arguments, result)


def _tracker(arguments: argparse.Namespace) -> int:
    """Calibrate the marker of the tracker, and where the tracker stands where nobody knows."""
    from soro_cli.action_client import progress_bar
    from soro_cli.sensor_tour import postures, tour
    from soro_mechanics.analysis.tracker_calibration import calibrate_tracker
    from soro_mechanics.robot import Robot
    from soro_mechanics.robot_file.sensor_sections import placed, write_section
    from soro_node.display_units import number

    settle = number(arguments.settle, 's', '--settle') or 1.0
    with running_robot(arguments) as robot, progress_bar('calibrate') as report:
        count, amplitude = arguments.poses or 12, arguments.amplitude or 0.6
        seen = tour(robot, postures(Robot(robot.description), count, amplitude), settle, report)
    base = None if arguments.base else seen.base
    found = calibrate_tracker(seen.tips, seen.markers, base)
    notes = (f'+-{1e3 * max(found.half[:3]):.2g} mm (95 %), {count} postures', f'{count} postures')
    values: dict[str, Any] = {'marker': placed(found.marker, notes[0])}
    if base is None:
        values['base'] = {'frame': seen.frame, **placed(found.base, notes[1])}
    if arguments.write:
        write_section(robot.description.file, 'tracker', values, arguments.write)
    if arguments.json:
        numbers = {key: getattr(found, key).tolist() for key in ('marker', 'base', 'half', 'left')}
        print_json({'error_code': 0, 'error_message': '', 'frame': seen.frame, **numbers})
        return 0
    rows = [(k, v['position']['value'], v['rotation']['value']) for k, v in values.items()]
    print_table('marker in the tip, base: the tracker in base_link', ('', 'at', 'turned'), rows)
    half, left = 1e3 * found.half[:3], found.left
    print(f'marker +-{" ".join(f"{h:.2g}" for h in half)} mm (95 %), left {1e3 * left[0]:.2g} mm')
    return 0


def _material(file: str) -> str:
    from soro_mechanics.haptics.flex_calibration import read_calibration

    known = read_calibration(file)
    return f'; modulus {known.material:.3f} of the robot file, +-{known.material_deviation:.1%}'


def _finish(arguments: argparse.Namespace, result: Any) -> int:
    from soro_node.display_units import shown

    columns = ('name', 'offset', 'gain', 'rms_residual', 'max_error')
    sensors = list(zip(*(list(getattr(result, c)) for c in columns), strict=True))
    if arguments.json:
        print_json(
            {
                'error_code': result.error_code,
                'error_message': result.error_message,
                'samples': result.samples,
                'saved_to': result.saved_to,
                'sensors': [dict(zip(columns, row, strict=True)) for row in sensors],
            }
        )
    else:
        rows = [
            (name, f'{offset:.1f}', f'{1e6 * gain:.3f} um', shown(rms, 'm'), shown(worst, 'm'))
            for name, offset, gain, rms, worst in sensors
        ]
        head = ('sensor', 'offset', 'per count', 'RMS error', 'largest')
        print_table(f'{result.samples} readings', head, rows)
        if result.saved_to:
            print(f'kept in {result.saved_to}{_material(result.saved_to)}')
    return conclude(result)
