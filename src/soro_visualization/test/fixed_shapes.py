# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Shapes whose geometry is known without a model: arcs of a circle, as arrays or message."""

from __future__ import annotations

from pathlib import Path

from geometry_msgs.msg import Pose
import numpy as np

import soro_mechanics
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_msgs.msg import Backbone, Configuration
from soro_visualization.drawing.shape import Rod, Shape

EXAMPLES = Path(soro_mechanics.__file__).parent / 'robots' / 'examples'
NAMES = ['pair_1', 'pair_2', 'pair_3']


def described(name: str) -> RobotDescription:
    """Return a robot of the catalogue or of its examples."""
    example = EXAMPLES / f'{name}.yaml'
    return read_robot_file(example if example.is_file() else find_robot_file(name))


def arc(angle: float, length: float = 0.04, radius: float = 0.0125, count: int = 21) -> Rod:
    """Return a rod bent about y by an angle, from the origin along z."""
    at = np.linspace(0.0, angle, count)
    if angle:
        bend = length / angle
        x, z = bend * (1.0 - np.cos(at)), bend * np.sin(at)
    else:
        x, z = np.zeros(count), np.linspace(0.0, length, count)
    quaternions = np.stack([0 * at, np.sin(at / 2), 0 * at, np.cos(at / 2)], axis=1)
    positions = np.stack([x, 0 * x, z], axis=1)
    stations = np.linspace(0.0, length, count)
    return Rod('segment', positions, quaternions, np.full(count, radius), stations)


def shape(angle: float = 0.5, force: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Shape:
    """Return a robot of one such rod."""
    rod = arc(angle)
    tip = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    tip[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    tip[:3, 3] = rod.positions[-1]
    return Shape((rod,), {}, tip, np.array([*force, 0.0, 0.0, 0.0]), {'pair_1': 0.0}, 'arc')


def straight(tip_z=0.04):
    """Return a configuration of an upright rod."""
    message = Configuration(model='ncm', actuator_name=NAMES, actuation=[0.0] * 3)
    message.header.frame_id = 'arm/base_link'
    backbone = Backbone(name='segment_1', arc_length=[0.0, 0.02, 0.04], radius=[0.0125] * 3)
    for z in (0.0, 0.5 * tip_z, tip_z):
        pose = Pose()
        pose.position.z = z
        pose.orientation.w = 1.0
        backbone.poses.append(pose)
    message.backbones = [backbone]
    message.tip = backbone.poses[-1]
    return message


def network_shape(spec, poses):
    """Return a network with its bodies at poses and straight rods between their places."""
    rods = []
    for part in spec.rods:
        ends = [poses.get(end.body, np.eye(4)) @ end.attach @ end.crank for end in part.ends]
        at = np.linspace(0.0, 1.0, 7)[:, None]
        positions = (1.0 - at) * ends[0][:3, 3] + at * ends[1][:3, 3]
        upright = np.tile([0.0, 0.0, 0.0, 1.0], (7, 1))
        rods.append(Rod(part.name, positions, upright, np.full(7, 0.0015), at[:, 0] * part.length))
    tip = poses[spec.tip_body] @ spec.tip
    return Shape(tuple(rods), dict(poses), tip, np.zeros(6), {}, 'network')
