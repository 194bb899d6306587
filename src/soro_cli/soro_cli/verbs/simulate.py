# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro simulate: a robot in motion, without a robot."""

from __future__ import annotations

import argparse
from contextlib import suppress
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
MOTION = 'motion'  # what of a robot's kernels is marked
INPUTS = ('step', 'ramp', 'chirp')
FINE = 0.05  # of a period, that a step may be; of the energy, that the balance may miss


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('robot', help='name or robot file')
    parser.add_argument('actuation', nargs='*', help=ACTUATION_HELP)
    parser.add_argument('--input', choices=INPUTS, help='default: step')
    parser.add_argument('--rise', help='time of a ramp, default: 0.5s')
    parser.add_argument('--chirp', nargs=2, metavar='Hz', help='from, to; default: 0.5 10')
    parser.add_argument('--bag', type=Path, help='measured actuation of a recording instead')
    parser.add_argument('-n', '--namespace', help='which robot, in a bag of several')
    parser.add_argument('--duration', help="default: 2s, or the bag's")
    parser.add_argument('--step', default='1ms', help='of the integration, default: 1ms')
    parser.add_argument('--elements', type=int, help='of every rod')
    parser.add_argument('--emulated', action='store_true', help='the emulated body of the file')
    parser.add_argument('-o', '--output', type=Path, help='default: out/simulations/ROBOT')
    parser.add_argument('--record', type=Path, metavar='BAG', help='write what soro view plays')
    parser.add_argument('--json', action='store_true', help='print the numbers as JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_mechanics.robot_file.catalogue import find_robot_file
    from soro_mechanics.robot_file.reader import read_robot_file

    description = read_robot_file(find_robot_file(arguments.robot))
    duration, signal = _input(arguments, description)
    step = _above_zero(arguments.step, 's', '--step')

    # What computes and draws, once it is known what.
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
    from soro_node.display_units import shown, shown_position
    from soro_node.file_errors import unused, writing
    from soro_node.process.warm_up import mark_of

    if arguments.record:
        unused(arguments.record, '--record')
    device = description.foreign.get('driver', {}).get('device', 'simulated')
    plant = read_emulator_settings(description, device).body
    body = BodyProperties(NETWORK, 0.0, plant.changes if arguments.emulated else ())
    robot = perturbed_robot(description, body)
    options = Options(arguments.elements, incompressible=plant.motion.incompressible)
    mark = mark_of(description.file, MOTION)
    if not mark.exists():
        note('soro: the first time kernels may be compiled, for minutes')
    frames: list[Any] = []

    def keep(t: float, moving: Any) -> float:
        if t >= FRAME * len(frames) - 1e-9:
            frames.append((t, snapshot(moving, signal(t), LoadCase(gravity=robot.gravity))))
        return 1.0  # an event that never comes

    events = [keep] if arguments.record else []
    motion = robot.simulate(duration, step, signal, options=options, events=events)
    with suppress(OSError):  # a folder that cannot be written: said, and compiled, every time
        mark.touch()
    frequency: list[float] = []
    damping: list[float] = []
    try:
        resting = stepper(robot, robot.forward(motion.actuation[-1]), options)
        if resting.inertia.moving:
            found = modes(resting, MODES)
            frequency, damping = found.frequency.tolist(), found.damping.tolist()
    except SoroError as error:
        note(f'soro: no modes: {error}')
    missed = float(abs(motion.balance).max())
    energy = motion.strain + motion.gravity + motion.dissipated
    remarks = [*motion.warnings, motion.message]
    if frequency and step * frequency[0] > FINE:
        remarks.append(f'the step is more than a twentieth of a period at {frequency[0]:.3g} Hz')
    if missed > FINE * max(energy.max() - energy.min(), 1e-9):  # J
        remarks.append('the steps miss much of the energy: take shorter ones, or a ramp')
    for text in filter(None, remarks):
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
        'energy_error': missed,
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
            ('tip at the end', shown_position(numbers['tip'])),
            ('mesh error', f'{1e3 * motion.mesh_error:.2g} mm'),
            ('error of the energy balance', f'{missed:.2g} J at most'),
            ('modes at the end', ', '.join(f'{f:.3g} Hz ({d:.1%})' for f, d in pairs)),
        ]
        print_table(f'{robot.name} in motion', ('', ''), rows)
        for file in files:
            print(file)
    return 0 if motion.code == 0 else 1


def _input(arguments: argparse.Namespace, robot: RobotDescription) -> tuple[float, Signal]:
    """Return the duration [s] and the actuation as a function of time."""
    import numpy as np

    from soro_node.display_units import feasible_actuation
    from soro_node.user_errors import UserError

    kind = arguments.input or 'step'
    for option, of in (('rise', 'ramp'), ('chirp', 'chirp')):
        if getattr(arguments, option) is not None and (kind != of or arguments.bag):
            raise UserError(f'--{option} is for --input {of}', 2)
    asked = arguments.duration and _above_zero(arguments.duration, 's', '--duration')
    if arguments.bag is not None:
        if arguments.actuation or arguments.input:
            raise UserError('--bag brings its actuation: leave out the other, and --input', 2)
        from soro_recording.open_bag import open_bag
        from soro_recording.run_data import choose_namespace, RunData

        with open_bag(arguments.bag) as bag:
            namespace = choose_namespace(bag, arguments.namespace)
            recorded = RunData(bag, namespace, robot.file).actuation
        known = np.isfinite(recorded.present).all(axis=1)
        if not known.any():
            raise UserError(f'{arguments.bag} holds no moment with all actuators known')
        time, values = recorded.time[known] - recorded.time[known][0], recorded.present[known]
        return asked or float(time[-1]), lambda t: np.array(
            [np.interp(t, time, column) for column in values.T]
        )
    if not arguments.actuation:
        raise UserError('write an actuation to go to, or --bag BAG', 2)
    duration = asked or 2.0
    rest = robot.rest
    rate = np.array([a.rate for a in robot.actuators])
    way = np.array(feasible_actuation(arguments.actuation, robot)) - rest
    rise = _above_zero(arguments.rise or '0.5s', 's', '--rise')
    first, last = (_above_zero(f, '1/s', '--chirp') for f in arguments.chirp or ('0.5', '10'))

    def chirp(t: float) -> float:
        return 0.5 - 0.5 * np.cos(2.0 * np.pi * t * (first + (last - first) * t / (2 * duration)))

    signals = {
        'step': lambda t: rest + np.clip(way, -rate * t, rate * t),
        'ramp': lambda t: rest + way * min(1.0, t / rise),
        'chirp': lambda t: rest + way * chirp(t),
    }
    return duration, signals[kind]


def _above_zero(text: str, si_unit: str, option: str) -> float:
    """Read a quantity above zero; a bare number is in SI."""
    from soro_mechanics.core.robot_input import positive
    from soro_node.display_units import number

    try:
        value = float(text)
    except ValueError:
        value = number(text, si_unit, option)
    return positive(option, value)
