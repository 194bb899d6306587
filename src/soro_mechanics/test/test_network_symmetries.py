# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One robot with everything, as drawn: turned, mirrored, scaled, in other order; its derivatives.

Six curved rods between three bodies, every joint, a motor on a crank, fed and grown rods, chambers
and tendons through rods in a row, loads of every kind, weight to the side. What a file says is
turned with everything in it: whatever is read, put or carried in the wrong axes shows.
"""

import copy

import numpy as np
import pytest

from soro_mechanics import Load, LoadAxes, Robot
from soro_mechanics.dynamics.stepper import Options
from soro_mechanics.numerics import lie
from soro_mechanics.robot_file.reader import describe_robot

BASE, LOCAL = LoadAxes.BASE, LoadAxes.LOCAL
UNITS = {'angle': 'rad', 'length': 'm', 'curvature': '1/m', 'pressure': 'Pa', 'force': 'N'}
MIRROR = np.diag([-1.0, 1.0, 1.0])


def pose(position=(0, 0, 0), turn=(0, 0, 0)):
    out = np.eye(4)
    out[:3, 3], out[:3, :3] = position, lie.so3_exp(np.array(turn, float))
    return out


def drawn(seed, held):
    """Return a robot in numbers [SI]; `held`: tendons by their lengths, else by tension."""
    rng = np.random.default_rng(seed)

    def some(size):
        return size * rng.uniform(-1.0, 1.0, 3)

    def ground(x, y, turn=0.1, **more):
        return {'body': 'ground', 'place': pose((x, y, 0), some(turn)), **more}

    def on(body, x, y, **more):
        return {'body': body, 'place': pose((x, y, 0)), **more}

    crank = (np.array([0.1, 1.0, 0.2]), pose((2e-3, 1e-3, 3e-3), some(0.2)))
    axes = {'axis': np.array([1.0, 0.2, 0.0]), 'second_axis': np.array([-0.2, 1.0, 0.0])}
    rods = [
        ('r1', 'hose', 0.1, ground(0, 0), on('mid', 0, 0)),
        (
            'r2',
            'strip',
            0.105,
            ground(0.03, 0, motor=crank),
            on('mid', 0.03, 0, joint='revolute', axis=np.array([0.3, 1.0, 0.1])),
        ),
        ('r3', 'strip', 0.1, ground(-0.02, 0.03), on('mid', -0.02, 0.03, joint='spherical')),
        ('r4', 'hose', 0.1, on('mid', 0, 0), on('top', 0, 0)),
        ('r5', 'strip', 0.1, on('mid', 0, -0.03), on('top', 0, -0.03, joint='universal', **axes)),
        ('r6', 'hose', 0.06, on('top', 0.01, 0), on('free', 0, 0)),
    ]
    bent = [(0.0, some(3.0)), (0.4, some(3.0)), (1.0, some(3.0))]
    made = [(*r, bent if r[0] == 'r1' else [(0.0, some(3.0))]) for r in rods]
    pull = ('length', -0.01, 0.02, 'tendon') if held else ('force', 0.0, 4.0, 'tension')
    acts = [
        ('angle', -1.0, 1.0, {'drives': 'angle', 'rods': ['r2']}),
        ('length', 0.08, 0.13, {'drives': 'length', 'rods': ['r3']}),
        ('length', 0.08, 0.13, {'drives': 'unloaded_length', 'rods': ['r5']}),
        ('curvature', -5.0, 5.0, {'drives': 'curvature', 'rods': ['r6'], 'direction': some(1.0)}),
        ('pressure', 0.0, 1e5, {'drives': 'pressure', 'chambers': ['c1']}),
        ('pressure', 0.0, 1e5, {'drives': 'pressure', 'chambers': ['c2']}),
        (*pull[:3], {'drives': pull[3], 'tendons': ['t1']}),
        (*pull[:3], {'drives': pull[3], 'tendons': ['t2']}),
    ]
    pulls = [0.004, 0.003] if held else [1.2, 0.8]
    small, light = np.repeat([0.1, 1e-3], 3), np.repeat([1.0, 0.0], 3)

    def wrench(size):
        return size * np.concatenate([some(1.0), some(1.0)])

    return {
        'gravity': some(9.8),
        'wrench': wrench(np.repeat([0.15, 4e-3], 3)),
        # stiffness: shear, axial, bending about x and y, torsion; kg/m; m
        'sections': {
            'hose': (np.array([300.0, 500.0, 4e-3, 6e-3, 3e-3]), 0.1, 6e-3),
            'strip': (np.array([300.0, 700.0, 2e-3, 9e-3, 4e-3]), 0.05, 5e-3),
        },
        # kg, centre, inertia, place
        'bodies': {
            'mid': (8e-3, some(5e-3), 1e-6 * np.array([1.0, 2.0, 2.5]), pose((0, 0, 0.1))),
            'top': (5e-3, some(5e-3), 1e-6 * np.array([1.0, 1.2, 1.5]), pose((0, 0, 0.2))),
            'free': (2e-3, some(3e-3), 1e-7 * np.ones(3), None),
        },
        'rods': made,
        'tip': pose(some(8e-3), some(0.4)),
        'chambers': {
            'c1': (['r1', 'r4'], 3e-5, np.array([3e-3, 1e-3])),
            'c2': (['r4'], 2e-5, np.array([-2e-3, -2.5e-3])),
        },
        'tendons': {
            't1': (['r1', 'r4'], np.array([5e-3, -2e-3])),
            't2': (['r4'], np.array([-3e-3, 4e-3])),
        },
        'acts': acts,
        'actuation': np.array(
            [
                rng.uniform(-0.5, 0.5),
                0.1 + rng.uniform(-0.01, 0.01),
                0.1 + rng.uniform(-8e-3, 8e-3),
                rng.uniform(-4.0, 4.0),
                *rng.uniform(0.0, 2e4, 2),
                *pulls,
            ]
        ),
        # on, from, axes, wrench, until
        'loads': [
            ('r1', 0.05, BASE, wrench(small), None),
            ('r4', 0.033, LOCAL, wrench(small), None),
            ('r2', 0.02, BASE, wrench(light), 0.09),
            ('r6', 0.0, LOCAL, wrench(light), 0.06),
            ('mid', 0.0, BASE, wrench(small), None),
            ('free', 0.0, LOCAL, wrench(0.5 * small), None),
            ('', 0.0, LOCAL, wrench(0.5 * small), None),
        ],
    }


def text(values, unit=''):
    return ' '.join([*(repr(float(x)) for x in np.atleast_1d(values)), unit]).strip()


def placed(g):
    return {'position': text(g[:3, 3], 'm'), 'rotation': text(lie.so3_log(g[:3, :3]), 'rad')}


def written(robot, numerics):
    """Return the robot that reads these numbers."""
    sections, bodies, rods, drives = {}, {}, [], []
    for name, (k, mass, radius) in robot['sections'].items():
        names = ('shear', 'axial', 'bending_x', 'bending_y', 'torsion')
        units = ('N', 'N', 'N m^2', 'N m^2', 'N m^2')
        stiffness = {n: text(x, u) for n, x, u in zip(names, k, units, strict=True)}
        sections[name] = {'stiffness': stiffness, 'mass_per_length': text(mass, 'kg/m')}
        sections[name] |= {'radius': text(radius, 'm'), 'strain_limit': 9}
    for name, (mass, centre, inertia, place) in robot['bodies'].items():
        bodies[name] = {'mass': text(mass, 'kg'), 'centre': text(centre, 'm')}
        bodies[name] |= {'inertia': text(inertia, 'kg m^2')} | (
            placed(place) if place is not None else {}
        )
    for name, section, length, *ends, bent in robot['rods']:
        rod = {'name': name, 'section': section, 'length': text(length, 'm')}
        for key, end in zip(('from', 'to'), ends, strict=True):
            rod[key] = {'body': end['body'], **placed(end['place'])}
            if 'motor' in end:
                axis, crank = end['motor']
                rod[key]['motor'] = {'axis': text(axis), 'crank': placed(crank)}
            rod[key] |= {k: text(end[k]) for k in ('axis', 'second_axis') if k in end}
            rod[key] |= {'joint': end['joint']} if 'joint' in end else {}
        rod['rest_curvature'] = [{'at': a, 'curvature': text(k, '1/m')} for a, k in bent]
        rods.append(rod)
    for i, (quantity, low, high, acts) in enumerate(robot['acts']):
        unit, acts = UNITS[quantity], dict(acts)
        if 'direction' in acts:
            acts['direction'] = text(acts['direction'])
        limits = {'minimum': text(low, unit), 'maximum': text(high, unit)}
        drives.append({'name': f'd{i}', 'quantity': quantity, 'acts': [acts], **limits})
        drives[-1]['rate'] = text(1.0, f'{unit}/s')
    chambers = {
        name: {'rods': r, 'parts': [{'area': text(area, 'm^2'), 'position': text(place, 'm')}]}
        for name, (r, area, place) in robot['chambers'].items()
    }
    tendons = {
        n: {'rods': r, 'position': text(place, 'm')} for n, (r, place) in robot['tendons'].items()
    }
    body = {'kind': 'rods', 'sections': sections, 'bodies': bodies, 'rods': rods}
    body |= {
        'chambers': chambers,
        'tendons': tendons,
        'tip': {'body': 'top', **placed(robot['tip'])},
    }
    data = {'schema': 2, 'name': 'any', 'title': 'Any', 'body': body, 'drives': drives}
    data |= {'gravity': text(robot['gravity'], 'm/s^2'), 'models': {'network': numerics}}
    return Robot(describe_robot(data, 'any.yaml'), 'network')


def loads_of(robot):
    return [Load(w, on, at, axes, until) for on, at, axes, w, until in robot['loads']]


def both(matrix, wrench, sign=1.0):
    return np.concatenate([matrix @ wrench[:3], sign * matrix @ wrench[3:]])


def turned(robot, g):
    """Return everything moved by g in base_link."""
    out, m = copy.deepcopy(robot), g[:3, :3]
    for rod in out['rods']:
        for end in rod[3:5]:
            if end['body'] == 'ground':
                end['place'] = g @ end['place']
    out['bodies'] = {
        k: (*b[:3], None if b[3] is None else g @ b[3]) for k, b in robot['bodies'].items()
    }
    out['gravity'], out['wrench'] = m @ robot['gravity'], both(m, robot['wrench'])
    out['loads'] = [
        (on, s, axes, both(m, w) if axes is BASE else w, end)
        for on, s, axes, w, end in robot['loads']
    ]
    return out


def seen(g):
    out = np.array(g)
    out[..., :3, :3] = MIRROR @ g[..., :3, :3] @ MIRROR
    out[..., :3, 3] = g[..., :3, 3] @ MIRROR
    return out


def mirrored(robot):
    """Return what a mirror in the plane x = 0 shows; axes and turns are seen reversed."""
    out = copy.deepcopy(robot)
    for rod in out['rods']:
        for end in rod[3:5]:
            end['place'] = seen(end['place'])
            if 'motor' in end:
                end['motor'] = (-MIRROR @ end['motor'][0], seen(end['motor'][1]))
            end |= {k: -MIRROR @ end[k] for k in ('axis', 'second_axis') if k in end}
        rod[5][:] = [(a, -MIRROR @ k) for a, k in rod[5]]
    out['bodies'] = {
        k: (b[0], MIRROR @ b[1], b[2], None if b[3] is None else seen(b[3]))
        for k, b in robot['bodies'].items()
    }
    out['tip'] = seen(robot['tip'])
    out['gravity'], out['wrench'] = MIRROR @ robot['gravity'], both(MIRROR, robot['wrench'], -1.0)
    out['loads'] = [
        (on, s, axes, both(MIRROR, w, -1.0), end) for on, s, axes, w, end in robot['loads']
    ]
    flip = np.array([-1.0, 1.0])
    out['chambers'] = {k: (r, a, flip * p) for k, (r, a, p) in robot['chambers'].items()}
    out['tendons'] = {k: (r, flip * p) for k, (r, p) in robot['tendons'].items()}
    for *_, acts in out['acts']:
        if 'direction' in acts:
            acts['direction'] = -MIRROR @ acts['direction']
    return out


def scaled(robot, a, c):
    """Return lengths times a and forces times c, in the same gravity, with units of the drives."""
    out, both_of = copy.deepcopy(robot), np.repeat([c, a * c], 3)

    def longer(g):
        return None if g is None else np.hstack([g[:, :3], g[:, 3:] * [[a], [a], [a], [1.0]]])

    wide = np.array([1.0, 1.0, a * a, a * a, a * a])
    out['sections'] = {
        k: (c * wide * x, m * c / a, r * a) for k, (x, m, r) in robot['sections'].items()
    }
    out['bodies'] = {
        k: (m * c, x * a, i * c * a * a, longer(g)) for k, (m, x, i, g) in robot['bodies'].items()
    }
    for i, (name, section, length, *ends, bent) in enumerate(out['rods']):
        for end in ends:
            end['place'] = longer(end['place'])
            if 'motor' in end:
                end['motor'] = (end['motor'][0], longer(end['motor'][1]))
        out['rods'][i] = (name, section, a * length, *ends, [(x, k / a) for x, k in bent])
    out['tip'], out['wrench'] = longer(robot['tip']), both_of * robot['wrench']
    out['loads'] = [
        (on, s * a, axes, w * both_of / (1.0 if end is None else a), end and end * a)
        for on, s, axes, w, end in robot['loads']
    ]
    out['chambers'] = {k: (r, x * a * a, p * a) for k, (r, x, p) in robot['chambers'].items()}
    out['tendons'] = {k: (r, p * a) for k, (r, p) in robot['tendons'].items()}
    sizes = {'angle': 1.0, 'length': a, 'curvature': 1.0 / a, 'pressure': c / a**2, 'force': c}
    unit = np.array([sizes[kind] for kind, *_ in robot['acts']])
    out['acts'] = [
        (q, low * u, high * u, acts)
        for (q, low, high, acts), u in zip(robot['acts'], unit, strict=True)
    ]
    out['actuation'] = unit * robot['actuation']
    return out, unit


def solved(robot, numerics):
    made = written(robot, numerics)
    q = made.forward(robot['actuation'], robot['wrench'], loads=loads_of(robot))
    assert q.status.converged
    return made, q


def close(found, wanted, error):
    assert np.abs(found - wanted).max() < error * np.abs(wanted).max()


MESH = {'mesh': 8}


@pytest.mark.parametrize('held', [False, True])
@pytest.mark.parametrize('seed', [0, 3])
def test_a_robot_does_not_care_where_it_stands_how_it_is_seen_and_how_large_it_is(seed, held):
    robot = drawn(seed, held)
    made, q = solved(robot, MESH)
    slopes, soft = made.jacobian(q), made.compliance(q)
    g = pose((0.3, -0.2, 0.5), (1.0, -2.0, 0.7))
    for other, tip, both_of in (
        (turned(robot, g), g @ q.tip, np.kron(np.eye(2), g[:3, :3])),
        (mirrored(robot), seen(q.tip), np.diag([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0])),
    ):
        there, p = solved(other, MESH)
        np.testing.assert_allclose(p.tip, tip, rtol=0.0, atol=1e-9)
        close(there.jacobian(p), both_of @ slopes, 1e-6)
        close(there.compliance(p), both_of @ soft @ both_of.T, 1e-6)
    other, unit = scaled(robot, 2.5, 0.3)
    there, p = solved(other, MESH)
    size = np.repeat([2.5, 1.0], 3)
    np.testing.assert_allclose(p.tip[:3, 3], 2.5 * q.tip[:3, 3], rtol=0.0, atol=1e-9)
    close(there.jacobian(p) * unit, size[:, None] * slopes, 1e-6)
    close(there.compliance(p) * np.repeat([0.3, 0.75], 3), size[:, None] * soft, 1e-6)
    order = np.random.default_rng(seed).permutation(len(unit))
    mixed = {**robot, 'rods': robot['rods'][::-1], 'loads': robot['loads'][::-1]}
    mixed['acts'] = [robot['acts'][i] for i in order]
    mixed['actuation'] = robot['actuation'][order]
    there, p = solved(mixed, MESH)
    np.testing.assert_allclose(p.tip, q.tip, rtol=0.0, atol=1e-9)
    close(there.jacobian(p), slopes[:, order], 1e-6)


@pytest.mark.parametrize('held', [False, True])
def test_its_derivatives_are_differences(held):
    robot = drawn(1, held)
    made, q = solved(robot, MESH)
    loads, at, w = loads_of(robot), robot['actuation'], robot['wrench']

    def twist(change, push):
        a, b = (made.forward(at + s * change, w + s * push, q, loads).tip for s in (1.0, -1.0))
        return np.concatenate([a[:3, 3] - b[:3, 3], lie.so3_log(a[:3, :3] @ b[:3, :3].T)]) / 2.0

    steps = 1e-5 * np.array([high - low for _, low, high, _ in robot['acts']])
    slopes = [twist(d, np.zeros(6)) / d.max() for d in np.diag(steps)]
    close(made.jacobian(q) * steps, np.array(slopes).T * steps, 1e-6)
    pushes = np.diag(np.repeat([1e-5, 1e-6], 3))
    soft = [twist(np.zeros(len(at)), p) / p.max() for p in pushes]
    close(made.compliance(q), np.array(soft).T, 1e-6)


def moved(robot, step):
    made, goal = written(robot, {'mesh': 5}), robot['actuation']
    rest = np.array([0.0, 0.1, 0.1, *np.zeros(5)])
    rest[6:] = 0.5 * goal[6:]
    start = made.forward(rest, loads=loads_of(robot))

    def part(t):
        return np.sin(0.5 * np.pi * min(t / 0.03, 1.0)) ** 2

    return made.simulate(
        0.04,
        step,
        actuation=lambda t: rest + part(t) * (goal - rest),
        wrench=lambda t: part(t) * robot['wrench'],
        start=start,
        options=Options(retardation=1e-3),
    )


def test_it_moves_alike_turned_and_mirrored_and_its_energy_adds_up():
    robot = drawn(0, held=False)
    motions = [moved(robot, step) for step in (2e-3, 1e-3)]
    lost = [abs(m.balance[-1]) for m in motions]
    assert lost[1] < 1e-3 * motions[1].work[-1]
    assert lost[0] / lost[1] == pytest.approx(4.0, rel=0.2)
    g = pose((0.0, 0.0, 0.0), (1.0, -2.0, 0.7))
    there = moved(turned(robot, g), 1e-3)
    np.testing.assert_allclose(there.tip, g @ motions[1].tip, rtol=0.0, atol=1e-8)
    there = moved(mirrored(robot), 1e-3)
    np.testing.assert_allclose(there.tip, seen(motions[1].tip), rtol=0.0, atol=1e-8)
