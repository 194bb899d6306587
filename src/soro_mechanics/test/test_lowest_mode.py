# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The lowest mode of a body against the matrices of its motion, and what a file says of it."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from soro_mechanics import load_robot
from soro_mechanics.analysis.lowest_mode import lowest_mode
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.robot_motion import stepper

DOWN = np.array([0.0, 0.0, -9.81])


def edited(name, folder, **sections):
    """Return a copy of a robot file with other sections."""
    data = yaml.safe_load(Path(load_robot(name).description.file).read_text(encoding='utf-8'))
    for key, section in sections.items():
        data[key] = {**data.get(key, {}), **section}
    file = folder / 'edited.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return load_robot(file)


@pytest.mark.parametrize('name', ['soft_parallel', 'spatial_cc'])
def test_frequency_and_damping_are_those_of_the_body_in_motion(tmp_path, name):
    robot = edited(name, tmp_path, models={'network': {}}).with_model('network')
    robot.gravity = DOWN
    found = modes(stepper(robot), 1)
    mode = lowest_mode(load_robot(name).description, DOWN)
    assert mode.frequency == pytest.approx(found.frequency[0], rel=0.02)
    # Weight softens an upright body, and damps nothing: what is inferred from stiffness is less.
    assert 0.9 < mode.damping / found.damping[0] < 1.03


def test_a_body_without_mass_has_none_and_a_file_may_state_the_damping(tmp_path):
    assert lowest_mode(load_robot('stewart_gough').description, np.zeros(3)) is None
    robot = edited('soft_parallel', tmp_path, control={'mode': 'feedback', 'damping': '20 %'})
    assert robot.description.structure['control'].mode == 'feedback'
    assert lowest_mode(robot.description, DOWN).damping == pytest.approx(0.2)
