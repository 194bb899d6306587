# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Every robot with a network moves, and comes to rest where its statics says."""

from pathlib import Path
import tracemalloc

import numpy as np
import pytest

from soro_mechanics import InvalidInput, load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options
from soro_mechanics.models.network.layout import actuate, rest_inputs

# Part of every actuator's range it goes to, in turn
GOALS = {
    'examples/crank_platform.yaml': (0.15, 0.05),
    'examples/planar_chain.yaml': (0.15, 0.05),
    'examples/tendon_arm.yaml': (0.15, 0.05),
    'examples/tendon_arm_controllers.yaml': (0.15, 0.05),
    'examples/tendon_arm_drives.yaml': (0.15, 0.05),
    'examples/tendon_arm_servos.yaml': (0.15, 0.05),
    'haptic_5dof': (0.15, 0.05),
    'pam_continuum': (0.05, 0.0, 0.0),
    'soft_parallel': (0.15, 0.05),
    'stewart_gough': (0.01, 0.005),
    'stiff_flop': (0.3, 0.1),
}
FOLDER = Path(load_robot('haptic_5dof').description.file).parent


def of_network(name):
    path = FOLDER / name
    return load_robot(path if path.suffix else name).with_model('network')


def test_every_robot_with_a_network_is_here():
    names = {
        str(file.relative_to(FOLDER)) if file.parent != FOLDER else file.stem
        for file in FOLDER.rglob('*.yaml')
        if 'network' in load_robot(file).models
    }
    assert names == set(GOALS)


@pytest.mark.parametrize('name', GOALS)
def test_a_robot_steps_and_settles_to_its_static_tip(name):
    robot = of_network(name)
    rest = np.array([a.rest for a in robot.actuators])
    parts = np.resize(GOALS[name], len(rest))
    goal = rest + parts * (robot.limits[:, 1] - rest)
    moving = stepper(robot, options=Options(spectral_radius=0.0, tolerance=1e-9))
    assert moving.mesh_error < 1e-4
    load = LoadCase(gravity=robot.gravity)
    for k in range(40):
        report = moving.step(5e-3, rest + (k + 1) / 40 * (goal - rest), load)
        assert report.taken
        assert report.iterations <= 8
    speed = np.linalg.norm(moving.tip_twist)
    for _ in range(40):
        assert moving.step(0.5, goal, load).taken
    assert np.linalg.norm(moving.tip_twist) < 1e-5 * max(speed, 1e-3)
    still = robot.forward(goal)
    gap = np.linalg.norm(moving.tip[:3, 3] - still.tip[:3, 3])
    assert gap < 1e-4
    # what is left is the mesh: a second start there, at rest, is in the same place
    again = stepper(robot, still)
    np.testing.assert_allclose(moving.tip, again.tip, atol=1e-7)


@pytest.mark.parametrize('name', GOALS)
def test_a_stepper_writes_the_inputs_of_statics(name):
    robot = of_network(name)
    moving, rng = stepper(robot), np.random.default_rng(5)
    low, high = robot.limits.T
    wrench, down = rng.normal(size=6), rng.normal(size=3)
    for _ in range(3):
        asked = low + rng.uniform(0.2, 0.8, len(low)) * (high - low)
        found = moving.inputs_at(asked, LoadCase(wrench, gravity=down))
        lengths = moving._drives.actuation  # means of bundles follow the frames
        if not moving.layout.spec.bundles:
            np.testing.assert_array_equal(lengths, asked)
        expected = actuate(moving.layout, rest_inputs(moving.layout), lengths)
        for field in ('length', 'dilution', 'theta', 'tension', 'section', 'stiffness'):
            ours, theirs = getattr(found, field), getattr(expected, field)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found.dead[moving.layout.tip_body], wrench)
        np.testing.assert_array_equal(found.gravity, down)


def test_steps_keep_no_memory():
    """For loops: what a step makes is gone after it."""
    robot = load_robot('haptic_5dof')
    moving, rest = stepper(robot), np.array([a.rest for a in robot.actuators])
    load = LoadCase(gravity=robot.gravity)
    tracemalloc.start()
    try:
        # Numba asks a named tuple for attributes by names made anew, of which the interpreter's
        # cache of look-ups keeps one per entry (56 bytes): after these it has met their addresses.
        for _ in range(500):
            moving.step(1e-3, rest, load)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            moving.step(1e-3, rest, load)
        now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now - before < 1000  # bytes
    assert most - before < 20_000


def test_modes_of_a_device_are_its_natural_frequencies():
    robot = of_network('haptic_5dof')
    q = robot.forward(0.1 * robot.limits[:, 1])
    found = modes(stepper(robot, q, Options(rotary_inertia=False)), 4)
    np.testing.assert_allclose(found.frequency, robot.network.natural_frequencies(q, 4), rtol=1e-4)


def test_a_robot_is_simulated_under_functions_and_rows():
    robot = of_network('examples/planar_chain.yaml')
    start = robot.forward([0.0, 0.0])

    def turned(t):
        return [0.5 * np.sin(5.0 * t) ** 2, 0.0]

    motion = robot.simulate(0.1, 2e-3, turned, start=start)
    rows = [turned(t) for t in motion.time]
    same = robot.simulate(0.1, 2e-3, rows, start=start)
    np.testing.assert_allclose(motion.tip, same.tip, atol=1e-9)
    np.testing.assert_allclose(motion.actuation, rows)
    np.testing.assert_allclose(motion.tip[0], start.tip, atol=1e-6)
    assert np.linalg.norm(motion.tip[-1, :3, 3] - start.tip[:3, 3]) > 1e-3
    # the twist is the derivative of the poses
    speed = np.gradient(motion.tip[:, :3, 3], motion.time, axis=0)
    np.testing.assert_allclose(
        motion.tip_twist[20, :3], speed[20], atol=0.02 * np.abs(speed).max()
    )
    assert abs(motion.balance[-1]) < 0.01 * abs(motion.work[-1])


@pytest.mark.parametrize(
    ('field', 'given'),
    [
        ('actuation', {'actuation': np.zeros((4, 2))}),
        ('wrench', {'wrench': [0.0, np.nan, 0, 0, 0, 0]}),
        ('duration', {'duration': -1.0}),
        ('duration', {'duration': 1e9}),
        ('duration', {'step': 1e-12}),
        ('step', {'step': 0.0}),
        ('tolerance', {'tolerance': -1e-3}),
    ],
)
def test_inputs_of_the_wrong_kind_are_refused(field, given):
    robot = of_network('examples/planar_chain.yaml')
    with pytest.raises(InvalidInput) as error:
        robot.simulate(**{'duration': 0.01, 'step': 5e-3, **given})
    assert error.value.field == field


def test_a_motion_begins_at_a_configuration_of_its_own_model():
    robot = load_robot('stiff_flop')
    with pytest.raises(InvalidInput) as error:
        robot.with_model('network').simulate(0.01, start=robot.forward([1e4, 0.0, 0.0]))
    assert error.value.field == 'start'


def test_only_networks_move():
    with pytest.raises(InvalidInput) as error:
        load_robot('stiff_flop', model='lpcc').simulate(0.01)
    assert error.value.field == 'model'
