# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node `haptic_renderer`: owns the loop of a haptic device, senses the hand, renders to it.

The loop is the driver's (`soro_driver.loop.control_loop`), with the same limits, watchdogs,
lifecycle and services; only what decides the set-points is different. Topics are copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
import gc
import math
import sys
import time
import traceback
from typing import Any

from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from std_srvs.srv import Trigger

from soro_driver.device import Array, Device, DeviceState
from soro_driver.driver_messages import flex_message, state_message
from soro_driver.driver_report import Status
from soro_driver.endpoint import Endpoint
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import Law
from soro_driver.loop.real_time import favour_threads
from soro_driver.loop.tick import Tick
from soro_driver.node import DriverNode
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.settings import DriverSettings, read_driver_settings, RELEASE
from soro_haptics.environment_messages import objects_from_messages, words_of
from soro_haptics.haptic_control import HapticControl, Haptics
from soro_haptics.haptic_messages import estimate_message, wrench_message
from soro_haptics.haptic_parameters import PARAMETERS, TOPICS
from soro_haptics.haptic_report import rendering_status, sensor_status, timing_status
from soro_haptics.haptic_setup import make_haptics
from soro_haptics.motor_motion import MotorMotion
from soro_haptics.real_time import lock_memory, SWITCH_INTERVAL
from soro_haptics.stage_times import StageTimes, with_times
from soro_haptics.streams import Streams
from soro_haptics.topic_device import DRIVEN, TopicDevice
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_calibration import read_calibration
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment
from soro_mechanics.robot_file.reader import RobotDescription
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState, TipEstimate
from soro_msgs.srv import SetVirtualEnvironment
from soro_node.conversions import command_message, stamped_pose
from soro_node.diagnostics import Level, PERIOD
from soro_node.executor.any_publisher import AnyPublisherSubscription
from soro_node.executor.worker_queue import WorkerQueue
from soro_node.frames import frames_for
from soro_node.lifecycle import NotActive
from soro_node.main import run
from soro_node.qos import LOSSY, NEWEST
from soro_node.replies import answering, internal
from soro_node.robot_binding import read_description
from soro_node.robot_node import announce_kernels
from soro_node.transforms import stamp_of, TransformListener
from soro_node.user_data import calibration_path

LEFT = 0.4  # of a period; a tick that has less left publishes nothing while others may
CLEAR = 'driver/clear_fault'
PIECES = 10  # of a report, at most


class HapticRenderer(DriverNode):
    """A driver whose set-points come from sensing and rendering on the full model."""

    node_name = 'haptic_renderer'
    parameters = PARAMETERS
    loop_reports = True
    once_active = 'active: choose what the hand feels (set_environment, soro haptics)'

    def __init__(self, **kwargs: Any) -> None:
        self._control: HapticControl | None = None
        self._haptics: Haptics | None = None  # loaded before the configuration that uses it
        self._refused = False  # it could not be
        self._heard: TopicDevice | None = None
        self._times = StageTimes()
        super().__init__('', **kwargs)
        self._frames = frames_for(self.get_namespace(), self._table.frame_prefix)
        self._source = self.get_fully_qualified_name()
        self.diagnostics, self.transforms = self._diagnostics, TransformListener(self)
        self._told = -math.inf  # when the loop began to report
        self._telling: Iterator[None] = iter(())
        self._pieces = math.ceil(PIECES / self._table.publish_rate)
        self._streams = Streams(self, self._frames, self._table.stream_timeout)
        self._every, self._count = 1, 0
        self._topics = self._table.loop == TOPICS
        self._command = Node.create_publisher(self, ActuatorCommand, 'actuator_command', NEWEST)
        self._estimate = Node.create_publisher(self, TipEstimate, 'tip_estimate', 10)
        self._tip = Node.create_publisher(self, PoseStamped, 'tip_pose', 10)
        self._wrench = Node.create_publisher(self, WrenchStamped, 'hand_wrench', 10)
        if not self._topics:
            self._flex_publisher = Node.create_publisher(self, FlexState, 'flex_state', 10)
        self._stamp = 0
        copies = self._copy_state, self._copy_command, self._copy_estimate, self._copy_hand
        self._copies = (*copies, self._report_on)
        self._pending: Sequence[Callable[[Tick], None]] = ()

    # What differs from a driver ----------------------------------------------------------------

    def configure(self) -> None:
        """Do what a driver does; the next configuration loads the model of its own robot file."""
        try:
            super().configure()
        finally:
            self._haptics, self._refused = None, False
            self._told, self._telling = -math.inf, iter(())

    def activate(self) -> None:
        """Do what a driver does; a refusal names all that has to be cleared."""
        try:
            super().activate()
        except NotAllowed as error:
            raise NotAllowed(str(error).replace(CLEAR, self._clearing), error.code) from None

    def listen_to_commands(self) -> None:
        """Listen to targets for the motors: nobody else commands them."""
        topic = 'target_actuation'
        AnyPublisherSubscription(self, ActuatorCommand, topic, self._on_target, NEWEST)

    def offer_services(self) -> None:
        """Offer the environment, and the driver's services where this node is the driver."""
        if self._table.loop != TOPICS:
            super().offer_services()
        else:  # driver/clear_fault is the driver's: it does not reach what is latched here
            self.create_service(Trigger, '~/clear_fault', self._on_clear_fault)
            self.create_service(Trigger, '~/release_estop', self.emergency_stop.release)
        self.create_service(SetVirtualEnvironment, '~/set_environment', self._on_set_environment)
        # Building a model takes half a second, in which the executor must hear a stop.
        self._queue = WorkerQueue(self, 'reload')
        self._queue.create_service(Trigger, '~/reload_calibration', self._on_reload)
        self.create_service(Trigger, '~/clear_timing', self._on_clear_timing)

    def make_device(
        self, settings: DriverSettings, robot: RobotDescription, endpoint: Endpoint | None
    ) -> Device:
        """Return the device, or a driver on topics in its place."""
        if not self._topics:
            device = super().make_device(settings, robot, endpoint)
            return with_times(device, self._times.read, self._times.write)
        if self._heard is None:  # one for all attempts: it needs time to hear something
            names = tuple(a.name for a in robot.actuators)
            sensors = tuple(strip.name for strip in robot.structure['haptic'].strips)
            driven = (DeviceState.ACTIVE,) if settings.safe_action == RELEASE else DRIVEN
            timeouts = self._table.connect_timeout, settings.feedback_timeout
            heard = self._heard = TopicDevice(names, sensors, self._send, *timeouts, driven)
            with_times(heard, self._times.read, self._times.write)
            self.create_subscription(ActuatorState, 'actuator_state', heard.take_state, LOSSY)
            self.create_subscription(FlexState, 'flex_state', heard.take_flex, LOSSY)
        return self._heard

    def make_law(
        self, robot: RobotDescription, gate: CommandGate, settings: DriverSettings
    ) -> Law:
        """Return sensing and rendering; one model does for all attempts to connect."""
        if self.preparing:
            raise NotAllowed(f'{self.preparing}; try again', Code.BUSY)
        self._robot, self._period = robot, settings.period
        self._every = max(1, round(settings.rate / self._table.publish_rate))
        haptics = self._haptics = self._haptics or self._load()
        motion = MotorMotion(len(gate.names), self._table.motion_speed)
        table = self._table
        options = table.on_sensor_loss, table.rest_force, self._times, self._streams
        control = HapticControl(haptics, self._source, motion, *options)
        # What is loaded by now stays: collections look at what came later only.
        gc.collect()
        gc.freeze()
        self._times.clear()
        if self._table.priority:
            lock_memory()
            favour_threads(self._table.priority - 1)
            sys.setswitchinterval(SWITCH_INTERVAL)
        return control

    def use_law(self, law: Any) -> None:
        """Let requests go to what `make_law` returned: its device has answered."""
        self._control = law

    def statuses(self, loop: ControlLoop) -> Iterator[Status]:
        """Yield what the driver says, and the hand, the environment and the timing."""
        for status in super().statuses(loop):
            yield replace(status, message=status.message.replace(CLEAR, self._clearing))
        self._streams.wrench.report()
        if self._control is not None:
            for status in (sensor_status, rendering_status, timing_status):
                yield status(self._control)

    @property
    def emulated(self) -> bool | None:
        """Whether the device is an emulated one; None on topics, where the driver owns it."""
        return None if self._topics else super().emulated

    def publish(self, tick: Tick) -> None:
        """Let the model follow, then publish copies, not necessarily of every tick."""
        self._control.after_write(tick.due - time.monotonic())
        begin = time.perf_counter()
        late = tick.due - time.monotonic() < LEFT * self._period
        due = self._due(tick, self._control.haptics.loop.computed or late)
        if not due:
            return
        for part in due:
            part(tick)
        self._times.copies.add(time.perf_counter() - begin)

    def _due(self, tick: Tick, busy: bool) -> Sequence[Callable[[Tick], None]]:
        """Return what is published in this tick: where ticks are enough, none in a busy one."""
        slot, self._count = self._count % self._every, self._count + 1
        if tick.state is not self._last_state:
            self._pending = ()
            return self._copies
        if self._every < len(self._copies):
            return self._copies if slot == 0 else ()
        if slot == 0:
            self._pending = self._copies
        if busy and slot + len(self._pending) < self._every:
            return ()
        due, self._pending = self._pending[:1], self._pending[1:]
        return due

    def _copy_state(self, tick: Tick) -> None:
        # States and sensors of one sample go together: a calibration pairs them by their stamps.
        if self._topics:
            return
        stamp = self._stamps.stamp(tick.time)
        self._state_publisher.publish(state_message(tick, self._gate, stamp))
        sensors = tick.reading is not None and tick.reading.sensors is not None
        if sensors and followed(self._flex_publisher):
            control = self._control
            elongation = control.haptics.guard.elongation if control.estimated else None
            self._flex_publisher.publish(flex_message(tick.reading.sensors, stamp, elongation))

    def _copy_command(self, tick: Tick) -> None:
        if not self._topics and tick.command is not None and followed(self._command):
            self._send(tick.command.values)

    def _copy_estimate(self, tick: Tick) -> None:
        # Never an earlier estimate with a new stamp: who uses it could not know that it is old.
        if tick.reading is not None and self._control.estimated and followed(self._estimate):
            haptics = self._control.haptics
            sensing, guard = haptics.loop.law.sensing, haptics.guard
            seen, relative = (guard.rank, guard.ignored), haptics.force_deviation
            placed = self._frames, self._stamps.stamp(tick.time)
            self._estimate.publish(estimate_message(sensing, *seen, *placed, relative))

    def _copy_hand(self, tick: Tick) -> None:
        if tick.reading is not None and self._control.estimated:
            haptics = self._control.haptics
            sensing = haptics.loop.law.sensing
            if followed(self._tip):
                stamp = self._stamps.stamp(tick.time)
                self._tip.publish(stamped_pose(sensing.pose, self._frames.base_link, stamp))
            # A hand that is not felt is no measured zero.
            if haptics.guard.rank > 0 and followed(self._wrench):
                stamp = self._stamps.stamp(tick.time)
                self._wrench.publish(wrench_message(sensing.wrench, self._frames, stamp))

    def _report_on(self, tick: Tick) -> None:
        """Report, a little at a time: another thread with all at once would hold the loop up."""
        now, loop = time.monotonic(), self._loop
        if now - self._told >= PERIOD and loop is not None:
            self._told, self._telling = now, self._tell_all(loop)
        for _ in range(self._pieces):
            next(self._telling, None)

    def _tell_all(self, loop: ControlLoop) -> Iterator[None]:
        yield from self.tell(loop)
        self._diagnostics.publish()

    # Requests ----------------------------------------------------------------------------------

    @answering
    def _on_set_environment(
        self, request: SetVirtualEnvironment.Request, response: SetVirtualEnvironment.Response
    ) -> SetVirtualEnvironment.Response:
        """Replace the environment; nothing but that: a stop is cleared by driver/clear_fault.

        What is rendered of an object that asks for more than the limits is in `error_message`.
        """
        frame = request.header.frame_id
        self._frames.check('header.frame_id', frame, ('', self._frames.base_link))
        objects = objects_from_messages(request.objects)
        VirtualEnvironment(objects)  # what is wrong with it is said first, in any state
        loop = self._loop
        if loop is None or self._control is None or not self.active:
            why = self._starting.text if loop is None else loop.safety.reason
            raise NotActive(
                f'{self._source} is not active ({why or "not armed"}): after a fault or a stop '
                f'call {self._clearing}'
            )
        control, limits = self._control, self._control.haptics.limits
        environment, limited = limits.environment(objects)
        if loop.safety.state is DeviceState.SAFE:
            raise NotActive(f'{loop.safety.reason}: look why, then call {self._clearing}')
        loop.between_ticks(lambda: control.replace_environment(environment, limits))
        response.error_message = limited
        said = f'; {limited}' if limited else ''
        self.get_logger().info(f'environment: {words_of(environment)}{said}')
        return response

    def _on_reload(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Use the calibration that is in the file now (in the thread of the queue)."""
        try:
            response.message = self._reload()
            response.success = True
        except SoroError as error:
            response.success, response.message = False, str(error)
        except Exception as error:  # noqa: BLE001 - who asked would wait for ever
            self.get_logger().error(traceback.format_exc())
            response.success, response.message = False, internal(error)
        return response

    def _reload(self) -> str:
        """Build the model anew and give it to the loop; return what is to say about it."""
        self._haptics = None  # whoever connects from now on reads the file
        loop, control = self._loop or self._starting.connected, self._control
        if loop is None or control is None:
            raise NotActive(f'{self._source} is not configured; then it will read the file')
        haptics = self._load(strict=True)
        if control is not self._control:  # perhaps of another robot file
            raise NotActive(f'{self._source} was configured anew meanwhile, with the file')
        kept = loop.between_ticks(lambda: control.replace_haptics(haptics))
        said = haptics.guard.reason or 'all flex sensors are calibrated'
        return said if kept else f'{said}; its limits differ: free space until set_environment'

    def _on_clear_timing(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        """Begin the statistics of the stages anew."""
        if self._control is not None:
            self._control.clear_timing()
        else:
            self._times.clear()
        response.success = True
        return response

    def _on_target(self, message: ActuatorCommand) -> None:
        loop, control, gate = self._loop, self._control, self._gate
        if loop is None or control is None or gate is None:
            return
        try:
            target = gate.clamp(gate.check(message.name, message.quantity, message.value))
            if message.stops not in (0, self._stops):
                raise NotAllowed(f'sent before a stop: stops {message.stops}, now {self._stops}')
            asked = target, time.monotonic(), bool(message.stops)
            loop.between_ticks(lambda: control.move_motors(*asked))
        except SoroError as error:
            self._diagnostics.report('target', Level.WARN, f'refused: {error}')
        else:
            self._diagnostics.report('target', Level.OK, 'accepted')

    def prepare(self) -> str:
        """Load the model in the thread of the queue: the executor must hear a stop meanwhile."""
        refused, self._refused = self._refused, False
        known = self._haptics is not None or self._starting.connected is not None
        if known or self.preparing or refused:
            return self.preparing
        try:
            self._robot = read_description(self._table)
            self._period = read_driver_settings(self._robot).period
            announce_kernels(self, self._robot, self._robot.models[0])
        except SoroError:
            return ''  # configuring says so
        self.preparing = 'the model is being loaded'
        self._queue.submit(self._prepare)
        return self.preparing

    def _prepare(self) -> None:
        try:
            self._haptics = self._load()
            self._diagnostics.report('kernels', Level.OK, 'ready')
        except SoroError:
            self._refused = True  # configuring says why
        except Exception:  # noqa: BLE001 - who waits would wait for ever
            self._refused = True
            self.get_logger().error(traceback.format_exc())
        finally:
            self.preparing = ''

    # --------------------------------------------------------------------------------------------

    def _load(self, strict: bool = False) -> Haptics:
        """Build the model; unless `strict`, without a calibration that cannot be used."""
        values = self._table.values()
        path = calibration_path(values, self.get_namespace(), self._robot.name)
        begin = time.monotonic()
        try:
            calibration = read_calibration(path, self._robot.name) if path.is_file() else None
            haptics = make_haptics(self._robot, calibration, self._period, values)
        except SoroError as error:
            if strict or not path.is_file():
                raise
            # Without it the sensors are not believed, and it can be made anew.
            haptics, calibration = make_haptics(self._robot, None, self._period, values), None
            self.get_logger().warning(f'the calibration is not used: {error}')
        what = f'calibration {path}' if calibration is not None else f'no calibration from {path}'
        took = time.monotonic() - begin
        self.get_logger().info(f'{self._robot.name}: model ready in {took:.1f} s, {what}')
        return haptics

    @property
    def _clearing(self) -> str:
        return f'{CLEAR}, then {self._source}/clear_fault' if self._topics else CLEAR

    @property
    def _stops(self) -> int:
        return self._heard.stops if self._heard is not None else self._latches.stops

    def _send(self, values: Array) -> None:
        stops = self._latches.stops if self._heard is None else self._heard.armed_stops
        message = command_message(self, self._robot.actuators, values, stops, self._stamp)
        self._stamp = stamp_of(message.header)
        self._command.publish(message)


def followed(publisher: Any) -> bool:
    """Whether anybody listens: a message costs the loop 0.1 ms."""
    return bool(publisher.get_subscription_count())


def main() -> None:
    """Run the node."""
    run(HapticRenderer, driver=True)
