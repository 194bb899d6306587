# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A simulated motion as a table and a figure: tip, energies, frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
import numpy as np

from soro_mechanics.dynamics.simulation import Simulation
from soro_mechanics.robot import Robot
from soro_node.file_errors import writing
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
