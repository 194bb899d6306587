# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A haptic device on the beam network: the nonlinear model behind sensing and rendering.

Solves the equilibrium of legs and handle for motor angles and a hand force, and condenses it to
the ports (Koehler 2023, eqs 1-8 and 16). `HapticDevice.update` is meant for the loop: it starts
from the last solution.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.analysis.polytope import MotorLimits
from soro_mechanics.core.array_input import check_shape
from soro_mechanics.core.configuration import Array, Configuration, LoadCase
from soro_mechanics.core.errors import InvalidInput, RobotFileError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics import device_kernels as kernels
from soro_mechanics.haptics.flex_calibration import FlexCalibration, SensorCalibration
from soro_mechanics.haptics.schema import FlexStrip, HapticSpec
from soro_mechanics.haptics.sensing_kernels import Ports
from soro_mechanics.models.network.arrays import copy_state, Inputs
from soro_mechanics.models.network.description.cross_section import ShapedSection
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.system_kernels import condense, evaluate
from soro_mechanics.models.network.model import Network
from soro_mechanics.numerics.lie import so3_log
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.reader import RobotDescription

# Scaled residual after a step of a solution, below which another assembly would not pay: the ports
# carry the remaining correction to first order, so what is left is about its square.
LOOP_TOLERANCE = 1e-3
LOOP_STEPS = 3  # assemblies per solution; one suffices at the speed of a hand
CODES: dict[int, Code | None] = {
    kernels.DONE: Code.NONE,
    kernels.NOT_STABLE: Code.UNSTABLE,
    kernels.NOT_FINITE: Code.NOT_FINITE,
    kernels.NOT_THERE: Code.NOT_CONVERGED,
    kernels.UNDER_WAY: None,
}
SAME_PLACE = 1e-6  # m, of a node when a sensor was calibrated and now


class HapticDevice:
    """A robot with sections ``network`` and ``haptic``, seen through its `CondensedPorts`.

    Parameters
    ----------
    robot : Robot
        Of the model `network`; its gravity counts.
    calibration : FlexCalibration, optional
        Nodes and weights of the sensors; without it every strip has its nominal elongation, the
        distance from the neutral fibre times the bend between its ends.

    Notes
    -----
    One thread at a time. `ports` of the last solution are views that the next one overwrites.
    """

    def __init__(self, robot: Robot, calibration: FlexCalibration | None = None) -> None:
        self.description = robot.description
        self.network = Network(robot.description)
        self.network.estimates_mesh = False  # restarts come in a loop of hundreds of hertz
        self.spec = self._haptic_spec(robot.description)
        self.equilibrium = self.network.equilibrium(())
        self.structure = self.equilibrium.layout.structure
        self.body = self.equilibrium.layout.tip_body
        if self.structure.counts.bodies != 2:
            raise self._wrong('network.bodies', 'a haptic device has one body, the handle')
        self.gravity = robot.gravity
        self._place_motors()
        self._place_sensors(calibration)
        self.across = _across(self.spec.handle_axis)
        na, ns = len(self.motor_rod), len(self.spec.strips)
        self.sizes = (na, 5, ns)
        self._work = self.equilibrium.layout.work()
        total = na + 5 + ns
        self.ports = CondensedPorts(
            np.zeros((total, total)),
            np.zeros(na),
            np.zeros(na),
            np.eye(4),
            np.zeros((6, 5)),
            np.zeros(5),
            np.zeros(ns),
        )
        self._arrays = Ports(*vars(self.ports).values())
        self._parts = kernels.Device(
            self.body,
            self.motor_rod,
            self.motor_axis,
            self.sensor_rod,
            self.sensor_motor,
            self.nodes,
            self.weights,
            self.across,
            angle=np.zeros(na),
            wrench=np.zeros(6),
            old=copy_state(self.equilibrium.scratch[1]),
            progress=kernels.Progress(
                np.zeros(1, np.int64), np.zeros(1), np.zeros(1), np.zeros(1, np.int64)
            ),
            work=np.zeros(kernels.ports_workspace(na, ns, 5)),
        )
        self.tolerance = LOOP_TOLERANCE
        self.restart(np.zeros(na))

    def restart(self, angle: Array) -> None:
        """Solve anew for motor angles without a hand, by continuation from the rest shape.

        Raises
        ------
        InvalidInput
            No equilibrium was found there.
        """
        q = self.network.forward(np.asarray(angle, float), LoadCase(gravity=self.gravity), None)
        if q.status.code is not Code.NONE:
            expected = f'an equilibrium ({q.status.message})'
            raise InvalidInput('angle', angle, expected, q.status.code)
        self._adopt(q)
        self.update(np.asarray(angle, float), np.zeros(5))

    def update(self, angle: Array, force: Array) -> Code:
        """Solve near the last solution: `begin`, and `go_on` to the end.

        Returns
        -------
        Code
            NONE; NOT_CONVERGED: `ports` belong to a state that is not yet an equilibrium, or that
            lies on the way (`ports.angle` and `ports.force` say where); UNSTABLE: `ports` are not
            usable; NOT_FINITE: what was asked for is no number, and nothing has changed.
        """
        check_shape('force', force, self.ports.force.shape)
        self.begin(angle, force)
        return self.go_on(whole=True) or Code.NONE

    def begin(self, angle: Array, force: Array) -> None:
        """Ask for a solution near the last one; the loop's call, unchecked.

        Parameters
        ----------
        angle : ndarray, shape (na,) [rad]
            Motors are held there.
        force : ndarray, shape (5,) [N, N m]
            Of the hand along `ports.axes` of the last solution.
        """
        kernels.free_wrench(self.ports.axes, force, self._parts.wrench)
        self._parts.angle[:] = angle
        progress = self._parts.progress
        progress.next[0] = progress.steps[0] = 0

    def go_on(self, whole: bool = False) -> Code | None:
        """Compute the next part of a solution, or all the rest of it.

        A step, its elimination, both again if need be, ports. None: there is more to do, and
        `ports` are as before. The code is that of `update`.
        """
        solution = self.structure, self._inputs, self._work, self._state
        ends = self.tolerance, LOOP_STEPS
        return CODES[kernels.go_on(*solution, self._parts, self._arrays, ends, whole)]

    @property
    def iterations(self) -> int:
        """Steps of the last solution."""
        return int(self._parts.progress.steps[0])

    def place(self) -> Array:
        """Return where the handle is along its five directions, shape (5,) [m, rad]."""
        p = self.ports
        return np.asarray(p.axes.T @ np.concatenate([p.pose[:3, 3], so3_log(p.pose[:3, :3])]))

    def snapshot(self) -> CondensedPorts:
        """Return a copy of `ports` that keeps."""
        return CondensedPorts(**{name: value.copy() for name, value in vars(self.ports).items()})

    def held(
        self, angle: Array, force: Array, guess: CondensedPorts | None = None
    ) -> CondensedPorts | None:
        """Solve with the motors held, however far from the last solution; None when there is none.

        `force` is along the axes of `guess`, or of the last solution.
        """
        axes = self.ports.axes if guess is None else guess.axes
        wrench = axes @ force
        self.tolerance = self.equilibrium.tolerance
        try:
            code = self.update(np.asarray(angle, float), self.ports.axes.T @ wrench)
            if code is Code.NONE:
                return self.snapshot()
            return self._solve_far(np.asarray(angle, float), wrench)
        finally:
            self.tolerance = LOOP_TOLERANCE

    def _solve_far(self, angle: Array, wrench: Array) -> CondensedPorts | None:
        q = self.network.forward(angle, LoadCase(wrench, (), self.gravity), None)
        if q.status.code is not Code.NONE:
            return None
        self._adopt(q)
        self.ports.axes[3:, 3:] = q.tip[:3, :3] @ self._parts.across
        code = self.update(angle, self.ports.axes.T @ wrench)
        return self.snapshot() if code is Code.NONE else None

    def motor_limits(self, torque: float | None = None) -> MotorLimits:
        """Return the limits of the robot file; `torque` replaces its torque limit [N m]."""
        limits = np.array([[a.minimum, a.maximum] for a in self.description.actuators])
        bound = np.full(len(limits), self.spec.torque_limit if torque is None else torque)
        return MotorLimits(-bound, bound, limits[:, 0], limits[:, 1])

    def node_rotations(self, strip: str) -> Array:
        """Return the rotations of the nodes under a sensor at the last solution, eq (12) [rad].

        Their order is that of the node numbers of a calibration.
        """
        return turns_about(*self.node_frames(strip))

    def node_frames(self, strip: str) -> tuple[Array, Array, Array]:
        """Return of what `turns_about` makes `node_rotations`, of one solution or of several."""
        q = [s.name for s in self.spec.strips].index(strip)
        r = self.sensor_rod[q]
        first, node = int(self.structure.rod_node[r]), self._state.node[:, :3, :3]
        axis = self.motor_axis[self.sensor_motor[q]]
        return node[first].copy(), node[[first + k for k in self.under[q]]], axis

    def places(self, strip: str) -> Array:
        """Return where the nodes under a sensor are along its rod [m], in that order."""
        return self._places[[s.name for s in self.spec.strips].index(strip)]

    def _adopt(self, q: Configuration) -> None:
        solution = q.state
        self._state = copy_state(solution.state)
        x: Inputs = solution.inputs
        self._inputs = x._replace(theta=x.theta.copy(), dead=x.dead.copy())
        s, x, w = self.structure, self._inputs, self._work
        evaluate(s, x, self._state, w, True, False, LANES)
        condense(s, x, self._state, w, True, False)

    def _place_motors(self) -> None:
        spec = self.network.spec
        count = len(self.description.actuators)
        rods = np.full(count, -1)
        for drive in spec.drives:
            if drive.kind != 'angle' or drive.end != 0 or rods[drive.actuator] >= 0:
                raise self._wrong('network.actuation', 'every motor turns the start of one rod')
            rods[drive.actuator] = drive.rod
            if drive.offset != 0.0 or drive.curve is not None:
                raise self._wrong('network.actuation', 'motors of a haptic device have no curve')
        self.motor_rod = rods.astype(np.int64)
        # The motor's axis in the frame of the first node, which turns with it.
        self.motor_axis = np.array(
            [spec.rods[r].ends[0].crank[:3, :3].T @ spec.rods[r].ends[0].motor_axis for r in rods]
        )

    def _place_sensors(self, calibration: FlexCalibration | None) -> None:
        names = list(self.equilibrium.layout.rods)
        motor_of = {int(r): a for a, r in enumerate(self.motor_rod)}
        rods, motors, nodes, weights, under, places = [], [], [], [], [], []
        for strip in self.spec.strips:
            if strip.rod not in names or names.index(strip.rod) not in motor_of:
                raise self._wrong('haptic.flex_sensors', f'{strip.rod!r} is not a driven rod')
            r = names.index(strip.rod)
            rods.append(r)
            motors.append(motor_of[r])
            below = _nodes_under(self.network.spec, r, strip)
            under.append(below)
            rod = self.network.spec.rods[r]
            places.append(rod.fractions[list(below)] * rod.length)
            if calibration is None:
                nodes.append([below[0], below[-1]])
                weights.append([-self.spec.distance, self.spec.distance])
                continue
            fit = calibration.sensor(strip.name)
            if max(fit.nodes) >= len(below):
                expected = f'nodes below {len(below)} for {strip.name}; calibrate again'
                raise InvalidInput('calibration', fit.nodes, expected)
            _check_places(fit, places[-1])
            pair = [below[k] for k in fit.nodes]
            nodes.append(pair if len(pair) == 2 else [pair[0], 0])
            weights.append(list(fit.weights) if len(pair) == 2 else [float(fit.weights[0]), 0.0])
        self.sensor_rod, self.sensor_motor = np.array(rods, np.int64), np.array(motors, np.int64)
        self.nodes = np.array(nodes, np.int64).reshape(-1, 2)
        self.weights = np.array(weights, float).reshape(-1, 2)
        self.under, self._places = tuple(under), tuple(places)

    def _haptic_spec(self, description: RobotDescription) -> HapticSpec:
        for name, path in (('network', 'models.network'), ('haptic', 'control.haptic')):
            if name not in description.structure:
                raise RobotFileError(path, None, 'a haptic device needs it', description.file)
        spec: HapticSpec = description.structure['haptic']
        return spec

    def _wrong(self, path: str, remedy: str) -> RobotFileError:
        written = self.description.written_path(path)
        return RobotFileError(written, self.description.name, remedy, self.description.file)


def turns_about(base: Array, turned: Array, axis: Array) -> Array:
    """Return by how much rotations, (..., n, 3, 3), turn from others, (..., 3, 3), about axes.

    The part along `axis`, (..., 3) in the frame of `base`, of the rotation vector, (..., n) [rad],
    which is less than half a turn.
    """
    turned = np.swapaxes(base, -1, -2)[..., None, :, :] @ turned
    # the rotation vector: its direction times the sine is half the skew part
    skew = 0.5 * (turned - np.swapaxes(turned, -1, -2))
    about = skew[..., (2, 0, 1), (1, 2, 0)]
    sine = np.linalg.norm(about, axis=-1)
    angle = np.arctan2(sine, 0.5 * (np.trace(turned, axis1=-2, axis2=-1) - 1.0))
    size = np.divide(angle, sine, out=np.ones_like(sine), where=sine > 1e-9)
    return np.asarray(size * (about @ axis[..., None])[..., 0])


def softened(robot: Robot, factor: float) -> Robot:
    """Return the same robot of a material `factor` times as stiff (the paper's 0.2 E)."""
    spec: NetworkSpec = robot.description.structure['network']
    rods = []
    for rod in spec.rods:
        section = rod.section
        if not isinstance(section, ShapedSection):
            raise InvalidInput('robot', robot.name, 'rods given by shape and material')
        section = replace(section, young=factor * section.young, shear=factor * section.shear)
        rods.append(replace(rod, section=section))
    structure = {**robot.description.structure, 'network': replace(spec, rods=tuple(rods))}
    other = Robot(replace(robot.description, structure=structure), robot.model)
    other.gravity = robot.gravity
    return other


def _check_places(fit: SensorCalibration, known: Array) -> None:
    """Refuse a calibration that was made for another mesh or another place of the strip."""
    for node, place in zip(fit.nodes, fit.places, strict=False):
        if abs(known[node] - place) > SAME_PLACE:
            expected = (
                f'node {node} of {fit.name} at {1e3 * place:.4g} mm, as when it was calibrated; '
                f'this robot file puts it at {1e3 * known[node]:.4g} mm: calibrate again'
            )
            raise InvalidInput('calibration', f'{1e3 * place:.4g} mm', expected)


def _nodes_under(spec: NetworkSpec, rod: int, strip: FlexStrip) -> tuple[int, ...]:
    """Return the nodes of a rod that lie under a strip, the nearest ones to its ends included."""
    place = spec.rods[rod].fractions * spec.rods[rod].length
    first = int(np.argmin(np.abs(place - strip.start)))
    last = int(np.argmin(np.abs(place - strip.start - strip.length)))
    if last <= first:
        path = f'sensors.{strip.name}.length'
        raise RobotFileError(path, strip.length, 'refine the mesh: no element lies under it')
    # The first node of a rod is the motor's own: its rotation is zero by definition.
    return tuple(range(max(first, 1), last + 1))


def _across(axis: Array) -> Array:
    """Return two unit directions across an axis as columns, shape (3, 2)."""
    start = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = start - axis * (axis @ start)
    u /= np.linalg.norm(u)
    return np.ascontiguousarray(np.column_stack([u, np.cross(axis, u)]))
