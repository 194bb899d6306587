# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle-driven robot by least energy, from its robot file alone: which model is right.

A rod of rotations at its nodes (trapezoid for positions, rotation vectors between nodes for the
bending), stretched evenly within a module, and muscles that are straight springs between disks.
Newton's method on the gradient, whose differences are the second variation: its negative
eigenvalues are the directions in which a shape would fall. Nothing is shared with the models.

    python -m soro_studies.mechanics.muscle_energy
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from soro_mechanics import Robot
from soro_mechanics.robot_file.reader import RobotDescription

Array = npt.NDArray[np.float64]

RAISED = 10  # actuators, in the order of the file
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)  # of the way from rest to the longest
TOLERANCE = 1e-10  # of the gradient [N m]
AXIS = np.array([0.0, 0.0, 1.0])


@dataclass
class MuscleRobot:
    """A body of kind ``muscles``.

    Attributes
    ----------
    elements : int
        Of every module.
    mean_held : bool
        Whether muscles hold their lengths as springs each; if not, only their differences, and
        the mean of a module takes the length that the backbone gives it.
    """

    modules: int
    length: float
    bending: float
    torsion: float
    axial: float
    mass: float
    gravity: Array
    radius: float
    muscle: float  # axial stiffness [N]
    elements: int = 8
    mean_held: bool = False

    @property
    def angles(self) -> Array:
        """Where the muscles stand (modules, 3) [rad]: eq. (52), from the file's own comment."""
        turn = np.radians(60.0) * ((np.arange(self.modules) + 1) % 2)
        return np.radians(120.0) * np.arange(3) + turn[:, None]

    @property
    def places(self) -> Array:
        """Where the muscles meet both disks (modules, 3, 3) [m], axes of the disk."""
        a = self.angles
        return self.radius * np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=-1)

    def straight(self) -> tuple[Array, Array]:
        """Return rotations (1, nodes, 3, 3) and stretches (1, modules) of the straight rod."""
        nodes = self.modules * self.elements + 1
        return np.tile(np.eye(3), (1, nodes, 1, 1)), np.zeros((1, self.modules))

    def positions(self, turns: Array, stretch: Array) -> Array:
        """Return the nodes (states, nodes, 3) [m]."""
        step = self.length / self.modules / self.elements
        along = turns[..., 2]
        steps = 0.5 * step * (along[:, :-1] + along[:, 1:])
        steps *= 1.0 + np.repeat(stretch, self.elements, axis=1)[..., None]
        start = np.zeros((len(turns), 1, 3))
        return np.concatenate([start, np.cumsum(steps, axis=1)], axis=1)

    def gradient(self, turns: Array, stretch: Array, lengths: Array) -> Array:
        """Return dE (states, 3 nodes + modules) for turns about own axes, then stretches."""
        step = self.length / self.modules / self.elements
        count, nodes = turns.shape[:2]
        p = self.positions(turns, stretch)
        by_turn = np.zeros((count, nodes, 3))
        by_place = np.zeros_like(p)
        self._muscles(turns, p, lengths, by_turn, by_place)
        weight = np.full(nodes, self.mass / (nodes - 1))
        weight[[0, -1]] *= 0.5
        by_place -= weight[:, None] * self.gravity
        beyond = np.cumsum(by_place[:, ::-1], axis=1)[:, ::-1][:, 1:]
        grown = 1.0 + np.repeat(stretch, self.elements, axis=1)
        pull = 0.5 * step * grown[..., None] * beyond
        at = np.zeros_like(by_turn)
        at[:, :-1] += pull
        at[:, 1:] += pull
        by_turn += np.cross(AXIS, np.einsum('snji,snj->sni', turns, at))
        bend = _rotation_vectors(np.einsum('snji,snjk->snik', turns[:, :-1], turns[:, 1:]))
        moment = bend * np.array([self.bending, self.bending, self.torsion]) / step
        across = 0.5 * np.cross(bend, moment)
        twice = _curving(bend)[..., None] * np.cross(bend, np.cross(bend, moment))
        by_turn[:, 1:] += moment - across + twice
        by_turn[:, :-1] -= moment + across + twice
        along = turns[..., 2]
        rates = 0.5 * step * np.einsum('sni,sni->sn', beyond, along[:, :-1] + along[:, 1:])
        by_stretch = rates.reshape(count, self.modules, self.elements).sum(axis=2)
        by_stretch += self.axial * self.length / self.modules * stretch
        by_turn[:, 0] = 0.0
        return np.concatenate([by_turn.reshape(count, -1), by_stretch], axis=1)

    def muscle_lengths(self, turns: Array, stretch: Array) -> Array:
        """Return the distances between the disks (states, modules, 3) [m]."""
        return np.linalg.norm(self._spans(turns, self.positions(turns, stretch)), axis=-1)

    def _spans(self, turns: Array, p: Array) -> Array:
        disks, middle = turns[:, :: self.elements], p[:, :: self.elements]
        low = np.einsum('stij,tkj->stki', disks[:, :-1], self.places)
        high = np.einsum('stij,tkj->stki', disks[:, 1:], self.places)
        return np.diff(middle, axis=1)[:, :, None] + high - low

    def tensions(self, distance: Array, lengths: Array) -> Array:
        """Return the pull of every muscle (states, modules, 3) [N]."""
        off = distance - lengths
        if self.mean_held:
            return np.asarray(self.muscle * off / lengths)
        off = off - off.mean(axis=-1, keepdims=True)
        return np.asarray(self.muscle * self.modules / self.length * off)

    def _muscles(
        self, turns: Array, p: Array, lengths: Array, by_turn: Array, by_place: Array
    ) -> None:
        spans = self._spans(turns, p)
        distance = np.linalg.norm(spans, axis=-1)
        force = spans * (self.tensions(distance, lengths) / distance)[..., None]
        disks = turns[:, :: self.elements]
        for side, sign, places in ((disks[:, :-1], -1.0, 0), (disks[:, 1:], 1.0, 1)):
            own = np.einsum('stji,stkj->stki', side, force)
            moment = sign * np.cross(self.places, own).sum(axis=2)
            which = slice(places * self.elements, None, self.elements)
            last = self.modules
            by_turn[:, which][:, :last] += moment
            by_place[:, which][:, :last] += sign * force.sum(axis=2)

    def second_variation(self, turns: Array, stretch: Array, lengths: Array) -> Array:
        """Return the Hessian of the energy, node 0 clamped, by central differences."""
        free = 3 * (turns.shape[1] - 1)
        size = free + self.modules
        small = np.concatenate([np.full(free, 1e-5), np.full(self.modules, 1e-6)])
        sides = []
        for sign in (1.0, -1.0):
            move = sign * np.diag(small)
            sides.append(self.gradient(*_moved(turns, stretch, move), lengths)[:, 3:])
        matrix = (sides[0] - sides[1]).T / (2.0 * small)
        assert matrix.shape == (size, size)
        return np.asarray(matrix)

    def solve(
        self, lengths: Array, start: tuple[Array, Array] | None = None, steps: int = 40
    ) -> tuple[tuple[Array, Array], Array] | None:
        """Return a shape whose energy is stationary, and its second variation; or None."""
        turns, stretch = self.straight() if start is None else start
        for _ in range(steps):
            slope = self.gradient(turns, stretch, lengths)[0, 3:]
            matrix = self.second_variation(turns, stretch, lengths)
            if float(np.abs(slope[: -self.modules]).max()) < TOLERANCE:
                return (turns, stretch), 0.5 * (matrix + matrix.T)
            move = np.asarray(-np.linalg.solve(matrix, slope), np.float64)
            largest = float(np.abs(move[: -self.modules]).max())
            turns, stretch = _moved(turns, stretch, move[None] * min(1.0, 0.2 / largest))
        return None


def _moved(turns: Array, stretch: Array, move: Array) -> tuple[Array, Array]:
    """Return states moved by turns about own axes of all nodes but the first, and stretches."""
    modules = stretch.shape[1]
    about = np.zeros((len(move), turns.shape[1], 3))
    about[:, 1:] = move[:, :-modules].reshape(len(move), -1, 3)
    angle = np.linalg.norm(about, axis=-1)[..., None, None]
    x, y, z = about[..., 0], about[..., 1], about[..., 2]
    zero = np.zeros_like(x)
    w = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    first, second = np.sinc(angle / np.pi), 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2
    return turns @ (np.eye(3) + first * w + second * (w @ w)), stretch + move[:, -modules:]


def _rotation_vectors(turns: Array) -> Array:
    """Return the rotation vectors of small turns (..., 3, 3)."""
    twice = np.stack(
        [
            turns[..., 2, 1] - turns[..., 1, 2],
            turns[..., 0, 2] - turns[..., 2, 0],
            turns[..., 1, 0] - turns[..., 0, 1],
        ],
        axis=-1,
    )
    sine = 0.5 * np.linalg.norm(twice, axis=-1)
    angle = np.arctan2(sine, 0.5 * (np.trace(turns, axis1=-2, axis2=-1) - 1.0))
    return np.asarray(0.5 * twice / np.sinc(angle / np.pi)[..., None])


def _curving(bend: Array) -> Array:
    """Return c of J^-1 = 1 +- [v] / 2 + c [v]^2; its series is exact to 1e-12 below 0.05 rad."""
    square = np.einsum('...i,...i->...', bend, bend)
    angle = np.sqrt(np.maximum(square, 0.05**2))
    closed = 1.0 / angle**2 - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
    series = 1.0 / 12.0 + square / 720.0 + square**2 / 30240.0
    return np.where(square < 0.05**2, series, closed)


def robot_of(description: RobotDescription, **chosen: object) -> MuscleRobot:
    """Return the robot of a file, from what its body says."""
    body = description.structure['kirchhoff']
    muscle = next(r for r in description.structure['network'].rods if r.name == 'tube_1_1')
    material = body.materials[body.material]
    d = body.rod_diameter
    return MuscleRobot(
        modules=body.modules,
        length=body.length,
        bending=material.young * np.pi * d**4 / 64.0,
        torsion=material.shear * np.pi * d**4 / 32.0,
        axial=material.young * np.pi * d**2 / 4.0,
        mass=body.mass,
        gravity=np.array(description.gravity),
        radius=body.muscle_radius,
        muscle=float(muscle.section.stiffness[2]),
        **chosen,  # type: ignore[arg-type]
    )


def raised(robot: Robot, share: float) -> Array:
    """Return the command: the first muscles a share of the way from rest to their longest."""
    rest = np.array([a.rest for a in robot.actuators])
    rest[:RAISED] += share * (robot.limits[:RAISED, 1] - rest[:RAISED])
    return rest


def table() -> str:
    """Return tips and verdicts of both models and of this computation, as Markdown."""
    from soro_mechanics import load_robot

    robot = load_robot('pam_continuum')
    models = [robot, robot.with_model('network')]
    rows = [
        '| muscles 1-10 | least energy, means free | kirchhoff | network | apart '
        '| means held: pushes, unstable directions |',
        '|---|---|---|---|---|---|',
    ]
    for share in SHARES:
        command = raised(robot, share)
        cells, tips = [f'{share:.0%}'], []
        for mean_held in (False, True):
            made = robot_of(robot.description, mean_held=mean_held)
            found = made.solve(command.reshape(-1, 3))
            if found is None:
                raise RuntimeError(f'{share:.0%}: no stationary energy')
            shape, second = found
            below = int(np.count_nonzero(np.linalg.eigvalsh(second) < 0.0))
            if mean_held:
                distance = made.muscle_lengths(*shape)
                push = -float(made.tensions(distance, command.reshape(-1, 3)).min())
                held = f'{push:.0f} N, {below}'
            else:
                tips.append(made.positions(*shape)[0, -1])
                cells.append(_tip(tips[0], 'STABLE' if below == 0 else 'UNSTABLE'))
        for model in models:
            q = model.forward(command)
            tips.append(q.tip[:3, 3])
            cells.append(_tip(tips[-1], q.status.stability.name))
        apart = max(float(np.linalg.norm(a - b)) for a in tips for b in tips)
        rows.append('| ' + ' | '.join([*cells, f'{1e3 * apart:.2f} mm', held]) + ' |')
    return '\n'.join(rows)


def _tip(place: Array, verdict: str) -> str:
    return f'{1e3 * place[0]:.1f}, {1e3 * place[2]:.1f} mm {verdict.lower()}'


if __name__ == '__main__':
    print(table())
