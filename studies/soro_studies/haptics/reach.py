# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which motor angles bring the free handle of a haptic device to a pose, within its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.analysis.polytope import MotorLimits
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.rendering import Rendering, rendering_setup
from soro_mechanics.numerics.lie import so3_log
from soro_studies.haptics.holding import holding_torque, within_limits

REACH_STEPS = 40  # of the inverse solution
REACH_TOLERANCE = 1e-5  # [m], and rad times the lever of the rendering problem
# Of the motors' limits where the inverse solution ends on one [N m, rad], and of a step [rad]
# with which it comes no nearer any more: in torque a tenth of it.
LIMIT_SLACK, STALLED = 1e-6, 1e-6
# A pose is tried on the nonlinear model where to first order this many times the torque holds it.
WORTH_TRYING = 1.2


def reach(
    device: HapticDevice,
    pose: Array,
    guess: CondensedPorts | None = None,
    limits: MotorLimits | None = None,
) -> CondensedPorts | None:
    """Find the state without hand force at a pose, with least actuator energy.

    The rendering problem (28) iterated on the nonlinear model, as the paper's inverse solver.
    None when the pose is out of reach: the turn about the handle's axis is free.

    Parameters
    ----------
    pose : ndarray, shape (4, 4)
    guess : CondensedPorts, optional
        Where to begin; default the last solution. A state at the pose that is not within the
        limits is a good one: what is left to do is in the redundant direction.
    limits : MotorLimits, optional
        Of angle and torque, both kept by the result; default those of the robot file.
    """
    bound = device.motor_limits() if limits is None else limits
    ports = device.snapshot() if guess is None else guess
    rendering = Rendering(ports, rendering_setup(1e-3, bound, 1.0))
    none = np.zeros(6)
    scale = np.array([1.0, 1.0, 1.0, *[rendering.setup.length] * 2])
    for _ in range(REACH_STEPS):
        rendering.linearise(ports)
        step = np.concatenate(
            [pose[:3, 3] - ports.pose[:3, 3], so3_log(pose[:3, :3] @ ports.pose[:3, :3].T)]
        )
        missing = float(np.linalg.norm(scale * (ports.axes.T @ step)))
        there = missing < REACH_TOLERANCE and np.abs(ports.force).max() < 1e-9
        if there and within_limits(ports, bound, LIMIT_SLACK):
            return ports
        if rendering.update(ports.pose, step, none) is not Code.NONE:
            return None
        change = rendering.angle - ports.angle
        # Half a radian of a motor at once is as far as a linearisation can be trusted.
        largest = float(np.abs(change).max())
        if largest < STALLED:
            return None  # the limits keep it from there
        part = min(1.0, 0.5 / largest)
        nearer = device.held(ports.angle + part * change, np.zeros(device.sizes[1]), ports)
        if nearer is None:
            return None
        ports = nearer
    return None


def hold_within(
    device: HapticDevice, pose: Array, ports: CondensedPorts, limits: MotorLimits
) -> CondensedPorts | None:
    """Return a state at a pose within limits, from one at the pose that may be beyond them.

    `reach` finds least energy. Where that is beyond a limit of torque, another pattern of
    more motors than motions may hold the same pose. None where none does.
    """
    if within_limits(ports, limits, LIMIT_SLACK):
        return ports
    more = replace(
        limits,
        torque_minimum=WORTH_TRYING * limits.torque_minimum,
        torque_maximum=WORTH_TRYING * limits.torque_maximum,
    )
    if holding_torque(ports, more) is None:
        return None
    return reach(device, pose, ports, limits)
