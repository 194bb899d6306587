# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A haptic device in motion with a hand on its handle: the network of its legs, in time.

The hand is two weightless elements from the ground to the handle, a spring and a damper, so that
no step is too long for a stiff one. Before every step their far end is put where the handle is:
what they hold is then a place and a speed, in the handle's own directions.
"""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.haptics.device import HapticDevice, turns_about
from soro_mechanics.models.network.description.cross_section import CrossSection
from soro_mechanics.models.network.description.spec import EndSpec, GROUND, NetworkSpec, RodSpec
from soro_mechanics.numerics.lie_kernels import so3_log

STEP, LATE = 1e-3, 5e-3  # s: of a step; due, from which steps are twice as long
SLOW, EVEN = 2e-6, 2e-4  # m/s, m/s^2, rad too: what moves no faster rests, within 1e-7 m
TRUSTED = 1e-2  # scaled residual from which one Newton step more is the solution
SPRING, DAMPER = -2, -1  # rods of the hand, one element each
DAMPER_TIME = 100.0  # s, the damper's retardation: in one step it has no stiffness to speak of
NOTHING = 1e-6  # N/m, N m/rad: an element needs some stiffness in every direction
BOUND = NOTHING * np.eye(6)


class HeldHandle:
    """A device whose handle and legs move.

    `damping_ratio`: part of critical damping of the slowest mode; faster ones have more, as of one
    retardation.

    `place, speed, hand_force` (5,): of the handle, in its directions; what the hand puts on it,
    its inertia too [N, N m]; `axes` (6, 5): the directions, in base_link; `restarts`: how often a
    step had no solution, and all was put to rest.
    """

    def __init__(self, device: HapticDevice, damping_ratio: float) -> None:
        self._device, still = device, np.zeros(device.sizes[0])
        unloaded = LoadCase(gravity=device.gravity)
        self.stepper = Stepper(with_hand(device.network.spec), still, Options(trusted=TRUSTED))
        self._tip, self._across = self.stepper.layout.tip_body, device.across
        self.stepper.rest(still, unloaded)
        omega = 2.0 * math.pi * float(modes(self.stepper, 1).frequency[0])
        m = self.stepper.motion
        m.retardation[:] = 2.0 * damping_ratio / omega
        m.retardation[SPRING], m.retardation[DAMPER] = 0.0, DAMPER_TIME
        self._bare = m.body_mass[self._tip].copy()
        self.stepper.step(STEP, still, unloaded)  # compiles what a step calls
        self.stepper.rest(still, unloaded)
        self._angle, self._due, self.restarts, self.hand_force = still, 0.0, 0, np.zeros(5)
        self._asked = np.empty(0)
        self._look()

    def advance(self, angle: Array, hand: Any, seconds: float) -> None:
        """Let time pass while the motors turn evenly to new angles (na,) [rad].

        It passes in steps of `STEP`, of twice that where much is due; what is left waits for the
        next call. The hand's arrays (5,): `place` and `speed` at the end, `stiffness`, `damping`,
        `mass`, and `force` beside the spring. What rests and is left alone is not computed.
        """
        due = self._due + seconds
        length = STEP if due < LATE else 2.0 * STEP
        steps = int(due / length + 1e-6)
        self._due = max(due - steps * length, 0.0)
        if steps == 0:
            return
        laws = hand.stiffness, hand.damping, hand.mass, hand.force
        asked = np.concatenate((angle, hand.place, hand.speed, *laws))
        left_alone, self._asked = np.array_equal(asked, self._asked), asked
        if left_alone and self.rests:
            return
        start, self._angle = self._angle, angle
        for k in range(1, steps + 1):
            place = hand.place - hand.speed * length * (steps - k)
            self._step(length, start + k / steps * (angle - start), hand, place)

    @property
    def rests(self) -> bool:
        """Whether nothing moves, nor is about to."""
        pasts = np.concatenate((self.stepper.motion.node_past, self.stepper.motion.body_past))
        return bool(np.abs(pasts[:, 0]).max() < SLOW and np.abs(pasts[:, 2]).max() < EVEN)

    def elongation(self) -> Array:
        """Return the elongation of every flex sensor [m]."""
        d, node = self._device, self.stepper.state.node[:, :3, :3]
        first = d.structure.rod_node[d.sensor_rod]
        nodes, axes = node[first[:, None] + d.nodes], d.motor_axis[d.sensor_motor]
        return np.asarray((d.weights * turns_about(node[first], nodes, axes)).sum(axis=1))

    def _step(self, length: float, angle: Array, hand: Any, place: Array) -> None:
        s, m, of = self.stepper.layout.structure, self.stepper.motion, self.stepper
        own = self._own
        for rod, law, rest in (
            (SPRING, hand.stiffness, place - self.place),
            (DAMPER, hand.damping / DAMPER_TIME, DAMPER_TIME * hand.speed),
        ):
            s.attach[rod, 0] = of.state.body[self._tip]
            m.twist[rod] = 0.0
            m.twist_past[rod] = m.body_past[self._tip]
            of.inputs.stiffness[rod] = (own * law) @ own.T + BOUND
            of.inputs.section[rod, :6] = own @ rest / of.inputs.length[rod]
        m.body_mass[self._tip] = self._bare + (own * hand.mass) @ own.T
        load = LoadCase(self.axes @ hand.force, gravity=self._device.gravity)
        if not of.step(length, angle, load).taken:
            self.restarts += 1
            try:
                of.rest(angle, load)
            except InvalidInput:
                return
        self._look()
        spring = hand.stiffness * (place - self.place) + hand.damping * (hand.speed - self.speed)
        inertia = hand.mass * (self._own.T @ m.body_past[self._tip, 2])
        self.hand_force = spring + hand.force - inertia

    def _look(self) -> None:
        """Read the handle; `_own`: its directions in its own axes."""
        pose, turn = self.stepper.state.body[self._tip], np.empty(3)
        so3_log(np.ascontiguousarray(pose[:3, :3]), turn)
        self.place = np.concatenate([pose[:3, 3], self._across.T @ turn])
        self._own, self.axes = np.zeros((6, 5)), np.eye(6, 5)
        self._own[:3, :3], self._own[3:, 3:] = pose[:3, :3].T, self._across
        self.axes[3:, 3:] = pose[:3, :3] @ self._across
        self.speed = self._own.T @ self.stepper.motion.body_past[self._tip, 0]


def with_hand(spec: NetworkSpec) -> NetworkSpec:
    """Return a network with two elements more, which hold its tip as yet by nothing."""
    section = CrossSection(np.full(6, NOTHING), 0.0, 1e-3)
    ends = tuple(
        EndSpec(body, pose, np.array([0.0, 0.0, 1.0]), np.eye(4), 'clamped', np.eye(2, 3))
        for body, pose in ((GROUND, np.eye(4)), (spec.tip_body, spec.tip))
    )
    curvature, length = np.zeros((2, 4)), spec.rods[0].length
    curvature[1, 0] = 1.0
    rods = tuple(
        RodSpec(name, length, section, None, curvature, (ends[0], ends[1]), np.arange(2.0))
        for name in ('hand_spring', 'hand_damper')
    )
    return replace(spec, rods=spec.rods + rods)
