# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro curves: record runs of pneumatic muscles, and identify their tables from recorded runs."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
import json
from pathlib import Path
import sys

IO_TIMEOUT, OPEN_TIMEOUT = 2.0, 6.0  # s, nobody waits for this one
SUMMARY = "identify a muscle robot's inflation and deflation curves from recorded runs"
EPILOG = """\
examples:
  soro curves identify runs.csv > curves.txt     # lines for driver.stm32 of the robot file
  soro curves record runs.csv --robot my_robot.yaml             # needs length_sensors: true
  soro curves record runs.csv --robot my_robot.yaml --emulator /my_robot

The file has the columns muscle, run, action (inflate or deflate), time_s (for how long the valve
was open, from 0) and length_mm (free length of the muscle). Bad data are refused.
`record` needs the port for itself: launch with autostart:=false, or stop the driver.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('what', choices=('identify', 'record'))
    parser.add_argument('file', type=Path, help='CSV file with the runs')
    parser.add_argument('--robot', '-r', default='pam_continuum', help='name or file')
    parser.add_argument('--knots', type=int, default=14, help='points of each table')
    parser.add_argument(
        '--tolerance', default='0.5mm', metavar='LENGTH', help='residual that is believed'
    )
    parser.add_argument(
        '--emulator', metavar='NAMESPACE', help='record from the emulator of this namespace'
    )
    parser.add_argument('--json', action='store_true', help='print JSON, SI units throughout')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    return _record(arguments) if arguments.what == 'record' else _identify(arguments)


def _identify(arguments: argparse.Namespace) -> int:
    from soro_node.display_units import number
    from soro_stm32_driver.curve_files import read_runs, robot_file_lines
    from soro_stm32_driver.curve_identification import identify_curve

    tolerance = number(arguments.tolerance, 'm', '--tolerance')
    fits = {
        name: identify_curve(runs, arguments.knots, tolerance, name)
        for name, runs in read_runs(arguments.file).items()
    }
    if arguments.json:
        table = {
            name: {'residual': fit.residual, 'worst': fit.worst, 'samples': fit.samples}
            for name, fit in fits.items()
        }
        print(json.dumps({'error_code': 0, 'muscles': table}))
        return 0
    print('\n'.join(robot_file_lines({name: fit.curve for name, fit in fits.items()})))
    for name, fit in fits.items():
        text = f'{1e3 * fit.residual:.3f} mm rms, {1e3 * fit.worst:.3f} mm at worst'
        print(f'{name}: {text}, {fit.samples} samples', file=sys.stderr)
    return 0


def _record(arguments: argparse.Namespace) -> int:
    from soro_driver.device import DeviceError
    from soro_driver.endpoint import derive
    from soro_driver.settings import read_driver_settings
    from soro_mechanics.robot_file.catalogue import find_robot_file
    from soro_mechanics.robot_file.reader import read_robot_file
    from soro_node.file_errors import unused
    from soro_node.user_errors import UserError
    from soro_stm32_driver.curve_files import write_runs
    from soro_stm32_driver.curve_recording import CurveRecorder
    from soro_stm32_driver.transport import Stm32Transport
    from soro_stm32_driver.wiring import read_wiring

    unused(arguments.file, 'FILE')
    robot = read_robot_file(find_robot_file(arguments.robot))
    settings = read_driver_settings(robot)
    wiring = read_wiring(settings.section, robot)
    if arguments.emulator is not None:
        endpoint = derive(arguments.emulator, settings.device)
        wiring = replace(wiring, port=str(endpoint.path), serial=0)
    transport = Stm32Transport(wiring, IO_TIMEOUT, OPEN_TIMEOUT)
    try:
        transport.open()
        try:
            stroke = max(c.inflate_time[-1] for c in wiring.curves)
            recorder = CurveRecorder(transport, wiring.curves[0].shortest, stroke)
            runs = list(recorder.record(lambda text: print(text, file=sys.stderr)))
        finally:  # whatever ends it, Ctrl-C too: muscles may be inflated, the board be armed
            with suppress(DeviceError):
                transport.disarm()
    except DeviceError as error:
        raise UserError(str(error), error.code) from None
    finally:
        transport.close()
    names = [a.name for a in robot.actuators]
    write_runs(arguments.file, [(names[muscle], 1, run) for muscle, run in runs])
    print(f'{len(runs)} runs written to {arguments.file}', file=sys.stderr)
    return 0
