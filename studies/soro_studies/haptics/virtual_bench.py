# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A haptic device on a bench in simulated time: plant, motors, encoders, sensors, hand, law.

No wire and no clock, so that a study gives the same numbers on every computer. The plant differs
from the model as the emulated one does: softer material, motors that lag, encoder steps, sensors
with noise behind a 12-bit converter, and a calibration made from what they read. Shape and mesh
are the model's own unless `BenchSetup.errors` says otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from itertools import product
import math

import numpy as np

from soro_haptics.sensor_guard import SensorGuard
from soro_mechanics.actuator_models.motor import MotorProperties
from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice, softened, turns_about
from soro_mechanics.haptics.flex_calibration import (
    calibrate,
    CalibrationReport,
    FlexCalibration,
    FlexRecording,
)
from soro_mechanics.haptics.flex_signal import FlexSignal, FULL_SCALE
from soro_mechanics.haptics.loop import HapticLoop
from soro_mechanics.haptics.rendering import rendering_setup
from soro_mechanics.haptics.sensing import sensing_setup
from soro_mechanics.haptics.stable_limits import MOTOR_LAG
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment, VirtualObject
from soro_mechanics.numerics.lie_kernels import so3_log
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import as_built, PlantErrors, Play
from soro_studies.haptics.multirate import SlowModel

STEP = math.radians(0.1) / 6.42  # rad, one encoder step at the output
SPEED = math.radians(1000.0)  # rad/s of the outputs
DEVIATION = 2.7e-4  # rad, of an encoder, as the renderer's default
FORCES = np.array([10.0, 10.0, 10.0, 0.5, 0.5])  # N, N m, of a hand, as the renderer's default
SOFTER = 0.97  # of the plant's material
SAMPLED = 0.05  # s, between the samples of a calibration
GRIP = np.diag([400.0, 400.0, 400.0, 1.5, 1.5])  # N/m, N m/rad, of a hand


@dataclass(frozen=True)
class BenchSetup:
    """How a bench differs from the usual one.

    Attributes
    ----------
    rate : float
        Of the loop [Hz].
    delay : int
        Ticks from a measurement to the end of the first tick that answers it: 1 is at once, 2 one
        tick late, as over the wire.
    energy : float
        Allowance of the energy monitor [J].
    grip : ndarray, shape (5, 5)
        Stiffness of the hand.
    seed : int
    model_ticks : int
        Of the loop for one solution of the model; more than one: the paper's two rates.
    errors : PlantErrors, optional
        How the plant differs from the model beside its material.
    material : float
        Of the plant, as a part of the model's stiffness.
    backlash : float
        Between a motor, whose angle is measured, and its leg: half of what is free [rad].
    step : float
        Of the integration where the bench moves [s]; 1e-4 is a fiftieth of the fastest mode's
        period.
    motor : MotorProperties, optional
        Of the motors of a bench that moves; None: they settle as published, whatever they hold.
    """

    rate: float = 500.0
    delay: int = 2
    energy: float = 0.3
    grip: Array = field(default_factory=lambda: GRIP.copy())
    seed: int = 1
    model_ticks: int = 1
    errors: PlantErrors | None = None
    material: float = SOFTER
    backlash: float = 0.0
    step: float = 1e-4
    motor: MotorProperties | None = None


def bench_signals(count: int, seed: int = 2) -> tuple[FlexSignal, ...]:
    """Return sensors as the emulated device has them: 10 % different, 4 counts of noise."""
    random = np.random.default_rng(seed)
    return tuple(
        FlexSignal(
            3500.0 * (1.0 + 0.03 * random.uniform(-1.0, 1.0)),
            4e5 * (1.0 + 0.1 * random.uniform(-1.0, 1.0)),
            0.0,
            4.0,
        )
        for _ in range(count)
    )


def together(signals: Sequence[FlexSignal]) -> FlexSignal:
    """Return sensors as one, of arrays."""
    return FlexSignal(*np.array([astuple(signal) for signal in signals]).T)


def make_plant(
    robot: Robot, errors: PlantErrors | None, material: float = SOFTER
) -> tuple[HapticDevice, Array, Play]:
    """Return the device on the bench, its motors where their encoders read zero, its strips."""
    soft = softened(robot, material)
    if errors is None:
        return HapticDevice(soft), np.zeros(len(robot.actuators)), Play(0.0)
    built, zero = as_built(soft, errors)
    return HapticDevice(built), zero, Play(errors.play)


def extreme_trajectory(
    minimum: Array, maximum: Array, speed: float, period: float, random: np.random.Generator
) -> Array:
    """Return motor angles that visit every combination of extremes in random order.

    Koehler 2023, section VI-A: linear between the extremes, so that motors work against each other
    and the legs bend as under a hand.

    Parameters
    ----------
    minimum, maximum : ndarray, shape (na,) [rad]
    speed : float
        Of the fastest motor [rad/s].
    period : float
        Between samples [s].
    random : Generator

    Returns
    -------
    ndarray, shape (samples, na) [rad]
        Starts and ends in the middle of the range.
    """
    minimum, maximum = np.asarray(minimum, float), np.asarray(maximum, float)
    if minimum.shape != maximum.shape or not np.all(maximum > minimum):
        raise InvalidInput('maximum', maximum, 'greater than minimum, same shape')
    if not (speed > 0.0 and period > 0.0):
        raise InvalidInput('speed', (speed, period), 'speed and period greater than zero')
    corners = np.array(list(product((0.0, 1.0), repeat=minimum.size)))
    corners = minimum + random.permutation(corners) * (maximum - minimum)
    middle = 0.5 * (minimum + maximum)
    stops = np.vstack([middle, corners, middle])
    parts = [stops[:1]]
    for start, end in zip(stops[:-1], stops[1:], strict=True):
        steps = int(np.ceil(np.abs(end - start).max() / (speed * period)))
        share = np.arange(1, steps + 1)[:, None] / steps
        parts.append(start + share * (end - start))
    return np.vstack(parts)


def calibrated_report(
    robot: Robot,
    signals: Sequence[FlexSignal],
    amplitude: float = 0.7,
    method: str = 'exact',
    errors: PlantErrors | None = None,
) -> CalibrationReport:
    """Move the plant through the extremes of its motors, record, and fit with the model."""
    random = np.random.default_rng(5)
    model = HapticDevice(robot)
    plant, zero, play = make_plant(robot, errors)
    limits = amplitude * robot.limits
    path = extreme_trajectory(limits[:, 0], limits[:, 1], 0.9, SAMPLED, random)
    names = tuple(strip.name for strip in model.spec.strips)
    frames: list[list[tuple[Array, Array, Array]]] = [[] for _ in names]
    counts = []
    free, sensors = np.zeros(5), together(signals)
    for angle in path:
        plant.update(angle + zero, free)
        model.update(STEP * np.round(angle / STEP), free)
        for i, name in enumerate(names):
            frames[i].append(model.node_frames(name))
        slid = play.follow(plant.ports.sensor.copy())
        counts.append(sensors.counts(slid, 0.0, random))
    rotations = tuple(turns_about(*map(np.array, zip(*f, strict=True))) for f in frames)
    recording = FlexRecording(names, rotations, np.array(counts))
    return calibrate(robot.name, recording, model.spec.distance, method)


def place_of(ports: CondensedPorts, pose: Array | None = None) -> Array:
    """Return where a handle is, shape (5,): x, y, z, two rotations across it [m, rad].

    `pose` is another one than that of the ports.
    """
    at, place = ports.pose if pose is None else pose, np.empty(6)
    place[:3] = at[:3, 3]
    so3_log(np.ascontiguousarray(at[:3, :3]), place[3:])
    return ports.axes.T @ place


class VirtualBench:
    """One device under one environment.

    Parameters
    ----------
    robot : Robot
    calibration : FlexCalibration
    signals : sequence of FlexSignal
    objects : sequence of VirtualObject
    setup : BenchSetup, optional
    """

    inert = False  # whether the handle has mass

    def __init__(
        self,
        robot: Robot,
        calibration: FlexCalibration,
        signals: Sequence[FlexSignal],
        objects: Sequence[VirtualObject] = (),
        setup: BenchSetup | None = None,
    ) -> None:
        self.robot = robot
        self.setup = BenchSetup() if setup is None else setup
        self.signals = together(signals)
        self.dt = 1.0 / self.setup.rate
        self.plant, self.zero, self._play = make_plant(
            robot, self.setup.errors, self.setup.material
        )
        model = HapticDevice(robot, calibration)
        names = [strip.name for strip in model.spec.strips]
        fits = [calibration.sensor(name) for name in names]
        self._offset = np.array([f.offset for f in fits])
        self._gain = np.array([f.gain for f in fits])
        deviation, play = np.array([(f.deviation, f.play) for f in fits]).T
        sensing = sensing_setup(model.ports, DEVIATION, deviation, FORCES, sensor_play=play)
        rendering = rendering_setup(self.dt, model.motor_limits(), SPEED, energy=self.setup.energy)
        environment = VirtualEnvironment(objects)
        self.loop = (
            HapticLoop(model, sensing, rendering, environment)
            if self.setup.model_ticks == 1
            else SlowModel(model, sensing, rendering, environment, self.setup.model_ticks)
        )
        self.random, self.time = np.random.default_rng(self.setup.seed), 0.0
        self.angle = np.zeros(len(robot.actuators))
        self.force = np.zeros(5)
        self.plant.update(self.angle + self.zero, self.force)
        self.loop.start(self.angle)
        # What the motors will get, oldest first.
        self._queue = deque([self.angle.copy()] * self.setup.delay)
        self._settle = 1.0 - math.exp(-self.dt / MOTOR_LAG)
        self.held = False  # the motors stay at `held_at`
        self.held_at = np.zeros_like(self.angle)  # rad
        self.off = False  # nothing turns the motors but the legs
        self.failures = 0
        self.rest_force = 0.0  # N, see `HapticLaw.nothing_to_do`
        self._last = self.angle.copy()
        self.guard: SensorGuard | None = None  # see `guarded`

    def guarded(self, calibration: FlexCalibration) -> None:
        """Judge the sensors from now on, as the renderer does."""
        names = tuple(strip.name for strip in self.loop.device.spec.strips)
        self.guard = SensorGuard(self.loop.law.sensing, names, calibration, self.dt)

    @property
    def place(self) -> Array:
        """Where the handle truly is, shape (5,): x, y, z, two rotations across it."""
        return place_of(self.plant.ports)

    @property
    def sensed_place(self) -> Array:
        """Where sensing puts it, shape (5,)."""
        s = self.loop.law.sensing
        return place_of(s.ports, s.pose)

    @property
    def sensed_force(self) -> Array:
        """The force that sensing sees, shape (5,)."""
        s = self.loop.law.sensing
        return s.ports.axes.T @ s.wrench

    def step(self, hand: Array, press: Array | None = None) -> None:
        """Advance one tick with a hand that is a spring to `hand`, and presses beside it.

        Parameters
        ----------
        hand : ndarray, shape (5,) [m, rad]
        press : ndarray, shape (5,), optional [N, N m]
        """
        target = self._queue.popleft()
        p, grip = self.plant.ports, self.setup.grip
        # The hand's spring and the device in balance, by one linearised step of the plant.
        if self.off:
            compliance, moved = p.ee, -p.ea @ p.torque  # no torque is left after the step
        else:
            self.angle = self.angle + self._settle * (target - self.angle)
            jacobian = p.ea @ np.linalg.inv(p.aa)
            compliance = p.ee - jacobian @ p.ae
            moved = jacobian @ (self.angle + self.zero - p.angle)
        pull = grip @ (hand - self.place - moved + compliance @ p.force)
        if press is not None:
            pull = pull + press
        self.force = np.linalg.solve(np.eye(5) + grip @ compliance, pull)
        if self.off:
            turned = p.ae @ (self.force - p.force) - p.aa @ p.torque
            self.angle = p.angle + turned - self.zero
        self.plant.update(self.angle + self.zero, self.force)
        self._sense()

    def _sense(self) -> None:
        self.time += self.dt
        raw, encoder = self.counts(), STEP * np.round(self.angle / STEP)
        law, guard = self.loop.law, self.guard
        doubtful = False
        if guard is not None:
            guard.before(raw, (raw <= 0.0) | (raw >= FULL_SCALE))
            law.careful = guard.unchecked
        code = self.loop.tick(encoder, self._gain * (raw - self._offset))
        self.failures += code is not Code.NONE
        if guard is not None:
            doubtful = guard.after(encoder, law.strips.elongation, law.resting.odd_strip)
            if doubtful:
                law.approach()
            doubtful = doubtful or guard.doubtful
        if law.nothing_to_do(self.rest_force) or doubtful:  # as the renderer
            law.command[:] = self._last
            law.environment.forget_sliding()
        self._last[:] = law.command
        if not self.inert:  # a handle without mass chatters where it leaves a rigid face
            law.oscillation.reset()
        command = (self.held_at if self.held else law.command).copy()
        self._queue.append(command)
        self.failures += self.loop.advance() is Code.UNSTABLE

    def counts(self) -> Array:
        """Return what the converter reads."""
        slid = self._play.follow(self.plant.ports.sensor.copy())
        return self.signals.counts(slid, self.time, self.random)

    def along(self, points: Sequence[Sequence[float]], seconds: float) -> Trace:
        """Move the hand along points, shape (n, 5), in equal times; return what happened."""
        table = np.asarray(points, float)
        ticks = max(2, round(seconds * self.setup.rate))
        share = np.linspace(0.0, len(table) - 1.0, ticks)
        way = np.array([np.interp(share, np.arange(len(table)), c) for c in table.T]).T
        rows = []
        for hand in way:
            self.step(hand)
            rows.append(
                np.concatenate(
                    [
                        self.place,
                        self.plant.ports.force,
                        self.sensed_place,
                        self.sensed_force,
                        self.angle,
                    ]
                )
            )
        data = np.array(rows)
        return Trace(way, *np.split(data, (5, 10, 15, 20), axis=1))


@dataclass(frozen=True)
class Trace:
    """What happened: hand, place, force, true and sensed, (ticks, 5); motors (ticks, m)."""

    hand: Array
    place: Array
    force: Array
    sensed_place: Array
    sensed_force: Array
    angle: Array

    def __add__(self, other: Trace) -> Trace:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Trace(*(np.vstack(pair) for pair in pairs))
