# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What of an environment lives between two calls of its kernel: motion, round surfaces, forces.

Objects that follow a streamed pose move at a limited speed, so that a hand that leans on one is
not jerked. A round surface is the wall that touches it where it is nearest to the hand. Friction
is a spring that the hand stretches as it moves, up to a share of the normal force (Dahl); a field
resists motion; a streamed wrench is added. These forces act where no object constrains the hand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics import virtual_environment_kernels as kernels
from soro_mechanics.haptics.virtual_object import frame_at, Shape, VirtualObject
from soro_mechanics.numerics.lie import so3_exp, so3_log

# Assumed: of objects that follow a pose [m/s, rad/s]; time constant of the added wrench [s], and
# its largest force and moment [N, N m]. A stream that is lost lets go, and one that comes back
# takes hold, slowly: a stiff sphere whose program stands still for 150 ms now and then would
# shake a light grip by 1.1 mm at once, by 0.3 mm so.
GOAL_SPEED, GOAL_TURN = 0.3, 3.0
WRENCH_TIME, MAX_FORCE, MAX_MOMENT = 0.02, 5.0, 0.25
LOST_TIME, BACK = 0.1, 0.1  # s; N, N m that are left of the way back


class LiveParts:
    """The living parts of one environment.

    `objects`: those that the kernel knows, and fields; `frames, state`: of the former, as the
    kernel reads and writes them; `frames` is overwritten; `spring`: of sticking friction, of all
    touched objects together [N/m]; `drag`: against motion while a wrench is added, at least [N
    s/m], that of fields included: a handle that nobody holds moves no faster than force over drag.

    `goal` (4, 4): where objects that follow are by now; `wrench` (6,): added by now, of the device
    on the hand, axes of base_link at the tip [N, N m]; `drag`: as given; `pushes`: whether a
    wrench is added, so that the motors have something to do.
    """

    def __init__(
        self,
        objects: Sequence[VirtualObject],
        frames: Array,
        contact: Array,
        spring: float,
        drag: float,
    ) -> None:
        solid = [o for o in objects if o.shape is not Shape.FIELD]
        self._frames, self._contact, self._spring = frames, contact, spring
        self._home, self._centre = frames.copy(), frames.copy()
        self.following = tuple(i for i, o in enumerate(solid) if o.follows_goal)
        self._round = [
            (i, o.size[0], o.shape is Shape.SPHERE)
            for i, o in enumerate(solid)
            if o.shape in (Shape.SPHERE, Shape.CYLINDER)
        ]
        self._rough = [(i, o.friction) for i, o in enumerate(solid) if o.friction > 0.0]
        self._touched: dict[int, Array] = {}  # rough objects: where on them the hand was
        self._pull = np.zeros(3)  # of friction
        self._resistance = sum(o.damping for o in objects if o.shape is Shape.FIELD)
        self.drag = drag
        self.goal, self._wanted = np.eye(4), np.eye(4)
        self.wrench, self._asked = np.zeros(6), np.zeros(6)
        self._slow = self.pushes = False
        self.idle = len(solid) == len(objects) and not (
            self.following or self._round or self._rough
        )

    def reset(self) -> None:
        """Forget what sticks, and the added wrench."""
        self._touched, self._pull = {}, np.zeros(3)
        self.wrench[:], self._asked[:], self._slow, self.pushes = 0.0, 0.0, False, False

    def added(self) -> tuple[Array, Array, bool]:
        """Return what `go_on` goes on with."""
        return self.wrench.copy(), self._asked.copy(), self._slow

    def go_on(self, added: tuple[Array, Array, bool]) -> None:
        """Add what was `added` before a reset, or by another environment: a hand feels no jerk."""
        self.wrench[:], self._asked[:], self._slow = added
        self._look()

    def move_goal(self, pose: Array, at_once: bool = False) -> None:
        """Let objects go to a pose, shape (4, 4); `at_once`: before the hand can touch them."""
        self._wanted = pose
        if at_once:
            self.goal = pose.copy()

    def add_wrench(self, wrench: Array, lost: bool = False) -> None:
        """Add a wrench, shape (6,), from now on; larger ones are shortened.

        `lost`: the stream has ended, or hangs.
        """
        for part, most in ((slice(0, 3), MAX_FORCE), (slice(3, 6), MAX_MOMENT)):
            size = float(np.linalg.norm(wrench[part]))
            self._asked[part] = wrench[part] * min(1.0, most / size if size > 0.0 else 1.0)
        self._slow = lost or (self._slow and bool(np.abs(self._asked - self.wrench).max() > BACK))
        self._look()

    def place(self, hand: Array, dt: float) -> None:
        """Move frames to where they are for a hand at a pose, `dt` [s] later."""
        if self.following:
            self._follow(dt)
            for i in self.following:
                self._centre[i] = self._frames[i] = self.goal @ self._home[i]
        for i, radius, sphere in self._round:
            centre = self._centre[i]
            away = hand[:3, 3] - centre[:3, 3]
            along = centre[:3, 2] * (0.0 if sphere else away @ centre[:3, 2])
            away = away - along
            distance = float(np.linalg.norm(away))
            normal = away / distance if distance > 1e-9 else self._frames[i][:3, 2].copy()
            self._frames[i] = frame_at(centre[:3, 3] + along + radius * normal, normal)

    def add_forces(
        self, hand: Array, wrench: Array, speed: Array, dt: float, rows: Array, force: Array
    ) -> None:
        """Add friction, fields and the wrench to the goal force.

        `rows` (n, 6): constrained directions, orthonormal; `force` (6,): of the hand at the goal;
        overwritten.
        """
        within = LOST_TIME if self._slow else WRENCH_TIME
        self.wrench += min(1.0, dt / within) * (self._asked - self.wrench)
        self._look()
        extra = -self.wrench
        resistance = max(self._resistance, self.drag if self.pushes else 0.0)
        extra[:3] += resistance * speed[:3]
        extra[:3] += self._friction(hand[:3, 3], wrench[:3], rows[:, :3])
        force += extra - rows.T @ (rows @ extra)

    def _look(self) -> None:
        self.pushes = bool(self._asked.any() or np.abs(self.wrench).max() > 1e-3)

    def _follow(self, dt: float) -> None:
        step = self._wanted[:3, 3] - self.goal[:3, 3]
        turn = so3_log(self._wanted[:3, :3] @ self.goal[:3, :3].T)
        sizes = float(np.linalg.norm(step)), float(np.linalg.norm(turn))
        share = max(sizes[0] / (GOAL_SPEED * dt), sizes[1] / (GOAL_TURN * dt), 1.0)
        self.goal[:3, 3] += step / share
        self.goal[:3, :3] = so3_exp(turn / share) @ self.goal[:3, :3]

    def _friction(self, place: Array, force: Array, held: Array) -> Array:
        """Return what the hand has to give along what it sticks to, shape (3,).

        One spring, however many surfaces: it keeps its stretch when the hand touches or leaves
        another one, but for the directions that are `held` (n, 3), orthonormal.
        """
        moved, most, touched = np.zeros(3), 0.0, {}
        for i, share in self._rough:
            if self._contact[i, kernels.Z] != 0.0:  # of a wall
                centre = self._centre[i]
                # Where the hand is on the object, which may move.
                touched[i] = centre[:3, :3].T @ (place - centre[:3, 3])
                moved += centre[:3, :3] @ (touched[i] - self._touched.get(i, touched[i]))
                most += share * max(0.0, -float(force @ self._frames[i][:3, 2]))
        self._touched = touched
        pull = self._pull + self._spring / max(1, len(touched)) * moved
        pull -= held.T @ (held @ pull)
        size = float(np.linalg.norm(pull))
        self._pull = pull * min(1.0, most / size) if size > 0.0 else pull
        return self._pull
