# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro calibrate: move, record the flex sensors, the tracker or the force sensor, fit, keep."""

from __future__ import annotations

import argparse
import math
from typing import Any, TYPE_CHECKING

from soro_cli.robot_choice import add_robot_options, running_robot, RunningRobot
from soro_cli.tables import print_json, print_table
from soro_cli.verbs.mechanics_options import conclude, json_of, whole

if TYPE_CHECKING:
    from soro_cli.sensor_tour import Tour

KEYS = {'tracker': 'tracker', 'force': 'force_sensor'}  # sections of the robot file
SUMMARY = 'calibrate flex sensors, the tracker or the force sensor; the robot moves'
EPILOG = """\
Nobody may touch the handle meanwhile. The fit is kept only where it is good enough; what was
measured is kept in any case and can be fitted again (--recorded).

examples:
  soro calibrate                     64 extremes of the motors in random order, then fit and keep
  soro calibrate --poses 16 --try    fewer, and only report
  soro calibrate tracker --write my_robot.yaml      marker, and the tracker where TF knows it not
  soro calibrate force --write my_robot.yaml        nothing may touch it: its zero, a tool's weight
  soro calibrate --weight 200g       then: hang a weight on when asked to; shows how stiff legs are
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'sensors', nargs='*', metavar='SENSOR', help='default: all of them; or: tracker; or: force'
    )
    parser.add_argument('--poses', type=whole(), default=0, help='extremes or postures to visit')
    parser.add_argument('--amplitude', type=float, default=0.0, help='part of the range')
    parser.add_argument('--settle', default='0', help='rest at each of them, for example 200ms')
    parser.add_argument('--samples', type=whole(), default=0, help='readings at each extreme')
    parser.add_argument('--max-residual', default='0', help='RMS above which a fit is refused')
    parser.add_argument('--weight', help='of what is hung on the handle, to find the modulus')
    parser.add_argument('--recorded', action='store_true', help='fit the last recording again')
    parser.add_argument('--try', action='store_true', dest='only_try', help='do not keep the fit')
    parser.add_argument('--base', action='store_true', help='tracker: seek where it stands too')
    parser.add_argument('--write', metavar='FILE', help='tracker, force: robot file that gets it')
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if arguments.sensors in [[name] for name in KEYS]:
        return _sensor(arguments)
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
        robot.demand_haptics()
        if weight is not None:
            robot.session.set_parameter(f'{robot.prefix}/flex_calibration', 'weight', weight)
        return goal

    name = 'flex_calibration/calibrate' if weight is None else 'flex_calibration/weigh'
    result = run_shown(arguments, CalibrateFlexSensors, name, prepared, 'calibrate')
    return _finish(arguments, result)


def _sensor(arguments: argparse.Namespace) -> int:
    """Calibrate the tracker, or the force sensor, in postures at rest."""
    from soro_cli.action_client import progress_bar
    from soro_cli.sensor_tour import postures, Tour
    from soro_mechanics.robot import Robot
    from soro_mechanics.robot_file.sensor_sections import write_section
    from soro_node.display_units import number

    (name,), settle = arguments.sensors, number(arguments.settle, 's', '--settle') or 1.0
    key, count = KEYS[name], arguments.poses or 12
    with running_robot(arguments) as robot, progress_bar('calibrate') as report:
        targets = postures(Robot(robot.description), count, arguments.amplitude or 0.6)
        tour = Tour(robot, targets, settle, report)
        found, values, numbers = (_tracker if name == 'tracker' else _force)(
            tour, arguments.base, f'{count} postures'
        )
    if arguments.write:
        write_section(robot.description.file, key, values, arguments.write)
    if arguments.json:
        print_json({'error_code': 0, 'error_message': '', **numbers})
        return 0
    print_table(f'{key}, as in a robot file', ('', ''), _rows(values))
    half, left = ('  '.join(f'{x:.2g}' for x in v) for v in (found.half, found.left))
    print(f'95 %: +-{half}; left (RMS): {left} (SI)')
    if arguments.write:
        print(arguments.write)
    return 0


def _rows(values: dict[str, Any], within: str = '') -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict) and 'value' not in value:
            rows += _rows(value, f'{within}{name} ')
        else:
            rows.append((within + name, value['value'] if isinstance(value, dict) else str(value)))
    return rows


def _tracker(tour: Tour, seek: bool, note: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return what was found, as a robot file has it, and for scripts."""
    from soro_mechanics.analysis.tracker_calibration import calibrate_tracker
    from soro_mechanics.robot_file.sensor_sections import placed

    seen = tour.tracker()
    base = None if seek else seen.base
    found = calibrate_tracker(seen.tips, seen.markers, base)
    degrees = math.degrees(max(found.half[3:6]))
    note_of = f'+-{1e3 * max(found.half[:3]):.2g} mm, {degrees:.2g} deg (95 %), {note}'
    values: dict[str, Any] = {'marker': placed(found.marker, note_of)}
    if base is None:
        values['base'] = {'frame': seen.frame, **placed(found.base, note)}
    numbers = {key: getattr(found, key).tolist() for key in ('marker', 'base', 'half', 'left')}
    return found, values, {'frame': seen.frame, **numbers}


def _force(tour: Tour, seek: bool, note: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the same of a force sensor."""
    from soro_mechanics.analysis.force_calibration import calibrate_force
    from soro_mechanics.robot_file.sensor_sections import measured

    gravity, wrenches, frame = tour.force()
    found = calibrate_force(gravity, wrenches)
    force, moment, mass = max(found.half[:3]), max(found.half[3:6]), 1e3 * found.half[6]
    note = f'+-{force:.2g} N, {moment:.2g} N m, {mass:.2g} g (95 %), {note}'
    values = {
        'frame': frame,
        'force': measured(found.zero[:3], 'N', note),
        'moment': measured(found.zero[3:], 'N m', note),
        'mass': measured(1e3 * found.mass, 'g', note),
        'centre': measured(1e3 * found.centre, 'mm', note),
    }
    numbers = {key: getattr(found, key).tolist() for key in ('zero', 'centre', 'half', 'left')}
    return found, values, {'frame': frame, 'mass': found.mass, **numbers}


def _finish(arguments: argparse.Namespace, result: Any) -> int:
    from soro_mechanics.haptics.flex_calibration import read_calibration
    from soro_node.display_units import shown

    columns = ('name', 'offset', 'gain', 'rms_residual', 'max_error')
    sensors = list(zip(*(list(getattr(result, c)) for c in columns), strict=True))
    if arguments.json:
        each = [dict(zip(columns, row, strict=True)) for row in sensors]
        print_json(json_of(result, 'samples', 'saved_to') | {'sensors': each})
    else:
        rows = [
            (name, f'{offset:.1f}', f'{1e6 * gain:.3f} um', shown(rms, 'm'), shown(worst, 'm'))
            for name, offset, gain, rms, worst in sensors
        ]
        head = ('sensor', 'offset', 'per count', 'RMS error', 'largest')
        print_table(f'{result.samples} readings', head, rows)
        if result.saved_to:
            known = read_calibration(result.saved_to)
            modulus = f'{known.material:.3f} of the robot file, +-{known.material_deviation:.1%}'
            print(f'kept in {result.saved_to}; modulus {modulus}')
    return conclude(result)
