# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro doctor on models: what converges, stands, is meshed finely enough, and agrees."""

from dataclasses import replace
import math
import re

import pytest

from soro_cli.doctor import models as doctor_models
from soro_cli.doctor.findings import Level
from soro_mechanics import load_robot
from soro_mechanics.core.status import Code, Warnings
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

FINGER = """
schema: 2
name: finger
title: Soft finger
gravity: 0 0 -9.81 m/s^2
body:
  kind: chain
  tip: {mass: TIP}
  segments:
    - name: finger
      length: 60 mm
      radius: 10 mm
      axial_stiffness: 25 N
      bending_stiffness: 8e-4 N m^2
      shear_factor: 0.85
      linear_density: 0.3 kg/m
      chambers:
        - {drive: air, area: 40 mm^2, offset: 6 mm, angle: 0 deg}
drives:
  - {name: air, quantity: pressure, minimum: 0 bar, maximum: 0.8 bar, rate: 1 bar/s}
models:
  ncm: {}
"""


def findings(tmp_path, tip='5 g', models='ncm: {}'):
    file = tmp_path / 'finger.yaml'
    file.write_text(FINGER.replace('TIP', tip).replace('ncm: {}', models))
    return {f.subject: f for f in doctor_models.check_models(read_robot_file(file))}


@pytest.mark.parametrize(('tip', 'level'), [('5 g', Level.OK), ('60 g', Level.WARN)])
def test_a_rest_that_buckles_is_said(tmp_path, tip, level):
    found = findings(tmp_path, tip)['ncm']
    assert found.level is level, found
    assert ('the rest is not stable' in found.text) is (level is Level.WARN)


@pytest.mark.parametrize(
    ('changes', 'subject', 'words'),
    [
        ({'10 mm': '200 mm'}, 'finger', '0.15 times as long as thick'),
        ({'25 N': '25000 kN', '8e-4': '8e2'}, 'reach', 'the tip moves'),
    ],
)
def test_what_cannot_be_meant_is_said(tmp_path, monkeypatch, changes, subject, words):
    assert {f.level for f in findings(tmp_path).values()} == {Level.OK}
    text = FINGER
    for old, new in changes.items():
        text = text.replace(old, new)
    monkeypatch.setattr(f'{__name__}.FINGER', text)
    found = findings(tmp_path)[subject]
    assert found.level is Level.WARN and words in found.text


@pytest.mark.parametrize(
    'change',
    [
        {'code': Code.NOT_CONVERGED, 'residual': math.inf},
        {'warnings': Warnings.OUTSIDE_THEORY, 'message': 'torn'},
        {'warnings': Warnings.COARSE_MESH, 'message': 'coarse: raise elements'},
    ],
)
def test_an_actuation_that_is_not_well_is_named(tmp_path, monkeypatch, change):
    forward = Robot.forward

    def doubtful_when_driven(robot, actuation, *more):
        q = forward(robot, actuation, *more)
        return replace(q, status=replace(q.status, **change)) if any(actuation) else q

    monkeypatch.setattr(Robot, 'forward', doubtful_when_driven)
    everything = findings(tmp_path)
    found, mesh = everything['ncm'], everything.get('ncm mesh')
    assert found.level is Level.WARN
    assert 'all at maximum' in found.text
    coarse = change.get('warnings') == Warnings.COARSE_MESH
    assert mesh is None or (mesh.level is Level.WARN) is coarse
    assert mesh is not None or not coarse
    outside = change.get('warnings') == Warnings.OUTSIDE_THEORY
    assert ('the model does not describe this' in found.remedy) is outside


def test_the_upright_two_segments_buckle_on_the_way_to_their_limits():
    description = read_robot_file(find_robot_file('stiff_flop_two_segment'))
    found = {
        f.subject: f for f in doctor_models.check_models(replace(description, models=('ncm',)))
    }
    assert found['ncm'].level is Level.WARN
    share = int(re.search(r'at (\d+)% of the way to all at maximum', found['ncm'].text)[1])
    assert share == round(100 * 0.743 / 1.2)  # bar, by an independent solver


def test_models_are_held_against_the_first_one(tmp_path):
    found = findings(tmp_path, models='ncm: {}\n  npcc: {}\n  lcm: {}')
    assert found['npcc and ncm'].level is Level.OK
    assert 'linear' in found['lcm and ncm'].text


def test_models_of_different_robots_do_not_agree():
    description = read_robot_file(find_robot_file('pam_continuum'))
    models = ('kirchhoff', 'kirchhoff_published')  # moduli a thousand times apart
    found = list(doctor_models.check_models(replace(description, models=models)))
    both = [f for f in found if f.subject == 'kirchhoff_published and kirchhoff']
    assert Level.WARN in {f.level for f in both}
    # Sixty actuators' ends are not listed one by one.
    assert max(len(f.text) for f in found) < 500


def test_the_mesh_is_compared_where_the_robot_is_bent(tmp_path):
    # A straight arm has no error of its mesh, whatever the mesh is; this one is coarse.
    text = find_robot_file('config/robots/examples/tendon_arm.yaml').read_text()
    (tmp_path / 'arm.yaml').write_text(text.replace('network: {mesh: 20}', 'network: {mesh: 4}'))
    robot = load_robot(tmp_path / 'arm.yaml')
    assert robot.refinement(robot.forward([a.rest for a in robot.actuators]))[0] < 1e-9
    found = doctor_models.check_models(robot.description)
    (mesh,) = [f for f in found if f.subject == 'network mesh']
    name, end = re.search(r'\((\w+) at (maximum|minimum)\)', mesh.text).groups()
    actuation = [getattr(a, end) if a.name == name else a.rest for a in robot.actuators]
    moved = robot.refinement(robot.forward(actuation))[0]
    assert moved > 1e-6 and f'{moved * 1e3:.2g} mm' in mesh.text


@pytest.mark.parametrize('last', [1.0e5, 1.8e5])
def test_a_curve_that_ends_before_the_limits_is_said(last):
    description = read_robot_file(find_robot_file('soft_parallel'))
    legs = description.structure['ancf']
    curves = [c._replace(pressures=c.pressures * last / c.pressures[-1]) for c in legs.curves]
    structure = {'ancf': replace(legs, curves=tuple(curves))}
    found = list(doctor_models._curves(replace(description, structure=structure)))
    assert bool(found) is (last < description.actuators[0].maximum)
    assert all('of 0 bar ... 1.8 bar' in f.text for f in found)
