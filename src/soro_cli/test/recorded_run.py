# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recording made from a model, without a robot: what the tests of plot and identify read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geometry_msgs.msg import PoseStamped, Vector3
from nav_msgs.msg import Path as PathMessage
import numpy as np
from rclpy.serialization import serialize_message

from soro_mechanics.identification.defaults import default_parameters
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorState, Backbone, Configuration
from soro_node.conversions import poses_to_messages
from soro_recording.bag_writer import BagWriter
from soro_recording.message_definitions import full_definition

PERIOD, HOLD = 100_000_000, 16  # ns, messages of one posture: held longer than it settles
START = 1_700_000_000 * 10**9
NOISE = 5e-5  # m
MOUNTED = (0.0, 0.0, 9.81)  # m/s^2, gravity: it hung, as its file does not say
KINDS = {
    'actuator_state': ('soro_msgs/msg/ActuatorState', ActuatorState),
    'configuration': ('soro_msgs/msg/Configuration', Configuration),
    'emulator/configuration': ('soro_msgs/msg/Configuration', Configuration),
    'tip_pose': ('geometry_msgs/msg/PoseStamped', PoseStamped),
    'tracker/position': ('geometry_msgs/msg/PoseStamped', PoseStamped),
    'camera/pose': ('geometry_msgs/msg/PoseStamped', PoseStamped),
    'desired_path': ('nav_msgs/msg/Path', PathMessage),
    'actual_path': ('nav_msgs/msg/Path', PathMessage),
}


class RecordedRun:
    """A bag of `spatial_cc` whose plant has other numbers than its file.

    Two trackers see the tip too: `tracker/position` measures no orientation, `camera/pose` is in
    a frame of its own.

    Attributes
    ----------
    folder : path
    truth : ndarray
        Factors on the default parameters.
    """

    def __init__(self, folder: Path, postures: int = 24, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        description = read_robot_file(find_robot_file('spatial_cc'))
        self.robot = Robot(description, 'constant_curvature')
        space = ParameterSpace(description, default_parameters(self.robot))
        self.truth = 1.0 + random.uniform(-0.08, 0.08, len(space.names))
        plant = space.robot(self.truth.tolist(), 'constant_curvature')
        self.robot.gravity = plant.gravity = MOUNTED
        self.folder = folder
        self._bag = BagWriter(folder, distribution='kilted')
        self._bag.add_file(
            '/arm/robot.yaml', 'application/yaml', Path(description.file).read_bytes()
        )
        self._numbers = {
            name: self._bag.add_topic(f'/arm/{name}', kind, full_definition(kind))
            for name, (kind, _) in KINDS.items()
        }
        low, high = self.robot.limits.T
        now = START
        for _ in range(postures):
            actuation = low + 0.8 * (high - low) * random.uniform(size=len(low))
            model, true = self.robot.forward(actuation), plant.forward(actuation)
            for _ in range(HOLD):
                now += PERIOD
                self._state(now, actuation)
                self._shape(now, 'configuration', model, model.tip)
                noisy = true.tip.copy()
                noisy[:3, 3] += NOISE * random.standard_normal(3)
                self._shape(now, 'emulator/configuration', true, noisy)
                self._write(
                    'tip_pose', now, PoseStamped(pose=poses_to_messages(model.tip[None])[0])
                )
                self._trackers(now, poses_to_messages(noisy[None])[0])
        self._paths(now)
        self._bag.close()

    def _write(self, name: str, now: int, message: Any) -> None:
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        self._bag.write(self._numbers[name], now, serialize_message(message))

    def _trackers(self, now: int, pose: Any) -> None:
        position = PoseStamped()
        position.header.frame_id, position.pose.position = 'arm/base_link', pose.position
        self._write('tracker/position', now, position)
        camera = PoseStamped(pose=pose)
        camera.header.frame_id = 'world'
        self._write('camera/pose', now, camera)

    def _state(self, now: int, actuation: np.ndarray) -> None:
        values = actuation.tolist()
        names = [a.name for a in self.robot.actuators]
        # In another order than the robot's file, as any publisher may.
        self._write(
            'actuator_state',
            now,
            ActuatorState(
                name=names[::-1],
                quantity=[1] * len(names),
                flags=[0] * len(names),
                commanded=values[::-1],
                applied=values[::-1],
                measured=values[::-1],
            ),
        )

    def _shape(self, now: int, name: str, q: Any, tip: np.ndarray) -> None:
        backbones = [
            Backbone(
                name='arm',
                arc_length=list(map(float, range(len(line)))),
                poses=poses_to_messages(line),
                radius=radius.tolist(),
            )
            for line, radius in zip(q.backbones, q.radii, strict=True)
        ]
        message = Configuration(
            model='constant_curvature',
            actuator_name=[a.name for a in self.robot.actuators],
            actuation=q.actuation.tolist(),
            backbones=backbones,
            gravity=Vector3(x=q.gravity[0], y=q.gravity[1], z=q.gravity[2]),
            tip=poses_to_messages(tip[None])[0],
        )
        message.status.solve_time = 1e-3
        self._write(name, now, message)

    def _paths(self, now: int) -> None:
        """A straight path and an actual one 2 mm beside it."""
        for name, offset in (('desired_path', 0.0), ('actual_path', 2e-3)):
            poses = np.tile(np.eye(4), (11, 1, 1))
            poses[:, 0, 3], poses[:, 1, 3] = np.linspace(0.0, 0.02, 11), offset
            message = PathMessage(poses=[PoseStamped(pose=p) for p in poses_to_messages(poses)])
            self._write(name, now, message)
