# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The picture of the demo: pressures, bending, elongation, tip path; model against plant."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np

from soro_cli.demo.recording import Recording

MODEL, PLANT = '#1f6feb', '#d1570a'
PAIRS = ('#117a65', '#7d3c98', '#b7950b')


def plot_demo(recording: Recording, title: str, path: Path) -> None:
    """Draw a recording into a PNG."""
    figure = Figure(figsize=(13.0, 10.0), layout='constrained')
    axes = figure.subplots(3, 2)
    figure.suptitle(title)
    _pressures(axes[0, 0], recording)
    _over_time(axes[1, 0], recording, 3, 180.0 / np.pi, 'bending angle [deg]')
    _over_time(axes[2, 0], recording, 4, 1e3, 'elongation of the backbone [mm]')
    axes[2, 0].set_xlabel('time [s]')
    _path(axes[0, 1], recording, 0, 2)
    _path(axes[1, 1], recording, 0, 1)
    _error(axes[2, 1], recording)
    for ax in axes.flat:
        ax.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def _pressures(ax: Axes, r: Recording) -> None:
    for i, (name, colour) in enumerate(zip(r.names, PAIRS, strict=False)):
        ax.plot(r.time, r.commanded[:, i] / 1e5, ':', color=colour, lw=1.0)
        ax.plot(r.time, r.measured[:, i] / 1e5, color=colour, lw=1.0, label=name)
    ax.set_ylabel('pressure [bar]')
    ax.set_ylim(top=1.3 * float(np.nanmax(r.commanded)) / 1e5)  # room for the legend
    ax.set_title('measured (lines) and commanded (dots)', fontsize=9)
    ax.legend(loc='upper left', ncols=3, fontsize=8)


def _over_time(ax: Axes, r: Recording, column: int, scale: float, label: str) -> None:
    ax.plot(r.time, scale * r.plant[:, column], color=PLANT, lw=1.6, label='plant (emulator)')
    ax.plot(r.time, scale * r.model[:, column], color=MODEL, lw=1.0, label='model')
    ax.set_ylabel(label)
    ax.legend(loc='upper left', fontsize=8)


def _path(ax: Axes, r: Recording, i: int, j: int) -> None:
    ax.plot(1e3 * r.plant[:, i], 1e3 * r.plant[:, j], color=PLANT, lw=1.6, label='plant')
    ax.plot(1e3 * r.model[:, i], 1e3 * r.model[:, j], color=MODEL, lw=1.0, label='model')
    ax.set_xlabel(f'{"xyz"[i]} [mm]')
    ax.set_ylabel(f'{"xyz"[j]} [mm]')
    ax.set_title('path of the tip', fontsize=9)
    ax.set_aspect('equal', adjustable='datalim')


def _error(ax: Axes, r: Recording) -> None:
    for i, name in enumerate('xyz'):
        ax.plot(r.time, 1e3 * (r.model[:, i] - r.plant[:, i]), lw=1.0, label=name)
    ax.set_ylabel('model - plant [mm]')
    ax.set_xlabel('time [s]')
    ax.legend(loc='upper left', ncols=3, fontsize=8)
