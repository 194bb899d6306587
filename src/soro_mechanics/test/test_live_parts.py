# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What moves, is round or pushes: against geometry, Coulomb's law, and the balance of energy."""

import math

import numpy as np
import pytest
import yaml

from soro_mechanics.core.errors import InvalidInput, RobotFileError
from soro_mechanics.haptics.linear_loop import _damped_radius, OneDirection
from soro_mechanics.haptics.live_parts import GOAL_SPEED, LOST_TIME, MAX_FORCE
from soro_mechanics.haptics.virtual_environment import (
    ContactFeel,
    Control,
    frame_at,
    MAX_OBJECTS,
    read_objects,
    Shape,
    VirtualEnvironment,
    VirtualObject,
)
from soro_mechanics.numerics.lie import so3_exp
from soro_mechanics.robot_file.section import Section

DT = 0.002
NOTHING = np.zeros(6)


def at(*place):
    pose = np.eye(4)
    pose[:3, 3] = place
    return pose


def random_pose(seed):
    rng = np.random.default_rng(seed)
    pose = at(*(0.05 * rng.normal(size=3)))
    pose[:3, :3] = so3_exp(rng.normal(size=3))
    return pose


def test_two_surfaces_hold_a_hand_that_sticks_no_stiffer_than_one():
    push, aside = np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0]), at(1e-3, 0.0, -1e-3)
    forces = []
    for count in (1, 2):
        walls = [VirtualObject(f'w{k}', Shape.WALL, friction=1.0) for k in range(count)]
        far = VirtualObject('far', Shape.WALL, pose=at(0.0, 0.0, -1.0), friction=1.0)
        environment = VirtualEnvironment([*walls, far])
        environment.update(at(0.0, 0.0, -1e-3), push, NOTHING, DT)
        environment.update(aside, push, NOTHING, DT)
        forces.append(environment.force[0])
    assert forces == pytest.approx([1e-3 * ContactFeel().coupling] * 2)


def on_a_floor_beside_a_wall(way):
    """Return the forces (n,) along x of a hand on a floor, in a wall where y < 0."""
    floor = VirtualObject('floor', Shape.WALL, friction=0.5)
    wall = VirtualObject(
        'wall', Shape.WALL, pose=frame_at(np.zeros(3), np.array([0, 1, 0])), friction=0.5
    )
    environment, forces = VirtualEnvironment([floor, wall]), []
    push = np.array([0.0, -4.0, -4.0, 0.0, 0.0, 0.0])
    for x, y in way:
        environment.update(at(x, y, -1e-3), push, NOTHING, DT)
        forces.append(environment.force[0])
    return np.array(forces)


def test_what_a_hand_sticks_with_stays_when_it_touches_or_leaves_another_surface():
    on, off = -1e-3, 2e-3
    forces = on_a_floor_beside_a_wall([(0, off), (5e-3, off), (5e-3, on), (8e-3, on), (8e-3, off)])
    expected = ContactFeel().coupling * np.array([0, 5e-3, 5e-3, 8e-3, 8e-3])
    np.testing.assert_allclose(forces, expected, atol=1e-9)


def test_a_second_surface_gives_no_energy():
    """Round a way that is closed, stretched on the floor alone and let go on the wall too."""
    corners = [(0, 2e-3), (4e-3, 2e-3), (4e-3, -1e-3), (0, -1e-3), (0, 2e-3)]
    for order in (corners, corners[::-1]):
        way = np.concatenate([np.linspace(*p, 20) for p in zip(order, order[1:], strict=False)])
        way = np.concatenate([way] * 3)
        forces = on_a_floor_beside_a_wall(way)
        assert np.sum(forces[1:] * np.diff(way[:, 0])) > -1e-9


def test_more_objects_than_a_tick_has_time_for_are_refused():
    walls = [VirtualObject(f'w{k}', Shape.WALL) for k in range(MAX_OBJECTS + 1)]
    VirtualEnvironment(walls[1:])
    with pytest.raises(InvalidInput, match=str(MAX_OBJECTS)):
        VirtualEnvironment(walls)


@pytest.mark.parametrize('shape', [Shape.SPHERE, Shape.CYLINDER])
@pytest.mark.parametrize('seed', range(4))
def test_a_hand_in_a_round_solid_goes_to_its_nearest_point(shape, seed):
    frame, radius = random_pose(seed), 0.02
    environment = VirtualEnvironment([VirtualObject('a', shape, pose=frame, size=[radius, 0, 0])])
    rng = np.random.default_rng(seed)
    local = rng.normal(size=3)
    local[2] *= 1.0 if shape is Shape.SPHERE else 10.0
    round_part = local if shape is Shape.SPHERE else local * [1.0, 1.0, 0.0]
    local *= 0.8 * radius / np.linalg.norm(round_part)
    hand = at(*(frame[:3, 3] + frame[:3, :3] @ local))
    assert environment.update(hand, NOTHING, NOTHING, DT) == 1
    moved = np.linalg.inv(frame) @ np.append(hand[:3, 3] + environment.goal[:3], 1.0)
    size = 3 if shape is Shape.SPHERE else 2
    assert np.linalg.norm(moved[:size]) == pytest.approx(radius, abs=1e-12)
    np.testing.assert_allclose(np.cross(moved[:3] - local, round_part), 0.0, atol=1e-12)
    outside = at(*(frame[:3, 3] + frame[:3, :3] @ (2.0 * local)))
    assert VirtualEnvironment(environment.objects).update(outside, NOTHING, NOTHING, DT) == 0


def dragged(way, friction=0.4, press=2.0):
    """Return the tangential goal forces on the way along a wall, shape (n, 3)."""
    wall = VirtualObject('w', Shape.WALL, stiffness=200.0, friction=friction)
    environment, found = VirtualEnvironment([wall]), []
    wrench = np.array([0.0, 0.0, -press, 0.0, 0.0, 0.0])
    for x, y in way:
        environment.update(at(x, y, -1e-3), wrench, NOTHING, DT)
        found.append(environment.force[:3].copy())
    return np.array(found)


def test_sliding_costs_a_share_of_the_normal_force_and_sticking_less():
    x = np.linspace(0.0, 0.05, 200)
    force = dragged(np.column_stack([0.6 * x, 0.8 * x]))
    np.testing.assert_allclose(force[-1, :2], 0.4 * 2.0 * np.array([0.6, 0.8]), atol=1e-9)
    assert np.all(np.linalg.norm(force[:, :2], axis=1) <= 0.8 + 1e-12)
    spring = ContactFeel().coupling
    np.testing.assert_allclose(force[1, :2], spring * x[1] * np.array([0.6, 0.8]), rtol=1e-9)
    assert not dragged(np.column_stack([x, x]), friction=0.0)[:, :2].any()


def test_friction_never_gives_energy_back_round_a_closed_way():
    turn = np.linspace(0.0, 4.0 * math.pi, 800)
    for radius in (5e-4, 5e-3, 0.02):  # sticking, both, sliding
        way = radius * np.column_stack([np.cos(turn), np.sin(turn)])
        force = dragged(way)[400:, :2]  # the second time round
        step = np.diff(way[400:], axis=0)
        given = float(np.sum(0.5 * (force[1:] + force[:-1]) * step))
        assert given > -1e-9
        if radius == 0.02:
            assert given == pytest.approx(0.8 * 2.0 * math.pi * radius, rel=0.1)


def test_the_spring_of_sticking_friction_is_stable_without_a_hand():
    for mass, damping, natural in ((0.037, 0.30, 234.0), (0.020, 0.16, 130.0)):
        d = OneDirection(mass, damping, natural, 0.0, 0.0055, 6e-3)
        for period in (1e-3, 2e-3):
            held = 1.0 - ContactFeel().coupling / natural
            assert _damped_radius(d, np.array([held, 0.0, 0.0]), 0.0, period, 1) < 1.0


def test_a_field_takes_what_the_motion_gives_where_nothing_holds_the_hand():
    field = VirtualObject('f', Shape.FIELD, damping=3.0)
    speed = np.array([0.1, -0.2, 0.05, 1.0, 1.0, 1.0])
    free = VirtualEnvironment([field])
    assert free.update(np.eye(4), NOTHING, speed, DT) == 0 and not free.touched
    np.testing.assert_allclose(free.force, [0.3, -0.6, 0.15, 0.0, 0.0, 0.0])
    wall = VirtualEnvironment([field, VirtualObject('w', Shape.WALL)])
    assert wall.update(at(0.0, 0.0, -1e-3), NOTHING, speed, DT) == 1
    np.testing.assert_allclose(wall.force[:3], [0.3, -0.6, 0.0], atol=1e-12)


def test_a_wall_that_is_moved_while_touched_does_not_jump():
    wall = VirtualObject('w', Shape.WALL, pose=frame_at(np.zeros(3), [1, 0, 0]), follows_goal=True)
    environment = VirtualEnvironment([wall])
    hand, wrench = at(-1e-3, 0.0, 0.0), np.array([-1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    environment.live.move_goal(np.eye(4), at_once=True)
    environment.update(hand, wrench, NOTHING, DT)
    goals = [environment.goal[0]]
    environment.live.move_goal(at(0.03, 0.0, 0.0))
    for _ in range(100):
        environment.update(hand, wrench, NOTHING, DT)
        goals.append(environment.goal[0])
    assert np.diff(goals).max() <= GOAL_SPEED * DT + 1e-12
    assert goals[-1] == pytest.approx(0.031, abs=1e-12)
    turned = np.eye(4)
    turned[:3, :3] = so3_exp([0.0, 0.0, 0.5])
    environment.live.move_goal(turned)
    for _ in range(200):
        environment.update(hand, wrench, NOTHING, DT)
    np.testing.assert_allclose(environment.live.goal, turned, atol=1e-9)


def test_an_added_wrench_comes_softly_is_bounded_and_leaves_what_is_held_alone():
    environment = VirtualEnvironment([VirtualObject('w', Shape.WALL)])
    hand = at(0.0, 0.0, -1e-3)
    environment.live.add_wrench(np.array([30.0, 0.0, 40.0, 0.0, 0.0, 0.0]))
    forces = []
    for _ in range(200):
        environment.update(hand, NOTHING, NOTHING, DT)
        forces.append(environment.force.copy())
    assert abs(forces[0][0]) < 0.11 * 0.6 * MAX_FORCE
    np.testing.assert_allclose(forces[-1], [-0.6 * MAX_FORCE, 0, 0, 0, 0, 0], atol=1e-6)
    environment.live.add_wrench(np.zeros(6))
    for _ in range(200):
        environment.update(hand, NOTHING, NOTHING, DT)
    assert not environment.live.pushes
    np.testing.assert_allclose(environment.force, 0.0, atol=1e-3)


def test_a_stream_that_stands_still_now_and_then_jerks_nothing():
    """Lost for a while, as where its program hangs, and back: slower than 5 Hz either way."""
    environment, hand = VirtualEnvironment(), at(0.0, 0.0, 0.0)
    steps = {}
    for name in ('first', 'lost', 'back', 'ended'):
        lost = name in ('lost', 'ended')
        wrench = np.array([0.0 if lost else 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        for _ in range(800):
            before = environment.live.wrench[0]
            environment.live.add_wrench(wrench, lost)
            environment.update(hand, NOTHING, NOTHING, DT)
            steps.setdefault(name, []).append(abs(environment.live.wrench[0] - before))
        assert environment.live.wrench[0] == pytest.approx(wrench[0], abs=1e-3)
    assert max(steps['first']) > 4.0 * max(steps['lost'])
    assert max(steps['back'] + steps['lost']) < 1.1 * DT / LOST_TIME
    assert not environment.live.pushes


def test_objects_of_a_file():
    text = """
    objects:
      - {name: ball, shape: sphere, size: 20 0 0 mm, position: 0 0 30 mm, friction: 0.3}
      - {name: pipe, shape: cylinder, size: 5 0 0 mm, z_axis: 1 0 0, stiffness: 200 N/m}
      - {name: syrup, shape: field, damping: 2 N s/m}
      - {name: door, shape: wall, follows_goal: true}
    """
    with Section(yaml.safe_load(text), '', 'scene.yaml') as file:
        ball, pipe, syrup, door = read_objects(file)
    assert ball.friction == 0.3 and ball.size[0] == 0.02 and pipe.stiffness == 200.0
    assert syrup.damping == 2.0 and door.follows_goal and not ball.follows_goal
    bad = yaml.safe_load('objects: [{name: b, shape: box, size: 1 1 1 mm, friction: 0.3}]')
    with pytest.raises(RobotFileError) as error:
        read_objects(Section(bad, '', 'scene.yaml'))
    assert 'friction' in error.value.path


@pytest.mark.parametrize(
    ('field', 'changes'),
    [
        ('friction', {'shape': Shape.WALL, 'friction': -0.1}),
        ('friction', {'shape': Shape.LINE, 'friction': 0.1}),
        ('friction', {'shape': Shape.WALL, 'friction': 0.1, 'control': Control.ADMITTANCE}),
        ('friction', {'shape': Shape.WALL, 'friction': math.nan}),
        ('damping', {'shape': Shape.FIELD}),
        ('size[0]', {'shape': Shape.SPHERE}),
    ],
)
def test_what_cannot_be_is_refused_by_field(field, changes):
    with pytest.raises(InvalidInput) as error:
        VirtualObject('x', **changes)
    assert error.value.field == field
