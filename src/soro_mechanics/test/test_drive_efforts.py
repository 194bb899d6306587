# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What drives bear: the slope of the energy of equilibria on both sides, at rest and in motion."""

from __future__ import annotations

import numpy as np
import pytest

from soro_mechanics import load_robot, Robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.energy import EnergyMeter
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options
from soro_mechanics.models.network.drive_values import drive_efforts
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import describe_robot

EXAMPLES = find_robot_file('stiff_flop').with_name('examples')
STEPS = {
    'stewart_gough': 1e-4,
    EXAMPLES / 'crank_platform.yaml': 1e-3,
    EXAMPLES / 'planar_chain.yaml': 1e-3,
    EXAMPLES / 'tendon_arm_drives.yaml': 1e-3,
    'mixed': 1e-4,
}
LIMITS = {  # quantity, minimum, rest, maximum, rate
    'length': ('length', '80 mm', '100 mm', '130 mm', '1 m/s'),
    'curvature': ('curvature', '-20 1/m', '4 1/m', '20 1/m', '1 1/m/s'),
    'stretch': ('stretch', 0.8, 1.1, 1.3, '1 1/s'),
    'unloaded_length': ('length', '80 mm', '100 mm', '130 mm', '1 m/s'),
    'pressure': ('pressure', '0 Pa', '40 kPa', '90 kPa', '1 kPa/s'),
}


def mixed():
    """Return a platform on two rods: fed, bent and stretched; grown and under pressure."""
    hose = {'axial': '40 N', 'shear': '20 N', 'bending_x': '2e-3 N m^2', 'torsion': '1e-3 N m^2'}
    section = {'stiffness': hose, 'mass_per_length': '0.1 kg/m', 'radius': '8 mm'}
    places = {'left': '0 -20 0 mm', 'right': '0 20 0 mm'}  # where what is fed in weighs nothing
    ends = {k: ({'body': 'ground', 'position': at}, at) for k, at in places.items()}
    rods = [
        {
            'name': k,
            'section': 'hose',
            'length': '100 mm',
            'rest_curvature': '1 2 0.5 1/m',
            'from': a,
            'to': {'body': 'top', 'position': at},
        }
        for k, (a, at) in ends.items()
    ]
    acts = [
        {'drives': 'length', 'rods': ['left']},
        {'drives': 'curvature', 'rods': ['left'], 'direction': '1 0.5 0.3'},
        {'drives': 'stretch', 'rods': ['left']},
        {'drives': 'unloaded_length', 'rods': ['right']},
        {'drives': 'pressure', 'chambers': ['air']},
    ]
    drives = []
    for i, one in enumerate(acts):
        keys = ('quantity', 'minimum', 'rest', 'maximum', 'rate')
        limits = dict(zip(keys, LIMITS[one['drives']], strict=True))
        drives.append({'name': f'd{i}', 'acts': [one], **limits})
    part = {'area': '60 mm^2', 'position': '4 2 mm'}
    body = {
        'kind': 'rods',
        'sections': {'hose': section},
        'rods': rods,
        'tip': {'body': 'top'},
        'bodies': {'top': {'position': '0 0 100 mm', 'mass': '10 g'}},
        'chambers': {'air': {'rods': ['right'], 'parts': [part]}},
    }
    data = {
        'schema': 2,
        'name': 'mixed',
        'title': 'Mixed',
        'gravity': '3 0 -9 m/s^2',
        'body': body,
        'drives': drives,
        'models': {'network': {}},
    }
    return Robot(describe_robot(data, 'mixed.yaml'), 'network')


@pytest.mark.parametrize('name', STEPS, ids=str)
def test_a_drive_bears_what_its_motion_adds_to_the_energy(name):
    robot, step = mixed() if name == 'mixed' else load_robot(name), STEPS[name]
    low, high = robot.limits.T
    rest = np.array([a.rest for a in robot.actuators])
    borne = np.array([a.quantity in ('length', 'angle') for a in robot.actuators], float)
    share = np.random.default_rng(3).uniform(0.02, 0.08, len(rest))
    at = np.clip(rest + share * (high - low), low, high)
    q = robot.forward(at)
    still = drive_efforts(robot.model_object.linearise(q), at)
    moving = stepper(robot, q, Options(elements=16))
    now = drive_efforts(moving, at)
    meter, slopes = EnergyMeter(moving), []
    for way in np.diag(borne):
        ends = []
        for side in (-step, step):
            moving.rest(at + side * way, LoadCase(gravity=robot.gravity))
            look = meter._look()
            tendons = moving.layout.tendons
            stretched = tendons.soft @ tendons.held_tensions(moving.state) ** 2
            ends.append(sum(meter._stored(look.x, look)) + 0.5 * stretched)
        slopes.append((ends[1] - ends[0]) / (2.0 * step))
    slopes = np.array(slopes)
    largest = np.abs(slopes).max()
    assert largest > 1e-3
    assert still == pytest.approx(slopes, abs=2e-4 * largest)
    assert now == pytest.approx(slopes, abs=5e-4 * largest)
