# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
r"""The three published trajectories under three loads, played on the emulated muscle robot.

Twenty points each (Chen 2022, section 4): inverse model, command gate and control loop, valve
plan, frames, radio link, board, valves, muscles, and a body of elastic muscles, in virtual time.

    python -m soro_studies.emulation.muscle_tracking \
        --write docs/evidence/pam_continuum_tracking.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import json
from pathlib import Path

import numpy as np

from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import CommandArbiter
from soro_driver.loop.tick import Tick
from soro_driver.safety.command_gate import CommandGate
from soro_emulation.device_emulator import Array
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_emulation.perturbation import perturbed_robot
from soro_mechanics.core.configuration import Configuration
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_studies.emulation.stm32_virtual import VirtualRig
from soro_studies.validation.pam_continuum import LOADS, PAPER, trajectory

ROBOT = 'pam_continuum'
SLEW = 0.8  # of the actuators' rates, as the trajectory planner has it
SETTLE = 2.0  # s at every point before the tip is measured
BEGIN, END = '<!-- begin of the table -->', '<!-- end of the table -->'


@dataclass(frozen=True)
class TrackingRow:
    """One trajectory under one load; errors as parts of the robot's length.

    Attributes
    ----------
    mean, worst : float
        Of the true tip against the point that was wanted.
    valves : float
        Mean of what is left when the body is the solver's own model: muscles that are not where
        they were wanted.
    lengths : float [m]
        Root mean square error of the muscles.
    seconds : float
        Duration.
    wanted, tips : ndarray, shape (points, 3) [m]
    """

    name: str
    load: float
    mean: float
    worst: float
    valves: float
    lengths: float
    seconds: float
    wanted: Array
    tips: Array


class MuscleTracking:
    """Plays trajectories.

    Parameters
    ----------
    description : RobotDescription
    body : str
        Model of the true body.
    """

    def __init__(self, description: RobotDescription, body: str = 'network') -> None:
        self._description = description
        self._solver: Robot = load_robot(description.file)
        properties = read_emulator_settings(description, 'stm32').body
        self._body = perturbed_robot(description, replace(properties, model=body))
        self._start: Configuration = self._body.forward(self._rest)

    @property
    def _rest(self) -> Array:
        return np.array([a.rest for a in self._description.actuators])

    def play(self, name: str, load: float) -> TrackingRow:
        """Play one trajectory under one load [N] that hangs at the tip."""
        points = trajectory(name)
        wrench = np.array([0.0, 0.0, load, 0.0, 0.0, 0.0])
        player = Player(self._description)
        near, q, own = None, self._start, None
        tips, valves, lengths = [], [], []
        for point in points:
            near = self._solver.inverse(point, wrench, guess=near)
            player.go(near.actuation)
            true = player.rig.bank.lengths
            q = self._body.forward(true, wrench, q)
            own = self._solver.forward(true, wrench, own)
            if not (q.status.converged and own.status.converged):
                raise RuntimeError(
                    f'{name} at {load:g} N: {q.status.message or own.status.message}'
                )
            tips.append(q.tip[:3, 3])
            valves.append(float(np.linalg.norm(own.tip[:3, 3] - point)))
            lengths.append(true - near.actuation)
        whole = self._description.structure['kirchhoff'].length
        errors = np.linalg.norm(np.array(tips) - points, axis=1) / whole
        return TrackingRow(
            name,
            load,
            float(errors.mean()),
            float(errors.max()),
            float(np.mean(valves)) / whole,
            float(np.sqrt(np.mean(np.square(lengths)))),
            player.rig.clock.time - player.began,
            np.array(points),
            np.array(tips),
        )


class Player:
    """A control loop on a rig in virtual time that is given lengths; `after`: every command.

    `seed`: of the rig; default: the robot file's.
    """

    def __init__(
        self,
        description: RobotDescription,
        after: Callable[[], None] = lambda: None,
        seed: int | None = None,
    ) -> None:
        self._after = after
        self.rig = VirtualRig(description, EventLog(''), seed)
        settings = self.rig.settings
        self._gate = CommandGate(description.actuators, description.coupled_limits)
        self._inlet = CommandArbiter(self._gate, settings.command_timeout)
        self._loop = ControlLoop(
            self.rig.device, self._inlet, self._gate, settings, clock=self.rig.clock
        )
        self._period = settings.period
        self._codes = [a.quantity_code for a in description.actuators]
        self._setpoint = self._gate.rest.copy()
        self._stamp = 0
        self.rig.link.pass_time(0.5)
        self._loop.open()
        while not self._loop.ready():
            self._tick()
        self._loop.arm()
        self.began = self.rig.clock.time

    def go(self, lengths: Array) -> None:
        """Move at the planner's slew to lengths (30,) [m] and wait there."""
        rate = SLEW * self._gate.rate * self._period
        while np.any(self._setpoint != lengths):
            step = lengths - self._setpoint
            ratio = float(np.max(np.abs(step) / rate))
            self._setpoint = lengths.copy() if ratio <= 1.0 else self._setpoint + step / ratio
            self._command()
        for _ in range(round(SETTLE / self._period)):
            self._command()

    def command(self, lengths: Array | None) -> Tick:
        """Do a pass of the loop, then command lengths (30,) [m] for the next one, or none."""
        self._stamp += 1
        tick = self._loop.tick()  # tells the inlet whether commands are accepted
        if lengths is not None:
            values, now = [float(x) for x in lengths], self.rig.clock.time
            self._inlet.submit(self._gate.names, self._codes, values, 'tracking', self._stamp, now)
        return tick

    def _command(self) -> None:
        self.command(self._setpoint)
        self.rig.link.pass_time(self._period)
        self._after()

    def _tick(self) -> None:
        self._loop.tick()
        self.rig.link.pass_time(self._period)


def table(rows: Sequence[TrackingRow]) -> str:
    """Return the table of a page."""
    lines = [
        '| Trajectory | Load | Error, mean | Error, worst | Paper, mean | Of it by the valves |'
        ' Muscles, rms | Duration |',
        '|---|---|---|---|---|---|---|---|',
    ]
    for r in rows:
        lines.append(
            f'| {r.name} | {r.load:g} N | {100.0 * r.mean:.3f} % | {100.0 * r.worst:.3f} % |'
            f' {PAPER[r.name]} | {100.0 * r.valves:.3f} % | {1e3 * r.lengths:.3f} mm |'
            f' {r.seconds:.0f} s |'
        )
    for name in PAPER:
        own = [r.mean for r in rows if r.name == name]
        if len(own) == len(LOADS):
            lines.append(
                f'| **{name}** | all | **{100.0 * np.mean(own):.3f} %** | | {PAPER[name]} | | | |'
            )
    return '\n'.join(lines)


def write_table(path: Path, text: str) -> None:
    """Put a table between the marks of a page."""
    page = path.read_text(encoding='utf-8')
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f'{before}{BEGIN}\n{text}\n{END}{after}', encoding='utf-8')


def store(file: Path, rows: Sequence[TrackingRow]) -> None:
    """Keep the numbers of the table, which other pages read."""
    left_out = ('wanted', 'tips')
    runs = [{k: v for k, v in vars(row).items() if k not in left_out} for row in rows]
    file.write_text(json.dumps({'runs': runs}, indent=1) + '\n', encoding='utf-8')


def main(words: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Play everything and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', type=Path, metavar='PAGE', help='put the table into this page')
    parser.add_argument('--robot', default=ROBOT)
    parser.add_argument('--body', default='network', help='model of the true body')
    arguments = parser.parse_args(words)
    tracking = MuscleTracking(read_robot_file(find_robot_file(arguments.robot)), arguments.body)
    rows = []
    for name in PAPER:
        for load in LOADS:
            rows.append(tracking.play(name, load))
            say(table(rows[-1:]).splitlines()[-1])
    if arguments.write is not None:
        write_table(arguments.write, table(rows))
        store(arguments.write.with_suffix('.json'), rows)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
