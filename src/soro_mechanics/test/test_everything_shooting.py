# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Everything at once on one arm, by shooting that shares no code with the library.

A curved and twisted rod with tendons, and a chain of two segments with a link: pressure, weight to
the side, loads in base and section axes with moments on the way, a wrench at the tip. Sought is
the wrench at the base; sections give strain by wrench, where tendons pull by Newton's method.
"""

from functools import cache

import numpy as np
from shooting import hat

from soro_mechanics import Load, LoadAxes, Robot
from soro_mechanics.robot_file.reader import describe_robot

BASE, LOCAL = LoadAxes.BASE, LoadAxes.LOCAL
WRENCH = np.array([0.12, -0.08, 0.05, 2e-3, -3e-3, 1.5e-3])
GRAVITY = np.array([6.0, -3.0, 7.0])
STEPS = 40  # of a part between two places where something acts


def cross(a, b):
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def advanced(y, length, strain, line):
    """Return place, rotation, force and moment (base axes) at the end of a part, by RK4."""

    def rates(y):
        place, turn, force, moment = y
        v, u = strain(np.concatenate([turn.T @ force, turn.T @ moment]))
        ahead = turn @ v
        return ahead, turn @ hat(u), -line, -cross(ahead, force)

    h = length / STEPS
    for _ in range(STEPS):
        k = [rates(y)]
        for part in (0.5, 0.5, 1.0):
            k.append(rates([a + part * h * b for a, b in zip(y, k[-1], strict=True)]))
        y = [
            a + h / 6.0 * (p + 2.0 * q + 2.0 * r + s) for a, p, q, r, s in zip(y, *k, strict=True)
        ]
    return y


def loaded(y, wrench, axes):
    """Return the state behind a load."""
    place, turn, force, moment = y
    f, m = wrench[:3], wrench[3:]
    if axes is LOCAL:
        f, m = turn @ f, turn @ m
    return [place, turn, force - f, moment - m]


@cache
def shot(walk, *unit):
    """Return the tip (4, 4) of the walk from the base wrench that leaves nothing at the tip."""
    unit, x = np.array(unit), np.zeros(6)

    def lack(x):
        y = walk([np.zeros(3), np.eye(3), unit[:3] * x[:3], unit[3:] * x[3:]])
        return np.concatenate([y[2], y[3]]) / unit, y

    for _ in range(30):
        left, y = lack(x)
        if np.abs(left).max() < 1e-11:
            tip = np.eye(4)
            tip[:3, :3], tip[:3, 3] = y[1], y[0]
            return tip
        slope = np.column_stack([(lack(x + d)[0] - left) / 1e-6 for d in 1e-6 * np.eye(6)])
        x = x - np.linalg.solve(slope, left)
    raise AssertionError('no equilibrium')


def text(values, unit):
    return f'{" ".join(repr(float(x)) for x in np.atleast_1d(values))} {unit}'


def robot_of(body, drives, models, model):
    data = {'schema': 2, 'name': 'arm', 'title': 'Arm', 'gravity': text(GRAVITY, 'm/s^2')}
    data |= {'body': body, 'drives': drives, 'models': models}
    return Robot(describe_robot(data, 'arm.yaml'), model)


LENGTH, LINE = 0.2, 0.15  # m, kg/m
K = np.array([300.0, 300.0, 900.0, 5e-3, 8e-3, 4e-3])
CURVED = np.array([2.0, -3.0, 6.0])
TENDONS = ((8e-3, 1e-3, 0.2, 1.6), (-4e-3, 6e-3, 0.12, 0.9), (-3e-3, -7e-3, 0.2, 2.1))
ALONG = (
    (0.07, BASE, np.array([0.2, 0.1, -0.1, 3e-3, 1e-3, -2e-3])),
    (0.15, LOCAL, np.array([-0.1, 0.2, 0.15, -1e-3, 2e-3, 2e-3])),
)


def with_tendons(at):
    """Return strain by wrench of a section that tendons run through; they pull as they lie."""
    ways = [
        (np.hstack([np.eye(3), -hat(np.array([x, y, 0.0]))]), tension)
        for x, y, end, tension in TENDONS
        if end > at
    ]
    rest = np.concatenate([[0.0, 0.0, 1.0], CURVED])
    known = [rest]

    def strain(total):
        e = known[0]
        for _ in range(20):
            wrench, slope = K * (e - rest) - total, np.diag(K)
            for way, tension in ways:
                c = way @ e
                size = np.linalg.norm(c)
                t = c / size
                wrench = wrench + tension * way.T @ t
                slope = slope + tension / size * way.T @ (np.eye(3) - np.outer(t, t)) @ way
            step = np.linalg.solve(slope, wrench)
            e = e - step
            if np.abs(step).max() < 1e-12:
                break
        known[0] = e
        return e[:3], e[3:]

    return strain


def tendon_walk(y):
    stops = sorted({0.0, LENGTH, *(t[2] for t in TENDONS), *(s for s, _, _ in ALONG)})
    for a, b in zip(stops[:-1], stops[1:], strict=True):
        y = advanced(y, b - a, with_tendons(0.5 * (a + b)), LINE * GRAVITY)
        for s, axes, wrench in ALONG:
            if s == b:
                y = loaded(y, wrench, axes)
    return loaded(y, WRENCH, BASE)


def test_a_curved_rod_with_tendons_and_loads_on_its_way():
    section = {
        'stiffness': {
            'axial': text(K[2], 'N'),
            'shear': text(K[0], 'N'),
            'bending_x': text(K[3], 'N m^2'),
            'bending_y': text(K[4], 'N m^2'),
            'torsion': text(K[5], 'N m^2'),
        },
        'mass_per_length': text(LINE, 'kg/m'),
        'radius': '10 mm',
        'strain_limit': 1,
    }
    rod = {
        'name': 'arm',
        'section': 'hose',
        'length': text(LENGTH, 'm'),
        'rest_curvature': text(CURVED, '1/m'),
        'from': {'body': 'ground'},
        'to': {'body': 'tip'},
    }
    tendons = {
        f't{i}': {'rods': ['arm'], 'position': text([x, y], 'm'), 'to': text(end, 'm')}
        for i, (x, y, end, _) in enumerate(TENDONS)
    }
    drives = [
        {
            'name': f'pull_{i}',
            'quantity': 'force',
            'minimum': '0 N',
            'maximum': '5 N',
            'rate': '5 N/s',
            'acts': [{'drives': 'tension', 'tendons': [f't{i}']}],
        }
        for i in range(len(TENDONS))
    ]
    body = {'kind': 'rods', 'sections': {'hose': section}, 'bodies': {'tip': {}}, 'rods': [rod]}
    body |= {'tendons': tendons, 'tip': {'body': 'tip'}}
    robot = robot_of(body, drives, {'network': {'mesh': 96}}, 'network')
    loads = [Load(w, 'arm', s, axes) for s, axes, w in ALONG]
    q = robot.forward([t[3] for t in TENDONS], WRENCH, loads=loads)
    assert q.status.converged
    tip = shot(tendon_walk, 0.1, 0.1, 0.1, 0.03, 0.03, 0.03)
    np.testing.assert_allclose(q.tip[:3, 3], tip[:3, 3], rtol=0.0, atol=2e-5)
    np.testing.assert_allclose(q.tip[:3, :3], tip[:3, :3], rtol=0.0, atol=4e-4)


# length [m], EA [N], EI [N m^2], kg/m; areas [m^2], distances [m] and angles [deg] of chambers
SEGMENTS = (
    (0.04, 30.0, 1.5e-3, 0.5, ((3e-5, 8e-3, 20.0), (4e-5, 7e-3, 170.0))),
    (0.05, 24.0, 1.1e-3, 0.4, ((2e-5, 8e-3, 80.0), (3e-5, 6e-3, 200.0), (2e-5, 7e-3, 310.0))),
)
LINK, LINK_MASS, TIP_MASS, SHEAR = 6e-3, 3e-3, 5e-3, 0.85
PRESSURES = np.array([4e4, 1e4, 3e4, 0.0, 6e4])
ON = (
    ('first', 0.013, BASE, np.array([0.05, -0.04, 0.06, 4e-4, -3e-4, 5e-4])),
    ('first', 0.027, LOCAL, np.array([-0.04, 0.05, 0.03, 3e-4, 2e-4, -4e-4])),
    ('first_link', 0.0, LOCAL, np.array([0.03, 0.02, 0.05, -2e-4, 3e-4, 2e-4])),
    ('second', 0.031, LOCAL, np.array([0.02, -0.05, 0.04, 1e-4, -4e-4, 2e-4])),
    ('', 0.0, LOCAL, np.array([0.02, 0.03, -0.01, 1e-4, 2e-4, 1e-4])),
)

LINK_IS = {'first_link': 'behind_first'}  # in the network


def chain_walk(y):
    first = 0
    for k, (name, part) in enumerate(zip(('first', 'second'), SEGMENTS, strict=True)):
        length, axial, bend, density, chambers = part
        push = np.zeros(6)
        for (area, r, angle), p in zip(chambers, PRESSURES[first:], strict=False):
            x, z = r * np.cos(np.radians(angle)), r * np.sin(np.radians(angle))
            push += p * area * np.array([0.0, 0.0, 1.0, z, -x, 0.0])
        first += len(chambers)
        shear = SHEAR * axial / 3.0
        soft = 1.0 / np.array([shear, shear, axial, bend, bend, bend / 1.5])

        def strain(total, soft=soft, push=push):
            e = soft * (total + push)
            return e[:3] + [0.0, 0.0, 1.0], e[3:]

        mine = [(s, axes, w) for on, s, axes, w in ON if on == name]
        stops = sorted({0.0, length, *(s for s, _, _ in mine)})
        for a, b in zip([None, *stops[:-1]], stops, strict=True):
            y = y if a is None else advanced(y, b - a, strain, density * GRAVITY)
            for s, axes, wrench in mine:
                y = loaded(y, wrench, axes) if s == b else y
        if k == 0:
            for on, _, axes, wrench in ON:
                y = loaded(y, wrench, axes) if on == 'first_link' else y
            for part_of, mass in ((0.5, LINK_MASS), (0.5, 0.0)):
                place, turn, force, moment = y
                way = part_of * LINK * turn[:, 2]
                y = [place + way, turn, force - mass * GRAVITY, moment - cross(way, force)]
    y = loaded(y, TIP_MASS * np.concatenate([GRAVITY, np.zeros(3)]), BASE)
    y = loaded(y, ON[-1][3], LOCAL)
    return loaded(y, WRENCH, BASE)


def test_two_segments_of_unequal_chambers_with_loads_on_their_way():
    drives, segments = [], []
    for name, part in zip(('first', 'second'), SEGMENTS, strict=True):
        length, axial, bend, density, chambers = part
        made = []
        for area, r, angle in chambers:
            drives.append({'name': f'p{len(drives)}', 'quantity': 'pressure'})
            drives[-1] |= {'minimum': '0 Pa', 'maximum': '1 bar', 'rate': '1 bar/s'}
            made.append({'drive': drives[-1]['name'], 'area': text(area, 'm^2')})
            made[-1] |= {'offset': text(r, 'm'), 'angle': text(angle, 'deg')}
        segments.append(
            {
                'name': name,
                'length': text(length, 'm'),
                'radius': '12 mm',
                'chambers': made,
                'axial_stiffness': text(axial, 'N'),
                'bending_stiffness': text(bend, 'N m^2'),
                'shear_factor': SHEAR,
                'linear_density': text(density, 'kg/m'),
            }
        )
    segments[0] |= {'link': text(LINK, 'm'), 'link_mass': text(LINK_MASS, 'kg')}
    body = {'kind': 'chain', 'tip': {'mass': text(TIP_MASS, 'kg')}, 'segments': segments}
    robot = robot_of(body, drives, {'network': {'mesh': 200}}, 'network')
    loads = [Load(w, LINK_IS.get(on, on), s, axes) for on, s, axes, w in ON]
    q = robot.forward(PRESSURES, WRENCH, loads=loads)
    assert q.status.converged
    tip = shot(chain_walk, 1.0, 1.0, 1.0, 0.03, 0.03, 0.03)
    np.testing.assert_allclose(q.tip[:3, 3], tip[:3, 3], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(q.tip[:3, :3], tip[:3, :3], rtol=0.0, atol=1e-6)
