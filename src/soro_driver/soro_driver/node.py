# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node `driver`: the device of one robot, behind limits, watchdogs and a latched safe state."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any, NoReturn

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time_source import USE_SIM_TIME_NAME
from soro_mechanics.errors import InvalidInput, SoroError
from soro_mechanics.robot_file import RobotDescription
from soro_mechanics.status import Code
from soro_node.diagnostics import Diagnostics, Level
from soro_node.lifecycle import GuardedLifecycleNode
from soro_node.main import run as run_node
from soro_node.measurement_clock import MeasurementClock
from soro_node.parameters import ParameterTable
from soro_node.qos import ESTOP, LOSSY
from soro_node.robot_binding import read_description
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from soro_driver import devices
from soro_driver.command_gate import CommandGate
from soro_driver.control_loop import ControlLoop
from soro_driver.device import Device, DeviceError, DeviceLost, DeviceState, DeviceTimeout
from soro_driver.driver_messages import flex_message, stamp_nanoseconds, state_message
from soro_driver.driver_parameters import PARAMETERS
from soro_driver.driver_report import left_unsafe, LOST, report, Status
from soro_driver.endpoint import derive, Endpoint
from soro_driver.law import CommandInlet, Law
from soro_driver.safety import NotAllowed
from soro_driver.settings import DriverSettings, read_driver_settings
from soro_driver.tick import Tick
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState

REPORT_PERIOD = 0.1  # s; changes are published at once, everything else at 1 Hz
STARTING = 60.0  # s that a device which answers may take until it is ready; muscles are vented
RETRY_PERIOD = 0.1  # s, while autostart waits for the device
CALM_LOOKS = 5  # readings in time, one after the other, before autostart goes on
CALM_SHARE = 0.25  # of the feedback timeout: a reading in time
EXIT_TIMEOUT = 1.5  # s, of the 2 s in which a driver must have ended
SIMULATED = InvalidInput(USE_SIM_TIME_NAME, True, 'false: real hardware runs in real time')


class DriverNode(GuardedLifecycleNode):
    """Runs a `ControlLoop` with commands from ROS as its law.

    A node that runs the loop with a law of its own derives from it and replaces `make_law`,
    `make_device` or `publish`; limits, watchdogs, lifecycle and services stay the same.

    Parameters
    ----------
    device : str
        Refuse robots whose device is another one; '': the robot file decides.
    """

    exit_when_autostart_fails = False
    node_name = 'driver'
    parameters = PARAMETERS
    report_period = REPORT_PERIOD

    def __init__(self, device: str = '', **kwargs: Any) -> None:
        super().__init__(self.node_name, **kwargs)
        self._only = device
        self._table = ParameterTable(self, self.parameters)
        self.add_on_set_parameters_callback(self._refuse_simulated_time)
        self._loop: ControlLoop | None = None
        self._inlet: CommandInlet | None = None
        self._gate: CommandGate | None = None
        self._connected: ControlLoop | None = None
        self._left: ControlLoop | None = None  # by a clean-up or an end
        self._unsafe: set[str] = set()  # devices, of all its loops
        self._ended = False
        self._estop_pressed = False
        self._estop_latched = False
        self._fell = False  # deactivated by itself, not by a person
        self._failure: BaseException | None = None
        self._last_state = DeviceState.UNCONFIGURED
        self._diagnostics = Diagnostics(self)
        # The state is published in every lifecycle state, so not by a managed publisher.
        self._state_publisher = Node.create_publisher(self, ActuatorState, 'actuator_state', 10)
        self._flex_publisher: Any = None
        self._stamps = MeasurementClock(self.get_clock(), self.get_logger().warning)
        self.listen_to_commands()
        self.create_subscription(Bool, 'estop', self._on_estop, ESTOP)
        self.offer_services()
        self._changed = self.create_guard_condition(self._on_change)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._report_timer = self.create_timer(
            self.report_period, self._on_change, clock=self._steady
        )
        self._retry_timer: Any = None
        self._retry_until = self._starting_until = 0.0
        self._calm = 0
        self._last_look = 0.0
        self._diagnostics.report('device', Level.WARN, 'not configured')

    # Lifecycle --------------------------------------------------------------------------------

    def configure(self) -> None:
        """Read the robot file, connect, and begin to publish the state; nothing moves."""
        loop, self._connected = self._connected or self._connect(), None
        self._loop = loop
        self._cancel_retry()
        if self._estop_latched:
            loop.estop(True)
            loop.estop(self._estop_pressed)
        loop.start()

    def _connect(self) -> ControlLoop:
        if self._left is not None and self._left.running:
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
            device, law, gate, settings, observer=self._publish, log=self.get_logger().info,
            failed=self._on_failure, priority=values['priority'], unsafe=self._unsafe,
        )  # fmt: skip
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
        return CommandInlet(gate, settings.command_timeout)

    def use_law(self, law: Any) -> None:
        """Hand what is commanded to what `make_law` returned: its device has answered."""
        self._inlet = law

    def activate(self) -> None:
        """Arm the device; the first command must start where the robot is."""
        self._running_loop().arm()
        self._fell = False

    def deactivate(self) -> None:
        """Make the outputs safe."""
        self._running_loop().disarm()

    def cleanup(self) -> None:
        """Make the outputs safe and give the device back."""
        loop, self._loop, self._inlet = self._loop, None, None
        self._fell = False
        if loop is not None:
            self._left = loop
            loop.shutdown()
            unsafe = left_unsafe(loop)
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
        self._cancel_retry()
        self._left = loop = self._loop or self._connected or self._left
        self._loop = self._connected = None
        if loop is None:
            return
        loop.shutdown(EXIT_TIMEOUT)
        self._ended = True
        self.get_logger().info(self._report_rest())

    def autostart(self) -> bool:
        """Configure and activate once; a device that is still starting is waited for."""
        self._retry_until = time.monotonic() + self._table.connect_timeout
        self._starting_until = time.monotonic() + STARTING
        if self._wait_for_device():
            return False
        return super().autostart()

    def _wait_for_device(self) -> bool:
        """Connect; whether the device is not ready yet and is going to be tried again.

        Everything else that is wrong is left for `configure` to find and report.
        """
        reason = 'it is still starting'
        try:
            self._connected = self._connected or self._connect()
            ready = self._connected.ready()
            if ready and self._is_calm(self._connected):
                return False
            if not ready:  # it answers, and needs its time
                self._retry_until = max(self._retry_until, self._starting_until)
        except (DeviceLost, DeviceTimeout) as error:
            reason, self._calm = str(error), 0
            if self._connected is not None and isinstance(error, DeviceLost):
                self._connected.shutdown()
                self._connected = None
        except SoroError:
            return False
        if time.monotonic() > self._retry_until:
            return False
        if self._retry_timer is None:
            self.get_logger().info(f'waiting for the device: {reason}')
            self._retry_timer = self.create_timer(RETRY_PERIOD, self._retry, clock=self._steady)
        return True

    def _is_calm(self, loop: ControlLoop) -> bool:
        """Whether the device has answered in time for a while.

        The nodes of a robot start together. While they load, a small machine may keep driver and
        device waiting longer than the feedback may be old; a robot armed then would be lost at
        once, and must not come back by itself.
        """
        patience = CALM_SHARE * loop.settings.feedback_timeout
        begin = time.monotonic()
        late = begin - self._last_look > RETRY_PERIOD + patience
        loop.device.read()
        slow = time.monotonic() - begin > patience
        self._calm = 0 if late or slow else self._calm + 1
        self._last_look = begin
        return self._calm >= CALM_LOOKS

    def _retry(self) -> None:
        if self._loop is None and not self._wait_for_device():
            self._cancel_retry()
            super().autostart()

    def _cancel_retry(self) -> None:
        """Wait for the device no longer: the driver is configured, by a person too, or ends."""
        if self._retry_timer is not None:
            self._retry_timer.cancel()

    def _refuse_simulated_time(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            hardware = not self._table.use_emulator
            if hardware and parameter.name == USE_SIM_TIME_NAME and parameter.value:
                return SetParametersResult(successful=False, reason=str(SIMULATED))
        return SetParametersResult(successful=True)

    # Messages ---------------------------------------------------------------------------------

    def listen_to_commands(self) -> None:
        """Subscribe to what is commanded."""
        self.create_subscription(ActuatorCommand, 'actuator_command', self._on_command, LOSSY)

    def offer_services(self) -> None:
        """Offer to stop and to clear faults.

        Under the driver's name whatever the node's: everybody must be able to stop a robot.
        """
        self.create_service(Trigger, 'driver/stop', self._on_stop)
        self.create_service(Trigger, 'driver/clear_fault', self._on_clear_fault)

    def statuses(self, loop: ControlLoop) -> list[Status]:
        """Return what the diagnostics say about a running loop."""
        return report(loop, self._inlet, self.emulated)

    @property
    def emulated(self) -> bool | None:
        """Whether the device is an emulated one; None where this node owns none."""
        return bool(self._table.use_emulator)

    def _on_command(self, message: ActuatorCommand) -> None:
        now = time.monotonic()
        if self._inlet is None:
            return
        stamp = stamp_nanoseconds(message)
        try:
            self._inlet.submit(
                message.name, message.quantity, message.value, message.source, stamp, now
            )
        except SoroError as error:
            # Counted in the diagnostics; the log must not fill up at the rate of a stream.
            self.get_logger().warning(f'command refused: {error}', throttle_duration_sec=2.0)

    def _on_estop(self, message: Bool) -> None:
        self._estop_pressed = message.data
        self._estop_latched |= message.data
        if self._loop is not None:
            self._loop.estop(message.data)

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._loop is None:
            unsafe = left_unsafe(self._left)
            response.success = not unsafe
            response.message = f'not configured: {unsafe or "nothing moves"}'
            return response
        error = self._asked('stop', lambda loop: loop.stop('stopped by driver/stop'))
        safety = self._loop.safety
        response.success = error is None and safety.connected
        # Of the loop itself: the topics of this tick are not out yet.
        message = safety.state.name if safety.connected else LOST
        response.message = message if error is None else str(error)
        return response

    def _on_clear_fault(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        """Clear what is latched; a driver that had fallen or was stopped is armed again.

        Nothing moves by this: the outputs are at rest, and a first command must start there.
        """
        error = self._asked('clear_fault', lambda loop: loop.clear())
        if error is not None:
            response.success, response.message = False, str(error)
            return response
        self._estop_latched = False
        if not self._arm_again():
            response.success = False
            response.message = 'cleared, but not armed; see the log'
            return response
        response.success = True
        response.message = 'active: send a new target' if self.active else 'cleared, not active'
        return response

    def _arm_again(self) -> bool:
        """Arm what was active before it fell or was stopped; False when that did not work."""
        if self._fell:
            return self.trigger_activate() == TransitionCallbackReturn.SUCCESS
        if self.active and not self._running_loop().safety.armed:
            return self._asked('clear_fault', lambda loop: loop.arm()) is None
        return True

    def _asked(self, what: str, action: Callable[[ControlLoop], None]) -> SoroError | None:
        """Do what a person asked for; the error when it was refused."""
        try:
            action(self._running_loop())
        except SoroError as error:
            self.get_logger().warning(f'{what}: {error}')
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

    def _on_change(self) -> None:
        """Report, and follow the device's state with the lifecycle (in the executor)."""
        if self._failure is not None:
            # The outputs are safe already; the process ends with a traceback and exit code 1.
            raise RuntimeError('the control loop has ended') from self._failure
        loop = self._loop
        if loop is None:
            if self._left is not None:
                self._report_rest()
            return
        for status in self.statuses(loop):
            level = Level(int(status.level))
            self._diagnostics.report(status.name, level, status.message, **status.values)
        if self.active and not loop.safety.armed:
            self.get_logger().error(f'deactivated: {loop.safety.reason or loop.safety.state.name}')
            self.trigger_deactivate()
            self._fell = True

    def _report_rest(self) -> str:
        """Say that no loop runs, and what the last one left unsafe as long as that is so."""
        unsafe = left_unsafe(self._left)
        if unsafe:
            what = 'ended' if self._ended else 'not configured'
            level, message = Level.ERROR, f'{what}; {unsafe}'
        elif self._ended:
            level, message = Level.OK, 'ended, outputs safe'
        else:
            level, message = Level.WARN, 'not configured'
        self._diagnostics.report('device', level, message)
        return message

    def _running_loop(self) -> ControlLoop:
        if self._loop is None:
            raise InvalidInput('driver', 'unconfigured', 'a configured driver')
        return self._loop


def run(args: list[str] | None = None, device: str = '') -> NoReturn:
    """Run the node until it is told to stop, and end the process."""
    run_node(lambda: DriverNode(device), args, driver=True)


def main(device: str = '') -> None:
    """Run the node, for robots with any device or with this one only."""
    raise SystemExit(run(device=device))
