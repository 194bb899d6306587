# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro calibrate: move the motors, record the flex sensors, fit, keep."""

from __future__ import annotations

import argparse
from typing import Any

from soro_cli.robot_choice import add_robot_options, RunningRobot
from soro_cli.tables import print_json, print_table
from soro_cli.verbs.mechanics_options import conclude
from soro_node.user_errors import UserError

SUMMARY = 'calibrate the flex sensors of a haptic device; the robot moves'
EPILOG = """\
Nobody may touch the handle meanwhile. The fit is kept only where it is good enough; what was
measured is kept in any case and can be fitted again (--recorded).

examples:
  soro calibrate                     64 extremes of the motors in random order, then fit and keep
  soro calibrate --poses 16 --try    fewer, and only report
  soro calibrate --weight 200g       then: hang a weight on when asked to; shows how stiff legs are
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('sensors', nargs='*', metavar='SENSOR', help='default: all of them')
    parser.add_argument('--poses', type=int, default=0, help='extremes of the motors to visit')
    parser.add_argument('--amplitude', type=float, default=0.0, help="part of the motors' range")
    parser.add_argument('--settle', default='0', help='rest at each extreme, for example 200ms')
    parser.add_argument('--samples', type=int, default=0, help='readings at each extreme')
    parser.add_argument('--max-residual', default='0', help='RMS above which a fit is refused')
    parser.add_argument('--weight', help='of what is hung on the handle, to find the modulus')
    parser.add_argument('--recorded', action='store_true', help='fit the last recording again')
    parser.add_argument('--try', action='store_true', dest='only_try', help='do not keep the fit')
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
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
            _set_weight(robot, weight)
        return goal

    name = 'flex_calibration/calibrate' if weight is None else 'flex_calibration/weigh'
    result = run_shown(
        arguments, CalibrateFlexSensors, name, prepared, 'calibrate', lambda f: f.step
    )
    return _finish(arguments, result)


def _material(file: str) -> str:
    from soro_mechanics.haptics.flex_calibration import read_calibration

    known = read_calibration(file)
    return f'; modulus {known.material:.3f} of the robot file, +-{known.material_deviation:.1%}'


def _set_weight(robot: RunningRobot, weight: float) -> None:
    """Tell the node what is hung on, before it asks for it."""
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import Parameter

    request = SetParameters.Request()
    request.parameters.append(Parameter('weight', value=weight).to_parameter_msg())
    name = f'{robot.namespace}/flex_calibration/set_parameters'
    reply = robot.session.call(SetParameters, name, request).results[0]
    if not reply.successful:
        raise UserError(reply.reason)


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
