# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time steps of networks in motion on one core, against the time that a step stands for.

Catalogue robots ramp to a part of their ranges and swing on; one rod of 40 elements under a load
that turns; the platform of Stewart and Gough on steel rods that is moved by 0.2 m in 2.5 s and
then sways for 2.5 s. Each row says how many periods of the slowest mode a step is, and how far the
tip's path is from that of half the step on twice the elements. The rod in a plane moves in exudyn
and mujoco too, where `peer_motion` finds them.
"""

from dataclasses import replace
import json
import os
from pathlib import Path
import subprocess
import sys
import time

import numpy as np
from peer_motion import force_at
from scipy.interpolate import CubicSpline

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.models.network.description.cross_section import CrossSection
from soro_mechanics.models.network.description.spec import BodySpec, EndSpec, NetworkSpec, RodSpec
from soro_studies.mechanics.benchmark_rows import measure, report

FAST = Options(trusted=1e-2)
# step [s], part of the range of every actuator, elements of a rod, times real time that is
# aimed at
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
        if not moving.step(length, actuation, LoadCase(wrench, gravity=EARTH)).taken:
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


# of peer_motion too; SI
ROD = {
    'length': 0.4,
    'axial': 3e4,
    'shear': 3e4,
    'torsion': 0.02,
    'bending': 0.03,
    'mass': 0.05,  # per length
    'radius': 1e-3,
    'gravity': -9.81,
    'force': 0.2,
    'ramp': 0.2,
    'turn': 10.0,
    'duration': 1.2,
    'sample': 2e-3,
}


def rod(elements, options):
    """Return a cantilever along z at rest."""

    def end(body):
        return EndSpec(body, np.eye(4), np.eye(3)[2], np.eye(4), 'clamped', np.zeros((2, 3)))

    stiff = np.array(
        [ROD[k] for k in ('shear', 'shear', 'axial', 'bending', 'bending', 'torsion')]
    )
    section = CrossSection(stiff, ROD['mass'], ROD['radius'])
    bodies = tuple(
        BodySpec(n, np.eye(4) if n == 'ground' else None, 0.0, np.zeros(3))
        for n in ('ground', 'tip')
    )
    mesh, ends = np.linspace(0.0, 1.0, elements + 1), (end('ground'), end('tip'))
    one = RodSpec('rod', ROD['length'], section, None, np.zeros((1, 4)), ends, mesh)
    spec = NetworkSpec(bodies, (one,), (), 'tip', np.eye(4))
    return at_rest(spec, np.zeros(0), options)


def at_rest(spec, actuation, options):
    """Return a stepper at rest that keeps the frequency of its slowest mode."""
    moving = Stepper(spec, actuation, options)
    moving.rest(actuation, LoadCase(gravity=EARTH))
    moving.fit(modes(moving, 1).frequency[0])
    return moving


def rod_input(t, problem=ROD):
    """Return no actuation, and the force on the end."""
    return np.zeros(0), np.append(force_at(problem, t), np.zeros(3))


def rod_row():
    """One rod of 40 elements, 2 ms, with a force on its end that turns."""
    return in_time('rod of 40 elements, 2 ms', rod, 40, ROD['sample'], rod_input, 600, 20.0)


def rod_path(elements, step, problem):
    """Return processor time and the path of the tip at the samples."""
    moving, path = rod(elements, replace(FAST, retardation=problem['retardation'])), []
    begin, every = time.process_time(), round(ROD['sample'] / step)
    for k in range(round(ROD['duration'] / step)):
        actuation, wrench = rod_input(moving.time + step, problem)
        if not moving.step(step, actuation, LoadCase(wrench, gravity=EARTH)).taken:
            raise SystemExit(f'the rod: no solution at {moving.time:g} s')
        if (k + 1) % every == 0:
            path.append(moving.tip[:3, 3])
    return time.process_time() - begin, np.array(path)


DAMPED = 5e-3  # s, retardation: undamped, steps of 2 ms are unstable in others


def print_peers():
    """Print processor time and error of the rod here and in other libraries."""
    python = os.environ.get('SORO_PEERS_PYTHON', sys.executable)
    clean = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
    script = str(Path(__file__).with_name('peer_motion.py'))
    print(f'the rod, retardation {1e3 * DAMPED:g} ms: speed, largest error of the tip')
    problem = {**ROD, 'turn': 0.0, 'retardation': DAMPED}
    _, exact = rod_path(40, 1.25e-4, problem)
    rows = [('soro', 40, 2e-3, *rod_path(40, 2e-3, problem))]
    with subprocess.Popen(
        [python, script, json.dumps(problem)], env=clean, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            found = json.loads(line) if line.startswith('{') else {}
            if 'path' in found:
                name = f'{found["library"]} {found["version"]}'
                spent, path = found['seconds'], np.array(found['path'])
                rows.append((name, found['elements'], found['step'], spent, path))
            elif found:
                print(f'  {found["library"]}: {found["absent"]}')
    for name, count, step, spent, path in rows:
        error = 1e3 * np.linalg.norm(path - exact, axis=1).max()
        print(
            f'  {name:18s} {count:3d} elements, {1e3 * step:8.3g} ms   '
            f'{ROD["duration"] / spent:8.3g} x real time   {error:8.3g} mm'
        )
    print('errors against 40 elements of ours at 0.125 ms; 1.2 s each, one process')


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
        return at_rest(spec, table(0.0), replace(options, elements=elements))

    name = 'stewart_gough with steel rods, 1/240 s'
    return in_time(name, make, 12, 1.0 / 240.0, input_at, 1200, 5.0)


if __name__ == '__main__':
    report([*(robot_row(name) for name in ROBOTS), rod_row(), platform_row()])
    print_peers()
