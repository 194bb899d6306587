# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What feedback on the measured tip is worth: robots in virtual time, plant by plant.

    python -m soro_studies.system.tip_feedback --write docs/evidence/tip_feedback.md

The planner's own stream and controller, a period of the device loop, the emulator's regulators (or
board, radio and muscles with the driver's loop), body and tracker; only threads, wire and ROS are
left out, so that no figure depends on the computer. Errors are of the body's own tip. With
compensation the planner undoes the hysteresis and creep that `soro identify --history` finds in a
separate motion of the same plant, before; where its data cannot tell creep, the hysteresis alone,
and nothing where they are refused that too, or what was held out is met no better. The controller
has its defaults; `delay` is that of `DELAYS` with which feedforward follows a circle of a robot's
first plant best, and stays. Rows that the JSON beside the page has are not computed again, but
for columns named by `--again`, and feedback of a `CONTROLLER` before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, lru_cache, partial
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
from soro_mechanics.actuator_models.creep import Creep, CreepProperties
from soro_mechanics.actuator_models.history import HistoryProperties
from soro_mechanics.actuator_models.pneumatics import Valve
from soro_mechanics.analysis.curves import named_curve, placed
from soro_mechanics.analysis.trajectory import (
    sample_curve,
    SampledPath,
    Schedule,
    schedule,
    solve_path,
)
from soro_mechanics.core.configuration import Array, Configuration, Task
from soro_mechanics.core.errors import SoroError
from soro_mechanics.identification.history_fit import identify_history, Movement
from soro_mechanics.robot import Robot
from soro_msgs.msg import ActuatorState
from soro_node.inputs.actuator_feedback import ActuatorFeedback, NANOSECONDS
from soro_studies.system.measured_section import keep_values, replace_section
from soro_studies.system.virtual_drives import Muscles, Regulators, STEP
from soro_trajectory.command_stream import CommandStream, Phase
from soro_trajectory.measured_tip import MeasuredTip, TipSample
from soro_trajectory.nearest_feasible import nearest_feasible
from soro_trajectory.node import PARAMETERS as PLANNER_PARAMETERS
from soro_trajectory.tip_control import PERIOD as LOOK
from soro_trajectory.tip_control import TipControl

SETTLE = 0.5  # s, the planner's settle_time
SOURCE, ANSWER = '/planner', 0.01  # s, of the body's solve
CURVES, SPEEDS = ('circle', 'star', 'spiral'), (0.01, 0.04)  # m/s
DELAYS = (0.0, 0.05, 0.1, 0.15, 0.2)  # s
RESTS, SEEN = {'at rest': 6.0, 'at rest, 16 s': 16.0}, 2.0  # s, and of that what counts
CONTROLS = ('feedforward', 'feedback')
COMPENSATED, BOTH = 'compensation', 'both'
COLUMNS = ('feedforward', COMPENSATED, 'feedback', BOTH)
BARE = {COMPENSATED: 'feedforward', BOTH: 'feedback'}  # the same, where it is refused
CORRECTED = ('feedback', BOTH)
CONTROLLER = 'lead'  # of rows; those of another one are computed again
BEFORE = 'a load and gains are estimated, but a late tip is not led'
NOISE = 3.0 * 0.2e-3  # m: three sigma of the tracker
ENDS = ('', '_peak', '_runs')  # of the names of a column's numbers
KEYS = ('robot', 'plant', 'motion', 'speed')
MOST = 200  # characters of a reason
LEARNED, REACH = 24, 0.8  # targets of the motion before, and their share of the ranges


@dataclass(frozen=True)
class Scene:
    """A robot, and where it moves: centre and radius of curves, a target to hold [m]."""

    robot: str
    centre: tuple[float, float, float]
    size: float
    target: tuple[float, float, float]
    #: where its stiffness stands
    stiff: tuple[str, ...] = (
        'body.segments.0.axial_stiffness',
        'body.segments.0.bending_stiffness',
    )
    reach: float = REACH
    seeds: int = 1  # runs of a row, where one run says little


STIFF_FLOP = Scene('stiff_flop', (0.0, 0.0, 0.046), 0.006, (-0.002, 0.004, 0.047))
LEGS = ('body.axial_stiffness', 'body.bending_stiffness')
MUSCLES = Scene(
    'pam_continuum',
    (0.0, 0.0, 0.93),
    0.015,
    (-0.01, 0.02, 0.93),
    ('body.backbone.materials.niti.young', 'body.muscles.axial_stiffness'),
    0.1,
    5,
)
SCENES = (
    Scene(
        'stiff_flop_two_segment',
        (0.0, 0.0, 0.092),
        0.008,
        (-0.003, 0.006, 0.093),
        (*STIFF_FLOP.stiff, *(s.replace('0', '1') for s in STIFF_FLOP.stiff)),
    ),
    Scene('soft_parallel', (0.0, 0.0, 0.180), 0.020, (0.006, -0.012, 0.180), LEGS),
    MUSCLES,
    STIFF_FLOP,
)


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
    seed: int = 0  # more than the emulator's


PLANTS = {
    'emulated robot of the file': Plant(),
    '0.2 N that nobody knows of': Plant(load=0.2),
    '0.5 N that nobody knows of': Plant(load=0.5),
    'lag doubled': Plant(lag=2.0),
    'stiffness + 20 %': Plant(stiffness=1.2),
    'stiffness - 20 %': Plant(stiffness=0.8),
    'hysteresis 10 %': Plant(hysteresis=0.1),
    'creep 10 %, 8 s': Plant(creep=0.1),
}


class VirtualTip:
    """Stream, controller and plant, and their time."""

    def __init__(self, plant: Plant, control: str) -> None:
        self.robot = load_robot(plant.scene.robot)
        description, count = self.robot.description, len(self.robot.actuators)
        if control in (COMPENSATED, BOTH):
            found = learned(replace(plant, seed=0))
            past = {} if found is None else {'history': found}
            structure = description.structure | past
            self.robot = Robot(replace(description, structure=structure))
        self.pressures: list[tuple[float, Array]] = []
        self.seen: list[tuple[float, Array]] = []
        settings = read_emulator_settings(description, description.foreign['driver']['device'])
        seed = settings.seed + plant.seed
        kinds = {'stm32': Muscles}
        kind = kinds.get(description.foreign['driver']['device'], Regulators)
        self._drives = kind(self.robot, plant.lag, plant.valve, settings.device, seed)
        body = _body(settings.body, plant)
        moving = MovingBody if plant.inertia else EmulatedBody
        self._body: MovingBody | EmulatedBody = moving(description, body)
        self._parts = self._body.robot.description.structure
        self._rest = np.array([a.rest for a in self.robot.actuators])
        self._creep = Creep(count, CreepProperties((plant.creep,)), 1.0)
        self._body.set_wrench(np.array([plant.load, 0.0, 0.0, 0.0, 0.0, 0.0]))
        values = {p.name: p.default for p in TRACKER_PARAMETERS} | {'rate': 30.0}
        self.values, self.tracker = values, EmulatedTracker(values, seed)
        self._sample: TipSample | None = None
        self._next_truth = self._next_look = self._next_seen = 0.0
        self._feedback = control in CORRECTED
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

        self.control.aim(stream.motion, desired, Task.POSITION, self._feedback, True)
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
            self._drives.advance(value)
            if self.now >= self._next_seen:
                self._next_seen = self.now + self._drives.period - 1e-9
                self.pressures.append((self.now, self._drives.present.copy()))
            if self.now >= self._next_truth:
                self._next_truth += max(1.0 / 30.0, self.now - self._next_truth)
                felt = self._creep.apply(self._drives.true - self._rest, self.now) + self._rest
                q = self.shape(felt)
                self._drives.fill(self._parts, q)
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

    def shape(self, felt: Array) -> Configuration:
        """Return the body under what its drives have it feel now."""
        moves = (self.now,) if isinstance(self._body, MovingBody) else ()
        return self._body.configuration(felt, *moves)

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
        last: Configuration | None = None

        @lru_cache(maxsize=4)  # what is held is asked for by each look
        def near(actuation: bytes) -> Configuration:
            nonlocal last  # as the node does
            last = self.robot.forward(np.frombuffer(actuation), None, last)
            return last

        node = SimpleNamespace(
            table=table,
            create_publisher=lambda *arguments: None,
            solved=lambda actuation: (near(actuation.tobytes()), None),
        )
        control = TipControl(node)
        since = partial(MeasuredTip.between, SimpleNamespace(timeout=table.tracker_timeout))
        measured: Any = SimpleNamespace(fresh=lambda: self.fresh(), latency=0.03, between=since)
        control.measured = measured
        binding: Any = SimpleNamespace(robot=self.robot)
        control.configure(self.stream, binding, SimpleNamespace(fresh=self._state))
        return control

    def _state(self) -> ActuatorFeedback:
        present, active = self._drives.present.copy(), ActuatorState.ACTIVE
        source = '' if self.stream.setpoint is None else SOURCE
        stamp = round((self.now - self._drives.age) * NANOSECONDS)
        return ActuatorFeedback(present, present, stamp, self.now, active, 0, source, 1)


def _body(body: BodyProperties, plant: Plant) -> BodyProperties:
    """Return the body of the file, changed as the plant says; factors of a path multiply."""
    factors = {path: plant.stiffness for path in plant.scene.stiff}
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
    rest = np.array([a.rest for a in scene.robot.actuators])
    sizes = [1.0, 0.0, *random.uniform(0.0, 1.0, LEARNED)]
    for size in sizes:
        both = rest > low  # nothing is drawn for robots that have one side
        sides = np.where(both, random.choice((-1.0, 1.0), len(low)), 1.0) if both.any() else 1.0
        away = plant.scene.reach * size * (high - rest) * random.uniform(0.3, 1.0, len(low))
        scene.go_to(nearest_feasible(scene.robot, rest + sides * away), np.eye(4))
        scene.run(random.uniform(0.8, 2.0))
    (time, values), (seen, points) = (zip(*x, strict=True) for x in (scene.pressures, scene.seen))
    data = Movement(np.array(time), np.array(values), np.array(seen), np.array(points))
    for unknowns in (['hysteresis', 'creep'], ['hysteresis']):
        try:
            found = identify_history(scene.robot, data, unknowns)
        except SoroError as error:
            refused[plant] = f'{type(error).__name__}: {error}'[:MOST]
        else:
            refused.pop(plant, None)
            print(unknowns, found.errors, *found.found, sep='\n', flush=True)
            if found.better:
                return found.history
            refused[plant] = 'what was held out is met no better'
    return None


refused: dict[Plant, str] = {}  # why `learned` found nothing


def at_rest(plant: Plant, control: str, motion: str = 'at rest') -> tuple[float, float]:
    """Hold a target; mean and largest error of the last seconds [m]."""
    scene = VirtualTip(plant, control)
    pose = np.eye(4)
    target = np.array(plant.scene.target)
    pose[:3, 3] = target
    scene.go_to(scene.robot.inverse(target).actuation, pose)
    errors = scene.run(RESTS[motion], lambda time: target)[-round(30 * SEEN) :]
    return float(np.mean(errors)), float(np.max(errors))


@cache
def planned(scene: Scene, curve: str) -> tuple[SampledPath, Array]:
    """Return points of a curve, and the actuations that the model has for them."""
    centre = np.eye(4)
    centre[:3, 3] = scene.centre
    sampled = sample_curve(placed(named_curve(curve, scene.size), centre), 0.001)
    solution = solve_path(load_robot(scene.robot), sampled)
    if solution.failed:
        raise RuntimeError(f'{curve}: {solution.message}')
    return sampled, solution.actuation


def path(
    plant: Plant, control: str, curve: str, speed: float, delay: float
) -> tuple[float, float]:
    """Follow a curve; mean and largest error [m]."""
    scene = VirtualTip(plant, control)
    sampled, actuation = planned(plant.scene, curve)
    timed = schedule(sampled, actuation, speed, scene.stream.rates, 0.1)
    scene.go_to(timed.actuation_at(0.0), sampled.poses[0])
    while scene.stream.phase is not Phase.HOLD:
        scene.run(STEP)
    settled = scene.now
    while scene.now - settled < SETTLE:
        scene.run(STEP)
        settled = scene.now if scene.control.busy else settled
    errors = scene.follow(timed, delay)
    return float(np.mean(errors)), float(np.max(errors))


def rows_of(scene: Scene, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Return what names the rows of a robot."""
    rests = list(RESTS)[: 2 if scene is MUSCLES else 1]  # a slow swing ends late
    motions = [(rest, 0.0) for rest in rests]
    motions += [(curve, speed) for speed in SPEEDS for curve in CURVES]
    for name in names:
        if PLANTS[name].load == 0.0 or scene is STIFF_FLOP:
            for motion, speed in motions:
                yield {'robot': scene.robot, 'plant': name, 'motion': motion, 'speed': speed}


def plant_of(scene: Scene, name: str) -> Plant:
    """Return a plant: with its inertia, where the emulator has it by default."""
    robot = load_robot(scene.robot).description
    body = read_emulator_settings(robot, robot.foreign['driver']['device']).body
    return replace(PLANTS[name], scene=scene, inertia=body.plant == 'dynamic')


def delay_of(scene: Scene) -> float:
    """Return the delay [s] with which feedforward follows a circle of the first plant best."""
    first = plant_of(scene, next(iter(PLANTS)))
    fits = {d: path(first, CONTROLS[0], 'circle', SPEEDS[1], d)[0] for d in DELAYS}
    return min(fits, key=lambda seconds: fits[seconds])


def computed(
    page: Path, robots: Sequence[str], names: Sequence[str], again: Sequence[str]
) -> None:
    """Compute what the JSON beside a page lacks, and columns `again`; each row is kept at once."""
    file = page.with_suffix('.json')
    kept = json.loads(file.read_text()) if file.is_file() else {}
    delays, rows = kept.get('delays', {}), kept.get('rows', [])
    known = {tuple(row[k] for k in KEYS): row for row in rows}
    for scene in (s for s in SCENES if s.robot in robots):
        for new in rows_of(scene, names):
            row = known.get(tuple(new[k] for k in KEYS), new)
            of = CORRECTED if by_another(row) else ()
            lacking = [c for c in COLUMNS if c in again or c in of or lacks(row, c, scene.seeds)]
            if not lacking:
                continue
            if scene.robot not in delays:
                delays[scene.robot] = delay_of(scene)
            plant = plant_of(scene, row['plant'])
            if COMPENSATED in again:
                row.pop('refused', None)  # perhaps no more
            for control in lacking:
                motion, speed = row['motion'], row['speed']
                if control in BARE and (row.get('refused') or learned(plant) is None):
                    bare = BARE[control]
                    row |= {control + e: row[bare + e] for e in ENDS if bare + e in row}
                    continue
                runs = []
                for here in (replace(plant, seed=k) for k in range(scene.seeds)):
                    if speed:
                        runs.append(path(here, control, motion, speed, delays[scene.robot]))
                    else:
                        runs.append(at_rest(here, control, motion))
                row |= values_of(control, runs)
            why = row.get('refused') or refused.get(plant, '')
            row |= {'date': date.today().isoformat(), 'refused': why, 'controller': CONTROLLER}
            print(row, flush=True)
            if row is new:
                rows.append(row)
            keep_values(page, {'delays': delays, 'rows': rows})


def by_another(row: dict[str, Any]) -> bool:
    """Whether a row is of a controller before; that of drives that move by steps has stayed."""
    return row['robot'] != MUSCLES.robot and row.get('controller') != CONTROLLER


def values_of(control: str, runs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return what a row has of runs, each a mean and a largest error: median, largest, all."""
    means, peaks = zip(*runs, strict=True)
    return {
        control: float(np.median(means)),
        f'{control}_peak': max(peaks),
        f'{control}_runs': list(means),
    }


def lacks(row: dict[str, Any], control: str, seeds: int) -> bool:
    """Whether a column is not computed yet, with as many seeds as it shall be."""
    return control not in row or (seeds > 1 and len(row.get(f'{control}_runs', ())) < seeds)


def kept_to(row: dict[str, Any], control: str) -> bool:
    """Whether each run of a row meets what is asked, beside feedforward of the same seed."""
    share, least = (1.0, 0.0) if row['speed'] == SPEEDS[1] else (0.5, NOISE)
    runs = [row.get(f'{c}_runs', [row[c]]) for c in (control, 'feedforward')]
    return all(mean <= max(share * bare, least) for mean, bare in zip(*runs, strict=True))


def section(found: Sequence[dict[str, Any]], delays: dict[str, float]) -> str:
    """Write what was found as a section of a page."""
    said = ', '.join(f'{robot} {delay:g} s' for robot, delay in delays.items())
    counts = [
        f'{sum(kept_to(row, c) for row in found)} of {len(found)} rows ({words})'
        for c, words in zip(CORRECTED, ('feedback', 'with compensation'), strict=True)
    ]
    old = sum(map(by_another, found))
    order = {s.robot: s for s in SCENES}
    single = sum(lacks(row, CONTROLS[0], order[row['robot']].seeds) for row in found)
    every = sum(len(list(rows_of(scene, PLANTS))) for scene in SCENES)
    lacking = f'Of {every} rows {len(found)} are here; the command computes the others. '
    out = [
        '## Errors of the true tip',
        '',
        f'{lacking if len(found) < every else ""}`delay`: {said}. Mean (largest) in mm.',
        'Feedback at least halves the mean error of',
        f'feedforward or leaves less than {1e3 * NOISE:.1f} mm, and at 4 cm/s is not worse: in',
        f'{" and ".join(counts)}. `!`: it is not so.',
        *(
            [f'{old} rows are of the controller before: {BEFORE}; they are marked `*`.']
            if old
            else []
        ),
        *([f'{single} rows of pam_continuum are single runs so far.'] if single else []),
        *(
            ['Rows of several seeds: median, worst (largest); the verdict is of all of them.']
            if any(len(row.get('feedback_runs', ())) > 1 for row in found)
            else []
        ),
        '',
        '| Robot, plant | Motion | Feedforward | Compensation | Feedback | Both |',
        '|---|---|---|---|---|---|',
    ]
    names = list(order)
    for row in sorted(found, key=lambda r: names.index(r['robot'])):
        speed = f', {100 * row["speed"]:g} cm/s' if row['speed'] else ''
        cells = []
        for c in COLUMNS:
            misses = '!' if c in CORRECTED and not kept_to(row, c) else ''
            misses += '*' if c in CORRECTED and by_another(row) else ''
            runs = row.get(f'{c}_runs', ())
            worst = f', {1e3 * max(runs):.2f}' if len(runs) > 1 else ''
            text = f'{1e3 * row[c]:.2f}{worst} ({1e3 * row[f"{c}_peak"]:.2f}){misses}'
            cells.append('refused' if c in BARE and row['refused'] else text)
        name = f'{row["robot"]}, {row["plant"]}'
        out.append(f'| {name} | {row["motion"]}{speed} | {" | ".join(cells)} |')
    reasons = {(r['robot'], r['plant']): r['refused'] for r in found if r['refused']}
    if reasons:
        out += ['', 'Compensation was refused:', '']
        out += [f'- {" ".join(key)}: {why}' for key, why in reasons.items()]
    return '\n'.join(out) + '\n'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', default='docs/evidence/tip_feedback.md')
    names = [s.robot for s in SCENES]
    parser.add_argument('--robot', nargs='*', default=names, choices=names)
    parser.add_argument('--plant', nargs='*', default=list(PLANTS), choices=list(PLANTS))
    parser.add_argument('--again', nargs='*', default=(), choices=COLUMNS, help='columns')
    parser.add_argument('--page', action='store_true', help='write from what was computed')
    arguments = parser.parse_args()
    page = Path(arguments.write)
    if not arguments.page:
        computed(page, arguments.robot, arguments.plant, arguments.again)
    kept = json.loads(page.with_suffix('.json').read_text())
    replace_section(page, section(kept['rows'], kept['delays']))


if __name__ == '__main__':
    main()
