# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""RViz files and robot descriptions, checked against the interfaces and against the models."""

from __future__ import annotations

from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from rviz_keys import DISPLAYS, PANELS, TOOLS, TOPIC
import yaml

from soro_mechanics import load_robot
from soro_visualization.description_file import expand, find_description
from soro_visualization.drawing.rigid_parts import read_urdf
from soro_visualization.interactive_target import NAMESPACE

ROOT = Path(__file__).resolve().parents[3]
ROBOTS = sorted(p.stem for p in (ROOT / 'config/robots').glob('*.yaml'))
MARKER_NAMESPACES = {'backbone', 'command', 'load', 'compliance'}


def display_problems(config):
    """Return what RViz would not understand in a configuration."""
    manager = config['Visualization Manager']
    problems = []
    for display in manager['Displays']:
        kind = display['Class']
        if kind not in DISPLAYS:
            problems.append(f'{kind} is no known display')
            continue
        problems += [f'{kind}: {key}' for key in set(display) - DISPLAYS[kind]]
        for key in ('Topic', 'Description Topic'):
            topic = display.get(key, {'Value': ''})
            if not isinstance(topic, dict):
                problems.append(f'{kind}: {key} is not a map')
                continue
            problems += [f'{kind}: {key}/{k}' for k in set(topic) - TOPIC]
    problems += [t['Class'] for t in manager['Tools'] if t['Class'] not in TOOLS]
    problems += [p['Class'] for p in config['Panels'] if p['Class'] not in PANELS]
    return problems


def latched_and_streams():
    """Return topics of our interfaces: latched ones, and all of a robot's."""
    text = (ROOT / 'docs/interfaces.md').read_text() + ''.join(
        p.read_text() for p in (ROOT / 'docs/nodes').glob('*.md')
    )
    latched, known = set(), set()
    for row in (line for line in text.splitlines() if line.startswith('| `')):
        names = set(re.findall(r'`([a-z_/]+)`', row.split('|')[1]))
        known |= names
        latched |= names if 'latched' in row else set()
    return latched, known


@pytest.fixture(params=ROBOTS)
def robot(request):
    return request.param


def test_rviz_understands_every_key_and_finds_every_topic(robot):
    config = yaml.safe_load((ROOT / f'config/rviz/{robot}.rviz').read_text())
    assert display_problems(config) == []
    latched, topics = latched_and_streams()
    used = {}
    for display in config['Visualization Manager']['Displays']:
        topic = display.get('Topic', display.get('Description Topic'))
        if topic is not None:
            used[topic['Value']] = topic
        if 'Interactive Markers Namespace' in display:
            assert display['Interactive Markers Namespace'] == NAMESPACE
        if display['Class'].endswith('MarkerArray'):
            assert set(display['Namespaces']) == MARKER_NAMESPACES
    assert {'markers', 'robot_description', 'workspace', 'desired_path'} <= set(used) <= topics
    # The hand's force is no external wrench of anybody: the renderer publishes it by its own name.
    assert ('hand_wrench' if robot == 'haptic_5dof' else 'external_wrench') in used
    for name, topic in used.items():
        wants = topic['Durability Policy'] == 'Transient Local'
        assert wants == (name in latched), name
    # The solver publishes world to base_link of every namespace: no prefix stands in the file.
    assert config['Visualization Manager']['Global Options']['Fixed Frame'] == 'world'


def test_the_check_notices_what_rviz_would_ignore():
    config = yaml.safe_load((ROOT / 'config/rviz/stiff_flop.rviz').read_text())
    displays = config['Visualization Manager']['Displays']
    displays[-1]['Update Topic'] = '/x'
    displays[0]['Class'] = 'rviz/Grid'
    displays[4]['Topic']['Durability'] = 'x'
    displays[6]['Topic'] = '/workspace'
    config['Visualization Manager']['Tools'][0]['Class'] = 'rviz/Interact'
    assert len(display_problems(config)) == 5


def test_the_description_is_valid_and_hangs_on_what_the_solver_publishes(robot):
    file = find_description(robot)
    text = expand(file, 'left/')
    parts = read_urdf(text, 'left/')
    model = load_robot(robot)
    q = model.forward([a.rest for a in model.actuators])
    known = {'tip', 'tip_aligned', *q.bodies}
    floating = {link for link, j in parts.joints.items() if j.kind == 'floating'}
    assert floating <= known
    driven = {j.name for j in parts.joints.values() if j.kind == 'revolute'}
    assert driven == {a.name for a in model.actuators if a.quantity == 'angle'}
    # Every rigid body of the model can be seen, and so can the base.
    seen = {link for link, solids in parts.solids.items() if solids}
    assert set(q.bodies) | {'base_link'} <= seen
    for solid in (s for solids in parts.solids.values() for s in solids):
        assert min(solid.size) > 0.0 and len(solid.rgba) == 4
    # What the URDF format asks for beyond what is read here.
    root = ElementTree.fromstring(text)
    for joint in root.iter('joint'):
        assert (joint.find('limit') is not None) == (joint.get('type') == 'revolute')
    names = [e.get('name') for e in root.findall('link')] + [
        e.get('name') for e in root.findall('joint')
    ]
    assert len(set(names)) == len(names)


def test_cranks_turn_as_the_roots_of_the_legs_do():
    parts = read_urdf(expand(find_description('haptic_5dof'), ''))
    model = load_robot('haptic_5dof')
    angles = np.random.default_rng(3).uniform(-0.3, 0.3, 6)
    q = model.forward(angles)
    by_name = dict(zip((a.name for a in model.actuators), angles, strict=True))
    for i, backbone in enumerate(q.backbones):
        crank = parts.pose(f'crank_{i + 1}', q.bodies, by_name)
        np.testing.assert_allclose(crank, backbone[0], atol=1e-8)
