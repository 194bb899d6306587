# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node `flex_calibration`: moves the motors, records the flex sensors, fits, keeps the fit.

With a known weight on the handle the same shows the modulus of the legs (`~/weigh`).

It commands nothing itself: targets go to whoever commands the motors (haptic renderer or
trajectory planner), whose limits and refusals hold.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import math
import time
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_srvs.srv import Trigger

from soro_flex_calibration.calibration_motion import (
    CalibrationMotion,
    GoalEnd,
    MotionSettings,
    MotorWatch,
    MOVING,
)
from soro_flex_calibration.fitting import (
    fit_recording,
    keep_fit,
    metres_per_count,
    residual_in_metres,
    write_report,
)
from soro_flex_calibration.motor_path import extremes
from soro_flex_calibration.recording import RawRecording, Recorder
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_calibration import (
    FlexCalibration,
    FlexRecording,
    read_calibration,
    UNKNOWN_MATERIAL,
)
from soro_mechanics.haptics.flex_fit import METHODS, PoorFit
from soro_mechanics.haptics.known_weight import weigh
from soro_msgs.action import CalibrateFlexSensors
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState
from soro_node.conversions import command_message, lists_fit
from soro_node.diagnostics import Diagnostics, Level
from soro_node.executor.worker_queue import WorkerQueue
from soro_node.lifecycle import autostart_parameter, GuardedLifecycleNode
from soro_node.main import ASIDE, run
from soro_node.one_goal import OneGoal
from soro_node.parameters import fixed, Parameter, ParameterTable
from soro_node.qos import NEWEST
from soro_node.robot_binding import read_description, ROBOT
from soro_node.transforms import stamp_of
from soro_node.user_data import calibration_path

SAMPLES = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
RECORDING, WEIGHED = 'flex_recording.npz', 'flex_weighed.npz'
FEWER = 1000  # readings of either recording, from which the modulus is found
STOP_TIMEOUT = 0.8  # s
POLL, TELLING = 0.02, 1.0  # s, of what is waited for; between two words about it
LOADING = 300.0  # s: an emulated body may compile its kernels first
LOST = 1.0  # s in which a device may not read any sensor
RELOAD_PATIENCE = 20.0  # s: half a second's work, on a computer that may be busy
SENSOR_FAULT = ActuatorState.SENSOR_FAULT
PARAMETERS = (
    autostart_parameter(),
    ROBOT,
    fixed('gravity', [], 'm/s^2', "gravity in base_link; empty: the robot file's", sizes=(0, 3)),
    Parameter(
        'poses', 64, '', 'extremes of the motors visited where the goal names no number',
        minimum=4, maximum=1000,
    ),
    Parameter(
        'amplitude', 0.7, '', "part of the motors' range where the goal names none",
        minimum=0.05, maximum=1.0,
    ),
    Parameter('speed', 0.9, 'rad/s', 'of the fastest motor', minimum=0.01, maximum=10.0),
    Parameter(
        'settle_time', 0.1, 's', 'rest before readings at an extreme where the goal names none',
        minimum=0.0, maximum=10.0,
    ),
    Parameter(
        'samples_per_pose', 5, '', 'readings at each extreme where the goal names no number',
        minimum=1, maximum=1000,
    ),
    Parameter(
        'in_motion', True, '', 'readings count between the extremes too; false where motors and '
        'sensors are not measured at the same time',
    ),
    Parameter(
        'method', 'exact', '', 'how nodes are chosen: exact (every pair) or published (a range of '
        'gamma, cvxpy); the former never fits worse', choices=METHODS,
    ),
    Parameter(
        'max_residual', 0.0, 'm', 'RMS of a fit above which it is refused; 0: judged by shares of '
        'the range alone', minimum=0.0, maximum=0.01,
    ),
    Parameter(
        'weight', 0.2, 'kg', 'what is hung on the middle of the handle for ~/weigh',
        minimum=0.01, maximum=2.0,
    ),
    Parameter(
        'weight_time', 15.0, 's', 'for a person to hang the weight on, and to take it off, while '
        'the motors hold', minimum=0.0, maximum=600.0,
    ),
    Parameter('seed', 0, '', 'of the random order; negative: another one each time', minimum=-1),
    fixed('use_emulator', True, '', 'the device is emulated: its calibration is kept apart'),
    Parameter(
        'calibration_file', '', '', "where the fit is kept; empty: this robot's file in the user "
        'data folder', read_only=True,
    ),
)  # fmt: skip


class FlexCalibrationNode(GuardedLifecycleNode):
    """Serves the action; one goal at a time."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('flex_calibration', **kwargs)
        self.table = ParameterTable(self, PARAMETERS)
        self.diagnostics = Diagnostics(self)
        self._queue = WorkerQueue(self, 'calibration', threads=2)  # the second one answers BUSY
        self._target = self.create_publisher(ActuatorCommand, 'target_actuation', NEWEST)
        self._goal = OneGoal(self, CalibrateFlexSensors)
        self._motors = MotorWatch()
        self._recorder: Recorder | None = None
        self._faulty = set[str]()  # sensors, of the newest reading
        self._device: Any = None
        self._inputs: list[Any] = []
        self._stamp = 0

    def configure(self) -> None:
        """Read the robot file and offer the action; the model is loaded when it is needed."""
        self._robot = read_description(self.table)
        haptic = self._robot.structure.get('haptic')
        if haptic is None:
            raise InvalidInput('robot', self._robot.name, 'a robot with a section haptic')
        self._spec, self._device = haptic, None  # a model of an earlier file is none of this one
        self._strips = tuple(strip.name for strip in haptic.strips)
        self.path = calibration_path(self.table.values(), self.get_namespace(), self._robot.name)
        self._reload = self.create_client(Trigger, 'haptic_renderer/reload_calibration')
        for name, what in (('~/calibrate', self._calibrate), ('~/weigh', self._weigh)):
            execute = functools.partial(self._execute, what)
            self._queue.create_action(CalibrateFlexSensors, name, execute)
        self.diagnostics.report('calibration', Level.OK, self._known())

    def activate(self) -> None:
        """Listen, and let goals run."""
        self._faulty = set()
        for kind, topic, callback in (
            (ActuatorState, 'actuator_state', self._on_state),
            (FlexState, 'flex_state', self._on_flex),
        ):
            self._inputs.append(self.create_subscription(kind, topic, callback, SAMPLES))

    def stop_outputs(self) -> None:
        """End what is running; the motors hold, then belong to the renderer again.

        The action stays: the results of goals that end here are sent after this callback.
        """
        self._goal.end(STOP_TIMEOUT)
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        self._inputs.clear()

    def cleanup(self) -> None:
        """Withdraw the action; goals are answered NOT_ACTIVE before."""
        self.withdraw_actions()

    def destroy_node(self) -> None:
        """End the queue of the action, then the node."""
        self._queue.close()
        super().destroy_node()

    # The action --------------------------------------------------------------------------------

    def _execute(self, run: Callable[..., None], handle: Any) -> CalibrateFlexSensors.Result:
        def run_until_told(handle: Any, result: Any) -> None:
            run(handle, result, GoalEnd(lambda: handle.is_cancel_requested, self._goal.ending))

        result = self._goal.carry_out(handle, run_until_told)
        level = Level.OK if result.error_code == 0 else Level.WARN
        self.diagnostics.report('calibration', level, result.error_message or self._known())
        return result

    def _calibrate(self, handle: Any, result: CalibrateFlexSensors.Result, end: GoalEnd) -> None:
        goal = handle.request
        unknown = [name for name in goal.sensor_name if name not in self._strips]
        if unknown:
            raise UnknownName('sensor_name', unknown[0], self._strips)
        if not (np.isfinite(goal.max_residual) and goal.max_residual >= 0.0):
            expected = 'a length of zero or more [m]'
            raise InvalidInput('max_residual', goal.max_residual, expected)
        if goal.keep and set(goal.sensor_name or self._strips) < set(self._strips):
            read_calibration(self.path, self._robot.name)  # keeps the others, or is no use
        if goal.use_recorded:
            raw = self._stored(RECORDING)
        else:
            raw = self._move_and_record(handle, RECORDING, end)
        _tell(handle, MOVING, 'solving the model at every reading', 0)
        material = self._material()
        recording = raw.with_model(self._model(material[0]), end.check)
        end.check()
        _tell(handle, 0.95, 'fitting', 0)
        most = goal.max_residual if goal.max_residual > 0.0 else self.table.max_residual
        report = fit_recording(
            self._robot.name,
            recording,
            self._spec.distance,
            goal.sensor_name,
            self.table.method,
            most,
        )
        end.check()
        self._fill(result, report, len(raw.angles))
        notes = (f'recorded on {raw.taken or "a day that the file does not say"}', raw.warning)
        self._try(lambda: write_report(report, recording, self.path.parent, *notes))
        if report.reasons:
            raise PoorFit(tuple(filter(None, (*report.reasons, raw.warning))))
        self._keep(handle, result, end, report, material)

    def _weigh(self, handle: Any, result: CalibrateFlexSensors.Result, end: GoalEnd) -> None:
        """Find the modulus from the last calibration's readings and those under a weight."""
        free = self._stored(RECORDING)
        if handle.request.use_recorded:
            raw = self._stored(WEIGHED)
        else:
            raw = self._move_and_record(handle, WEIGHED, end, self.table.weight_time)
        _tell(handle, MOVING, 'solving the model at every reading', 0)
        force = self.table.weight * self._model(1.0).gravity

        def solved(readings: RawRecording, load: Array, scale: float) -> FlexRecording:
            return readings.thinned(FEWER).with_model(self._model(scale), end.check, load)

        def fit(readings: FlexRecording) -> Any:
            lever, method = self._spec.distance, self.table.method
            return fit_recording(self._robot.name, readings, lever, (), method, 0.0)

        without = functools.partial(solved, free, np.zeros(3))
        report, scale, deviation = weigh(without, functools.partial(solved, raw, force), fit)
        self._fill(result, report, len(raw.angles))
        self.get_logger().info(f'modulus {scale:.3f} of the robot file, +-{deviation:.1%}')
        self._keep(handle, result, end, report, (scale, deviation))

    def _keep(self, handle: Any, result: Any, end: GoalEnd, report: Any, material: Any) -> None:
        if handle.request.keep:
            end.check()  # who ends a goal wants the calibration as it was
            result.error_message = self._set_aside()
            keep_fit(report, self.path, self._strips, material)
            result.saved_to = str(self.path)
            self._use(handle)
        _tell(handle, 1.0, 'done', 0)

    def _set_aside(self) -> str:
        """Rename a file that is no calibration of this robot; return what there is to say."""
        _, why = self._so_far()
        if not why:
            return ''
        aside = self.path.with_name(f'{self.path.name}.unusable')
        self.path.replace(aside)
        return f'kept as {aside.name}: {why}'

    def _so_far(self) -> tuple[FlexCalibration | None, str]:
        """Return the calibration that is kept; of a file that is none of this robot, why."""
        try:
            return read_calibration(self.path, self._robot.name), ''
        except SoroError as error:
            return None, str(error) if self.path.is_file() else ''

    def _stored(self, name: str) -> RawRecording:
        """Return what was recorded before."""
        raw = RawRecording.load(self.path.with_name(name))
        if raw.names != self._strips or raw.angles.shape[1] != len(self._robot.actuators):
            raise InvalidInput('use_recorded', name, 'a recording of this robot')
        return raw

    def _material(self) -> tuple[float, float]:
        """Return scale and deviation of the modulus that a weight has shown."""
        known, why = self._so_far()
        if why:  # it is made anew
            self.get_logger().warning(f'the calibration so far is not used: {why}')
        if known is None:
            return 1.0, UNKNOWN_MATERIAL
        return known.material, known.material_deviation

    def _try(self, write: Callable[[], None]) -> None:
        """Write what the calibration does not need; a failure is said, and costs nothing else."""
        try:
            write()
        except Exception as error:  # noqa: BLE001 - a picture has many ways to fail
            self.get_logger().warning(f'in {self.path.parent}, not written: {error}')

    def _move_and_record(
        self, handle: Any, name: str, end: GoalEnd, pause: float = 0.0
    ) -> RawRecording:
        """Return what was measured, kept as `name`; before and after it the motors hold."""
        table, goal = self.table, handle.request
        limits = np.array([[a.minimum, a.maximum] for a in self._robot.actuators])
        random = np.random.default_rng(None if table.seed < 0 else table.seed)
        stops = extremes(
            limits, goal.amplitude or table.amplitude, goal.poses or table.poses, random
        )
        settle = goal.settle_time or table.settle_time
        if not (np.isfinite(settle) and settle >= 0.0):
            raise InvalidInput('settle_time', settle, 'a time of zero or more')
        samples = goal.samples_per_pose or table.samples_per_pose
        recorder = Recorder(self._strips)
        self._await_sensors(handle, end)
        self._motors.begin()
        motion = CalibrationMotion(
            self._motors,
            recorder,
            MotionSettings(table.speed, settle, samples, table.in_motion),
            self._send,
            end,
            functools.partial(_tell, handle),
        )
        self._recorder = recorder
        try:
            motion.hold(pause, f'hang the weight on: {pause:.0f} s')
            motion.visit([*stops, limits.mean(axis=1)])
        finally:
            self._recorder = None
        try:
            raw = recorder.recording()
            self._try(lambda: raw.save(self.path.with_name(name)))  # whatever ends what comes
        finally:
            motion.hold(pause, f'take the weight off: {pause:.0f} s')
        if raw.warning:
            self.get_logger().warning(raw.warning)
        return raw

    def _await_sensors(self, handle: Any, end: GoalEnd) -> None:
        """Wait until some sensor reads; those of an emulated body that is loaded are open."""
        emulated, begin = self.table.use_emulator, time.monotonic()
        text = 'no flex sensor reads (open, or shorted): '
        text += 'the emulated body is loaded, or compiled for minutes' if emulated else 'see cable'
        told = -math.inf
        while self._faulty >= set(self._strips):
            end.check()
            if (now := time.monotonic()) - begin > (LOADING if emulated else LOST):
                raise SoroError(text, Code.BUSY if emulated else Code.DEVICE_FAULT)
            if now - told >= TELLING:
                told = now
                _tell(handle, 0.0, text, 0)
            end.wait(POLL)

    def _model(self, scale: float) -> Any:
        """Return the model with a modulus `scale` times that of the robot file."""
        if self._device is None or self._scale != scale:
            from soro_mechanics.haptics.device import HapticDevice, softened
            from soro_mechanics.robot import Robot

            robot = Robot(self._robot, 'network')
            if len(self.table.gravity):
                robot.gravity = np.array(self.table.gravity)
            self._device, self._scale = HapticDevice(softened(robot, scale)), scale
        return self._device

    def _use(self, handle: Any) -> None:
        """Have the renderer read the file, where there is one.

        SoroError: BUSY: the fit is kept, but the renderer goes on with what it had.
        """
        if not self._reload.service_is_ready():
            self.get_logger().info('no haptic renderer runs; it will read the file at its start')
            return
        _tell(handle, 0.98, 'giving the fit to the renderer', 0)
        reply = self._reload.call_async(Trigger.Request())
        ending, last = self._goal.ending, time.monotonic() + RELOAD_PATIENCE
        while not reply.done():
            if time.monotonic() > last or ending.wait(POLL):
                raise self._unused('it has not answered')
        try:
            answer = reply.result()
        except Exception as error:  # noqa: BLE001 - whatever the transport raises
            raise self._unused(f'it did not answer: {error!r}') from None
        if not answer.success:
            raise self._unused(answer.message)
        self.get_logger().info(f'renderer: {answer.message}')

    def _unused(self, reason: str) -> SoroError:
        message = (
            f'kept in {self.path}, but the renderer does not use it yet: {reason}; then call '
            f'{self._reload.srv_name}'
        )
        self.get_logger().warning(message)
        return SoroError(message, Code.BUSY)

    def _fill(self, result: Any, report: Any, samples: int) -> None:
        lever = report.lever
        gains = [metres_per_count(fit, lever) for fit in report.fits]
        result.name = [fit.name for fit in report.fits]
        result.offset = [float(fit.offset) for fit in report.fits]
        result.gain = gains
        result.rms_residual = [residual_in_metres(fit, lever) for fit in report.fits]
        result.max_error = [g * fit.largest for g, fit in zip(gains, report.fits, strict=True)]
        result.samples = samples
        self.get_logger().info('\n' + report.text())

    def _known(self) -> str:
        return f'kept in {self.path}' if self.path.is_file() else f'none yet at {self.path}'

    # Topics ------------------------------------------------------------------------------------

    def _on_state(self, message: ActuatorState) -> None:
        names = [a.name for a in self._robot.actuators]
        if not lists_fit(names, message.name, message.measured, message.flags):
            return
        self._motors.take(message)
        recorder = self._recorder
        if recorder is not None:
            recorder.take_state(stamp_of(message.header), np.array(message.measured))

    def _on_flex(self, message: FlexState) -> None:
        recorder = self._recorder
        if not lists_fit(self._strips, message.name, message.raw, message.flags):
            return
        flags = zip(message.name, message.flags, strict=True)
        faulty = self._faulty = {name for name, bits in flags if bits & SENSOR_FAULT}
        if recorder is not None:
            recorder.take_counts(stamp_of(message.header), np.array(message.raw), faulty)

    def _send(self, angle: Array) -> None:
        stops, actuators = self._motors.stops, self._robot.actuators
        message = command_message(self, actuators, angle, stops, self._stamp)
        self._stamp = stamp_of(message.header)
        self._target.publish(message)


def _tell(handle: Any, progress: float, step: str, pose: int) -> None:
    feedback = CalibrateFlexSensors.Feedback(progress=progress, step=step, pose=pose)
    handle.publish_feedback(feedback)


def main() -> None:
    """Run the node."""
    run(FlexCalibrationNode, niceness=ASIDE)
