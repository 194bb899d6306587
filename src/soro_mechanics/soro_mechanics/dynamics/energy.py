# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Energy of a network in motion: what it stores, what is put in, what is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.dynamics.drives import copy_inputs
from soro_mechanics.dynamics.stepper import Stepper
from soro_mechanics.models.network.arrays import Inputs, State
from soro_mechanics.models.network.drive_values import motor_torques
from soro_mechanics.models.network.kernels.tendon_kernels import path_lengths


@dataclass(frozen=True)
class Energy:
    """Energies [J]; work and dissipation since the beginning."""

    kinetic: float
    strain: float
    gravity: float
    work: float  # of loads and actuators
    dissipated: float  # by retardation, relaxation, drag, impact and friction
    contact: float  # stored

    @property
    def lost(self) -> float:
        """What the integration took out, but for the stored energy at the beginning."""
        stored = self.kinetic + self.strain + self.gravity + self.contact
        return self.work - self.dissipated - stored


class EnergyMeter:
    """Adds up the energy of a stepper; look at it after every step.

    Work and dissipation are integrated by the trapezoidal rule. What actuators put in is what
    their change does to the stored energy with the frames held, and the torque of the motors.
    """

    def __init__(self, stepper: Stepper) -> None:
        self._of = stepper
        s = stepper.layout.structure
        self._owner = stepper.inertia.owner
        self._first = np.arange(len(s.share)) + self._owner
        self._tension = np.zeros(s.tendon.shape[:2])
        self._work = self._dissipated = 0.0
        self._before = self._look()
        self._origin = self._stored(self._before.x, self._before)

    def measure(self) -> Energy:
        """Return the energies after a step."""
        a, b = self._before, self._look()
        step = b.time - a.time
        self._dissipated += 0.5 * step * (a.lost + b.lost)
        self._work += 0.5 * step * (a.power + b.power)
        self._work += 0.5 * float(((a.torque + b.torque) * (b.angle - a.angle)).sum())
        self._work -= 0.5 * float(((a.pulls + b.pulls) * (b.paths - a.paths)).sum())
        for look in (a, b):
            self._work += 0.5 * sum(self._stored(b.x, look))
            self._work -= 0.5 * sum(self._stored(a.x, look))
            # what is fed in moves with its node at once
            fed = np.einsum('ki,kij,kj->', look.speed, b.mass - a.mass, look.speed)
            self._work += 0.25 * float(fed)
        self._before = b
        return self.present()

    def present(self) -> Energy:
        """Return the energies now; potentials as they were at the beginning are zero."""
        b = self._before
        strain, gravity = self._stored(b.x, b)
        zero = self._origin[1]
        return Energy(b.kinetic, strain, gravity - zero, self._work, self._dissipated, b.contact)

    def _look(self) -> _Look:
        of, m, s = self._of, self._of.motion, self._of.layout.structure
        x, state = copy_inputs(of.inputs), of.state
        nodes, bodies = m.node_past[:, 0], m.body_past[:, 0]
        momenta = np.einsum('kij,kj->ki', m.node_mass, nodes)
        moment = np.einsum('kij,kj->ki', m.body_mass, bodies)
        kinetic = 0.5 * float((nodes * momenta).sum() + (bodies * moment).sum())
        growth = (m.length_past[:, 0, 0] / x.length)[self._owner]
        fed = growth[:, None] * m.twist
        rate = m.twist_past[:, 0] - fed
        viscous = m.retardation[:, None] * np.einsum('pij,pj->pi', x.stiffness, rate)
        held = of.options.branch * np.einsum('pij,pj->pi', x.stiffness, m.branch)
        power = -float((viscous * fed + held * (fed - growth[:, None] * m.branch)).sum())
        power += _power(state.body, x.dead, m.load, bodies)
        if x.node_dead.shape[0]:
            power += _power(state.node, x.node_dead, x.node_follower, nodes)
        paths = np.zeros(self._tension.shape)
        if paths.size:
            path_lengths(s, state, paths)
        frames = State(*(a.copy() for a in state))
        lost = float((viscous * rate + held * m.branch / of.options.relaxation).sum())
        lost += 2.0 * of.options.drag * kinetic + float(m.touch.lost.sum())
        return _Look(
            of.time,
            x,
            m.twist.copy(),
            m.branch.copy(),
            frames,
            kinetic,
            lost,
            power,
            motor_torques(s, of.work),
            x.theta,
            x.tension + state.tension,
            paths,
            nodes.copy(),
            m.node_mass.copy(),
            float(m.touch.stored.sum()),
        )

    def _stored(self, x: Inputs, look: _Look) -> tuple[float, float]:
        """Return strain energy and potential of gravity of the frames of a look."""
        s, twist, frames = self._of.layout.structure, look.twist, look.frames
        h = x.length[self._owner] * s.share
        strain = twist - h[:, None] * x.section[:, :6]
        elastic = 0.5 * float(np.einsum('pi,pij,pj->', strain, x.stiffness, strain))
        part, branch = 0.5 * self._of.options.branch, look.branch
        elastic += part * float(np.einsum('pi,pij,pj->', branch, x.stiffness, branch))
        # the weight of an element as its force is assembled: half on each end, with a lever
        half = 0.5 * x.section[:, 12] * x.dilution[self._owner] * h
        place = np.zeros(3)
        for node, arm in ((self._first, h / 6.0), (self._first + 1, -h / 6.0)):
            g = frames.node[node]
            lever = np.einsum('pij,pj->pi', g[:, :3, :3], arm[:, None] * x.section[:, :3])
            place += half @ (g[:, :3, 3] + lever)
        for b in range(1, len(s.body_mass)):
            g = frames.body[b]
            place += s.body_mass[b] * (g[:3, 3] + g[:3, :3] @ s.body_centre[b])
        return elastic, -float(place @ x.gravity)


@dataclass(frozen=True, eq=False)
class _Look:
    time: float
    x: Inputs
    twist: Array
    branch: Array
    frames: State
    kinetic: float
    lost: float
    power: float
    torque: Array
    angle: Array
    pulls: Array
    paths: Array
    speed: Array
    mass: Array
    contact: float


def _power(frames: Array, dead: Array, follower: Array, twist: Array) -> float:
    """Return the power of dead (base axes) and following wrenches (own axes) on frames."""
    turned = np.einsum('kji,kpj->kpi', frames[:, :3, :3], dead.reshape(-1, 2, 3))
    return float(((turned.reshape(-1, 6) + follower) * twist).sum())
