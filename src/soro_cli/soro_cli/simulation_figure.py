# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A simulated motion as table, figure (tip, energies, frequencies) and recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
import numpy as np
from rclpy.serialization import serialize_message

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.dynamics.simulation import Simulation
from soro_mechanics.robot import Robot
from soro_msgs.msg import ActuatorState, Revision
from soro_msgs.msg import Configuration as Shape
from soro_node.conversions import configuration_to_message
from soro_node.file_errors import writing
from soro_node.user_errors import UserError
from soro_recording.bag_reader import MESSAGES
from soro_recording.bag_writer import BagWriter
from soro_recording.message_definitions import full_definition
from soro_recording.run_figures import COLOURS, Drawn, MM

ENERGIES = ('kinetic', 'strain', 'gravity', 'work', 'dissipated')


def write_csv(robot: Robot, motion: Simulation, folder: Path) -> Path:
    """Write time, tip, energies and actuation, SI; a row for every step."""
    path = folder / 'simulation.csv'
    names = ['time', 'x', 'y', 'z', *ENERGIES, *(a.name for a in robot.actuators)]
    energies = [getattr(motion, name) for name in ENERGIES]
    table = np.column_stack([motion.time, motion.tip[:, :3, 3], *energies, motion.actuation])
    with writing(path):
        np.savetxt(path, table, '%.9g', ',', header=','.join(names), comments='')
    return path


def write_bag(robot: Robot, frames: Sequence[tuple[float, Configuration]], folder: Path) -> Path:
    """Write shapes at times [s] as a recording, which `soro view` plays; the folder is new."""
    with writing(folder):
        bag = BagWriter(folder)
    file, names = Path(robot.description.file), [a.name for a in robot.actuators]
    bag.add_note(MESSAGES, {'revision': str(Revision.CURRENT)})
    bag.add_file(f'/{robot.name}/robot.yaml', 'application/yaml', file.read_bytes())
    kinds = [f'soro_msgs/msg/{name}' for name in ('ActuatorState', 'Configuration')]
    places = f'/{robot.name}/actuator_state', f'/{robot.name}/configuration'
    topics = [bag.add_topic(*t, full_definition(t[1])) for t in zip(places, kinds, strict=True)]
    for time, q in frames:
        state = ActuatorState(name=names, flags=[0] * len(names), source='soro simulate')
        stamp = state.header.stamp
        stamp.sec, stamp.nanosec = 1 + int(time), int(time % 1.0 * 1e9)  # zero means unknown
        state.quantity = [a.quantity_code for a in robot.actuators]
        state.commanded = state.applied = state.measured = q.actuation.tolist()
        frame = f'{robot.name}/base_link'
        shape = configuration_to_message(q, robot.description, frame, stamp, Shape.FROM_REQUEST)
        for topic, message in zip(topics, (state, shape), strict=True):
            bag.write(topic, stamp.sec * 10**9 + stamp.nanosec, serialize_message(message))
    bag.close()
    if bag.dropped:
        raise UserError(f'{folder}: {bag.dropped} messages were not written; {bag.failure}')
    return folder


def draw(robot: Robot, motion: Simulation, frequency: Sequence[float]) -> Drawn:
    """Draw the tip, the energies, and the spectrum of the tip with the modes beside it."""
    figure = Figure(figsize=(10.0, 9.0), layout='constrained')
    figure.suptitle(f'{robot.description.title}: simulated motion', fontsize=11)
    tip, energy, spectrum = figure.subplots(3, 1)
    place = motion.tip[:, :3, 3]
    for column, name, colour in zip(place.T, 'xyz', COLOURS, strict=False):
        tip.plot(motion.time, MM * column, color=colour, lw=1.0, label=name)
    for name, colour in zip(ENERGIES, COLOURS, strict=False):
        energy.plot(motion.time, getattr(motion, name), color=colour, lw=1.0, label=name)
    moved = np.linalg.norm(np.fft.rfft(motion.tip_twist[:, :3], axis=0), axis=1)
    hertz = np.fft.rfftfreq(len(place), float(np.median(np.diff(motion.time))))
    spectrum.semilogy(
        hertz[1:], np.maximum(moved[1:] / len(place), 1e-15), color=COLOURS[0], lw=1.0
    )
    for f in frequency:
        spectrum.axvline(f, color='#c0392b', ls='--', lw=0.8)
    spectrum.set_xlim(0.0, 3.0 * max(frequency, default=30.0))
    for ax, x, y in (
        (tip, 'time [s]', 'tip [mm]'),
        (energy, 'time [s]', 'energy [J]'),
        (spectrum, 'frequency [Hz], dashed: modes', 'speed of the tip [m/s]'),
    ):
        ax.set(xlabel=x, ylabel=y)
        ax.grid(alpha=0.3)
        if ax is not spectrum:
            ax.legend(fontsize=8, loc='best')
    return Drawn('simulation', figure, {})
