# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time steps of networks in motion on one core, against the time that a step stands for.

Catalogue robots ramp to a part of their ranges and swing on; one rod of 40 elements under a load
that turns; the platform of Stewart and Gough on steel rods that is moved by 0.2 m in 2.5 s and
then sways for 2.5 s. Each row says how many periods of the slowest mode a step is, and how far the
tip's path is from that of half the step on twice the elements.
"""

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

from soro_mechanics import load_robot
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.models.network.description.cross_section import CrossSection
from soro_mechanics.models.network.description.spec import BodySpec, EndSpec, NetworkSpec, RodSpec
from soro_studies.mechanics.benchmark_rows import measure, report

FAST = Options(trusted=1e-2)
# step [s], part of the range of every actuator, elements of an integrated piece, times real time
# that is aimed at
ROBOTS = {
    'haptic_5dof': (1e-3, 0.1, None, 4.0),
    'stiff_flop': (1e-3, 0.3, 8, 10.0),
    'soft_parallel': (1e-3, 0.15, 4, 10.0),
}
NO_LOAD = np.zeros(6)
EARTH = np.array([0.0, 0.0, -9.81])


def in_time(name, make, elements, step, input_at, count, aim=1.0):
    """Return the row of a stepper.

    make(elements, options): a stepper; input_at(t): actuation and wrench.
    """

    def advance(moving, length):
        actuation, wrench = input_at(moving.time + length)
        if not moving.step(length, actuation, wrench, EARTH).taken:
            raise SystemExit(f'{name}: no solution at {moving.time:g} s')

    paths = []
    for parts, given in ((1, FAST), (2, replace(FAST, trusted=0.0))):
        moving, path = make(None if elements is None else parts * elements, given), []
        for k in range(count * parts):
            advance(moving, step / parts)
            if (k + 1) % parts == 0:
                path.append(moving.tip[:3, 3])
        paths.append(np.array(path))
    error = np.linalg.norm(paths[0] - paths[1], axis=1).max()
    moving = make(elements, FAST)
    part = step * modes(moving, 1).frequency[0]
    row = measure(f'dynamics: {name}', lambda _: advance(moving, step), count - 10, step / aim)
    note = f'{step / row.processor:.1f} x real time, {part:.2g} periods, {1e3 * error:.2g} mm off'
    return replace(row, note=note)


def robot_row(name):
    """Ramp one actuator in two within 0.2 s, then swing."""
    step, part, elements, aim = ROBOTS[name]
    robot = load_robot(name, model='network')
    rest = np.array([a.rest for a in robot.actuators])
    goal = rest + part * (robot.limits[:, 1] - rest) * (np.arange(len(rest)) % 2 == 0)

    def make(elements, options):
        return stepper(robot, options=replace(options, elements=elements))

    def input_at(t):
        return rest + np.sin(0.5 * np.pi * min(t / 0.2, 1.0)) ** 2 * (goal - rest), NO_LOAD

    return in_time(f'{name}, 1 ms', make, elements, step, input_at, 600, aim)


def rod_row():
    """One rod of 40 elements, 2 ms, with a force on its end that turns."""

    def end(body):
        return EndSpec(body, np.eye(4), np.eye(3)[2], np.eye(4), 'clamped', np.zeros((2, 3)))

    section = CrossSection(np.array([3e4, 3e4, 3e4, 0.03, 0.03, 0.02]), 0.05, 1e-3)
    bodies = tuple(
        BodySpec(n, np.eye(4) if n == 'ground' else None, 0.0, np.zeros(3))
        for n in ('ground', 'tip')
    )

    def make(elements, options):
        mesh, ends = np.linspace(0.0, 1.0, elements + 1), (end('ground'), end('tip'))
        rod = RodSpec('rod', 0.4, section, None, np.zeros((1, 4)), ends, False, mesh)
        spec = NetworkSpec(bodies, (rod,), (), 'tip', np.eye(4), 1)
        moving = Stepper(spec, np.zeros(0), options)
        moving.rest(np.zeros(0), NO_LOAD, EARTH)
        return moving

    def input_at(t):
        size = 0.2 * np.sin(0.5 * np.pi * min(t / 0.2, 1.0)) ** 2
        load = [size * np.cos(10.0 * t), size * np.sin(10.0 * t), 0.0, 0.0, 0.0, 0.0]
        return np.zeros(0), np.array(load)

    return in_time('rod of 40 elements, 2 ms', make, 40, 2e-3, input_at, 600, 20.0)


def platform_row():
    """Five seconds at 1/240 s, a twentieth of the slowest period."""
    robot = load_robot('stewart_gough')
    steel = {'density': 8000.0}
    rods = tuple(
        replace(r, section=replace(r.section, **steel)) for r in robot.model_object.spec.rods
    )
    bodies = tuple(
        b
        if b.name == 'ground'
        else replace(b, mass=0.0921, inertia=np.diag([1.91e-4, 1.91e-4, 3.82e-4]))
        for b in robot.model_object.spec.bodies
    )
    spec = replace(robot.model_object.spec, rods=rods, bodies=bodies)
    parts, lengths, near = np.linspace(0.0, 1.0, 41), [], None
    for part in parts:
        pose = np.eye(4)
        pose[:3, 3] = [-0.2 * part, 0.0, 0.5]
        near = robot.inverse(pose, guess=near)
        lengths.append(near.actuation)
    table = CubicSpline(parts, np.array(lengths))

    def input_at(t):
        part = min(t / 2.5, 1.0)
        smooth = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
        return table(smooth), NO_LOAD

    def make(elements, options):
        moving = Stepper(spec, table(0.0), replace(options, elements=elements))
        moving.rest(table(0.0), NO_LOAD, EARTH)
        return moving

    name = 'stewart_gough with steel rods, 1/240 s'
    return in_time(name, make, 12, 1.0 / 240.0, input_at, 1200, 5.0)


if __name__ == '__main__':
    report([*(robot_row(name) for name in ROBOTS), rod_row(), platform_row()])
