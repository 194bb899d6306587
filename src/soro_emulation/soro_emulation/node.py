# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node `emulator`: the device of one robot as its driver sees it, and the true shape behind it."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TransformStamped, WrenchStamped
import numpy as np
from rclpy.node import Node
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

from soro_driver import devices
from soro_driver.endpoint import derive
from soro_driver.safety.device_lock import DeviceLock
from soro_driver.settings import read_driver_settings
from soro_emulation.body_process import BodyProcess
from soro_emulation.body_time import BodyTime, SpeedWatch, WINDOW
from soro_emulation.device_emulator import Array, DeviceEmulator, EmulatorContext, GROUP
from soro_emulation.emulated_sensor import EmulatedForceSensor
from soro_emulation.emulated_sensor import FRAME as FORCE_FRAME
from soro_emulation.emulated_sensor import PARAMETERS as FORCE_PARAMETERS
from soro_emulation.emulated_tracker import EmulatedTracker, FAULT, tracker_fault
from soro_emulation.emulated_tracker import PARAMETERS as TRACKER_PARAMETERS
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_emulation.injected_fault import parse_fault
from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_node.conversions import configuration_to_message, stamped_pose, wrench_to_message
from soro_node.diagnostics import Diagnostics, Level
from soro_node.executor.clock_watch import steady_timer
from soro_node.frames import frames_for
from soro_node.inputs.wrench_input import WRENCH_TIMEOUT, WrenchInput
from soro_node.main import run
from soro_node.parameters import fixed, Parameter, ParameterTable
from soro_node.qos import LATCHED
from soro_node.robot_binding import FRAME_PREFIX, read_description, ROBOT
from soro_node.transforms import TransformListener

FAREWELL = 3.0  # s, a driver has to end within 2 s
COUNT_PERIOD = 0.1  # s between notes of what injected faults have done

# Physics stand in the robot file, section `emulator`.
PARAMETERS = (
    ROBOT,
    FRAME_PREFIX,
    Parameter(
        'port', 0, '', 'TCP port on 127.0.0.1; 0: derived from namespace, domain and user',
        read_only=True, minimum=0, maximum=65535,
    ),
    fixed('seed', -1, '', "start of all random numbers; negative: the robot file's", minimum=-1),
    Parameter(
        'step', 0.005, 's', 'between two looks at the clock: relays and time-outs of the device '
        'act within this', read_only=True, minimum=0.001, maximum=0.05,
    ),
    Parameter(
        'rate', 30.0, '1/s', 'rate of emulator/configuration; 0: no ground truth',
        read_only=True, minimum=0.0, maximum=200.0,
    ),
    WRENCH_TIMEOUT,
    *TRACKER_PARAMETERS,
    *FORCE_PARAMETERS,
    Parameter(
        'hidden_wrench', [0.0] * 6, 'N, N m',
        'further load of the tip, axes of base_link, that no other node knows',
        sizes=(6,),
    ),
    fixed('log_file', '', '', 'file that gets every output change as a line of JSON; empty: none'),
)  # fmt: skip


class EmulatorNode(Node):
    """Serves the emulated device, publishes the ground truth, and lets faults be injected."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('emulator', **kwargs)
        self._table = ParameterTable(self, PARAMETERS)
        self._values = self._table.values()
        self._robot = read_description(self._values)
        self._frames = frames_for(self.get_namespace(), self._values['frame_prefix'])
        self._log = EventLog(self._values['log_file'])
        self._diagnostics = Diagnostics(self)
        self._body: BodyProcess | None = None
        self._speed, self._answered = SpeedWatch(), math.inf
        self._tip = np.eye(4)
        self.transforms = TransformListener(self)
        self._wrench = WrenchInput(self, self._values['wrench_timeout'], self._frames)
        self._stopping = threading.Event()
        self._counters: dict[str, int] = {}
        # Whoever notes the counters does it before a fault or after it, not in between.
        self._injecting = threading.Lock()
        self._tracker: EmulatedTracker | None = None
        self._device, name = self._make_device()
        self.create_subscription(String, '~/inject_fault', self._on_fault, 10)
        self._felt: EmulatedForceSensor | None = None
        if self._values['force_sensor']:
            self._felt = self._make_force_sensor()
        else:
            self._wrench.open()
        self._publisher = self.create_publisher(ConfigurationMessage, '~/configuration', 1)
        if self._values['tracker']:
            self._tracker = self._make_tracker()
            self._poses = self.create_publisher(PoseStamped, 'tracker/pose', 10)
        self._device.start()
        self._ticker = threading.Thread(target=self._tick, name='device time', daemon=True)
        self._ticker.start()
        if self._values['rate'] > 0.0:
            steady_timer(self, 1.0 / self._values['rate'], self._publish_truth)
            self._body = BodyProcess(self._robot.file, name)
            self._diagnostics.report('body', Level.OK, 'loading')
        self.get_logger().info('emulated device is listening')

    def make_safe(self) -> None:
        """Stop listening and close the log, once nobody needs the device any more.

        A launcher stops everything at once, and the driver still has to vent over this link: until
        it has given the device back, or has ended, it can be sure of nothing without an answer.
        """
        end = time.monotonic() + FAREWELL
        uses = [DeviceLock(name) for name in self._device.resources()]
        while time.monotonic() < end and (
            self._device.in_use(time.monotonic()) or any(use.holder() is not None for use in uses)
        ):
            self._stopping.wait(0.02)
        self._stopping.set()
        self._device.stop()
        if self._body is not None:
            self._body.stop()
        self._log.write('stopped')
        self._log.close()

    def _make_device(self) -> tuple[DeviceEmulator, str]:
        values = self._values
        driver = read_driver_settings(self._robot)
        settings = read_emulator_settings(self._robot, driver.device)
        endpoint = derive(self.get_namespace(), driver.device, values['port'])
        seed = values['seed'] if values['seed'] >= 0 else settings.seed
        context = EmulatorContext(
            self._robot, driver.section, settings.device, endpoint, seed, self._log
        )
        now = time.monotonic()
        self._log.write('started', now, robot=self._robot.name, device=driver.device, seed=seed)
        return devices.load(driver.device, GROUP)(context, now), driver.device

    def _make_tracker(self) -> EmulatedTracker:
        if self._values['rate'] <= 0.0:
            raise InvalidInput(
                'rate', self._values['rate'], 'above zero: `tracker` sees the truth'
            )
        return EmulatedTracker(self._table, max(0, self._values['seed']))

    def _make_force_sensor(self) -> EmulatedForceSensor:
        """Return the sensor and say where it is; what it sends is heard by others alone."""
        self._wrenches = self.create_publisher(WrenchStamped, 'external_wrench', 10)
        at, name = Header(frame_id=self._frames.tip), self._frames.body(FORCE_FRAME)
        placed = TransformStamped(header=at, child_frame_id=name)
        self._static = self.create_publisher(TFMessage, '/tf_static', LATCHED)
        self._static.publish(TFMessage(transforms=[placed]))
        seed = max(0, self._values['seed'])
        return EmulatedForceSensor(self._table, self._robot.gravity, seed)

    def _publish_seen(self, now: float) -> None:
        """Publish what the sensors have measured and had no time to say."""
        for felt in () if self._felt is None else self._felt.due(now):
            header = Header(frame_id=self._frames.body(FORCE_FRAME), stamp=felt.stamp)
            wrench = wrench_to_message(felt.wrench)
            self._wrenches.publish(WrenchStamped(header=header, wrench=wrench))
        for seen in () if self._tracker is None else self._tracker.due(now):
            frame_id = seen.frame_id or self._frames.base_link
            self._poses.publish(stamped_pose(seen.pose, frame_id, seen.stamp))

    def _tick(self) -> None:
        step, last = self._values['step'], time.monotonic()
        counted = last
        while not self._stopping.wait(step):
            now = time.monotonic()
            late, last = now - last, now
            if late > 0.1:
                self._log.write('stall', now, duration=late)
            if late > 1.0:  # s, of which people are told
                self.get_logger().warning(f'stood still for {late:.1f} s: the device makes it up')
            self._device.advance(now)
            self._publish_seen(now)
            if now - counted >= COUNT_PERIOD:
                counted = now
                with self._injecting:
                    self._note_counters()

    def _note_counters(self) -> None:
        """Note how often injected faults have struck, where that is news."""
        counters = self._device.counters
        if counters != self._counters:
            self._counters = counters
            self._log.write('counters', **counters)

    def _publish_truth(self) -> None:
        """Publish the answer to the last question, and ask the next one."""
        body = self._body
        if body is None:
            return
        answer, now = body.shape(), time.monotonic()
        if answer is not None:
            self._answered = now
            self._publish(*answer)
        elif now - self._answered > WINDOW:
            self._diagnostics.report('body', Level.WARN, f'no answer for {WINDOW:g} s')
        error = body.error or self._device.error
        if error:
            self._diagnostics.report('body', Level.ERROR, error)
        else:
            actuation = self._device.actuation(now)
            wrench = self._wrench.at_tip(self._tip) + self._table.hidden_wrench
            tag = self.get_clock().now().to_msg(), now
            body.ask_shape(actuation, self._device.load(wrench), tag)

    def _publish(
        self, tag: tuple[Time, float], q: Configuration, body: BodyTime | None, reaction: Array
    ) -> None:
        (stamp, measured), body = tag, self._device.body_time or body
        if q.status.converged:
            self._tip = q.tip
            self._device.bear(reaction, 1.0 / self._values['rate'])
            if self._tracker is not None:
                self._tracker.see(q.tip, stamp, measured, time.monotonic())
            if self._felt is not None:
                load = np.array(self._table.hidden_wrench)
                self._felt.feel(load, q.tip, stamp, measured, time.monotonic())
        if self._publisher.get_subscription_count() > 0:
            origin = ConfigurationMessage.GROUND_TRUTH
            self._publisher.publish(
                configuration_to_message(q, self._robot, self._frames.base_link, stamp, origin)
            )
        if not q.status.converged:
            self._diagnostics.report('body', Level.WARN, f'not converged: {q.status.message}')
        elif body is None:
            self._diagnostics.report('body', Level.OK, f'model {q.model}')
        else:
            self._report_motion(body)

    def _report_motion(self, body: BodyTime) -> None:
        """Say how far the body has come against the clock, and when it lags."""
        watch = self._speed
        news = watch.update(body)
        level = Level.WARN if watch.remark else Level.OK
        values = {'virtual_time': body.virtual, 'wall_time': body.wall, 'speed': watch.speed}
        if news:
            self._log.write('body', remark=watch.remark, **values)
        self._diagnostics.report('body', level, watch.remark or 'in motion', **values)
        if news and watch.remark:
            self.get_logger().warning(f'{watch.remark}: {watch.speed:.0%} of its speed')

    def _on_fault(self, message: String) -> None:
        try:
            fault, values = parse_fault(message.data)
            with self._injecting:
                self._note_counters()
                self._inject(fault, values)
                self._log.write('fault', fault=fault, **values)
        except SoroError as error:
            self.get_logger().error(f'inject_fault: {error}')
            self._log.write('fault_refused', text=message.data, error=str(error))
            return
        self.get_logger().warning(f'injected fault: {message.data}')

    def _inject(self, fault: str, values: dict[str, Any]) -> None:
        """Break device or tracker; 'none' repairs both."""
        tracker = self._tracker
        if fault == FAULT:
            if tracker is None:
                raise InvalidInput('fault', fault, 'an emulator with the parameter tracker:=true')
            tracker.inject(*tracker_fault(values))
            return
        self._device.inject(fault, values)
        if fault == 'none' and tracker is not None:
            tracker.inject()


def main() -> None:
    """Run the node."""
    raise SystemExit(run(EmulatorNode))
