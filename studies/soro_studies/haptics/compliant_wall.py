# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Walls with stiffness and damping: what the hand feels of them, slowly, in cycles, at contact.

Asked is a spring and a damper side by side, force = k depth + b speed. What is felt differs by
the lag between sensing and motors; `felt_impedance` computes that from the linear loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math

import numpy as np
from scipy.integrate import trapezoid

from soro_mechanics.haptics.hand_impedance import HandImpedance
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.haptics.stable_limits import MOTOR_LAG
from soro_mechanics.haptics.virtual_environment import frame_at, Shape, VirtualObject
from soro_studies.haptics.moving_bench import MovingBench
from soro_studies.haptics.rendering_experiments import MakeBench, natural, slope
from soro_studies.haptics.virtual_bench import BenchSetup, SOFTER, VirtualBench

MakeMoving = Callable[[Sequence[VirtualObject], BenchSetup, HandImpedance], MovingBench]

PRESS = 0.02  # m, how far beyond the wall the hand goes in a slow press
MIDDLE, SWING = 0.012, 0.008  # m beyond the wall: where the hand swings about, and how far
FREQUENCY, CYCLES = 1.0, 3  # Hz, and how many are measured after one that is not
RUN, BEYOND = 0.02, 0.015  # m, of a hand before and behind the wall
STAY = 1.0  # s, pressed after a contact


def compliant_wall(stiffness: float, damping: float = 0.0, place: float = 0.0) -> VirtualObject:
    """Return a wall across x, the free side at larger x; [N/m], [N s/m], [m]."""
    frame = frame_at(np.array([place, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    return VirtualObject('wall', Shape.WALL, pose=frame, stiffness=stiffness, damping=damping)


@dataclass(frozen=True)
class Pressed:
    """A wall pressed slowly: stiffness asked, felt, and of the device alone [N/m]."""

    asked: float
    felt: float
    natural: float


def press_slowly(make: MakeBench, stiffness: float, seconds: float = 4.0) -> Pressed:
    """Press into a wall and let go; the slope of force over position while it is pressed."""
    bench = make([compliant_wall(stiffness)], None)
    far = [-PRESS, 0.0, 0.0, 0.0, 0.0]
    trace = bench.along([[0.0] * 5, far, [0.0] * 5], seconds)
    inside = trace.place[:, 0] < -0.1 * PRESS * _share(bench, stiffness)
    felt = slope(trace.place[inside, 0], trace.force[inside, 0])
    return Pressed(stiffness, felt, natural(bench))


def _share(bench: VirtualBench, stiffness: float) -> float:
    """Return the part of the hand's way beyond the wall that the handle goes."""
    grip = float(bench.setup.grip[0, 0])
    return grip / (grip + stiffness)


@dataclass(frozen=True)
class Cycled:
    """A hand that swings in a wall: asked, felt and computed.

    Attributes
    ----------
    stiffness, damping : float
        Asked [N/m], [N s/m].
    felt : complex
        Force over position of the hand at the frequency of the swing [N/m].
    computed : complex
        The same of the linear loop.
    amplitude : float
        Of the handle [m].
    lost : float
        Energy that the hand lost per cycle, the area of its force-position curve [J].
    rate : float
        Of the swing [rad/s].
    """

    stiffness: float
    damping: float
    felt: complex
    computed: complex
    amplitude: float
    lost: float
    rate: float

    @property
    def asked_loss(self) -> float:
        """Energy per cycle that a damper as asked would take at this amplitude [J]."""
        return math.pi * self.damping * self.rate * self.amplitude**2

    @property
    def computed_loss(self) -> float:
        """Energy per cycle of the linear loop at this amplitude [J]."""
        return math.pi * self.computed.imag * self.amplitude**2

    @property
    def felt_damping(self) -> float:
        """The damper that would take what was lost [N s/m]."""
        return self.lost / (math.pi * self.rate * self.amplitude**2)


def swing(
    make: MakeBench, stiffness: float, damping: float, frequency: float = FREQUENCY
) -> Cycled:
    """Swing in a wall, always in contact, and measure the last cycles."""
    bench = make([compliant_wall(stiffness, damping)], None)
    rate, ticks = 2.0 * math.pi * frequency, round(bench.setup.rate / frequency)
    start = bench.along([[0.0] * 5, [-MIDDLE, 0.0, 0.0, 0.0, 0.0]], 0.5)
    computed = felt_impedance(bench, stiffness, damping, rate)  # of the legs as bent there
    phase = 2.0 * math.pi * np.arange((1 + CYCLES) * ticks + 1) / ticks
    way = np.zeros((len(phase), 5))
    way[:, 0] = start.hand[-1, 0] - SWING * np.sin(phase)
    trace = bench.along(way, len(way) / bench.setup.rate)
    last = slice(-CYCLES * ticks - 1, None)
    place, force = trace.place[last, 0], trace.force[last, 0]
    wave = np.exp(-1j * phase[last])[1:]
    moved, pressed = 2.0 * wave @ place[1:] / len(wave), 2.0 * wave @ force[1:] / len(wave)
    lost = float(trapezoid(force, place)) / CYCLES
    return Cycled(stiffness, damping, pressed / moved, computed, abs(moved), lost, rate)


def felt_impedance(bench: VirtualBench, stiffness: float, damping: float, rate: float) -> complex:
    """Return force over position of the linear loop in a wall at a frequency, across x [N/m].

    The handle is held by the legs from where the motors put it, force = K (x - m). The motors are
    told m = goal - C force: at the wall goal = (force - b speed) / k with the force that sensing
    sees, elsewhere the goal is the hand and the force zero. They follow late: a tick of delay and
    one to sample, the low-pass, their own lag. All at z = exp(i rate T), so nothing is neglected
    but noise and curvature.

    Parameters
    ----------
    bench : VirtualBench
        With its handle where the motion is small around.
    stiffness, damping : float
        Asked [N/m], [N s/m].
    rate : float
        [rad/s]
    """
    dt, setup = bench.dt, bench.loop.law.setup
    back = np.exp(-1j * rate * dt)

    def low_pass(weight: float) -> complex:
        return complex(weight / (1.0 - (1.0 - weight) * back))

    motor = 1.0 - math.exp(-dt / MOTOR_LAG)
    late = back**bench.setup.delay * low_pass(motor) * low_pass(setup.share(setup.time_constant))
    speed = low_pass(setup.share(setup.speed_time_constant)) * (1.0 - back) / dt
    k = natural_stiffness(bench.plant.ports)
    wall, free = np.diag([1.0, 0.0, 0.0, 0.0, 0.0]), np.diag([0.0, 1.0, 1.0, 1.0, 1.0])
    # What the model believes to be stiffer it senses as stronger.
    yields = wall / (SOFTER * stiffness) - np.linalg.inv(k) @ wall
    follows = free - wall * damping * speed / stiffness
    # force = K (x - late (yields force + follows x)), and the hand's spring pulls elsewhere.
    impedance = np.linalg.solve(np.eye(5) + late * k @ yields, k @ (np.eye(5) - late * follows))
    moved = np.linalg.solve(impedance + bench.setup.grip, bench.setup.grip[:, 0])
    return complex((impedance @ moved)[0] / moved[0])


@dataclass(frozen=True)
class Bounced:
    """A hand with inertia that runs into a compliant wall and stays.

    Attributes
    ----------
    stiffness, damping : float
        Of the wall [N/m], [N s/m].
    deepest : float
        Largest depth [m].
    settled : float
        Depth at the end [m].
    balance : float
        Depth where the springs of hand and wall, as asked, are in balance [m].
    rebound : float
        How far the handle swings back from its deepest place to beyond the settled one [m].
    losses : int
        How often it left the wall again.
    """

    stiffness: float
    damping: float
    deepest: float
    settled: float
    balance: float
    rebound: float
    losses: int


def run_into(
    make: MakeMoving, stiffness: float, damping: float, held_by: HandImpedance, speed: float = 0.1
) -> Bounced:
    """Run into a wall with a hand that has mass, damping and stiffness; stay pressed."""
    bench = make([compliant_wall(stiffness, damping)], BenchSetup(), held_by)
    start = np.array([RUN, 0.0, 0.0, 0.0, 0.0])
    far = np.array([-BEYOND, 0.0, 0.0, 0.0, 0.0])
    bench.along([np.zeros(5), start], 0.5)
    bench.along([start, start], 0.5)
    going = bench.along([start, far], (RUN + BEYOND) / speed)
    staying = bench.along([far, far], STAY)
    depth = -(going + staying).place[:, 0]
    deepest = int(np.argmax(depth))
    settled = float(depth[-round(0.2 * bench.setup.rate) :].mean())
    inside = depth > 0.0
    grip = float(held_by.stiffness[0])
    return Bounced(
        stiffness,
        damping,
        float(depth[deepest]),
        settled,
        BEYOND * grip / (grip + stiffness),
        max(0.0, settled - float(depth[deepest:].min())),
        int(np.sum(inside[:-1] & ~inside[1:])),
    )
