# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the hand is and how hard it pushes, from motor encoders and flex sensors.

Koehler 2023, section VII: the changes of motor torque and hand force that explain the measurements
best (19), (20), then force (21) and position (22). Beyond the paper, measurements are weighed by
their standard deviations, knowledge about the hand force may be given as a prior (so that a lost
sensor widens the estimate instead of breaking it), torques have bounds, and every estimate carries
its covariance.

As published a slow thread solves the nonlinear model and `Sensing.linearise` takes its result at
about 20 Hz; `loop.HapticLoop` does so at every sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics import sensing_kernels as kernels

CODES = {
    kernels.SENSED: Code.NONE,
    kernels.UNOBSERVABLE: Code.NO_STATE,
    kernels.BOUNDS_CONTRADICT: Code.UNREACHABLE,
    kernels.NOT_FINITE: Code.NOT_FINITE,
}


@dataclass(frozen=True, eq=False)
class SensingSetup:
    """What is known about the measurements and the forces."""

    #: (na,) [rad]; standard deviation of each motor angle, at the output of the gear
    encoder_deviation: Array
    #: (ns,); of each sensor, in its unit: noise and misfit of the calibration together
    sensor_deviation: Array
    #: (ne,) [N, N m]; of the hand force before measuring, around zero; infinite: nothing known (as
    #: published)
    force_deviation: Array
    #: (na,) [N m]; of the motor torque before measuring, around zero; infinite: nothing known (as
    #: published)
    torque_deviation: Array
    torque_limit: Array  #: (na,) [N m]; the motors cannot give more; infinite: no bound
    force_limit: Array  #: (ne,) [N, N m]; no hand gives more; infinite: no bound
    #: (ns,); half the dead band with which each sensor follows (`strip_play`), in its unit
    sensor_play: Array


@dataclass(frozen=True, eq=False)
class TipEstimate:
    """Pose and wrench of the hand at the tip, axes of base_link, with covariances."""

    pose: Array  #: (4, 4)
    #: (6, 6) [m^2, m rad, rad^2]; of the twist from the estimate to the truth, linear first
    pose_covariance: Array
    wrench: Array  #: (6,) [N, N m]; of the hand on the device
    wrench_covariance: Array  #: (6, 6)
    angle: Array  #: (na,) [rad]; motor angles that fit the measurements
    torque: Array  #: (na,) [N m]; motor torques on the structure
    bounded: bool  #: a bound holds part of the solution; the covariances do not know of it
    #: NONE, NO_STATE (the measurements do not fix the state), UNREACHABLE (contradicting bounds),
    #: NOT_FINITE. Fields are the last good ones unless NONE.
    code: Code


def sensing_setup(
    ports: CondensedPorts,
    encoder_deviation: float,
    sensor_deviation: ArrayLike,
    force_deviation: ArrayLike = np.inf,
    torque_deviation: float = np.inf,
    torque_limit: float = np.inf,
    force_limit: ArrayLike = np.inf,
    sensor_play: ArrayLike = 0.0,
) -> SensingSetup:
    """Fill a setup: a number stands for all ports of its kind; see `SensingSetup`.

    Raises
    ------
    InvalidInput
        A value that is not greater than zero, or of a wrong size.
    """
    na, ne, ns = ports.sizes

    def spread(name: str, value: ArrayLike, size: int) -> Array:
        array = np.array(value, dtype=float)
        if array.shape not in ((), (size,)):
            raise InvalidInput(name, value, f'a number or shape ({size},)', Code.INVALID_SIZE)
        if not np.all(array >= 0.0 if name == 'sensor_play' else array > 0.0):
            raise InvalidInput(name, value, 'greater than zero')
        return np.array(np.broadcast_to(array, (size,)))

    return SensingSetup(
        spread('encoder_deviation', encoder_deviation, na),
        spread('sensor_deviation', sensor_deviation, ns),
        spread('force_deviation', force_deviation, ne),
        spread('torque_deviation', torque_deviation, na),
        spread('torque_limit', torque_limit, na),
        spread('force_limit', force_limit, ne),
        spread('sensor_play', sensor_play, ns),
    )


class Sensing:
    """Sensing on one linearisation; nothing is allocated between calls of `linearise`.

    The attributes `pose`, `wrench`, `z`, ... are views that every `update` overwrites; `estimate`
    copies them; `used` says which sensors count, `linearised` how often that was done. One thread
    at a time.
    """

    def __init__(self, ports: CondensedPorts, setup: SensingSetup) -> None:
        na, ne, ns = self.sizes = ports.sizes
        nz = na + ne
        self.setup = setup
        self._bound = np.concatenate([setup.torque_limit, setup.force_limit])
        self.z, self.covariance = np.zeros(nz), np.zeros((nz, nz))
        self.pose, self.wrench = ports.pose.copy(), np.zeros(6)
        self.pose_covariance, self.wrench_covariance = np.zeros((6, 6)), np.zeros((6, 6))
        self.arrays = kernels.Sensed(
            weight=np.zeros(na + ns),
            prior=1.0 / np.concatenate([setup.torque_deviation, setup.force_deviation]),
            state=np.zeros(nz),
            low=np.zeros(nz),
            high=np.zeros(nz),
            offset=np.zeros(na + ns),
            z=self.z,
            covariance=self.covariance,
            pose=self.pose,
            wrench=self.wrench,
            pose_covariance=self.pose_covariance,
            wrench_covariance=self.wrench_covariance,
            scratch=np.zeros((6, max(nz, 6))),
            work=np.zeros(kernels.sensing_workspace(na, ne, ns)),
            index=np.zeros(nz, np.int64),
        )
        self.code, self.bounded, self.linearised = Code.NO_STATE, False, 0
        self.ports, self.port_arrays = ports, kernels.Ports(*vars(ports).values())
        self.use(np.ones(na, bool), np.ones(ns, bool))
        self.linearise(ports)

    def linearise(self, ports: CondensedPorts) -> None:
        """Take a new linearisation; `ports` of the same sizes. `z` counts from it: zero.

        `ports` is kept, not copied. Where the model goes on solving before the next call, as in
        a thread of its own, give a copy (`HapticDevice.snapshot`): its own are overwritten.
        """
        if ports.sizes != self.sizes:
            raise InvalidInput('ports', ports.sizes, f'sizes {self.sizes}', Code.INVALID_SIZE)
        if ports is not self.ports:
            self.ports, self.port_arrays = ports, kernels.Ports(*vars(ports).values())
        self.linearised += 1
        self.z[:] = 0.0
        state, low = self.arrays.state, self.arrays.low
        state[: self.sizes[0]] = ports.torque
        state[self.sizes[0] :] = ports.force
        np.add(self._bound, state, out=low)
        np.negative(low, out=low)
        np.subtract(self._bound, state, out=self.arrays.high)

    def use(self, encoders: NDArray[np.bool_], sensors: NDArray[np.bool_]) -> None:
        """Choose the measurements that count, shapes (na,) and (ns,); the rest may be NaN."""
        na, _, ns = self.sizes
        if np.shape(encoders) != (na,) or np.shape(sensors) != (ns,):
            expected = f'shapes ({na},) and ({ns},)'
            raise InvalidInput('use', (encoders, sensors), expected, Code.INVALID_SIZE)
        self.arrays.weight[:na] = encoders / self.setup.encoder_deviation
        self.used = np.array(sensors, bool)
        self.widen(*np.zeros((2, ns)))

    def limit_force(self, limit: ArrayLike) -> None:
        """Bound the hand force by less than the setup does, shape (ne,), from `linearise` on."""
        self._bound[self.sizes[0] :] = np.minimum(limit, self.setup.force_limit)

    def widen(self, deviation: Array, drift: Array) -> None:
        """Let the sensors err by more, shapes (ns,): standard deviations beside the setup's."""
        known = self.used, self.setup.sensor_deviation
        kernels.weigh_sensors(self.arrays, *known, deviation, drift)

    def update(self, encoder: Array, sensor: Array) -> Code:
        """Estimate from one sample, shapes (na,) [rad] and (ns,); the loop's call, unchecked."""
        return self.take(*kernels.sense_effector(self.port_arrays, encoder, sensor, self.arrays))

    def take(self, status: int, bounded: bool) -> Code:
        """Note how a kernel has sensed; return the code of that."""
        self.code, self.bounded = CODES[status], bounded
        return self.code

    def estimate(self, encoder: ArrayLike, sensor: ArrayLike) -> TipEstimate:
        """Estimate from one sample, checked, as a result that keeps.

        Raises
        ------
        InvalidInput
            A wrong size. Numbers that are not finite are an outcome, not an error.
        """
        na, _, ns = self.sizes
        samples = []
        for name, value, size in (('encoder', encoder, na), ('sensor', sensor, ns)):
            array = np.array(value, dtype=float)
            if array.shape != (size,):
                raise InvalidInput(name, value, f'shape ({size},)', Code.INVALID_SIZE)
            samples.append(array)
        self.update(*samples)
        return TipEstimate(
            self.pose.copy(),
            self.pose_covariance.copy(),
            self.wrench.copy(),
            self.wrench_covariance.copy(),
            self.angle(),
            self.ports.torque + self.z[:na],
            self.bounded,
            self.code,
        )

    def angle(self) -> Array:
        """Return the motor angles that fit the last sample, shape (na,) [rad]."""
        na, ne, _ = self.sizes
        return self.ports.angle + self.ports.compliance[:na, : na + ne] @ self.z

    def force(self) -> Array:
        """Return the hand force along the effector directions, shape (ne,), eq (21)."""
        na, ne, _ = self.sizes
        return self.ports.force + self.z[na : na + ne]

    def without_hand(self) -> tuple[Array, Array]:
        """Return what the sensors read more by a turn of each motor, and by a force of the hand.

        Returns
        -------
        ndarray, ndarray, shapes (ns, na) and (ns, ne)
            Without a hand, and along each effector direction with the motors held.
        """
        p = self.ports
        turned = np.asarray(np.linalg.solve(p.aa, p.sa.T).T, np.float64)
        return turned, p.se - turned @ p.ae


@dataclass(frozen=True, eq=False)
class Observability:
    """What the measurements can tell about the hand."""

    #: number of independent effector directions whose force the measurements know better than the
    #: given deviation
    rank: int
    #: (ne,); how much better, as deviation before over deviation after, descending; 1: not at all
    gain: Array
    #: (6, ne); the matching wrench directions as columns, each of the size of its prior deviation
    directions: Array

    @property
    def unseen(self) -> Array:
        """Wrench directions that the measurements cannot see, shape (6, ne - rank)."""
        return self.directions[:, self.rank :]


def observability(
    ports: CondensedPorts,
    setup: SensingSetup,
    force_deviation: ArrayLike,
    encoders: ArrayLike | None = None,
    sensors: ArrayLike | None = None,
) -> Observability:
    """Find the hand forces that the measurements can and cannot see, motor torques unknown.

    Parameters
    ----------
    ports, setup
        The device and the quality of its measurements.
    force_deviation : array_like, shape (ne,) or number [N, N m]
        Forces worth seeing: what a hand typically gives.
    encoders, sensors : array_like of bool, shapes (na,), (ns,), optional
        Measurements that work; default all.

    Notes
    -----
    The rank counts the eigenvalues above one of the information about the force, the motor
    torques projected out, relative to the given deviations. A motion of the hand with the motors
    where they are is W_ee^* times a force, so unseen forces are unseen motions too.
    """
    na, ne, ns = ports.sizes
    deviation = np.broadcast_to(np.asarray(force_deviation, float), (ne,))
    if not np.all(deviation > 0.0) or not np.all(np.isfinite(deviation)):
        raise InvalidInput('force_deviation', force_deviation, 'finite, greater than zero')
    use_a = np.ones(na, bool) if encoders is None else np.asarray(encoders, bool)
    use_s = np.ones(ns, bool) if sensors is None else np.asarray(sensors, bool)
    weight = np.concatenate([use_a / setup.encoder_deviation, use_s / setup.sensor_deviation])
    rows = weight[:, None] * np.block([[ports.aa, ports.ae], [ports.sa, ports.se]])
    rows = finite_array('ports', rows, (na + ns, na + ne))
    torque, force = rows[:, :na], rows[:, na:] * deviation
    # Project the unknown torques out; their span to the precision of the factorisation.
    u, s, _ = np.linalg.svd(torque, full_matrices=False)
    span = u[:, s > kernels.RANK * s[0]] if s.size else u
    rest = force - span @ (span.T @ force)
    _, information, directions = np.linalg.svd(rest)
    values = np.zeros(ne)
    values[: information.size] = information[:ne]
    gain = np.sqrt(1.0 + values**2)
    wrenches = ports.axes @ (deviation[:, None] * directions.T)
    return Observability(int(np.sum(values > 1.0)), gain, wrenches)
