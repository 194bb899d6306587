# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node `driver`: the device of one robot, behind limits, watchdogs and a latched safe state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import threading
import time
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time_source import USE_SIM_TIME_NAME
from std_srvs.srv import Trigger

from soro_driver import devices, driver_report
from soro_driver.autostart import Autostart
from soro_driver.device import Device, DeviceError, DeviceState
from soro_driver.driver_messages import flex_message, stamp_nanoseconds, state_message
from soro_driver.driver_parameters import PARAMETERS
from soro_driver.endpoint import derive, Endpoint
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import CommandArbiter, Law
from soro_driver.loop.tick import Tick
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.emergency_stop import EmergencyStop, latch_file
from soro_driver.safety.latches import Latches
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.settings import DriverSettings, read_driver_settings
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.reader import RobotDescription
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState
from soro_node.diagnostics import Diagnostics, Level
from soro_node.executor.clock_watch import steady_timer
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.lifecycle import GuardedLifecycleNode
from soro_node.main import ending, run
from soro_node.measurement_clock import MeasurementClock
from soro_node.parameters import ParameterTable
from soro_node.process.parent_death import launcher_lives
from soro_node.qos import COMMANDS
from soro_node.robot_binding import read_description

REPORT_PERIOD = 0.1  # s; changes are published at once, everything else at 1 Hz
WATCH_PERIOD = 0.5  # s between two looks at whether the loop reports
EACH = 10  # commands of one publisher in a period, of which any may be wrong; more are a flood
COMMAND_TOPIC = 'actuator_command'
STOPPED = 'stopped by driver/stop'
EXIT_TIMEOUT = 1.5  # s, of the 2 s in which a driver must have ended
SIMULATED = InvalidInput(USE_SIM_TIME_NAME, True, 'false: real hardware runs in real time')


class DriverNode(GuardedLifecycleNode):
    """Runs a `ControlLoop` with commands from ROS as its law.

    A node that runs the loop with a law of its own derives from it and replaces `make_law`,
    `make_device` or `publish`; limits, watchdogs, lifecycle and services stay the same.

    - `device`: refuse robots whose device is another one; '': the robot file decides.
    """

    exit_when_autostart_fails = False
    preparing = ''  # what `prepare` is still doing
    exit_code = 0  # of the process, where nothing else went wrong: 1 with outputs not made safe
    node_name = 'driver'
    parameters = PARAMETERS
    once_active = 'active: send a new target'
    loop_reports = False  # in its ticks, by `tell`: a turn of the executor costs a fast one 2 ms

    def __init__(self, device: str = '', **kwargs: Any) -> None:
        super().__init__(self.node_name, **kwargs)
        self._only = device
        self._table = ParameterTable(self, self.parameters)
        self.add_on_set_parameters_callback(self._refuse_simulated_time)
        self._loop: ControlLoop | None = None
        self._inlet: CommandArbiter | None = None
        self._gate: CommandGate | None = None
        self._left: ControlLoop | None = None  # by a clean-up or an end
        self._unsafe: set[str] = set()  # devices, of all its loops
        self._ended = False
        values = self._table.values()
        self._latches = Latches(
            latch_file(
                self.get_namespace(), values['robot'], values['use_emulator'], self.node_name
            )
        )
        self._wanted = False  # active by a person's or the launch's will; it may have fallen
        self._failure: BaseException | None = None
        self._last_state = DeviceState.UNCONFIGURED
        self._diagnostics = Diagnostics(self, timed=not self.loop_reports)
        # The state is published in every lifecycle state, so not by a managed publisher.
        self._state_publisher = Node.create_publisher(self, ActuatorState, 'actuator_state', 10)
        self._flex_publisher: Any = None
        self._stamps = MeasurementClock(self.get_clock(), self.get_logger().warning)
        self._commands = PolledSubscriptions(self)
        self.listen_to_commands()
        self.emergency_stop = EmergencyStop(self, self._latches, self._stop_at_once)
        self.offer_services()
        self._changed = self.create_guard_condition(self._on_change)
        if self.loop_reports:
            threading.Thread(target=self._report_for_loop, name='reports', daemon=True).start()
        else:
            steady_timer(self, REPORT_PERIOD, self._on_change)
        self._starting = Autostart(self, self.get_namespace(), self._table.connect_timeout)
        self._diagnostics.report('device', Level.WARN, 'not configured')

    # Lifecycle --------------------------------------------------------------------------------

    def configure(self) -> None:
        """Read the robot file, connect, and begin to publish the state; nothing moves."""
        self._starting.by_hand()
        loop = self._loop = self._starting.release() or self.connect()
        if self._latches.estop:
            loop.estop()
        loop.start()

    def prepare(self) -> str:
        """Go on with what comes before the device; what that still is, empty: nothing."""
        return ''

    def connect(self) -> ControlLoop:
        """Return a loop whose device has answered; nothing moves, nothing ticks yet."""
        if self._left is not None and self._left.thread.running:
            raise NotAllowed('the device has not been given back yet; try again', Code.BUSY)
        values = self._table.values()
        robot = read_description(values)
        settings = read_driver_settings(robot)
        if self._only and settings.device != self._only:
            raise InvalidInput('driver.device', settings.device, self._only)
        endpoint = None
        if values['use_emulator']:
            endpoint = derive(self.get_namespace(), settings.device, values['emulator_port'])
        elif self.get_parameter(USE_SIM_TIME_NAME).value:
            raise SIMULATED
        device = self.make_device(settings, robot, endpoint)
        gate = CommandGate(robot.actuators, robot.coupled_limits)
        law = self.make_law(robot, gate, settings)
        loop = ControlLoop(
            device,
            law,
            gate,
            settings,
            observer=self._publish,
            log=self.get_logger().info,
            failed=self._on_failure,
            priority=values['priority'],
            unsafe=self._unsafe,
            latches=self._latches,
        )
        try:
            loop.open()
        except DeviceError:
            loop.shutdown()
            raise
        self._gate = gate
        self.use_law(law)
        return loop

    def make_device(
        self, settings: DriverSettings, robot: RobotDescription, endpoint: Endpoint | None
    ) -> Device:
        """Return the device that the robot file names."""
        return devices.load(settings.device).from_section(settings.section, robot, endpoint)

    def make_law(
        self, robot: RobotDescription, gate: CommandGate, settings: DriverSettings
    ) -> Law:
        """Return what decides the set-points."""
        return CommandArbiter(gate, settings.command_timeout)

    def use_law(self, law: Any) -> None:
        """Hand what is commanded to what `make_law` returned: its device has answered."""
        law.fetch = self._fetch_commands
        law.stops = lambda: self._latches.stops
        self._inlet = law

    def activate(self) -> None:
        """Arm the device; the first command must start where the robot is."""
        self._starting.by_hand()
        if ending() or not launcher_lives():
            raise NotAllowed('this process is ending')
        self._running_loop().arm()
        self._wanted = True

    def deactivate(self) -> None:
        """Make the outputs safe."""
        self._starting.by_hand()
        self._wanted = False
        self._running_loop().disarm()

    def cleanup(self) -> None:
        """Make the outputs safe and give the device back."""
        self._starting.by_hand()
        loop, self._loop, self._inlet = self._loop, None, None
        self._wanted = False
        if loop is not None:
            self._left = loop
            loop.shutdown()
            unsafe = driver_report.left_unsafe(loop)
            if unsafe:
                self.get_logger().error(unsafe)
        self._last_state = DeviceState.UNCONFIGURED
        self._report_rest()

    def stop_outputs(self) -> None:
        """Make the outputs safe, whatever the state."""
        if self._loop is not None:
            self._loop.disarm()

    def make_safe(self) -> None:
        """Make the outputs safe, close the device, and say so; the process ends after this."""
        self.active = False
        self._starting.cancel()
        self._left = loop = self._loop or self._starting.release() or self._left
        self._loop = None
        if loop is None:
            return
        loop.shutdown(EXIT_TIMEOUT)
        self._ended = True
        message = self._report_rest()
        if driver_report.left_unsafe(loop):
            self.exit_code = 1
            self.get_logger().error(message)
        else:
            self.get_logger().info(message)

    def autostart(self) -> bool:
        """Configure and activate once, as soon as that can be done; whether it is done now.

        SoroError: it never can be, and a launcher waits for it.
        """
        self._wanted = True
        return self._starting.begin()

    @property
    def device_answers(self) -> bool:
        """Whether the device is connected."""
        return self._loop is not None and self._loop.safety.connected

    def arm_when_cleared(self) -> None:
        """Let driver/clear_fault arm what could not be armed at start: a person sees to it."""
        self._wanted = True

    def _refuse_simulated_time(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            hardware = not self._table.use_emulator
            if hardware and parameter.name == USE_SIM_TIME_NAME and parameter.value:
                return SetParametersResult(successful=False, reason=str(SIMULATED))
        return SetParametersResult(successful=True)

    # Messages ---------------------------------------------------------------------------------

    def listen_to_commands(self) -> None:
        """Subscribe to what is commanded; the loop fetches it, so that no flood delays a stop."""
        self._commands.open(ActuatorCommand, COMMAND_TOPIC, COMMANDS)

    def offer_services(self) -> None:
        """Offer to stop, to release the emergency stop and to clear.

        Under the driver's name whatever the node's: everybody must be able to stop a robot.
        """
        self.create_service(Trigger, 'driver/stop', self._on_stop)
        self.create_service(Trigger, 'driver/clear_fault', self._on_clear_fault)
        self.create_service(Trigger, 'driver/release_estop', self.emergency_stop.release)

    def statuses(self, loop: ControlLoop) -> Iterator[driver_report.Status]:
        """Yield what the diagnostics say about a running loop."""
        yield driver_report.device_status(loop, self.emulated)
        yield driver_report.loop_status(loop)
        if self._inlet is not None:
            yield driver_report.command_status(self._inlet)

    def tell(self, loop: ControlLoop) -> Iterator[None]:
        """Report on a running loop; yields after every status."""
        for status in self.statuses(loop):
            level, message = status.level, status.message
            if status.name == 'device' and level is Level.OK and self._starting.reason:
                level, message = Level.WARN, f'inactive: outputs safe; {self._starting.text}'
            self._diagnostics.report(status.name, level, message, **status.values)
            yield

    @property
    def emulated(self) -> bool | None:
        """Whether the device is an emulated one; None where this node owns none."""
        return bool(self._table.use_emulator)

    def _fetch_commands(self) -> None:
        """Submit the commands that have come since the last tick (in the thread of the loop)."""
        inlet, now = self._inlet, time.monotonic()
        for message, age in self._commands.newest_of_each(COMMAND_TOPIC, EACH):
            if inlet is None:
                continue
            try:
                inlet.submit(
                    message.name,
                    message.quantity,
                    message.value,
                    message.source,
                    stamp_nanoseconds(message),
                    now - age,
                    message.stops,
                )
            except SoroError as error:
                # Counted in the diagnostics; the log must not fill up at the rate of a stream.
                self.get_logger().warning(f'command refused: {error}', throttle_duration_sec=2.0)

    def _stop_at_once(self) -> None:
        if self._loop is not None:
            self._loop.estop()

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._loop is None:
            self._latches.stop(STOPPED)
            self._starting.cancel(STOPPED)
            unsafe, doing = driver_report.left_unsafe(self._left), self.preparing
            response.success = not unsafe
            response.message = f'not configured: {unsafe or "nothing moves"}'
            response.message += f'; {doing}' if doing else ''
            return response
        error = self._asked('stop', lambda loop: loop.stop(STOPPED))
        if error is not None:
            self._latches.stop(STOPPED)  # whatever loop comes after one that does not answer
        self._starting.cancel(STOPPED)
        safety = self._loop.safety
        response.success = error is None and safety.connected
        # Of the loop itself: the topics of this tick are not out yet.
        message = safety.state.name if safety.connected else driver_report.LOST
        response.message = message if error is None else f'{error}; it stops once it goes on'
        return response

    def _on_clear_fault(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        """Clear what is latched; a driver that had fallen or was stopped is armed again.

        Nothing moves by this: the outputs are at rest, and a first command must start there.
        """
        if self._loop is None:
            return self._clear_unconfigured(response)
        error = self._asked('clear_fault', lambda loop: loop.clear())
        self.emergency_stop.note()
        if error is not None:
            response.success, response.message = False, str(error)
            return response
        refusal = self._arm_again()
        response.success = refusal is None
        response.message = self.once_active if self.active else 'cleared, not active'
        if refusal is not None:
            response.message = f'cleared, but not armed: {refusal}'
        return response

    def _clear_unconfigured(self, response: Trigger.Response) -> Trigger.Response:
        """Clear what was latched while there was no device, and look for the device again.

        It is armed too where the driver starts by itself: a person asks for it.
        """
        starting = self._starting
        try:
            self._latches.clear()
            starting.begin(bool(self._table.autostart))
        except SoroError as error:
            response.success, response.message = False, str(error)
            return response
        response.success = starting.found or not starting.reason
        if starting.reason:
            response.message = starting.text
        elif starting.pending:
            response.message = 'starting'
        else:
            response.message = self.once_active if self.active else 'configured'
        return response

    def _arm_again(self) -> SoroError | None:
        """Arm what was active before it fell or was stopped; why that did not work."""
        if self._wanted and not self.active:
            self.trigger_activate()
            return self.refusal
        if self.active and not self._running_loop().safety.armed:
            return self._asked('clear_fault', lambda loop: loop.arm())
        return None

    def _asked(self, what: str, action: Callable[[ControlLoop], None]) -> SoroError | None:
        """Do what a person asked for; the error when it was refused."""
        try:
            action(self._running_loop())
        except SoroError as error:
            # The caller has it; a loop of calls must not fill up the log, nor a pipe nobody reads.
            self.get_logger().warning(f'{what}: {error}', throttle_duration_sec=1.0)
            return error
        return None

    # From the control loop --------------------------------------------------------------------

    def _publish(self, tick: Tick) -> None:
        """Publish a tick (in the thread of the loop)."""
        if self._gate is None:
            return
        self.publish(tick)
        if tick.state is not self._last_state:
            self._last_state = tick.state
            self._changed.trigger()

    def publish(self, tick: Tick) -> None:
        """Publish the states of actuators and further sensors (in the thread of the loop)."""
        arrival = self._stamps.stamp(tick.time)
        self._state_publisher.publish(state_message(tick, self._gate, arrival))
        if tick.reading is not None and tick.reading.sensors is not None:
            if self._flex_publisher is None:  # most devices have no further sensors
                self._flex_publisher = Node.create_publisher(self, FlexState, 'flex_state', 10)
            self._flex_publisher.publish(flex_message(tick.reading.sensors, arrival))

    def _on_failure(self, error: BaseException) -> None:
        self._failure = error
        self._changed.trigger()

    def _report_for_loop(self) -> None:
        """Report where the loop that should do it hangs, or where there is none."""
        while self.context.ok():
            loop = self._loop
            try:
                if loop is None or loop.hung or not loop.thread.running:
                    self._changed.trigger()
                    self._diagnostics.publish()
            except RuntimeError as error:  # of rclpy
                if isinstance(error, InvalidHandle) or not self.context.ok():
                    return  # the node was destroyed, or the context shut down
                self.get_logger().error(f'not reported: {error}')
            time.sleep(WATCH_PERIOD)

    def _on_change(self) -> None:
        """Report, and follow the device's state with the lifecycle (in the executor)."""
        if self._failure is not None:
            # The outputs are safe already; the process ends with a traceback and exit code 1.
            raise RuntimeError('the control loop has ended') from self._failure
        loop = self._loop
        if loop is None:
            if self._left is not None or self._starting.reason:
                self._report_rest()
            return
        for _ in self.tell(loop):
            pass
        if self.active and not loop.safety.armed:
            self.get_logger().error(f'deactivated: {loop.safety.reason or loop.safety.state.name}')
            self.trigger_deactivate()
            self._wanted = True

    def _report_rest(self) -> str:
        """Say that no loop runs, and what the last one left unsafe as long as that is so."""
        unsafe = driver_report.left_unsafe(self._left)
        if unsafe:
            what = 'ended' if self._ended else 'not configured'
            level, message = Level.ERROR, f'{what}; {unsafe}'
        elif self._ended:
            level, message = Level.OK, 'ended, outputs safe'
        elif self._starting.reason:
            level = Level.ERROR if self._starting.overdue else Level.WARN
            message = f'not configured; {self._starting.text}'
        else:
            level, message = Level.WARN, 'not configured'
        self._diagnostics.report('device', level, message)
        return message

    def _running_loop(self) -> ControlLoop:
        if self._loop is None:
            raise InvalidInput('driver', 'unconfigured', 'a configured driver')
        return self._loop


def main(device: str = '') -> None:
    """Run the node, for robots with any device or with this one only."""
    run(lambda: DriverNode(device), driver=True)
