# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro identify: numbers of a robot file from a recording, or lambda(P) from a recorded table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soro_cli.identified import conclude, error_table, identify_past, intervals, shares, Table
from soro_cli.tables import note, print_json, print_table
from soro_cli.verbs.mechanics_options import whole
from soro_node.file_errors import writing
from soro_node.user_errors import UserError

SUMMARY = 'fit a robot file to a recording (bag), or find lambda(P) of legs in a table (CSV)'
EPILOG = """\
examples:
  soro identify bags/run --write my_robot.yaml
  soro identify bags/run --parameter EI=ancf.EI --parameter leg=ancf.legs.*.stretch:growth
  soro identify bags/run --fix bending_stiffness --tip tracker/pose --marker-offset
  soro identify bags/run --tip tracker/pose --gravity 0 0 9.81m/s^2
  soro identify bags/run --offsets-only --sensor-offset pair_1 --sensor-offset pair_2
  soro identify bags/run --history hysteresis --history creep --tip tip_measured --write my.yaml
  soro identify theirs.csv --robot my_robot.yaml --mapping theirs.yaml
  soro identify legs.csv --robot soft_parallel
  soro identify tips.csv --robot soft_parallel --write my_robot.yaml
  soro launch my_robot.yaml namespace:=mine

A table has one row per leg and measurement (leg, pressure [kPa], length [mm] or stretch), or one
per posture (leg_1 [kPa], leg_2 [kPa], leg_3 [kPa], x [mm], y [mm], z [mm]). Bad data is refused.
"""
FAR = 0.02  # (assumed) of the body's length: more is no noise of a tracker
LACKING = (
    'the model may lack something. A marker beside the tip (--marker-offset)? '
    'What the actuators did before (--history hysteresis)? Friction?'
)
FOLLOWS = ', and follow what the robot did: an error as large sets the intervals'
QUALITY = ('points', 'rms', 'largest', 'hysteresis', 'r_squared')  # of a fitted lambda(P)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('recording', help='folder of a bag, an .mcap file, or a CSV table')
    parser.add_argument(
        '--robot', help='name of the catalogue, or a robot file; default for a bag: the file in it'
    )
    parser.add_argument('--write', metavar='FILE', help='robot file that gets the result')
    parser.add_argument('--knots', type=int, default=7, help='table only: points of each curve')
    parser.add_argument(
        '--mapping',
        metavar='FILE',
        help='which columns, or fields of topics, of data that soro '
        'did not record are actuators and tip (docs/recording.md)',
    )
    bag = parser.add_argument_group('bags, and tables with a mapping')
    bag.add_argument('-n', '--namespace', help='which robot, in a bag of several')
    bag.add_argument('--model', help="default: the one that ran, else the robot's first")
    bag.add_argument('--tip', metavar='TOPIC', help='measured poses of the tip (relative name)')
    bag.add_argument(
        '--gravity',
        nargs=3,
        metavar=('X', 'Y', 'Z'),
        help="in base_link, as the robot was mounted (0 0 9.81m/s^2); default: the solver's",
    )
    bag.add_argument(
        '--parameter',
        action='append',
        default=[],
        metavar='NAME=PATH',
        help='number(s) of the robot file to fit; * for every entry; default: by the model',
    )
    bag.add_argument(
        '--fix', action='append', default=[], metavar='NAME', help='leave it as it is'
    )
    bag.add_argument(
        '--sensor-offset',
        action='append',
        default=[],
        metavar='ACTUATOR',
        help='fit the zero of its sensor too; all for every actuator',
    )
    bag.add_argument(
        '--marker-offset',
        action='store_true',
        help="fit where the marker is in the tip's frame too",
    )
    bag.add_argument(
        '--offsets-only', action='store_true', help='leave all numbers of the file as they are'
    )
    bag.add_argument(
        '--history',
        action='append',
        default=[],
        choices=('hysteresis', 'creep', 'delay'),
        help="fit the actuators' past instead, from a motion; --write: the planner undoes it",
    )
    bag.add_argument(
        '--speed', default='10mm/s', help='faster motion is left out (default: %(default)s)'
    )
    bag.add_argument(
        '--settling', default='1s', help='rest before a posture counts (default: %(default)s)'
    )
    bag.add_argument('--hold-out', type=float, default=0.3, help='share of postures kept for test')
    bag.add_argument('--seed', type=whole(), default=0, help='which postures are held out')
    bag.add_argument(
        '-o',
        '--output',
        type=Path,
        help='folder of the picture (default: out/identify/<bag>, with several robots in the bag '
        'out/identify/<bag>/<namespace>)',
    )
    parser.add_argument('--json', action='store_true', help='SI units, one line')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    path = Path(arguments.recording)
    write = arguments.write or 'robot.yaml'
    same = Path(write).resolve() == Path(arguments.mapping or '').resolve()
    if same or not write.endswith(('.yaml', '.yml')):
        raise UserError(f'--write {write}: name a robot file, *.yaml, not what is read')
    if arguments.mapping or path.suffix == '.mcap' or path.is_dir() or not path.exists():
        return _of_bag(arguments, path)
    return _of_table(arguments)


def _of_bag(arguments: argparse.Namespace, path: Path) -> int:
    from soro_node import display_units

    speed = display_units.number(arguments.speed, 'm/s', '--speed')
    settling = display_units.number(arguments.settling, 's', '--settling')
    if not 0.0 < arguments.hold_out < 1.0:
        text = f'--hold-out {arguments.hold_out:g}: a share between 0 and 1 is needed (0.3: 30 %)'
        raise UserError(text)
    with _recorded(arguments, path, speed, settling) as (data, tip, rests, folder):
        from soro_mechanics.identification.fit import identify
        from soro_mechanics.identification.offsets import body_length
        from soro_mechanics.identification.parameters import ParameterSpace
        from soro_mechanics.robot import Robot
        from soro_recording.identify_report import draw_report
        from soro_recording.run_figures import save_figure

        model = arguments.model or _model(data)
        robot = Robot(data.description, model)
        gravity, by = _gravity(arguments, data)
        if arguments.history:
            robot.gravity = gravity
            return identify_past(arguments, robot, data, tip, folder)
        observations = rests()
        space = ParameterSpace(data.description, _parameters(arguments, robot))
        offsets = _offsets(arguments, robot, data.actuation)
        if not arguments.json:
            what = 'pose' if observations.oriented else 'position alone, orientation not measured'
            values = ' '.join(f'{g:g}' for g in gravity)
            note(
                f'{len(observations)} postures, measured by {tip.topic} ({what}); model {model}; '
                f'gravity {values} m/s^2 ({by}); actuation {_actuation(data.actuation)}'
            )
        held_out = {'hold_out': arguments.hold_out, 'seed': arguments.seed}
        found = identify(space, model, observations, offsets=offsets, gravity=gravity, **held_out)
        left = found.held_after.position
        if not arguments.json and (found.systematic or left > FAR * body_length(robot)):
            how = FOLLOWS if found.systematic else ''
            note(f'soro: {display_units.shown(left, "m")} are left{how}; {LACKING}')
        figure = draw_report(data, space, model, observations, found, gravity, offsets)
        picture = save_figure(figure, (arguments.output or folder) / 'identification.png')
        if arguments.write and found.better and found.names:
            with writing(Path(arguments.write)):
                space.write(found.factors.tolist(), Path(arguments.write))
        answer = _result(found, observations, gravity, data.actuation)
    written = bool(found.names) and found.better
    return conclude(arguments, found.better, answer, _tables(space, found), picture, written)


@contextmanager
def _recorded(
    arguments: argparse.Namespace, path: Path, speed: float, settling: float
) -> Iterator[tuple[Any, Any, Callable[[], Any], Path]]:
    """Open a recording: yield the run, its measured tip, what finds postures, a folder."""
    from soro_recording.open_bag import default_folder, open_bag

    if arguments.mapping:
        from soro_recording.mapped_run import MappedRun

        if not arguments.robot or arguments.tip or arguments.namespace:
            raise UserError('--mapping needs --robot, and says itself what --tip and -n would')
        mapped = MappedRun(path, Path(arguments.mapping), arguments.robot)
        if arguments.history and not mapped.timed:
            raise UserError('--history needs times: name their column in the mapping (time)')
        folder = Path('out', 'identify', path.stem)
        yield mapped, mapped.tip, lambda: mapped.observations(speed, settling), folder
        return
    with open_bag(path) as bag:
        from soro_recording.identify_postures import postures
        from soro_recording.identify_tip import measured_tip
        from soro_recording.run_data import choose_namespace, RunData

        data = RunData(bag, choose_namespace(bag, arguments.namespace), arguments.robot)
        for text in data.notes:
            note(f'soro: {text}')
        tip = measured_tip(data, arguments.tip)
        folder = default_folder('identify', bag, data.namespace)
        yield data, tip, lambda: postures(data, tip, speed, settling), folder


def _model(data: Any) -> str:
    """Return the model that ran, else the robot's first."""
    from soro_recording.run_data import PRESENT

    shapes = data.shapes(PRESENT)
    if shapes is None:
        return str(data.description.models[0])
    if len(shapes.models) > 1:
        raise UserError(
            f'the model was changed during the recording ({", ".join(shapes.models)}): say which '
            f'one is to be fitted (--model {shapes.models[0]})'
        )
    return str(shapes.models[0])


def _actuation(data: Any) -> str:
    """Return where the actuation of the postures is from, for a person."""
    from itertools import compress

    blind = list(compress(data.names, ~data.sensed))
    seen = {name: share for name, share in data.unmeasured.items() if 5e-4 < share < 1.0}  # 0.1 %
    gaps = [f'{name} {share:.1%}' for name, share in seen.items()]
    text = 'measured'
    if blind:
        text = f'applied for {", ".join(blind)} (never measured), measured for the others'
    if len(blind) == len(data.names):
        text = 'applied, none was measured'
    return f'{text}; sensor silent, left out: {", ".join(gaps)}' if gaps else text


def _gravity(arguments: argparse.Namespace, data: Any) -> tuple[Any, str]:
    """Return gravity in base_link [m/s^2] and who says so."""
    import numpy as np

    from soro_node import display_units
    from soro_recording.run_data import PRESENT

    if arguments.gravity is not None:
        words = zip('xyz', arguments.gravity, strict=True)
        values = [display_units.number(word, 'm/s^2', f'--gravity {axis}') for axis, word in words]
        return np.array(values), '--gravity'
    shapes = data.shapes(PRESENT)
    if shapes is None or shapes.gravity is None:
        return data.description.gravity, 'robot file'
    if np.ptp(shapes.gravity, axis=0).any():
        raise UserError(
            'the gravity of the solver was changed during the recording: say which one was true '
            '(--gravity 0 0 -9.81m/s^2), or record each mounting by itself'
        )
    return shapes.gravity[0], 'recorded'


def _parameters(arguments: argparse.Namespace, robot: Any) -> list[Any]:
    from soro_mechanics.identification.defaults import default_parameters
    from soro_mechanics.identification.parameters import parameter_from_text

    if arguments.offsets_only:
        if arguments.parameter or arguments.fix or arguments.write:
            raise UserError(
                '--offsets-only leaves the robot file as it is: '
                '--parameter, --fix and --write say nothing then'
            )
        if not (arguments.sensor_offset or arguments.marker_offset):
            raise UserError('--offsets-only: which? add --sensor-offset or --marker-offset')
        return []
    chosen = [parameter_from_text(text) for text in arguments.parameter]
    chosen = chosen or default_parameters(robot)
    names = [p.name for p in chosen]
    for name in arguments.fix:
        if name not in names:
            raise UserError(f'--fix {name}: no such parameter; there are: {", ".join(names)}')
    return [p for p in chosen if p.name not in arguments.fix]


def _offsets(arguments: argparse.Namespace, robot: Any, data: Any) -> Any:
    """Return the offsets that are asked for, or None."""
    from soro_mechanics.identification.offsets import Offsets

    sensors = arguments.sensor_offset
    if 'all' in sensors:
        sensors = [a.name for a in robot.actuators]
    for name in sensors:
        if data.unmeasured.get(name) == 1.0:
            raise UserError(
                f'--sensor-offset {name}: the recording holds no measurement of it; leave it out'
            )
    if not (sensors or arguments.marker_offset):
        return None
    return Offsets(robot, sensors, arguments.marker_offset)


def _result(found: Any, observations: Any, gravity: Any, actuation: Any) -> dict[str, Any]:
    """Return what was found, for scripts."""
    from dataclasses import asdict

    rows = zip(found.names, found.factors, found.low, found.high, strict=True)
    sources = zip(actuation.unmeasured.items(), actuation.sensed, strict=True)
    kinds = ('before', 'after', 'held_before', 'held_after', 'noise')
    return {
        'parameters': {
            name: {'factor': float(f), 'low': float(low), 'high': float(high)}
            for name, f, low, high in rows
        },
        'offsets': intervals(found.offsets),
        'level': None if found.systematic else found.level,
        'systematic': found.systematic,
        'better': found.better,
        'correlation': found.correlation.tolist(),
        'actuation': {
            name: {'source': 'measured' if sensed else 'applied', 'unmeasured': share}
            for (name, share), sensed in sources
        },
        'postures': len(observations),
        'oriented': observations.oriented,
        'gravity': gravity.tolist(),
        **{kind: asdict(getattr(found, kind)) for kind in kinds},
    }


def _tables(space: Any, found: Any) -> Iterator[Table]:
    """Return what was found, for a person."""
    rows = [
        (
            name,
            space.shown(i, 1.0),
            space.shown(i, found.factors[i]),
            f'{found.factors[i]:.4f}',
            f'{found.low[i]:.4f} to {found.high[i]:.4f}',
        )
        for i, name in enumerate(found.names)
    ]
    yield '', ('parameter', 'in the file', 'identified', 'factor', found.interval), rows
    header = ('offset', 'identified', found.interval)
    yield 'offsets of the recording', header, shares(found.offsets)
    errors = (found.before, found.after, found.held_before, found.held_after)
    yield error_table('postures', [e.position for e in errors])


def _of_table(arguments: argparse.Namespace) -> int:
    from soro_mechanics.identification.stretch_fit import identify_stretch
    from soro_mechanics.identification.stretch_robot_file import write_identified
    from soro_mechanics.identification.stretch_table import read_stretch_table
    from soro_mechanics.models.ancf.model import Ancf
    from soro_mechanics.robot import load_robot

    if arguments.robot is None:
        raise UserError('a table does not say which robot it is of: add --robot NAME')
    robot = load_robot(arguments.robot)
    if not isinstance(robot.model_object, Ancf):
        raise UserError(f'{robot.name}: its first model is not ancf, it has no lambda(P)')
    table = read_stretch_table(arguments.recording, robot.model_object)
    fits = identify_stretch(table, robot.limits[:, 1], arguments.knots)
    if arguments.write:
        with writing(Path(arguments.write)):
            write_identified(robot.model_object.description, fits, arguments.write)
    if arguments.json:
        print_json(
            {
                fit.leg: {
                    'pressures': fit.curve.pressures.tolist(),
                    'stretch': fit.curve.values.tolist(),
                    **{name: getattr(fit, name) for name in QUALITY},
                }
                for fit in fits
            }
        )
        return 0
    rows = [
        (fit.leg, f'{fit.curve.values[-1]:.4f}', *(f'{getattr(fit, q):.5g}' for q in QUALITY))
        for fit in fits
    ]
    header = ('leg', 'largest', 'points', 'rms', 'worst', 'hysteresis', 'R^2')
    print_table('stretch lambda(P)', header, rows)
    if arguments.write:
        note(f'written: {arguments.write}')
    return 0
