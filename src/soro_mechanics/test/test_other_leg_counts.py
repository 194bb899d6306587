# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots of four, five and eight legs: nothing counts to three or six."""

import copy

from changed_robots import data_of
import numpy as np
import pytest

from soro_mechanics import Robot
from soro_mechanics.core.status import Code, Stability, Warnings
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.loop import HapticLoop
from soro_mechanics.haptics.rendering import rendering_setup
from soro_mechanics.haptics.sensing import observability, sensing_setup
from soro_mechanics.haptics.stable_limits import stable_limits
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_mechanics.numerics import lie
from soro_mechanics.robot_file.reader import describe_robot
from soro_studies.haptics.reach import reach

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels


def soft_legs(count, model):
    """Return soft_parallel on so many legs around its platform."""
    data = data_of('soft_parallel')
    first = data['drives'][0]
    names = [f'leg_{i + 1}' for i in range(count)]
    data['drives'] = [{**copy.deepcopy(first), 'name': name} for name in names]
    data['body']['legs'] = [
        {'name': name, 'drive': name, 'angle': f'{360.0 * i / count!r} deg'}
        for i, name in enumerate(names)
    ]
    del data['driver'], data['emulator']
    return Robot(describe_robot(data, 'legs.yaml'), model)


@pytest.mark.parametrize('model', ['ancf', 'network'])
@pytest.mark.parametrize('count', [4, 5])
def test_pressed_alike_they_go_straight_up(model, count):
    robot = soft_legs(count, model)
    q = robot.forward(np.full(count, 60e3))
    np.testing.assert_allclose(q.tip[:2, 3], 0.0, atol=1e-6)
    assert q.tip[2, 3] > robot.forward(np.zeros(count)).tip[2, 3]


def test_one_of_four_legs_buckles_to_either_side():
    """At 180 kPa in one leg the answer found first is unstable; it says so, and where to look."""
    robot = soft_legs(4, 'network')
    q = robot.forward([180e3, 0.0, 0.0, 0.0])
    assert q.status.code is Code.UNSTABLE
    assert 'Robot.solutions' in q.status.message
    first, *others = robot.solutions(q, starts=1)
    assert first is q
    assert [x.status.stability for x in others] == [Stability.STABLE] * 2
    (one, other) = others  # mirror images in the plane of the pressed leg
    np.testing.assert_allclose(one.tip[:3, 3], other.tip[:3, 3] * [1.0, -1.0, 1.0], atol=1e-6)
    assert abs(one.tip[1, 3]) > 3e-3
    examined = robot.examine(q).status
    assert Warnings.SEVERAL_BRANCHES in examined.warnings
    assert 'another equilibrium' in examined.message
    # what is stable stays where it is
    again = robot.forward(one.actuation, guess=one)
    np.testing.assert_allclose(again.tip, one.tip, atol=1e-9)


def haptic_legs(count):
    """Return a haptic device on so many legs, every other one from above."""
    data = data_of('haptic_5dof')
    rods, drives, strips = [], [], []
    turned = lie.so3_exp([np.pi, 0.0, 0.0])
    for i in range(count):
        up, azimuth = i % 2 == 0, 2.0 * np.pi * i / count
        about = lie.so3_exp([0.0, 0.0, azimuth])
        side = 1.0 if up else -1.0
        rod = copy.deepcopy(data['body']['rods'][0]) | {'name': f'leg_{i + 1}'}
        ends = (('from', -55.0, np.eye(3)), ('to', 40.0, lie.so3_exp([0.0, -0.5 * np.pi, 0.0])))
        for end, height, own in ends:
            axis = lie.so3_log(about @ (own if up else turned @ own))
            x, y, z = np.degrees(axis).tolist()
            rod[end] = rod[end] | {'rotation': f'{x!r} {y!r} {z!r} deg'}
            polar = rod[end]['polar']
            polar['angle'] = f'{360.0 * i / count!r} deg'
            polar['height'] = f'{side * height!r} mm'
        rods.append(rod)
        acts = [{'drives': 'angle', 'rods': [rod['name']]}]
        drives.append(copy.deepcopy(data['drives'][0]) | {'name': f'motor_{i + 1}', 'acts': acts})
        strip = copy.deepcopy(data['sensors'][0]['strips'][0])
        strips.append(strip | {'name': f'flex_{i + 1}', 'rod': rod['name']})
    data['body']['rods'], data['drives'] = rods, drives
    data['sensors'][0]['strips'] = strips
    del data['driver'], data['emulator']
    return Robot(describe_robot(data, 'device.yaml'), 'network')


@pytest.mark.parametrize('count', [4, 8])
def test_a_device_of_other_leg_counts_reaches_a_pose_that_it_has_held(count):
    device = HapticDevice(haptic_legs(count))
    rng = np.random.default_rng(count)
    goal = device.held(0.1 * rng.normal(size=count), np.zeros(5))
    assert np.linalg.norm(goal.pose[:3, 3]) > 1e-3
    start = device.held(np.zeros(count), np.zeros(5))
    found = reach(device, goal.pose, start)
    assert found is not None
    np.testing.assert_allclose(found.pose[:3, 3], goal.pose[:3, 3], atol=2e-5)
    np.testing.assert_allclose(found.force, 0.0, atol=1e-9)


@pytest.mark.parametrize('count', [4, 8])
def test_the_loop_of_other_leg_counts_feels_a_hand_and_holds_it(count):
    """As many motors and strips as there are legs: sensed force against the one applied."""
    robot = haptic_legs(count)
    plant, model = HapticDevice(robot), HapticDevice(robot)
    setup = rendering_setup(0.002, model.motor_limits(), 17.0, approach_speed=17.0)
    limits = stable_limits(model, setup, 'fingertip')
    environment, said = limits.environment(published_environment('hold', np.eye(4)))
    assert 'fingertip' in said and limits.softest < limits.stiffness
    sensing = sensing_setup(model.ports, 1e-6, 1e-7, [1e3, 1e3, 1e3, 50.0, 50.0])
    loop = HapticLoop(model, sensing, setup, environment)
    angle, force = np.zeros(count), np.array([1.0, 0.0, 0.5, 0.0, 0.0])
    loop.start(angle)
    for _ in range(150):
        plant.update(angle, force)
        assert loop.tick(angle, plant.ports.sensor.copy()) is Code.NONE
        angle = loop.law.command.copy()
        loop.advance()
    known = observability(model.ports, sensing, [1.0, 1.0, 1.0, 0.05, 0.05])
    assert known.rank == min(5, count)  # as many strips, the motors' torques unknown
    error = loop.law.sensing.wrench - plant.ports.axes @ force
    if known.rank == 5:
        np.testing.assert_allclose(error, 0.0, atol=0.05)
