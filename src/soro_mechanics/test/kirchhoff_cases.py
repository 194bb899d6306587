# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the muscle-driven backbone share."""

from dataclasses import replace

import numpy as np

from soro_mechanics import Robot, Task
from soro_mechanics.core.configuration import Target

WRENCH = np.array([0.2, -0.3, 0.1, 0.02, 0.01, 0.03])  # N, N m


def pose_at(point):
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def point_at(point):
    return Target(pose_at(point), Task.POSITION)


def changed(robot, **changes):
    structure = {'kirchhoff': replace(robot.description.structure['kirchhoff'], **changes)}
    return Robot(replace(robot.description, structure=structure))


def twist_between(plus, minus, step):
    rate = (plus - minus) / (2.0 * step)
    spin = rate[:3, :3] @ (0.5 * (plus + minus))[:3, :3].T
    return np.array([*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
