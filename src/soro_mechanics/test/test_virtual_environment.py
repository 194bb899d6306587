# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Virtual environments: every shape against its geometry, contact, compliance, composition."""

import math

import numpy as np
import pytest
import yaml

from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.virtual_environment import (
    ContactFeel,
    Control,
    frame_at,
    PRESETS,
    published_environment,
    read_objects,
    Shape,
    SLIDING,
    VirtualEnvironment,
    VirtualObject,
)
from soro_mechanics.numerics.lie import so3_exp
from soro_mechanics.robot_file.section import Section

DT = 0.002
STILL = np.zeros(6)


def random_pose(seed, spread=0.05):
    rng = np.random.default_rng(seed)
    pose = np.eye(4)
    pose[:3, :3] = so3_exp(rng.normal(size=3) * 0.7)
    pose[:3, 3] = rng.normal(size=3) * spread
    return pose


def goal_pose(environment, pose):
    """Return the hand's pose moved by the goal twist."""
    moved = pose.copy()
    moved[:3, 3] += environment.goal[:3]
    moved[:3, :3] = so3_exp(environment.goal[3:]) @ pose[:3, :3]
    return moved


def local(frame, pose):
    return np.linalg.inv(frame) @ pose


def at(frame, *position):
    """Return a pose at local coordinates of a frame, axes of the frame."""
    place = np.eye(4)
    place[:3, 3] = position
    return frame @ place


def push(frame, *force):
    """Return a wrench with a force in the frame's axes."""
    return np.concatenate([frame[:3, :3] @ np.array(force), np.zeros(3)])


def test_free_space_sets_the_goal_at_the_hand_without_force():
    environment = VirtualEnvironment()
    assert environment.update(random_pose(0), np.ones(6), np.ones(6), DT) == 0
    np.testing.assert_array_equal(environment.goal, 0.0)
    np.testing.assert_array_equal(environment.force, 0.0)
    assert not environment.touched


@pytest.mark.parametrize('seed', range(5))
def test_hold_goes_to_the_pose_with_the_measured_force(seed):
    frame, hand = random_pose(seed), random_pose(seed + 100)
    wrench = np.random.default_rng(seed).normal(size=6)
    environment = VirtualEnvironment(
        [VirtualObject('a', Shape.HOLD, pose=frame, rotational_stiffness=math.inf)]
    )
    assert environment.update(hand, wrench, STILL, DT) == 6
    np.testing.assert_allclose(goal_pose(environment, hand), frame, atol=1e-12)
    np.testing.assert_allclose(environment.force, wrench, atol=1e-12)


def test_hold_without_rotational_stiffness_leaves_the_orientation_free():
    frame, hand = random_pose(1), random_pose(2)
    environment = VirtualEnvironment([VirtualObject('a', Shape.HOLD, pose=frame)])
    assert environment.update(hand, np.ones(6), STILL, DT) == 3
    np.testing.assert_allclose(environment.goal[3:], 0.0)
    np.testing.assert_allclose(environment.force[3:], 0.0)
    np.testing.assert_allclose(hand[:3, 3] + environment.goal[:3], frame[:3, 3], atol=1e-15)


def test_compliant_hold_balances_force_by_displacement():
    """With k, the goal is where a hand of this force would rest: k (goal - pose) = force."""
    frame, hand = random_pose(3), random_pose(4)
    wrench = np.array([1.0, -2.0, 0.5, 0.02, 0.03, -0.01])
    environment = VirtualEnvironment(
        [VirtualObject('a', Shape.HOLD, pose=frame, stiffness=250.0, rotational_stiffness=0.8)]
    )
    environment.update(hand, wrench, STILL, DT)
    moved = hand[:3, 3] + environment.goal[:3] - frame[:3, 3]
    np.testing.assert_allclose(250.0 * moved, wrench[:3], atol=1e-12)
    rigid = VirtualEnvironment(
        [VirtualObject('a', Shape.HOLD, pose=frame, rotational_stiffness=math.inf)]
    )
    rigid.update(hand, wrench, STILL, DT)
    turned = environment.goal[3:] - rigid.goal[3:]
    np.testing.assert_allclose(0.8 * turned, wrench[3:], atol=1e-12)


@pytest.mark.parametrize('name', ['line', 'circle'])
def test_how_far_the_hand_is_from_the_goal_leaves_its_sliding_aside(name):
    environment = VirtualEnvironment(published_environment(name, np.eye(4)))
    on_it = at(np.eye(4), 0.03, 0.0, 0.0)
    environment.update(on_it, np.full(6, 2.0), STILL, DT)
    assert np.linalg.norm(environment.goal) > 5e-4, 'an admittance slides'
    np.testing.assert_allclose(environment.apart, 0.0, atol=2e-5)  # a step off the tangent
    environment.update(at(on_it, 0.0, 0.0, 0.004), np.zeros(6), STILL, DT)
    np.testing.assert_allclose(environment.apart, [0.004, 0.0], atol=1e-12)
    turn = frame_at(on_it[:3, 3], np.array([0.0, math.sin(0.1), math.cos(0.1)]))
    environment.update(turn, np.zeros(6), STILL, DT)
    held = 0.1 if name == 'line' else 0.0
    np.testing.assert_allclose(environment.apart, [0.0, held], atol=1e-9)
    environment.reset()
    np.testing.assert_array_equal(environment.apart, 0.0)


def test_damping_of_a_compliant_surface_resists_motion():
    wall = VirtualObject('w', Shape.WALL, stiffness=100.0, damping=20.0)
    environment = VirtualEnvironment([wall])
    inside = at(np.eye(4), 0.0, 0.0, -0.004)
    force = push(np.eye(4), 0.0, 0.0, -1.0)
    environment.update(inside, force, STILL, DT)
    still = environment.goal[2]
    environment.update(inside, force, np.array([0.0, 0.0, -0.01, 0.0, 0.0, 0.0]), DT)
    assert environment.goal[2] - still == pytest.approx(20.0 * 0.01 / 100.0)
    assert still == pytest.approx(0.004 - 1.0 / 100.0)


def test_a_damped_wall_never_pulls_a_hand_that_leaves():
    wall = VirtualObject('w', Shape.WALL, stiffness=500.0, damping=10.0)
    environment = VirtualEnvironment([wall])
    inside = at(np.eye(4), 0.0, 0.0, -0.001)
    for speed, force in ((0.02, 0.3), (0.05, 0.0), (0.2, 0.0)):
        environment.update(inside, STILL, np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0]), DT)
        # Of the wall on the hand at the surface as it yields: 0.5 N less the damping.
        assert 500.0 * environment.goal[2] == pytest.approx(force, abs=1e-12)


@pytest.mark.parametrize('seed', range(4))
def test_wall_acts_inside_only_and_leaves_the_plane_free(seed):
    frame = random_pose(seed)
    environment = VirtualEnvironment([VirtualObject('w', Shape.WALL, pose=frame)])
    force = push(frame, 0.4, 0.5, -2.0)
    outside = at(frame, 0.01, 0.02, 0.003)
    assert environment.update(outside, force, STILL, DT) == 0
    inside = at(frame, 0.01, 0.02, -0.003)
    assert environment.update(inside, force, STILL, DT) == 1
    np.testing.assert_allclose(
        local(frame, goal_pose(environment, inside))[:3, 3], [0.01, 0.02, 0.0], atol=1e-15
    )
    np.testing.assert_allclose(environment.force, push(frame, 0.0, 0.0, -2.0), atol=1e-12)
    assert environment.touched


def test_contact_lasts_while_pressed_and_ends_when_released():
    frame = np.eye(4)
    environment = VirtualEnvironment([VirtualObject('w', Shape.WALL)])
    press, pull = push(frame, 0.0, 0.0, -1.0), push(frame, 0.0, 0.0, 0.01)
    near, far = at(frame, 0.0, 0.0, 0.0004), at(frame, 0.0, 0.0, 0.002)
    assert environment.update(near, press, STILL, DT) == 0  # not yet touched
    assert environment.update(at(frame, 0.0, 0.0, -1e-6), press, STILL, DT) == 1
    assert environment.update(near, press, STILL, DT) == 1  # pressed on: no chatter
    assert environment.goal[2] == pytest.approx(-0.0004)
    assert environment.update(near, pull, STILL, DT) == 0
    assert environment.update(near, press, STILL, DT) == 0  # released means released
    environment.update(at(frame, 0.0, 0.0, -1e-6), press, STILL, DT)
    assert environment.update(far, press, STILL, DT) == 0  # beyond the margin
    environment.update(at(frame, 0.0, 0.0, -1e-6), press, STILL, DT)
    environment.reset()
    assert environment.update(near, press, STILL, DT) == 0


def test_box_holds_every_face_and_corners():
    frame = random_pose(7)
    box = VirtualObject('b', Shape.BOX, pose=frame, size=np.array([0.02, 0.04, 0.06]))
    environment = VirtualEnvironment([box])
    rng = np.random.default_rng(0)
    half = box.size / 2.0
    for _ in range(200):
        environment.reset()
        place = rng.uniform(-1.5, 1.5, 3) * half
        hand = at(frame, *place)
        count = environment.update(hand, STILL, STILL, DT)
        assert count == np.sum(np.abs(place) > half)
        goal = local(frame, goal_pose(environment, hand))[:3, 3]
        np.testing.assert_allclose(goal, np.clip(place, -half, half), atol=1e-14)


@pytest.mark.parametrize('control', Control)
def test_line_projects_and_slides(control):
    frame = random_pose(9)
    line = VirtualObject('l', Shape.LINE, control, frame, damping=4.0)
    environment = VirtualEnvironment([line])
    hand = at(frame, 0.01, -0.02, 0.03)
    force = push(frame, 0.1, 0.2, 0.5)
    speed = push(frame, 0.0, 0.0, 0.1)
    count = environment.update(hand, force, speed, DT)
    goal = local(frame, goal_pose(environment, hand))[:3, 3]
    held = np.linalg.inv(frame)[:3, :3] @ environment.force[:3]
    if control is Control.HYBRID:
        assert count == 2
        np.testing.assert_allclose(goal, [0.0, 0.0, 0.03], atol=1e-14)
        np.testing.assert_allclose(held, [0.1, 0.2, 4.0 * 0.1], atol=1e-14)  # damping times speed
    else:
        assert count == 3
        np.testing.assert_allclose(goal, [0.0, 0.0, 0.03 + 0.5 * DT / 4.0], atol=1e-14)
        np.testing.assert_allclose(held, [0.1, 0.2, 0.5], atol=1e-14)


@pytest.mark.parametrize('control', Control)
@pytest.mark.parametrize('seed', range(4))
def test_circle_goal_lies_on_the_circle(control, seed):
    frame = random_pose(seed)
    circle = VirtualObject('c', Shape.CIRCLE, control, frame, np.array([0.03, 0.0, 0.0]))
    environment = VirtualEnvironment([circle])
    rng = np.random.default_rng(seed)
    for _ in range(50):
        hand = at(frame, *rng.normal(size=3) * 0.03)
        environment.update(hand, rng.normal(size=6) * 3.0, STILL, DT)
        goal = local(frame, goal_pose(environment, hand))[:3, 3]
        assert np.hypot(goal[0], goal[1]) == pytest.approx(0.03, abs=1e-14)
        assert goal[2] == pytest.approx(0.0, abs=1e-14)
    centre = at(frame, 0.0, 0.0, 0.0)
    environment.update(centre, STILL, STILL, DT)
    assert np.linalg.norm(environment.goal[:3]) == pytest.approx(0.03)


def test_circle_admittance_advances_by_tangential_force():
    circle = VirtualObject(
        'c', Shape.CIRCLE, Control.ADMITTANCE, np.eye(4), np.array([0.03, 0.0, 0.0]), damping=2.0
    )
    environment = VirtualEnvironment([circle])
    hand = at(np.eye(4), 0.03, 0.0, 0.0)
    environment.update(hand, push(np.eye(4), 0.7, 1.5, 0.0), STILL, DT)
    goal = goal_pose(environment, hand)[:3, 3]
    assert math.atan2(goal[1], goal[0]) * 0.03 == pytest.approx(1.5 * DT / 2.0)
    np.testing.assert_allclose(environment.force[:3], [0.7, 1.5, 0.0], atol=1e-14)


@pytest.mark.parametrize('seed', range(4))
def test_angle_limit_turns_back_about_its_axis_only(seed):
    frame, neutral = random_pose(seed), random_pose(seed + 50)
    axis = frame[:3, 2]
    limit = VirtualObject('a', Shape.ANGLE_LIMIT, pose=frame, size=np.array([0.0, 0.0, 0.2]))
    environment = VirtualEnvironment([limit], neutral=neutral)
    # A swing about a perpendicular axis, then the twist: swing and twist separate exactly.
    swing = so3_exp(0.3 * frame[:3, 0])
    for angle in (-0.5, -0.1, 0.15, 0.3, 2.5):
        environment.reset()
        hand = np.eye(4)
        hand[:3, :3] = so3_exp(angle * axis) @ swing @ neutral[:3, :3]
        wrench = np.concatenate([np.zeros(3), axis * np.sign(angle)])
        count = environment.update(hand, wrench, STILL, DT)
        assert count == (abs(angle) > 0.2)
        if count:
            wanted = so3_exp(math.copysign(0.2, angle) * axis) @ swing @ neutral[:3, :3]
            goal = goal_pose(environment, hand)
            np.testing.assert_allclose(goal[:3, :3], wanted, atol=1e-12)
            np.testing.assert_allclose(goal[:3, 3], hand[:3, 3])
            np.testing.assert_allclose(environment.force, wrench, atol=1e-12)


def test_line_may_hold_the_neutral_orientation():
    neutral, frame, hand = random_pose(1), random_pose(2), random_pose(3)
    line = VirtualObject('l', Shape.LINE, pose=frame, rotational_stiffness=math.inf)
    environment = VirtualEnvironment([line], neutral=neutral)
    assert environment.update(hand, np.ones(6), STILL, DT) == 5
    np.testing.assert_allclose(goal_pose(environment, hand)[:3, :3], neutral[:3, :3], atol=1e-12)


def test_two_walls_meet_in_an_edge_and_the_first_wins_where_they_disagree():
    first = VirtualObject('x', Shape.WALL, pose=frame_at(np.zeros(3), np.array([1.0, 0.0, 0.0])))
    slanted = np.array([1.0, 1.0, 0.0])
    second = VirtualObject('y', Shape.WALL, pose=frame_at(np.zeros(3), slanted))
    hand = at(np.eye(4), -0.01, -0.02, 0.005)
    environment = VirtualEnvironment([first, second])
    assert environment.update(hand, STILL, STILL, DT) == 2
    goal = goal_pose(environment, hand)[:3, 3]
    np.testing.assert_allclose(goal, [0.0, 0.0, 0.005], atol=1e-14)
    behind = VirtualObject(
        'z', Shape.WALL, pose=frame_at(np.array([0.004, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    )
    environment = VirtualEnvironment([first, behind])
    assert environment.update(hand, STILL, STILL, DT) == 1
    assert environment.goal[0] == pytest.approx(0.01)


def test_admittance_wall_slides_while_touched():
    wall = VirtualObject('w', Shape.WALL, Control.ADMITTANCE, damping=10.0)
    environment = VirtualEnvironment([wall])
    force = push(np.eye(4), 1.0, 0.0, -1.0)
    assert environment.update(at(np.eye(4), 0.0, 0.0, 0.001), force, STILL, DT) == 0
    assert environment.update(at(np.eye(4), 0.0, 0.0, -0.001), force, STILL, DT) == 3
    np.testing.assert_allclose(environment.goal[:3], [DT / 10.0, 0.0, 0.001], atol=1e-15)


class Slide:
    """A handle that slides on something: legs, motors that lag, a command one tick late.

    One direction, no mass. What the hand pushes goes through the legs to their far end, which
    the motors move; `way` gives the pose of a hand that is some metres along, and the direction.
    """

    NATURAL = 240.0  # N/m, of the legs
    MOTOR, SMOOTHING = 0.022 / 4.0, 0.006  # s

    def __init__(self, objects, way, rate, blocked=False):
        self.environment, self.way, self.dt = VirtualEnvironment(objects), way, 1.0 / rate
        self.far, self.filtered, self.command = 0.0, 0.0, 0.0
        self.blocked = blocked

    def step(self, push, beside=(0.0, 0.0, 0.0)):
        """Push for one tick; returns how far along the hand is."""
        if not self.blocked:
            share = 1.0 - math.exp(-self.dt / self.MOTOR)
            self.far += share * (self.command - self.far)
        place = self.far + push / self.NATURAL
        pose, direction = self.way(place)
        wrench = np.concatenate([push * direction + beside, np.zeros(3)])
        self.environment.update(pose, wrench, STILL, self.dt)
        self.command = self.filtered
        goal = self.far + self.environment.goal[:3] @ direction
        self.filtered += self.dt / (self.dt + self.SMOOTHING) * (goal - self.filtered)
        return place

    def run(self, push, seconds, beside=(0.0, 0.0, 0.0)):
        return np.array([self.step(push, beside) for _ in range(round(seconds / self.dt))])


def along_z(place):
    return at(np.eye(4), 0.0, 0.0, place), np.eye(3)[2]


def along_wall(place):
    return at(np.eye(4), 0.0, place, -1e-3), np.eye(3)[1]


def round_circle(place):
    angle = place / 0.03
    direction = np.array([-math.sin(angle), math.cos(angle), 0.0])
    return at(np.eye(4), 0.03 * math.cos(angle), 0.03 * math.sin(angle), 0.0), direction


RING = np.array([0.03, 0.0, 0.0])
# Shape, size, way, and what else the hand pushes: on the wall, outwards of the circle.
WAYS = [
    (Shape.LINE, np.zeros(3), along_z, (0.3, 0.0, 0.0)),
    (Shape.WALL, np.zeros(3), along_wall, (0.0, 0.0, -1.0)),
    (Shape.CIRCLE, RING, round_circle, (0.0, 0.0, 0.2)),
]


@pytest.mark.parametrize('rate', [250.0, 500.0, 1000.0])
@pytest.mark.parametrize('damping', [2.0, 20.0])
@pytest.mark.parametrize(('shape', 'size', 'way', 'beside'), WAYS)
def test_an_admittance_is_felt_with_the_damping_asked_at_every_rate(
    shape, size, way, beside, damping, rate
):
    thing = VirtualObject('o', shape, Control.ADMITTANCE, size=size, damping=damping)
    slide = Slide([thing], way, rate)
    push = 0.05 * damping  # 50 mm/s
    slide.run(push, 0.3, beside)
    place = slide.run(push, 0.2, beside)
    speed = (place[-1] - place[0]) * rate / (len(place) - 1)
    assert push / speed == pytest.approx(damping, rel=1e-3)


def test_an_admittance_without_a_damping_has_the_default_one():
    slide = Slide([VirtualObject('l', Shape.LINE, Control.ADMITTANCE)], along_z, 500.0)
    slide.run(0.25, 0.3)
    place = slide.run(0.25, 0.2)
    felt = 0.25 * DT * (len(place) - 1) / (place[-1] - place[0])
    assert felt == pytest.approx(ContactFeel().default_damping, rel=1e-3)


def test_a_hand_goes_round_a_circle_many_times():
    ring = VirtualObject('c', Shape.CIRCLE, Control.ADMITTANCE, size=RING, damping=2.0)
    slide = Slide([ring], round_circle, 500.0)
    there = slide.run(0.4, 4.0)[-1]
    assert there / (2.0 * math.pi * 0.03) == pytest.approx(0.2 * 4.0 / (2 * math.pi * 0.03), 0.02)
    assert slide.run(-0.4, 4.0)[-1] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize('damping', [2.0, 5.0, 40.0])
@pytest.mark.parametrize('hand', [50.0, 400.0, 2000.0])
def test_a_hand_that_stops_is_not_carried_on(damping, hand):
    """A hand that is a spring to a place comes to rest there: the proxy does not ring."""
    line = VirtualObject('l', Shape.LINE, Control.ADMITTANCE, damping=damping)
    slide, pushes = Slide([line], along_z, 500.0), []
    settled = 0.5 + 6.0 * damping * (1.0 / hand + 1.0 / ContactFeel().coupling)
    for _ in range(round(settled / DT)):
        # Spring and legs in balance, at 10 mm.
        push = (0.01 - slide.far) / (1.0 / hand + 1.0 / slide.NATURAL)
        place = slide.step(push)
        pushes.append(push)
    tail = np.array(pushes[-100:])
    assert place == pytest.approx(0.01, abs=1e-4)
    assert np.abs(tail).max() < 0.02 * max(pushes)


@pytest.mark.parametrize(('shape', 'size', 'way', 'beside'), WAYS)
def test_a_handle_that_cannot_follow_does_not_wind_the_proxy_up(shape, size, way, beside):
    thing = VirtualObject('o', shape, Control.ADMITTANCE, size=size, damping=5.0)
    slide = Slide([thing], way, 500.0, blocked=True)
    slide.run(2.0, 3.0, beside)
    lead = ContactFeel().longest_lead
    _, direction = way(2.0 / slide.NATURAL)
    assert slide.environment.goal[:3] @ direction == pytest.approx(lead, rel=0.02)
    slide.blocked = False
    before = slide.far
    freed = slide.run(0.0, 0.5, beside)
    assert freed[-1] - before <= lead * 1.001
    assert np.ptp(freed[-50:]) < 1e-5, 'and there it stays'


def test_a_small_circle_keeps_the_goal_near():
    ring = VirtualObject('c', Shape.CIRCLE, Control.ADMITTANCE, size=[0.004, 0, 0], damping=1.0)
    environment = VirtualEnvironment([ring])
    hand = at(np.eye(4), 0.004, 0.0, 0.0)
    for _ in range(200):
        environment.update(hand, push(np.eye(4), 0.0, 1.0, 0.0), STILL, DT)
    goal = goal_pose(environment, hand)[:3, 3]
    assert math.atan2(goal[1], goal[0]) == pytest.approx(0.5)
    assert np.hypot(*goal[:2]) == pytest.approx(0.004)
    np.testing.assert_allclose(environment.apart, 0.0, atol=1e-12)


def test_proxies_are_forgotten_with_the_contact_and_on_reset():
    wall = VirtualObject('w', Shape.WALL, Control.ADMITTANCE, damping=10.0)
    environment = VirtualEnvironment([wall])
    inside, outside = (at(np.eye(4), 0.0, 0.0, z) for z in (-0.001, 0.003))
    force = push(np.eye(4), 1.0, 0.0, -1.0)
    ways = {
        'contact': lambda: environment.update(outside, STILL, STILL, DT),
        'reset': environment.reset,
        'sliding': environment.forget_sliding,
    }
    for forget in ways.values():
        for _ in range(5):
            environment.update(inside, force, STILL, DT)
        assert environment.goal[0] == pytest.approx(5.0 * DT / 10.0)
        forget()
    environment.update(inside, force, STILL, DT)
    assert environment.goal[0] == pytest.approx(DT / 10.0)


def test_sliding_is_forgotten_alone_where_the_motors_stay():
    wall = VirtualObject('w', Shape.WALL)
    environment = VirtualEnvironment([wall])
    environment.update(at(np.eye(4), 0.0, 0.0, -1e-6), push(np.eye(4), 0, 0, -1.0), STILL, DT)
    environment.forget_sliding()
    near = at(np.eye(4), 0.0, 0.0, 0.0004)
    assert environment.update(near, push(np.eye(4), 0, 0, -1.0), STILL, DT) == 1


def test_an_earlier_object_keeps_its_direction_from_an_admittance():
    hold = VirtualObject('h', Shape.HOLD)
    line = VirtualObject('l', Shape.LINE, Control.ADMITTANCE)
    environment = VirtualEnvironment([hold, line])
    for _ in range(20):
        assert environment.update(np.eye(4), push(np.eye(4), 0, 0, 2.0), STILL, DT) == 3
    np.testing.assert_allclose(environment.goal, 0.0, atol=1e-15)
    np.testing.assert_array_equal(environment.apart, 0.0)


@pytest.mark.parametrize('shape', [shape for shape in Shape if shape not in SLIDING])
def test_an_admittance_is_refused_where_nothing_slides(shape):
    with pytest.raises(InvalidInput, match='control = 1.*HYBRID.*WALL, LINE, CIRCLE') as refused:
        VirtualObject('a', shape, Control.ADMITTANCE, size=np.full(3, 0.1))
    assert refused.value.field == 'control' and refused.value.code is Code.OUT_OF_RANGE
    VirtualObject('a', shape, Control.HYBRID, size=np.full(3, 0.1), damping=1.0)


def test_a_feel_that_divides_by_zero_is_refused():
    for key in ('default_damping', 'longest_lead', 'coupling'):
        with pytest.raises(InvalidInput, match=key):
            VirtualEnvironment(feel=ContactFeel(**{key: 0.0}))


@pytest.mark.parametrize('name', PRESETS)
def test_published_environments(name):
    centre = random_pose(5)
    environment = VirtualEnvironment(published_environment(name, centre), neutral=centre)
    count = environment.update(centre, STILL, STILL, DT)
    assert count == {'hold': 6, 'line': 6, 'circle': 3}.get(name, 0)
    with pytest.raises(UnknownName):
        published_environment('sphere', centre)


def test_read_from_yaml():
    text = """
    objects:
      - {name: table, shape: wall, position: 0 0 -10 mm, stiffness: 2 N/mm, damping: 1 N s/m}
      - {name: twist, shape: angle_limit, half_angle: 10 deg}
      - {name: ring, shape: circle, control: admittance, size: 3 0 0 cm, z_axis: 0 1 0}
    """
    table, twist, ring = read_objects(Section(yaml.safe_load(text)))
    assert (table.shape, table.stiffness, table.damping) == (Shape.WALL, 2000.0, 1.0)
    assert table.pose[2, 3] == pytest.approx(-0.01)
    assert twist.size[2] == pytest.approx(math.radians(10.0))
    assert ring.control is Control.ADMITTANCE
    np.testing.assert_allclose(ring.pose[:3, 2], [0.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(ring.pose[:3, :3].T @ ring.pose[:3, :3], np.eye(3), atol=1e-15)


@pytest.mark.parametrize(
    ('line', 'where'),
    [
        ('{name: a, shape: cone}', r'objects\[0\]\.shape'),
        ('{name: a, shape: box, size: 1 1 0 m}', r'objects\[0\]\.size'),
        ('{name: a, shape: wall, stiffness: -1 N/m}', r'objects\[0\]\.stiffness'),
        ('{name: a, shape: wall, stifness: 1 N/m}', 'stifness'),
        ('{name: a, shape: wall, z_axis: 0 0 0}', 'z_axis'),
        ('{name: a, shape: angle_limit}', 'half_angle'),
        ('{name: a, shape: hold, control: admittance}', r'objects\[0\]\.control.*HYBRID'),
        ('{name: a, shape: wall, stiffness: 1e12 N/m}', r'objects\[0\]\.stiffness'),
    ],
)
def test_bad_yaml(line, where):
    with pytest.raises(RobotFileError, match=where):
        read_objects(Section(yaml.safe_load(f'objects: [{line}]')))


def test_bad_objects():
    with pytest.raises(InvalidInput, match='stiffness'):
        VirtualObject('a', Shape.HOLD, stiffness=math.inf)
    with pytest.raises(InvalidInput, match='damping'):
        VirtualObject('a', Shape.HOLD, damping=math.nan)
    for field, value in (
        ('stiffness', 1e-320),
        ('rotational_stiffness', 1e300),
        ('damping', 1e-300),
        ('size', np.array([1e200, 0.0, 0.0])),
        ('pose', at(np.eye(4), 1e308, 0.0, 0.0)),
    ):
        with pytest.raises(InvalidInput, match=field) as refused:
            VirtualObject('a', Shape.HOLD, **{field: value})
        assert refused.value.code is Code.OUT_OF_RANGE
    with pytest.raises(UnknownName, match='shape'):
        VirtualObject('a', 99)
    with pytest.raises(InvalidInput, match='name'):
        VirtualObject('', Shape.HOLD)
    with pytest.raises(InvalidInput, match='pose'):
        VirtualObject('a', Shape.HOLD, pose=2.0 * np.eye(4))
    with pytest.raises(InvalidInput, match='different name'):
        VirtualEnvironment([VirtualObject('a', Shape.HOLD), VirtualObject('a', Shape.WALL)])


def test_frame_at_every_direction():
    rng = np.random.default_rng(0)
    near_down = np.array([1e-9, 0.0, -1.0])
    for axis in (*rng.normal(size=(20, 3)), -np.eye(3)[2], np.eye(3)[2], near_down):
        pose = frame_at(np.zeros(3), axis)
        np.testing.assert_allclose(pose[:3, 2], axis / np.linalg.norm(axis), atol=1e-8)
        np.testing.assert_allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3), atol=1e-7)
        assert np.linalg.det(pose[:3, :3]) == pytest.approx(1.0)
