# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Haptic rendering: motor angles that make the hand feel a virtual environment.

Koehler 2023, section VIII: the environment gives a goal pose and the force that the hand shall
have there (24)-(25); the rendering problem (26)-(28) finds motor torques that bring the device to
the goal under this force, with least actuator energy in the redundant direction; (29) turns them
into angles and (30) smooths them. Beyond the paper: limits of torque, angle and speed, and an
energy monitor that shortens the motors' steps before they give the hand more energy than it gave.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.analysis.polytope import MotorLimits
from soro_mechanics.core.array_input import check_shape
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics import rendering_kernels as kernels
from soro_mechanics.haptics.motor_leash import MotorLeash
from soro_mechanics.haptics.oscillation import OscillationWatch, SLOW
from soro_mechanics.haptics.resting_hand import RestingHand
from soro_mechanics.haptics.sensing import Sensing
from soro_mechanics.haptics.sensing_kernels import Ports
from soro_mechanics.haptics.strip_play import StripPlay
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment

CODES = {
    kernels.RENDERED: Code.NONE,
    kernels.LIMITS_CONTRADICT: Code.AT_LIMIT,
    kernels.NOT_SOLVED: Code.NOT_CONVERGED,
}
NONE = Code.NONE  # looked up once: that costs more than to ask for it
ARRIVED = 0.02  # rad, of every motor: the approach is over
DOUBLED_WITHIN = 1.0  # s: a hand that keeps the motors from arriving gets their full speed too
# m, rad: an object has the handle where it wants it, and nobody's hand may stay. Below the 1 mm
# that a force of `rest_force` bends the legs by, above what encoders and solver leave. Assumed.
AT_REST = 5e-4, 0.01
NEW_CONTACT = 0.1  # s without any before one that has its own allowance of energy. Assumed.
LET_GO = 'a hand that lets go of the object, or a stop of the device before'


@dataclass(frozen=True, eq=False)
class RenderingSetup:
    """How to render."""

    period: float  #: of the loop [s]
    limits: MotorLimits  #: of torque and angle
    speed_limit: Array  #: (na,) [rad/s]
    #: of the low-pass (30) [s]; the published 6 ms at 2 ms give its alpha = 0.25
    time_constant: float = 6e-3
    #: of the filter on the hand's velocity, which damping uses [s]
    speed_time_constant: float = 10e-3
    #: lever that makes rotation errors comparable with translations in (27) [m]
    length: float = 0.04
    #: Small alpha of alpha W_aa, relative to the traces of W_ea^T W_ea and W_aa. The error it
    #: leaves in a well reachable direction is about this share of the distance.
    regularisation: float = 1e-6
    #: The motors may give the hand this much more than it gave, what the legs store against the
    #: hand included [J]. A stiff wall pressed with f stores 1/2 f.C.f: 5 N at 300 N/m 42 mJ.
    energy: float = 0.1
    #: Of the motors [rad/s] after a start or another environment, until they have come to where it
    #: wants them: an object may lie far from the hand. It doubles every second. Assumed.
    approach_speed: float = 1.0

    def __post_init__(self) -> None:
        """Check numbers that divide or scale."""
        for name in ('period', 'length', 'regularisation', 'energy', 'approach_speed'):
            value = getattr(self, name)
            if not (value > 0.0 and np.isfinite(value)):
                raise InvalidInput(name, value, 'a finite number greater than zero')
        for name in ('time_constant', 'speed_time_constant'):
            value = getattr(self, name)
            if not (value >= 0.0 and np.isfinite(value)):
                raise InvalidInput(name, value, 'a finite number, zero or greater')
        if not np.all(np.asarray(self.speed_limit) > 0.0):
            raise InvalidInput('speed_limit', self.speed_limit, 'greater than zero')

    def share(self, time_constant: float) -> float:
        """Return the weight of a new sample in a first-order low-pass at this period."""
        return self.period / (self.period + time_constant)


class Rendering:
    """The rendering problem on one linearisation; allocates nothing between `linearise` calls."""

    def __init__(self, ports: CondensedPorts, setup: RenderingSetup) -> None:
        na, ne, _ = self.sizes = ports.sizes
        self.setup = setup
        limits = setup.limits
        low_torque, high_torque, low_angle, high_angle = (
            np.array(np.broadcast_to(np.asarray(v, float), (na,)))
            for v in (
                limits.torque_minimum,
                limits.torque_maximum,
                limits.angle_minimum,
                limits.angle_maximum,
            )
        )
        self._torque_change, self.angle = np.zeros(na), ports.angle.copy()
        self.multiplier = np.zeros(2 * na)
        self.code = Code.NO_STATE
        self._metric = np.array([1.0, 1.0, 1.0, *[setup.length**2] * 3])
        self._squares, self.weight = np.zeros((6, ne)), np.zeros(ne)
        self._arrays = kernels.Rendered(
            self.weight,
            float(setup.regularisation),
            low_torque,
            high_torque,
            low_angle,
            high_angle,
            self._torque_change,
            self.angle,
            self.multiplier,
            np.zeros(kernels.rendering_workspace(na, ne)),
            np.zeros(na, np.int64),
        )
        self.ports, self.port_arrays = ports, Ports(*vars(ports).values())
        self.linearise(ports)

    def linearise(self, ports: CondensedPorts) -> None:
        """Take a new linearisation; `ports` of the same sizes, kept as in `Sensing.linearise`."""
        if ports.sizes != self.sizes:
            raise InvalidInput('ports', ports.sizes, f'sizes {self.sizes}', Code.INVALID_SIZE)
        if ports is not self.ports:
            self.ports, self.port_arrays = ports, Ports(*vars(ports).values())
        np.multiply(ports.axes, ports.axes, out=self._squares)
        np.dot(self._metric, self._squares, out=self.weight)

    def update(self, hand: Array, goal: Array, force: Array) -> Code:
        """Solve for one sample; the loop's call, unchecked.

        Parameters
        ----------
        hand : ndarray, shape (4, 4)
            Sensed pose.
        goal, force : ndarray, shape (6,)
            Twist from it to the goal, and force of the hand assumed there.

        Returns
        -------
        Code
            NONE; AT_LIMIT when no motor torque keeps all limits; NOT_CONVERGED. The result, angle
            theta_a of (29), is in `angle`, and unchanged unless NONE.
        """
        self.code = CODES[kernels.render(self.port_arrays, hand, goal, force, self._arrays)]
        return self.code

    @property
    def torque(self) -> Array:
        """Motor torques at the goal, shape (na,) [N m]."""
        return self.ports.torque + self._torque_change


class EnergyMonitor:
    """Watches the energy at the hand; see `RenderingSetup.energy`.

    Passive in the sense that matters to a hand: at any time it got at most the allowance more than
    it gave. On a linear device that holds exactly, up to one tick.
    """

    def __init__(self, setup: RenderingSetup) -> None:
        self.capacity = float(setup.energy)
        self.state = kernels.Monitor(*np.zeros((6, 1)))
        self.last_pose, self.last_wrench = np.eye(4), np.zeros(6)
        self.moved = np.zeros(6)
        self.arrays = self.state, self.last_pose, self.last_wrench, self.moved
        self.reset()

    def reset(self) -> None:
        """Start anew, with the full allowance."""
        for part in self.state:
            part[:] = 0.0
        self.state.tank[:] = self.state.left[:] = self.capacity
        self._renewed = self._least = 0.0  # by renewals, and `lowest` until the last of them [J]

    def jump(self) -> None:
        """Count no motion until the next sample: other sensors are used from there on."""
        self.state.started[:] = 0.0

    def renew(self) -> None:
        """Give the allowance anew, as a contact begins: earlier ones may have spent it."""
        spent = max(0.0, self.capacity - float(self.state.tank[0]))
        self._least, self._renewed = self.lowest, self._renewed + spent
        self.state.tank[:] += spent
        self.state.lowest[:] = self.received

    @property
    def left(self) -> float:
        """What the motors may still give, at the last tick [J]."""
        return float(self.state.left[0])

    @property
    def received(self) -> float:
        """Energy that the hand gave since the start, negative: got [J]."""
        return float(self.state.received[0])

    @property
    def lowest(self) -> float:
        """Least of `received` and what was renewed [J]: passive above minus the allowance."""
        return min(self._least, float(self.state.lowest[0]) + self._renewed)

    @property
    def limited(self) -> int:
        """Number of steps that were shortened."""
        return int(self.state.limited[0])

    def update(self, pose: Array, wrench: Array) -> None:
        """Take one sample; `moved` is the twist of the hand since the last one then."""
        *states, moved = self.arrays
        kernels.watch_energy(*states, pose, wrench, moved)


class HapticLaw:
    """Sensing, environment, rendering, limits: from one measurement to one motor command.

    Attributes
    ----------
    command : ndarray, shape (na,) [rad]
        Overwritten by every `tick`; starts at the sensed angles.
    approaching : bool
        Whether the motors still go to where the environment first wants them, slowly.
    oscillation : OscillationWatch
        While it is `slow` the low-pass of the motors is.
    careful : bool
        Whether the motors go no faster than at the start of an approach, and on a `leash`.
    resting : RestingHand
    """

    def __init__(
        self, sensing: Sensing, setup: RenderingSetup, environment: VirtualEnvironment
    ) -> None:
        na, ne, _ = sensing.sizes
        self.sensing, self.setup, self.environment = sensing, setup, environment
        self.rendering = Rendering(sensing.ports, setup)
        self.monitor = EnergyMonitor(setup)
        self.command, self._step, self.speed = np.zeros(na), np.zeros(na), np.zeros(6)
        self._largest_step = np.broadcast_to(setup.speed_limit, (na,)) * setup.period
        self._small_step = np.minimum(self._largest_step, setup.approach_speed * setup.period)
        self._approach_step, self._gap = np.zeros(na), np.zeros(na)
        self._growth = 2.0 ** (setup.period / DOUBLED_WITHIN)
        self._smoothing = setup.share(setup.time_constant)
        self._slow_smoothing = setup.share(max(setup.time_constant, SLOW))
        self.oscillation = OscillationWatch(setup.period, setup.length)
        self.strips = StripPlay(sensing.setup.sensor_play, sensing.setup.sensor_deviation)
        self._interval = setup.period
        known, work = self.monitor.state, np.zeros(kernels.limit_workspace(na, ne))
        self._commanded = kernels.Commanded(
            self.monitor.capacity, known, self.command, self._step, work
        )
        self._started, self._used = False, sensing.used
        self._periods, self._free = 0, 0.0  # since the last estimate of the hand, since a contact
        self.careful, self.leash = False, MotorLeash(setup.period)
        self.resting = RestingHand(sensing, self.strips, self.rendering.weight, setup.period)
        share = float(setup.share(setup.speed_time_constant))
        self._felt = kernels.Felt(*self.monitor.arrays, self.speed, share, self.resting.drift)
        self.approach()

    def restart(self) -> None:
        """Forget contacts, energy and velocity, and start again from the sensed angles."""
        self._started = False
        self._periods = 0
        self.leash.reset()
        self.approach()
        self.environment.reset()
        self.monitor.reset()
        self.oscillation.reset()
        self.strips.reset()
        self.resting.forget()
        self.speed[:] = 0.0

    def nothing_to_do(self, force: float) -> bool:
        """Whether the motors may stay: nobody's hand (`resting`), and the goal is reached.

        Every direction that gives way follows what is sensed. The error of the sensors would move
        a handle that nobody holds: in free space, along a line, round a circle.
        """
        linear, angular = self.environment.apart.tolist()
        live, added = self.environment.live, self.environment.live.wrench
        self.resting.begin()
        if live.pushes and math.hypot(*added[:3], *(added[3:] / self.setup.length)) > force:
            return False
        return linear <= AT_REST[0] and angular <= AT_REST[1] and self.resting.rests(force)

    def feels_object(self, rest_force: float = 0.0) -> bool:
        """Whether the hand leans on an object, so that taking that away would jerk.

        A hold, a line and a circle constrain the hand wherever it is, also when nobody is there:
        what tells a hand is its force, which the error of the sensors may reach: nobody is there
        below `rest_force` [N].
        """
        return self.environment.touched and not self.resting.rests(rest_force)

    def replace_environment(
        self, environment: VirtualEnvironment, rest_force: float = 0.0
    ) -> None:
        """Swap the environment between two ticks.

        InvalidInput (BUSY) while the hand leans on the present one: the goal would jump.
        """
        if self.feels_object(rest_force):
            names = [o.name for o in self.environment.objects]
            raise InvalidInput('environment', names, LET_GO, Code.BUSY)
        environment.reset()
        environment.live.go_on(self.environment.live.added())
        self.environment = environment
        self.oscillation.reset()
        self.approach()

    def linearise(self, ports: CondensedPorts) -> None:
        """Take a new linearisation of the device, as often as the model delivers one.

        It is kept, not copied: see `Sensing.linearise`.
        """
        self.sensing.linearise(ports)
        self.rendering.linearise(ports)

    def tick(self, encoder: Array, sensor: Array, periods: int = 1) -> Code:
        """Do one tick: motor angles and elongations, shapes (na,) and (ns,), to `command`.

        `periods` since the last tick: more than one where the loop missed slots.

        Returns
        -------
        Code
            NONE, or why the command was left as it is: NO_STATE, NOT_FINITE, UNREACHABLE from
            sensing; AT_LIMIT, NOT_CONVERGED from rendering.
        """
        check_shape('encoder', encoder, self.command.shape)
        check_shape('sensor', sensor, self.strips.half.shape)
        sensing = self.sensing
        self._periods += periods
        period = self.setup.period
        times = periods * period, self._periods * period
        known = sensing.port_arrays, sensing.arrays, self.strips.arrays, self._felt
        if sensing.used is not self._used:  # what is sensed jumps, the hand has not moved
            self.monitor.jump()
            self._used = sensing.used
        sample = encoder, sensor, sensing.used
        found = kernels.feel(*known, *sample, times)
        code = sensing.take(*found)
        if code is not NONE:
            return code
        if not self._started:
            self.command[:] = sensing.angle()  # an encoder may be out of use
            self._started = True
        self._periods, self._interval = 0, times[1]
        environment = self.environment
        environment.update(sensing.pose, sensing.wrench, self.speed, self._interval)
        self._free += self._interval
        if environment.touched:
            if self._free > NEW_CONTACT:
                self.monitor.renew()
            self._free = 0.0
        code = self.rendering.update(sensing.pose, environment.goal, environment.force)
        if code is not NONE:
            return code
        smoothing = self._slow_smoothing if self.oscillation.slow else self._smoothing
        limits = self.rendering.angle, smoothing, self._allowed_step(), self._commanded
        kernels.limit_command(sensing.port_arrays, sensing.arrays, *limits)
        if self.careful:
            self.leash.shorten(self.command, sensing.ports)
        else:
            self.leash.reset()
        return Code.NONE

    def watch_oscillation(self) -> None:
        """Look at the last sample's motion; once a tick, when the command is out."""
        self.oscillation.update(self.monitor.moved, self._interval)

    def approach(self) -> None:
        """Begin slowly: where the environment wants the motors may be far from where they are."""
        self.approaching = True
        self._approach_step[:] = self._small_step

    def _allowed_step(self) -> Array:
        """Return the largest step of this tick; the approach ends on arrival, or by and by."""
        if self.careful:
            return self._small_step
        if not self.environment.touched:
            self.approaching = False  # where nothing holds the hand there is no way to go
        if not self.approaching:
            return self._largest_step
        np.subtract(self.rendering.angle, self.command, out=self._gap)
        np.abs(self._gap, out=self._gap)
        self._approach_step *= self._growth
        np.minimum(self._approach_step, self._largest_step, out=self._approach_step)
        fast = bool((self._approach_step == self._largest_step).all())
        self.approaching = bool(self._gap.max() > ARRIVED) and not fast
        return self._approach_step


def natural_stiffness(ports: CondensedPorts) -> Array:
    """Return the stiffness that the hand feels with the motors held, shape (ne, ne).

    The yardstick of rendering: the device can be rendered stiffer and softer than this.
    """
    held = ports.ee - ports.ea @ np.linalg.solve(ports.aa, ports.ae)
    return np.asarray(np.linalg.inv(held), np.float64)


def rendering_setup(
    period: float, limits: MotorLimits, speed_limit: ArrayLike, **options: float
) -> RenderingSetup:
    """Fill a setup; `speed_limit` a number or shape (na,) [rad/s], options as its attributes."""
    size = np.shape(limits.angle_maximum)
    speed = np.array(np.broadcast_to(np.asarray(speed_limit, float), size))
    return RenderingSetup(period, limits, speed, **options)
