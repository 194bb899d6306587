# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A topic with external wrenches, and what the diagnostics of its node say of it."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import WrenchStamped
import numpy as np
from std_msgs.msg import Header

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot_file.sensor_sections import ForceSensor
from soro_node.conversions import wrench_from_message
from soro_node.diagnostics import Level
from soro_node.executor.polled_subscriptions import arrival_of
from soro_node.frames import Frames
from soro_node.inputs.external_wrench import ExternalWrench
from soro_node.parameters import Parameter
from soro_node.qos import LOSSY
from soro_node.transforms import NoTransform, TransformFilter

if TYPE_CHECKING:
    from soro_node.robot_binding import RobotBinding

WRENCH_TIMEOUT = Parameter(
    'wrench_timeout', 0.5, 's', 'an older external_wrench counts as zero',
    minimum=0.01, read_only=True,
)  # fmt: skip


class WrenchInput(ExternalWrench):
    """The newest external wrench, in any frame that TF connects with the robot; `open` to `close`.

    - `node`: hears the topic and TF (`transforms`), and reports.
    - `timeout`: a wrench older than this [s] is gone: zero.
    - `of`: the robot; its file may say what its force sensor reads without a load: that is taken
      off.
    """

    def __init__(
        self, node: Any, timeout: float, of: RobotBinding | Frames, topic: str = 'external_wrench'
    ) -> None:
        frames = of if isinstance(of, Frames) else of.frames
        super().__init__(frames, timeout)
        self._binding = of
        structure = {} if isinstance(of, Frames) else of.description.structure
        self._sensor: ForceSensor | None = structure.get('force_sensor')
        self._turn = np.eye(3)  # of the sensor in base_link
        self._topic, self._name = topic, topic.removeprefix('~/')
        self._filter = TransformFilter(node, self._pose_in_robot, self._take)
        self._anchor = frames.base_link
        self._node = node
        self._subscription: Any = None
        self._refusal = ''

    def open(self) -> None:
        """Listen."""
        self._node.transforms.open()
        self._subscription = self._node.create_subscription(
            WrenchStamped, self._topic, self._on_message, LOSSY
        )

    def close(self) -> None:
        """Listen no more; what is known grows old."""
        subscription, self._subscription = self._subscription, None
        self._node.transforms.close()
        if subscription is not None:
            self._node.destroy_subscription(subscription)

    def report(self) -> None:
        """Say what becomes of the wrench; call it again and again, for it grows old."""
        if self._refusal:
            level, text = Level.WARN, self._refusal
        elif self.overdue:
            level, text = Level.WARN, f'older than {self.timeout:g} s: counts as zero'
        else:
            level, text = Level.OK, 'used' if self.present else 'none'
        self._node.diagnostics.report(self._name, level, text)

    def _on_message(self, message: WrenchStamped, information: dict[str, Any]) -> None:
        frames, arrival = self._frames, arrival_of(information)
        name = message.header.frame_id
        known = name in (frames.tip_aligned, frames.tip, frames.base_link)
        if known and not self._is_sensor(name):
            self._anchor = name
            self._take(message, arrival, np.eye(4))
        else:
            self._filter.add(message, arrival)

    def _is_sensor(self, frame_id: str) -> bool:
        sensor = self._sensor
        return sensor is not None and frame_id in (sensor.frame, self._frames.body(sensor.frame))

    def _pose_in_robot(self, header: Header) -> Array:
        """Return the pose (4, 4) of a frame in the tip, where it moves with it, or in the base."""
        frames = self._frames
        if self._is_sensor(header.frame_id):
            self._turn = self._node.transforms.lookup(frames.base_link, header)[:3, :3]
        on_tip = self._node.transforms.hangs_on(header.frame_id, frames.tip)
        self._anchor = frames.tip if on_tip else frames.base_link
        return self._node.transforms.lookup(self._anchor, header)

    def _take(self, message: WrenchStamped, arrival: float, pose: Array | NoTransform) -> None:
        try:
            if isinstance(pose, NoTransform):
                raise pose
            wrench = wrench_from_message(message.wrench, self._name)
            if self._is_sensor(message.header.frame_id):
                wrench = self._sensor.load(wrench, self._turn.T @ self._binding.robot.gravity)
            # At the origin of `_anchor`, in its axes: the arm of the force makes a moment.
            force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
            moment += np.cross(pose[:3, 3], force)
            self.hold(np.concatenate([force, moment]), self._anchor, arrival)
        except SoroError as error:
            self._refusal = str(error)
            text = f'{self._name} refused: {error}'
            self._node.get_logger().warning(text, throttle_duration_sec=5.0)
        else:
            self._refusal = ''
