# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro simulate: a robot in motion, without a robot."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, TYPE_CHECKING

from soro_cli.verbs.mechanics_options import ACTUATION_HELP

if TYPE_CHECKING:
    from soro_mechanics.dynamics.simulation import Signal
    from soro_mechanics.robot_file.reader import RobotDescription

SUMMARY = 'compute how a robot moves and swings from its file (model network); no robot runs'
EPILOG = """\
A step goes at the rates of the actuators, a chirp between rest and the actuation.

examples:
  soro simulate stiff_flop 0.9bar 0 0 --duration 2
  soro simulate soft_parallel 60kPa 0 0 --input chirp --chirp 0.5 8 --emulated
  soro simulate stiff_flop --bag bags/stiff_flop_2026-11-20_15-50-01
"""
MODES = 3
FRAME = 0.02  # s between shapes of a recording
INPUTS = ('step', 'ramp', 'chirp')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('robot', help='name or robot file')
    parser.add_argument('actuation', nargs='*', help=ACTUATION_HELP)
    parser.add_argument('--input', choices=INPUTS, default='step', help='default: step')
    parser.add_argument('--rise', default='0.5s', help='time of a ramp')
    parser.add_argument('--chirp', nargs=2, type=float, default=(0.5, 10.0), metavar='Hz')
    parser.add_argument('--bag', type=Path, help='measured actuation of a recording instead')
    parser.add_argument('-n', '--namespace', help='which robot, in a bag of several')
    parser.add_argument('--duration', type=float, help="s; default: 2, or the bag's")
    parser.add_argument('--step', default='1ms', help='of the integration')
    parser.add_argument('--elements', type=int, help='of every integrated piece of a rod')
    parser.add_argument('--emulated', action='store_true', help='the emulated body of the file')
    parser.add_argument('-o', '--output', type=Path, help='default: out/simulations/ROBOT')
    parser.add_argument('--record', type=Path, metavar='BAG', help='write what soro view plays')
    parser.add_argument('--json', action='store_true', help='print the numbers as JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.simulation_figure import draw, write_bag, write_csv
    from soro_cli.tables import note, print_json, print_table
    from soro_emulation.emulator_settings import read_emulator_settings
    from soro_emulation.perturbation import BodyProperties, NETWORK, perturbed_robot
    from soro_mechanics.core.configuration import LoadCase
    from soro_mechanics.core.errors import SoroError
    from soro_mechanics.dynamics.modes import modes
    from soro_mechanics.dynamics.robot_motion import stepper
    from soro_mechanics.dynamics.snapshot import snapshot
    from soro_mechanics.dynamics.stepper import Options
    from soro_mechanics.robot_file.catalogue import find_robot_file
    from soro_mechanics.robot_file.reader import read_robot_file
    from soro_node.display_units import number, shown
    from soro_node.file_errors import writing

    description = read_robot_file(find_robot_file(arguments.robot))
    device = description.foreign.get('driver', {}).get('device', 'simulated')
    plant = read_emulator_settings(description, device).body
    body = BodyProperties(NETWORK, 0.0, plant.changes if arguments.emulated else ())
    duration, signal = _input(arguments, description)
    robot = perturbed_robot(description, body)
    options = Options(arguments.elements, incompressible=plant.motion.incompressible)
    step = number(arguments.step, 's', '--step')
    frames: list[Any] = []

    def keep(t: float, moving: Any) -> float:
        if t >= FRAME * len(frames) - 1e-9:
            frames.append((t, snapshot(moving, signal(t), LoadCase(gravity=robot.gravity))))
        return 1.0  # an event that never comes

    events = [keep] if arguments.record else []
    motion = robot.simulate(duration, step, signal, options=options, events=events)
    frequency: list[float] = []
    damping: list[float] = []
    try:
        resting = stepper(robot, robot.forward(motion.actuation[-1]), options)
        if resting.inertia.moving:
            found = modes(resting, MODES)
            frequency, damping = found.frequency.tolist(), found.damping.tolist()
    except SoroError as error:
        note(f'soro: no modes: {error}')
    for text in (*motion.warnings, motion.message):
        if text:
            note(f'soro: {text}')
    folder = arguments.output or Path('out/simulations') / robot.name
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    files = [write_csv(robot, motion, folder), draw(robot, motion, frequency).save(folder)]
    if arguments.record:
        files.append(write_bag(robot, frames, arguments.record))
    numbers = {
        'duration': float(motion.time[-1]),
        'mesh_error': motion.mesh_error,
        'real_time_factor': motion.real_time_factor,
        'energy_error': float(abs(motion.balance).max()),
        'tip': motion.tip[-1, :3, 3].tolist(),
        'frequency': frequency,
        'damping': damping,
        'code': int(motion.code),
    }
    if arguments.json:
        print_json({'files': [str(f) for f in files], **numbers})
    else:
        pairs = zip(frequency, damping, strict=True)
        rows = [
            ('simulated', f'{shown(motion.time[-1], "s")} in {len(motion.time) - 1} steps'),
            ('speed', f'{motion.real_time_factor:.3g} times real time'),
            ('mesh error', shown(motion.mesh_error, 'm')),
            ('energy lost by the steps', f'{numbers["energy_error"]:.3g} J at most'),
            ('modes at the end', ', '.join(f'{f:.3g} Hz ({d:.1%})' for f, d in pairs)),
        ]
        print_table(f'{robot.name} in motion', ('', ''), rows)
        for file in files:
            print(file)
    return 0 if motion.code == 0 else 1


def _input(arguments: argparse.Namespace, robot: RobotDescription) -> tuple[float, Signal]:
    """Return the duration [s] and the actuation as a function of time."""
    import numpy as np

    from soro_node.display_units import feasible_actuation, number
    from soro_node.user_errors import UserError

    if arguments.bag is not None:
        from soro_recording.open_bag import open_bag
        from soro_recording.run_data import choose_namespace, RunData

        with open_bag(arguments.bag) as bag:
            namespace = choose_namespace(bag, arguments.namespace)
            recorded = RunData(bag, namespace, robot.file).actuation()
        known = np.isfinite(recorded.present).all(axis=1)
        if not known.any():
            raise UserError(f'{arguments.bag} holds no moment with all actuators known')
        time, values = recorded.time[known] - recorded.time[known][0], recorded.present[known]
        return arguments.duration or float(time[-1]), lambda t: np.array(
            [np.interp(t, time, column) for column in values.T]
        )
    if not arguments.actuation:
        raise UserError('write an actuation to go to, or --bag BAG', 2)
    duration = 2.0 if arguments.duration is None else arguments.duration
    rest = np.array([a.rest for a in robot.actuators])
    rate = np.array([a.rate for a in robot.actuators])
    way = np.array(feasible_actuation(arguments.actuation, robot)) - rest
    rise = number(arguments.rise, 's', '--rise')
    first, last = arguments.chirp

    def chirp(t: float) -> float:
        return 0.5 - 0.5 * np.cos(2.0 * np.pi * t * (first + (last - first) * t / (2 * duration)))

    signals = {
        'step': lambda t: rest + np.clip(way, -rate * t, rate * t),
        'ramp': lambda t: rest + way * (min(1.0, t / rise) if rise > 0.0 else 1.0),
        'chirp': lambda t: rest + way * chirp(t),
    }
    return duration, signals[arguments.input]
