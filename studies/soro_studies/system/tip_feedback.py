# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What feedback on the measured tip is worth: stiff_flop in virtual time, plant by plant.

    python -m soro_studies.system.tip_feedback --write docs/evidence/tip_feedback.md

The planner's own stream and controller, a period of the device loop, the emulator's regulators,
body and tracker; only threads, wire and ROS are left out, so that no figure depends on the
computer. Errors are of the body's own tip. With compensation the planner undoes the hysteresis and
creep that `soro identify --history` finds in a separate motion of the same plant, before; where
its data cannot tell creep, the hysteresis alone, and nothing where they are refused that too. The
controller has its defaults, of which
`correction_limit` was raised after these plants had been seen; `delay` is that of `DELAYS` with
which feedforward follows a circle of the first plant best, and stays.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from soro_emulation.emulated_body import EmulatedBody
from soro_emulation.emulated_tracker import EmulatedTracker, SeenPose
from soro_emulation.emulated_tracker import PARAMETERS as TRACKER_PARAMETERS
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.moving_body import MovingBody
from soro_emulation.perturbation import BodyProperties
from soro_mechanics import load_robot
from soro_mechanics.actuator_models.chamber_volume import chamber_volumes
from soro_mechanics.actuator_models.creep import Creep, CreepProperties
from soro_mechanics.actuator_models.history import HistoryProperties
from soro_mechanics.actuator_models.pneumatics import Valve
from soro_mechanics.actuator_models.regulator import read_regulator, RegulatorBank
from soro_mechanics.analysis.trajectory import sample_curve, Schedule, schedule, solve_path
from soro_mechanics.core.configuration import Array, Task
from soro_mechanics.identification.fit import NotIdentifiable
from soro_mechanics.identification.history_fit import identify_history, Movement
from soro_mechanics.numerics.curves import named_curve, placed
from soro_mechanics.robot import Robot
from soro_msgs.msg import ActuatorState
from soro_node.inputs.actuator_feedback import ActuatorFeedback, NANOSECONDS
from soro_studies.system.measured_section import keep_values, replace_section
from soro_trajectory.command_stream import CommandStream, Phase
from soro_trajectory.measured_tip import TipSample
from soro_trajectory.nearest_feasible import nearest_feasible
from soro_trajectory.node import PARAMETERS as PLANNER_PARAMETERS
from soro_trajectory.tip_control import PERIOD as LOOK
from soro_trajectory.tip_control import TipControl

STEP, SOURCE, ANSWER = 0.01, '/planner', 0.01  # s: of stream and device loop; of the body's solve
CURVES, SPEEDS = ('circle', 'star', 'spiral'), (0.01, 0.04)  # m/s
DELAYS = (0.0, 0.05, 0.1, 0.15)  # s
REST, SEEN = 6.0, 2.0  # s: at rest, and of that what counts
CONTROLS = ('feedforward', 'feedback')
COMPENSATED = 'compensation'
COLUMNS = ('feedforward', COMPENSATED, 'feedback')
LEARNED, REACH = 24, 0.8  # targets of the motion before, and their share of the ranges


@dataclass(frozen=True)
class Scene:
    """A robot, and where it moves: centre and radius of curves, a target to hold [m]."""

    robot: str
    centre: tuple[float, float, float]
    size: float
    target: tuple[float, float, float]
    stiff: tuple[str, ...] = ('body.segments.0.',)  # where its stiffness stands


STIFF_FLOP = Scene('stiff_flop', (0.0, 0.0, 0.046), 0.006, (-0.002, 0.004, 0.047))


@dataclass(frozen=True)
class Plant:
    """What differs from the emulated robot of the file: load along x [N], lag, body."""

    scene: Scene = STIFF_FLOP
    inertia: bool = False
    creep: float = 0.0
    gain: float = 0.0  # 1/s, the planner's control_gain
    load: float = 0.0
    lag: float = 1.0
    stiffness: float = 1.0
    hysteresis: float | None = None
    valve: Valve | None = None  # instead of a lag; the chambers' volumes act back


PLANTS = {
    'emulated robot of the file': Plant(),
    '0.2 N that nobody knows of': Plant(load=0.2),
    '0.5 N that nobody knows of': Plant(load=0.5),
    'lag doubled': Plant(lag=2.0),
    'stiffness + 20 %': Plant(stiffness=1.2),
    'stiffness - 20 %': Plant(stiffness=0.8),
    'hysteresis 10 %': Plant(hysteresis=0.1),
}


class VirtualTip:
    """Stream, controller and plant, and their time."""

    def __init__(self, plant: Plant, control: str) -> None:
        self.robot = load_robot(plant.scene.robot)
        description, count = self.robot.description, len(self.robot.actuators)
        if control == COMPENSATED:
            found = learned(plant)
            past = {} if found is None else {'history': found}
            structure = description.structure | past
            self.robot = Robot(replace(description, structure=structure))
        self.pressures: list[tuple[float, Array]] = []
        self.seen: list[tuple[float, Array]] = []
        settings = read_emulator_settings(description, description.foreign['driver']['device'])
        random = np.random.default_rng(settings.seed)
        properties = read_regulator(settings.device)
        lag = plant.lag * properties.time_constant
        properties = replace(properties, time_constant=lag, valve=plant.valve)
        self._bank = RegulatorBank(count, properties, random)
        body = _body(settings.body, plant)
        kind = MovingBody if plant.inertia else EmulatedBody
        self._body: MovingBody | EmulatedBody = kind(description, body)
        self._parts = self._body.robot.description.structure
        self._creep = Creep(count, CreepProperties((plant.creep,)), 1.0)
        self._body.set_wrench(np.array([plant.load, 0.0, 0.0, 0.0, 0.0, 0.0]))
        values = {p.name: p.default for p in TRACKER_PARAMETERS} | {'rate': 30.0}
        self.values, self.tracker = values, EmulatedTracker(values, settings.seed)
        self._late = deque([np.zeros(count)])
        self._sample: TipSample | None = None
        self._next_truth = self._next_look = 0.0
        self._feedback = control == 'feedback'
        self.now = 1.0
        self.stream = CommandStream(self.robot, SOURCE, STEP, 0.8, 3.0)
        self.control = self._controller(plant.gain)
        self.run(0.1)

    def go_to(self, actuation: Array, pose: Array) -> None:
        """Ramp there, and correct it."""
        stream = self.stream
        motion = stream.go_to(
            actuation, self._state(), self.now, stream.generation, self._feedback
        )
        self.control.aim(motion, lambda stamp: pose, Task.POSITION, self._feedback)

    def follow(self, timed: Schedule, delay: float) -> list[float]:
        """Follow a schedule and return the true errors [m]."""
        start, stream = self.now, self.stream
        stream.follow(timed, start)

        def desired(stamp: int) -> Array:
            pose: Array = np.eye(4)
            pose[:3, 3] = timed.position_at(stamp / NANOSECONDS - start - delay)
            return pose

        self.control.aim(stream.motion, desired, Task.POSITION, self._feedback)
        errors = self.run(
            timed.duration + delay, lambda time: timed.position_at(time - start - delay)
        )
        late = round(delay * 30.0)
        return errors[late:]

    def run(self, seconds: float, due: Callable[[float], Array] | None = None) -> list[float]:
        """Let time pass; return the distances of the true tip from where it is due [m]."""
        errors: list[float] = []
        for _ in range(round(seconds / STEP)):
            self.now += STEP
            value = self.stream.tick(self._state(), self.now)
            self._late.append(self._late[-1] if value is None else value)
            self._bank.advance(self._late.popleft(), STEP)
            self.pressures.append((self.now, self._bank.pressure.copy()))
            if self.now >= self._next_truth:
                self._next_truth += max(1.0 / 30.0, self.now - self._next_truth)
                felt = self._creep.apply(self._bank.pressure, self.now)
                moves = (self.now,) if isinstance(self._body, MovingBody) else ()
                q = self._body.configuration(felt, *moves)
                self._bank.fill(chamber_volumes(self._parts, q), 1.0 / 30.0)
                tip = q.tip
                self.tracker.see(tip, self.now, self.now, self.now + ANSWER)
                if due is not None:
                    errors.append(float(np.linalg.norm(tip[:3, 3] - due(self.now))))
            for seen in self.tracker.due(self.now):
                self.hear(seen)
            if self.now >= self._next_look:
                self._next_look = self.now + LOOK - 1e-9
                self.control._step(self.now)
        return errors

    def hear(self, seen: SeenPose) -> None:
        """Take a pose as the tip: the kinematics node's rules are left out."""
        stamp = round(seen.stamp * NANOSECONDS)
        self.seen.append((seen.stamp, seen.pose[:3, 3]))
        self._sample = TipSample(stamp, seen.pose, True, self.now)

    def fresh(self) -> TipSample | None:
        """Return what the controller knows of the tip."""
        return self._sample

    def _controller(self, gain: float) -> TipControl:
        """Return the planner's controller, without the planner's node."""
        values = {p.name: p.default for p in PLANNER_PARAMETERS} | {'control_gain': gain}
        table = SimpleNamespace(**values)
        node = SimpleNamespace(
            table=table,
            create_publisher=lambda *arguments: None,
            solved=lambda actuation: (self.robot.forward(actuation), None),
        )
        control = TipControl(node)
        measured: Any = SimpleNamespace(fresh=lambda: self.fresh(), latency=0.03)
        control.measured = measured
        binding: Any = SimpleNamespace(robot=self.robot)
        control.configure(self.stream, binding)
        return control

    def _state(self) -> ActuatorFeedback:
        present, active = self._bank.pressure.copy(), ActuatorState.ACTIVE
        source = '' if self.stream.setpoint is None else SOURCE
        return ActuatorFeedback(present, present, 0, self.now, active, 0, source, 1)


def _body(body: BodyProperties, plant: Plant) -> BodyProperties:
    """Return the body of the file, changed as the plant says; factors of a path multiply."""
    kinds = ('axial_stiffness', 'bending_stiffness')
    factors = {place + kind: plant.stiffness for place in plant.scene.stiff for kind in kinds}
    changes = tuple(
        (path, factor * factors.pop(path, 1.0) if factor is not None else None, value)
        for path, factor, value in body.changes
    )
    more = tuple((path, factor, None) for path, factor in factors.items())
    hysteresis = body.hysteresis if plant.hysteresis is None else plant.hysteresis
    return replace(body, changes=changes + more, hysteresis=hysteresis)


@cache
def learned(plant: Plant) -> HistoryProperties | None:
    """Identify the past of a plant's actuators in a motion of its own; None: it is refused."""
    scene, random = VirtualTip(plant, CONTROLS[0]), np.random.default_rng(7)
    low, high = scene.robot.limits.T
    sizes = [1.0, 0.0, *random.uniform(0.0, 1.0, LEARNED)]
    for size in sizes:
        target = low + REACH * size * (high - low) * random.uniform(0.3, 1.0, len(low))
        scene.go_to(nearest_feasible(scene.robot, target), np.eye(4))
        scene.run(random.uniform(0.8, 2.0))
    (time, values), (seen, points) = (zip(*x, strict=True) for x in (scene.pressures, scene.seen))
    data = Movement(np.array(time), np.array(values), np.array(seen), np.array(points))
    for unknowns in (['hysteresis', 'creep'], ['hysteresis']):
        try:
            found = identify_history(scene.robot, data, unknowns)
        except NotIdentifiable as error:
            print(unknowns, error, flush=True)
        else:
            print(unknowns, found.errors, *found.found, sep='\n', flush=True)
            return found.history
    return None


def at_rest(plant: Plant, control: str) -> tuple[float, float]:
    """Hold a target; mean and largest error of the last seconds [m]."""
    scene = VirtualTip(plant, control)
    pose = np.eye(4)
    target = np.array(plant.scene.target)
    pose[:3, 3] = target
    scene.go_to(scene.robot.inverse(target).actuation, pose)
    errors = scene.run(REST, lambda time: target)[-round(30 * SEEN) :]
    return float(np.mean(errors)), float(np.max(errors))


def path(
    plant: Plant, control: str, curve: str, speed: float, delay: float
) -> tuple[float, float]:
    """Follow a curve; mean and largest error [m]."""
    scene = VirtualTip(plant, control)
    centre = np.eye(4)
    centre[:3, 3] = plant.scene.centre
    sampled = sample_curve(placed(named_curve(curve, plant.scene.size), centre), 0.001)
    solution = solve_path(scene.robot, sampled)
    if solution.failed:
        raise RuntimeError(f'{curve}: {solution.message}')
    timed = schedule(sampled, solution.actuation, speed, scene.stream.rates, 0.1)
    scene.go_to(timed.actuation_at(0.0), sampled.poses[0])
    while scene.stream.phase is not Phase.HOLD:
        scene.run(STEP)
    scene.run(0.5)  # the planner's settle_time
    errors = scene.follow(timed, delay)
    return float(np.mean(errors)), float(np.max(errors))


def measured(kept: dict[str, Any] | None = None) -> tuple[list[dict[str, Any]], float]:
    """Return all rows, and the delay [s]; with `kept` values only those with compensation."""
    if kept is None:
        fits = {d: path(Plant(), CONTROLS[0], 'circle', SPEEDS[1], d)[0] for d in DELAYS}
        delay = min(fits, key=lambda seconds: fits[seconds])
    else:
        delay = kept['delay']
    controls = list(COLUMNS) if kept is None else [COMPENSATED]
    found = []
    motions = [('at rest', 0.0), *((curve, speed) for speed in SPEEDS for curve in CURVES)]
    for name, plant in PLANTS.items():
        for motion, speed in motions:
            row: dict[str, Any] = {'plant': name, 'motion': motion, 'speed': speed}
            if kept is not None:
                same = [r for r in kept['rows'] if all(r[k] == row[k] for k in row)]
                row = dict(*same)
            for control in controls:
                mean, peak = (
                    path(plant, control, motion, speed, delay)
                    if speed
                    else at_rest(plant, control)
                )
                row |= {control: mean, f'{control}_peak': peak}
            print(row, flush=True)
            found.append(row)
    return found, delay


def section(found: list[dict[str, Any]], delay: float) -> str:
    """Write what was found as a section of a page."""
    out = [
        '## Errors of the true tip',
        '',
        f'Written on {date.today()}; `delay` {delay:g} s. Mean (largest) in mm.',
        '',
        '| Plant | Motion | Feedforward | With compensation | Feedback |',
        '|---|---|---|---|---|',
    ]
    for row in found:
        speed = f', {100 * row["speed"]:g} cm/s' if row['speed'] else ''
        cells = ' | '.join(f'{1e3 * row[c]:.2f} ({1e3 * row[f"{c}_peak"]:.2f})' for c in COLUMNS)
        out.append(f'| {row["plant"]} | {row["motion"]}{speed} | {cells} |')
    return '\n'.join(out) + '\n'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    parser.add_argument('--keep', action='store_true', help='its rows but those compensated')
    arguments = parser.parse_args()
    page = Path(arguments.write or 'docs/evidence/tip_feedback.md')
    kept = json.loads(page.with_suffix('.json').read_text()) if arguments.keep else None
    found, delay = measured(kept)
    if arguments.write:
        keep_values(page, {'date': date.today().isoformat(), 'delay': delay, 'rows': found})
        replace_section(page, section(found, delay))
    else:
        print(section(found, delay))


if __name__ == '__main__':
    main()
