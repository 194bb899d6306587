# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Two-node elements are of fourth order in stiffness: against shooting that shares no code.

The shooting integrates one clamped rod under a dead tip wrench (RK4 on rotation matrices, Newton
by the complex step) and differentiates by differences. Where the load itself bends and twists a
rod out of a plane, second order is left.
"""

from dataclasses import replace

from network_cases import body, end, ground, problem, section, solve
import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.models.network.description.cross_section import ShapedSection
from soro_mechanics.models.network.description.spec import DriveSpec, NetworkSpec, RodSpec
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.numerics import lie

LENGTH = 0.4
STEPS = 120
SOFT = np.array([400.0, 400.0, 900.0, 0.03, 0.05, 0.02])  # GA, EA, EI, GJ


def times(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def hat(u):
    out = np.zeros((*u.shape, 3), u.dtype)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -u[..., 2], u[..., 1], -u[..., 0]
    return out - np.swapaxes(out, -1, -2)


class Shooting:
    """A clamped rod: stiffness (6,) and rest strain (6,) as functions of the arc length."""

    def __init__(self, stiffness, rest):
        self.stiffness, self.rest = stiffness, rest

    def rates(self, s, turn, moment, force):
        """Return d/ds of place, rotation and moment in base axes; the force is constant."""
        rest, k, back = self.rest(s), self.stiffness(s), np.swapaxes(turn, -1, -2)
        ahead = times(turn, rest[:3] + times(back, force) / k[:3])
        return ahead, turn @ hat(rest[3:] + times(back, moment) / k[3:]), -np.cross(ahead, force)

    def end(self, force, base):
        """Integrate from base moments (..., 3): place, rotation and moment at the tip (RK4)."""
        y = [0.0 * base, np.eye(3) + 0.0 * base[..., None], base]
        h = LENGTH / STEPS

        def moved(rate, part):
            return [a + part * h * b for a, b in zip(y, rate, strict=True)]

        for step in range(STEPS):
            s = step * h
            k1 = self.rates(s, *y[1:], force)
            k2 = self.rates(s + 0.5 * h, *moved(k1, 0.5)[1:], force)
            k3 = self.rates(s + 0.5 * h, *moved(k2, 0.5)[1:], force)
            k4 = self.rates(s + h, *moved(k3, 1.0)[1:], force)
            parts = zip(k1, k2, k3, k4, strict=True)
            y = moved([(a + 2 * b + 2 * c + d) / 6.0 for a, b, c, d in parts], 1.0)
        return y

    def tips(self, wrench, base):
        """Return place, rotation and base moment of each dead tip wrench (n, 6)."""
        missing = np.full(1, np.inf)
        while np.abs(missing).max() > 1e-11:
            trial = base[:, None] + 1e-30j * np.concatenate([np.zeros((1, 3)), np.eye(3)])
            found = self.end(wrench[:, None, :3] + 0.0 * trial, trial)[2]
            missing = found[:, 0].real - wrench[:, 3:]
            slope = np.swapaxes(found[:, 1:].imag / 1e-30, -1, -2)
            base = base - np.linalg.solve(slope, missing[..., None])[..., 0]
        return (*(a.real for a in self.end(wrench[:, :3], base)[:2]), base)

    def compliance(self, wrench, parts):
        """Return the tip's place and its twist per wrench, base axes, by differences."""
        base = np.zeros((1, 3))
        for part in np.arange(1, parts + 1) / parts:
            base = self.tips(part * wrench[None], base)[2]
        size = np.array([1e-4] * 3 + [1e-5] * 3)
        sides = np.concatenate([np.diag(size), -np.diag(size)])
        place, turn, _ = self.tips(wrench + sides, np.repeat(base, 12, axis=0))
        spins = [lie.so3_log(turn[j] @ turn[6 + j].T) for j in range(6)]
        moved = np.concatenate([place[:6] - place[6:], spins], axis=1)
        return self.tips(wrench[None], base)[0][0], (moved / (2.0 * size[:, None])).T


def constant(values):
    return lambda s: np.array(values, dtype=float)


def bent(x, y, z):
    return np.array([[0.0, x, y, z]])


ROUND = ShapedSection('circle', np.array([2e-3]), 4e9, 1.5e9, 0.9, 0.0)
THIN = replace(ROUND, size=np.array([1.2e-3]))
RISING = np.array([[0.0, 1.0, 2.0, 0.5], [1.0, -3.0, 4.0, 2.0]])
PLANE = np.array([0.3, 0.0, -0.4, 0.0, 0.03, 0.0])
SPACE = np.array([0.05, -0.04, -0.03, 0.004, 0.002, 0.003])


def tapered(s):
    size = (1.0 - s / LENGTH) * ROUND.size + s / LENGTH * THIN.size
    return ROUND.cross_section(size).stiffness


def rising(s):
    return np.array(
        [0.0, 0.0, 1.0, *(RISING[0, 1:] + s / LENGTH * np.diff(RISING, axis=0)[0, 1:])]
    )


FLEXIBLE = section(shear=400.0, axial=900.0, bending=(0.03, 0.05))
ALONG = [0, 0, 1, 0, 0, 0]
# name: section, its taper, rest curvature, stretch; what the shooting takes
RODS = {
    'straight': ((FLEXIBLE, None, bent(0, 0, 0), 1.0), (constant(SOFT), constant(ALONG))),
    'curved and twisted': (
        (FLEXIBLE, None, bent(1, 6, 4), 1.0),
        (constant(SOFT), constant([0, 0, 1, 1, 6, 4])),
    ),
    'of changing curvature': ((FLEXIBLE, None, RISING, 1.0), (constant(SOFT), rising)),
    'tapered': ((ROUND, THIN, bent(0, 3, 0), 1.0), (tapered, constant([0, 0, 1, 0, 3, 0]))),
    'stretched': (
        (FLEXIBLE, None, bent(0, 2, 0), 1.5),
        (constant(SOFT), constant([0, 0, 1.5, 0, 2, 0])),
    ),
}
UNIT = np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])


def rod_of(of, taper, curvature, stretch, pieces):
    """Return one clamped rod; a drive stretches it."""
    fractions = np.linspace(0.0, 1.0, pieces + 1)
    ends = (end('ground'), end('tip'))
    rod = RodSpec('rod', LENGTH, of, taper, curvature, ends, fractions)
    drive = DriveSpec(0, 0, 'stretch', shift=np.array([0, 0, 1.0, 0, 0, 0]), offset=-1.0)
    return NetworkSpec((ground(), body('tip')), (rod,), (drive,), 'tip', np.eye(4)), stretch


def compliance(spec, stretch, wrench):
    solver, outcome = solve(spec, 1, (1.0,), wrench=wrench, actuation=[stretch])
    assert outcome.converged
    layout, x = solver.layout, solver.inputs(problem(wrench=wrench, actuation=[stretch]))
    linear = Linearisation(layout, x, outcome.state, layout.work())
    return outcome.state.body[1][:3, 3], linear.body_compliance(1, 1)


def errors_of(what, exact, wrench, parts, counts, rows=slice(None)):
    """Return errors of stiffness (in parts of its largest entry) and tip (of the length)."""
    place, wanted = Shooting(*exact).compliance(wrench, parts)
    wanted = (wanted * UNIT * UNIT[:, None])[rows][:, rows]
    errors = []
    for pieces in counts:
        at, found = compliance(*rod_of(*what, pieces), wrench)
        found = (found * UNIT * UNIT[:, None])[rows][:, rows]
        flexible = np.abs(found - wanted).max() / np.abs(wanted).max()
        errors.append((flexible, np.abs(at - place).max() / LENGTH))
    return np.array(errors)


@pytest.mark.parametrize('name', RODS)
def test_elements_are_of_fourth_order(name):
    """Whatever the rod's rest shape, taper, stretch: under small loads in all directions."""
    errors = errors_of(*RODS[name], 1e-3 * SPACE, 1, (4, 8))
    if name == 'straight':  # one element would be exact
        assert errors[:, 0].max() < 1e-5
        return
    assert errors[1, 0] < 3e-4
    assert np.log2(errors[0, 0] / errors[1, 0]) > 3.5, errors


def test_a_rod_that_bends_in_a_plane_keeps_its_stiffness_there():
    """Bent by half a turn: in the plane to 1e-4 with twelve elements, out of it to 0.4 %."""
    plane = [0, 2, 4]
    inside = errors_of(*RODS['straight'], PLANE, 8, (12,), plane)
    assert inside[0].max() < 1e-4
    outside = errors_of(*RODS['straight'], PLANE, 8, (12, 24))
    assert outside[0, 0] < 4e-3
    assert np.log2(outside[0, 0] / outside[1, 0]) > 1.9


def test_second_order_is_left_where_the_load_bends_and_twists_out_of_a_plane():
    errors = errors_of(*RODS['straight'], 10.0 * SPACE, 8, (12, 24))
    assert errors[0].max() < 2e-3
    assert (np.log2(errors[0] / errors[1]) > 1.8).all()


def test_three_elements_buckle_at_the_right_load():
    """Euler: pi^2 EI / (4 L^2) of a clamped and free rod, to a thousandth."""
    stiff = section(shear=3e6, axial=3e6)
    critical = np.pi**2 * 0.03 / (4.0 * LENGTH**2)
    signs = []
    for part in (0.999, 1.001):
        spec, stretch = rod_of(stiff, None, bent(0, 0, 0), 1.0, 3)
        wrench = np.array([0, 0, -part * critical, 0, 0, 0])
        solver, outcome = solve(spec, 1, (1.0,), wrench=0.5 * wrench, actuation=[stretch])
        x = solver.inputs(problem(wrench=wrench, actuation=[stretch]))
        outcome = solver.newton(x, outcome.state)
        layout = solver.layout
        signs.append(Linearisation(layout, x, outcome.state, layout.work()).negative)
    assert signs[0] == 0 < signs[1]


def leg_stiffness(rod, parts=100):
    """Return the stiffness (6, 6) of a leg's second end at rest: linear, by its integral."""
    inner = (np.arange(parts) + 0.5) / parts
    width = np.diff(rod.fractions)
    s = (rod.fractions[:-1, None] + width[:, None] * inner).ravel()
    bend = np.stack([np.interp(s, rod.curvature[:, 0], c) for c in rod.curvature.T[1:]], axis=1)
    flexibility = np.diag(1.0 / rod.section.cross_section().stiffness)
    steps = np.repeat(rod.length * width / parts, parts)
    pose, total = np.eye(4), np.zeros((6, 6))
    for u, h in zip(bend[::-1], steps[::-1], strict=True):  # from the second end, in its axes
        half = lie.se3_exp(-0.5 * h * np.array([0, 0, 1.0, *u]))
        pose = pose @ half
        ad = lie.adjoint(pose)
        total += h * ad @ flexibility @ ad.T
        pose = pose @ half
    return np.linalg.inv(total)


def test_haptic_legs_are_as_stiff_as_curved_beams():
    """On the robot's own mesh; under its weight the figures are those of six-rod shooting."""
    robot = load_robot('haptic_5dof')
    spec = robot.model_object.spec
    wanted = np.zeros((6, 6))
    for rod in spec.rods:
        to_end = lie.adjoint_inverse(rod.ends[1].attach @ rod.ends[1].crank)
        wanted += to_end.T @ leg_stiffness(rod) @ to_end
    heavy = np.diag(np.linalg.inv(robot.compliance(robot.forward(np.zeros(6)))))
    np.testing.assert_allclose(heavy[[0, 2, 4]], [237.02, 131.33, 1.2313], rtol=2e-4)
    robot.gravity = np.zeros(3)
    found = np.linalg.inv(robot.compliance(robot.forward(np.zeros(6))))
    np.testing.assert_allclose(np.diag(found), np.diag(wanted), rtol=1e-4)


def test_stresses_and_strains_are_those_of_the_section():
    """What an element bends between its nodes is no shear: that stays n / GA."""
    spec, stretch = rod_of(FLEXIBLE, None, bent(0, 0, 0), 1.0, 4)
    force = np.array([1e-3, 0, 0, 0, 0, 0])
    solver, outcome = solve(spec, 1, (1.0,), wrench=force, actuation=[stretch])
    stress, section = outcome.state.wrench, solver.layout.sections
    np.testing.assert_allclose(stress[:, 0] * section[:, 6], force[0] / SOFT[0], rtol=1e-4)
    middle = LENGTH * (np.arange(4) + 0.5) / 4
    bending = force[0] * (LENGTH - middle) / SOFT[4]
    np.testing.assert_allclose(stress[:, 4] * section[:, 10], bending, rtol=1e-4)
