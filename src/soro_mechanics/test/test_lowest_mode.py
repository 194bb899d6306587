# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The lowest mode of a body against the matrices of its motion, and what a file says of it."""

from pathlib import Path

import pytest
import yaml

from soro_mechanics import load_robot
from soro_mechanics.analysis.lowest_mode import lowest_mode
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options


def edited(name, folder, model=None, **sections):
    """Return a copy of a robot file with other sections."""
    data = yaml.safe_load(Path(load_robot(name).description.file).read_text(encoding='utf-8'))
    for key, section in sections.items():
        data[key] = {**data.get(key, {}), **section}
    file = folder / 'edited.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return load_robot(file, model)


@pytest.mark.parametrize(
    ('name', 'model'), [('soft_parallel', 'ancf'), ('spatial_cc', 'ncm'), ('stiff_flop', 'lcm')]
)
def test_it_is_that_of_the_body_in_motion_or_a_little_below(tmp_path, name, model):
    robot = load_robot(name, model)
    network = edited(name, tmp_path, 'network', models={'network': {}})
    found = modes(stepper(network), 1)
    mode = lowest_mode(robot)
    assert 0.8 < mode.frequency / found.frequency[0] < 1.02
    # Weight softens an upright body, and damps nothing: what is inferred from stiffness is less.
    assert 0.75 < mode.damping / found.damping[0] < 1.03


@pytest.mark.parametrize(
    ('name', 'model', 'share'),
    [
        ('soft_parallel', 'ancf', 0.6),
        ('stiff_flop', 'ncm', 0.8),
        ('stiff_flop_two_segment', 'ncm', 0.3),
    ],
)
def test_pressure_softens_it_and_what_it_takes_damps_still(tmp_path, name, model, share):
    robot = load_robot(name, model)
    network = edited(name, tmp_path, 'network', models={'network': {}})
    actuation, thinner = share * robot.limits[:, 1], Options(incompressible=model == 'ncm')
    found = modes(stepper(network, network.forward(actuation), thinner), 1)
    rest = lowest_mode(robot)
    mode = rest.at(robot, robot.forward(actuation))
    assert mode.frequency < 0.8 * rest.frequency
    assert 0.8 < mode.frequency / found.frequency[0] < 1.02
    assert 0.75 < mode.damping / found.damping[0] < 1.03


def test_without_weight_there_is_none_and_a_file_may_state_the_damping(tmp_path):
    for robot in (load_robot('stewart_gough'), load_robot('spatial_cc', 'constant_curvature')):
        assert lowest_mode(robot) is None
    robot = edited('soft_parallel', tmp_path, control={'mode': 'feedback', 'damping': '20 %'})
    assert robot.description.structure['control'].mode == 'feedback'
    assert lowest_mode(robot).damping == pytest.approx(0.2)


def test_asking_leaves_the_robot_as_it_was():
    robot = load_robot('soft_parallel')
    robot.gravity = (0.0, 0.0, 9.81)
    hanging = lowest_mode(robot)
    assert robot.gravity[2] == 9.81
    robot.gravity = (0.0, 0.0, -9.81)
    assert hanging.frequency > 1.05 * lowest_mode(robot).frequency  # weight stiffens it
