# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rendering: optimal by KKT and cvxpy, and what a hand feels on a simulated linear device."""

import cvxpy
from kkt import kkt_residuals
import numpy as np
import pytest

from soro_mechanics.analysis.polytope import MotorLimits
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.rendering import (
    EnergyMonitor,
    HapticLaw,
    natural_stiffness,
    Rendering,
    rendering_setup,
)
from soro_mechanics.haptics.sensing import Sensing, sensing_setup
from soro_mechanics.haptics.virtual_environment import (
    Control,
    frame_at,
    Shape,
    VirtualEnvironment,
    VirtualObject,
)
from soro_mechanics.numerics.lie import so3_exp
from soro_rigs.motor_limits import symmetric_limits
from soro_studies.mechanics.linear_device import random_ports, SpringDevice

DT = 0.002
WIDE = symmetric_limits(np.full(6, 3.0), 2.0)
ENCODER, SENSOR = 1.6e-4, 2e-6
MOTOR_LAG = 0.022 / 4.0  # s, first-order motor that settles in 22 ms


def setup(limits=WIDE, **options):
    return rendering_setup(DT, limits, 20.0, **options)


def random_goal(seed, ports):
    rng = np.random.default_rng(seed)
    hand = ports.pose.copy()
    hand[:3, 3] += rng.normal(size=3) * 0.005
    hand[:3, :3] = so3_exp(rng.normal(size=3) * 0.1) @ hand[:3, :3]
    goal = rng.normal(size=6) * np.array([0.01, 0.01, 0.01, 0.1, 0.1, 0.1])
    force = rng.normal(size=6) * np.array([1.0, 1.0, 1.0, 0.05, 0.05, 0.05])
    return hand, goal, force


def stated_problem(ports, rendering, hand, goal, force, limits):
    """Write (26)-(28) again with NumPy: objective, gradient, rows, bounds, angles at rest."""
    target = np.eye(4)
    target[:3, 3] = hand[:3, 3] + goal[:3]
    target[:3, :3] = so3_exp(goal[3:]) @ hand[:3, :3]
    delta = target[:3, :3] @ ports.pose[:3, :3].T
    cosine = 0.5 * (np.trace(delta) - 1.0)
    skew = np.array([(delta - delta.T)[i] for i in ((2, 1), (0, 2), (1, 0))])
    turn = skew * np.arccos(cosine) / (2.0 * np.sqrt(1.0 - cosine**2))
    twist = np.concatenate([target[:3, 3] - ports.pose[:3, 3], turn])
    push = ports.axes.T @ force - ports.force
    offset = -ports.axes.T @ twist + ports.ee @ push
    s = np.diag([1.0, 1.0, 1.0, 0.04**2, 0.04**2])
    motion = ports.ea.T @ s @ ports.ea
    alpha = rendering.setup.regularisation * np.trace(motion) / np.trace(ports.aa)
    h = motion + alpha * ports.aa
    g = ports.ea.T @ s @ offset + alpha * ports.aa @ ports.torque
    rows = np.vstack([np.eye(6), ports.aa])
    rest = ports.angle + ports.ae @ push
    low = np.concatenate([limits.torque_minimum - ports.torque, limits.angle_minimum - rest])
    high = np.concatenate([limits.torque_maximum - ports.torque, limits.angle_maximum - rest])
    return h, g, rows, low, high, rest


@pytest.mark.parametrize('seed', range(10))
def test_kkt_of_the_problem_as_stated(seed):
    ports = random_ports(seed)
    limits = symmetric_limits(np.full(6, 1.0), 0.03)
    rendering = Rendering(ports, setup(limits))
    hand, goal, force = random_goal(seed, ports)
    assert rendering.update(hand, goal, force) is Code.NONE
    h, g, rows, low, high, rest = stated_problem(ports, rendering, hand, goal, force, limits)
    x = rendering.torque - ports.torque
    residuals = kkt_residuals(h, g, rows, low, high, x, rendering.multiplier)
    assert residuals[0] < 1e-10 * np.abs(g).max()
    assert residuals[1] < 1e-9
    assert residuals[2] < 1e-9 * max(1.0, np.abs(rendering.multiplier).max())
    np.testing.assert_allclose(rendering.angle, rest + ports.aa @ x, atol=1e-12)


def test_against_cvxpy_with_active_limits():
    ports = random_ports(3)
    limits = symmetric_limits(np.full(6, 0.8), 0.02)
    rendering = Rendering(ports, setup(limits, regularisation=1e-3))
    hand, goal, force = random_goal(3, ports)
    assert rendering.update(hand, goal, force) is Code.NONE
    assert np.count_nonzero(rendering.multiplier) >= 2
    h, g, rows, low, high, _ = stated_problem(ports, rendering, hand, goal, force, limits)
    x = cvxpy.Variable(6)
    cost = 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(h)) + g @ x
    problem = cvxpy.Problem(cvxpy.Minimize(1e3 * cost), [rows @ x <= high, rows @ x >= low])
    problem.solve(solver=cvxpy.CLARABEL)
    np.testing.assert_allclose(rendering.torque - ports.torque, x.value, atol=1e-6)


def test_goal_is_reached_under_the_goal_force():
    """On a linear device the commanded angles, held, put the hand exactly at the goal."""
    device = SpringDevice()
    ports = device.held(np.full(6, 0.02), np.array([0.1, 0.0, -0.1, 0.0, 0.002]))
    force = np.array([0.8, -0.4, 0.5, 0.01, -0.01, 0.0])
    goal = np.array([0.004, -0.003, 0.002, 0.0, 0.0, 0.0])
    rendering = Rendering(ports, setup())
    assert rendering.update(ports.pose, goal, force) is Code.NONE
    after = device.held(rendering.angle, force[:5])
    moved = after.pose[:3, 3] - ports.pose[:3, 3]
    np.testing.assert_allclose(moved, goal[:3], atol=2e-4 * np.linalg.norm(goal))
    np.testing.assert_allclose(after.torque, rendering.torque, atol=1e-9)


def test_redundant_direction_takes_least_actuator_energy():
    device = SpringDevice()
    ports = device.held(np.array([0.3, 0.1, -0.2, 0.1, 0.2, -0.3]), np.zeros(5))
    rendering = Rendering(ports, setup())
    rendering.update(ports.pose, np.zeros(6), np.zeros(6))
    _, _, null = np.linalg.svd(ports.ea)
    null = null[-1]  # torques that do not move the effector
    # Stationary: the total torque has no energy-conjugate part left along it.
    residue = null @ ports.aa @ rendering.torque
    assert abs(residue) < 1e-9 * np.abs(null @ ports.aa @ ports.torque)


def test_contradicting_limits_are_an_outcome_and_leave_the_angle():
    ports = random_ports(0)
    far = MotorLimits(np.full(6, -0.01), np.full(6, 0.01), ports.angle + 5.0, ports.angle + 6.0)
    rendering = Rendering(ports, setup(far))
    before = rendering.angle.copy()
    assert rendering.update(ports.pose, np.zeros(6), np.zeros(6)) is Code.AT_LIMIT
    np.testing.assert_array_equal(rendering.angle, before)
    bad = ports.pose.copy()
    bad[0, 3] = np.nan
    assert rendering.update(bad, np.zeros(6), np.zeros(6)) is Code.NOT_CONVERGED


class Rig:
    """The loop on a simulated device: motors lag, commands take effect one tick later."""

    def __init__(self, objects=(), delay=1, period=DT, **options):
        self.device = SpringDevice()
        self.angle = np.zeros(6)
        self.state = self.device.held(self.angle, np.zeros(5))
        sensing = Sensing(self.state, sensing_setup(self.state, ENCODER, SENSOR))
        rendering = rendering_setup(period, WIDE, 20.0, **options)
        self.settle = 1.0 - np.exp(-period / MOTOR_LAG)
        self.law = HapticLaw(sensing, rendering, VirtualEnvironment(objects))
        self.queue = [self.angle.copy()] * delay

    def step(self, force=None, place=None):
        """Advance one tick with the hand's force, or its place, given."""
        if place is None:
            self.state = self.device.held(self.angle, np.asarray(force, float))
        else:
            self.state = self.device.moved(self.angle, np.asarray(place, float))
        code = self.law.tick(self.state.angle, self.state.sensor)
        assert code is Code.NONE
        self.queue.append(self.law.command.copy())
        self.angle = self.angle + self.settle * (self.queue.pop(0) - self.angle)
        return self.state

    def grasp(self, hand, stiffness):
        """Advance one tick with a hand that is a spring to `hand`, shape (5,)."""
        na = self.device.na
        k = self.device.k
        x = np.linalg.solve(k[na:, na:] + stiffness, stiffness @ hand - k[na:, :na] @ self.angle)
        return self.step(place=x)


HAND = np.diag([400.0, 400.0, 400.0, 1.0, 1.0])


def run(rig, ticks, **hand):
    for _ in range(ticks):
        state = rig.step(**hand)
    return state


def test_hold_takes_a_constant_force_without_moving():
    hold = VirtualObject('h', Shape.HOLD, rotational_stiffness=np.inf)
    rig = Rig([hold])
    force = np.array([1.0, -0.5, 0.8, 0.01, 0.02])
    natural = np.linalg.solve(natural_stiffness(rig.state), force)
    state = run(rig, 600, force=force)
    assert np.linalg.norm(natural[:3]) > 1e-3
    assert np.linalg.norm(state.pose[:3, 3]) < 1e-3 * np.linalg.norm(natural[:3])


def test_free_space_gives_way_until_no_force_is_left():
    rig = Rig()
    place = np.array([0.003, -0.002, 0.002, 0.02, -0.01])
    natural = natural_stiffness(rig.state) @ place
    state = run(rig, 600, place=place)
    assert np.linalg.norm(natural[:3]) > 0.1
    assert np.abs(state.force).max() < 1e-3 * np.abs(natural).max()


@pytest.mark.parametrize('stiffness', [60.0, 150.0, 600.0, 2000.0])
def test_rendered_stiffness_is_the_wanted_one_above_and_below_the_natural(stiffness):
    """Force-position curve of a compliant hold, pushed by a springy hand."""
    hold = VirtualObject('h', Shape.HOLD, stiffness=stiffness, rotational_stiffness=np.inf)
    rig = Rig([hold])
    natural = np.linalg.eigvalsh(natural_stiffness(rig.state)[:3, :3])
    assert 60.0 < natural[0] < 600.0  # the four values lie on both sides
    places, forces = [], []
    for reach in np.linspace(0.0, 0.01, 5):
        for _ in range(400):
            state = rig.grasp(np.array([reach, 0.0, 0.0, 0.0, 0.0]), HAND)
        places.append(state.pose[0, 3])
        forces.append(state.force[0])
    slope = np.polyfit(places, forces, 1)[0]
    assert slope == pytest.approx(stiffness, rel=0.01)


def test_wall_stops_the_hand_at_its_surface_and_lets_it_go():
    wall = VirtualObject(
        'w', Shape.WALL, pose=frame_at(np.array([-0.002, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    )
    rig = Rig([wall])
    deepest = 0.0
    for reach in np.concatenate([np.linspace(0, -0.01, 1000), np.full(500, -0.01)]):
        state = rig.grasp(np.array([reach, 0.0, 0.0, 0.0, 0.0]), HAND)
        deepest = min(deepest, state.pose[0, 3])
    assert rig.law.environment.touched
    assert state.pose[0, 3] == pytest.approx(-0.002, abs=2e-5)
    assert state.force[0] == pytest.approx(-400.0 * 0.008, rel=0.02)
    assert deepest > -0.0032  # the step at contact: what the loop's lag lets through
    for reach in np.concatenate([np.linspace(-0.01, 0.005, 1500), np.full(500, 0.005)]):
        state = rig.grasp(np.array([reach, 0.0, 0.0, 0.0, 0.0]), HAND)
    assert not rig.law.environment.touched
    assert state.pose[0, 3] == pytest.approx(0.005, abs=2e-4)
    assert rig.law.monitor.lowest > -rig.law.setup.energy


@pytest.mark.parametrize('control', Control)
def test_circle_of_three_centimetres_with_mean_error_below_a_millimetre(control):
    size = np.array([0.03, 0.0, 0.0])
    circle = VirtualObject('c', Shape.CIRCLE, control, size=size, damping=3.0)
    rig = Rig([circle])
    run(rig, 300, force=np.zeros(5))
    errors, angles = [], []
    for t in np.arange(0.0, 6.0, DT):
        way = 2.0 * np.pi * t / 6.0
        hand = np.array([0.031 * np.cos(way), 0.031 * np.sin(way), 0.0, 0.0, 0.0])
        state = rig.grasp(hand, HAND)
        errors.append(np.hypot(np.hypot(*state.pose[:2, 3]) - 0.03, state.pose[2, 3]))
        angles.append(np.arctan2(state.pose[1, 3], state.pose[0, 3]))
    assert np.mean(errors[500:]) < 1e-3
    assert np.ptp(np.unwrap(angles)) > 5.5


@pytest.mark.parametrize('period', [0.001, 0.002, 0.004])
def test_an_admittance_is_felt_as_asked_through_the_whole_law(period):
    """Sensed, rendered, smoothed and late: a steady push still moves at force over damping."""
    line = VirtualObject('l', Shape.LINE, Control.ADMITTANCE, damping=8.0)
    rig, force = Rig([line], period=period), np.zeros(5)
    force[2] = 0.4
    run(rig, round(0.2 / period), force=force)
    start = rig.state.pose[2, 3]
    ticks = round(0.2 / period)
    end = run(rig, ticks, force=force).pose[2, 3]
    assert 0.4 * ticks * period / (end - start) == pytest.approx(8.0, rel=0.02)


def test_slots_that_were_missed_do_not_slow_an_admittance():
    line = VirtualObject('l', Shape.LINE, Control.ADMITTANCE, damping=8.0)
    leads = []
    for missed in (1, 3):
        rig = Rig([line])
        force = np.array([0.0, 0.0, 0.4, 0.0, 0.0])
        state = rig.device.held(rig.angle, force)
        for _ in range(4):
            assert rig.law.tick(state.angle, state.sensor, missed) is Code.NONE
        leads.append(rig.law.environment.goal[2])
    assert leads[0] == pytest.approx(4 * 0.4 * DT / 8.0, rel=0.01)
    assert leads[1] == pytest.approx(3.0 * leads[0], rel=0.01)


def test_an_environment_begins_without_the_contacts_of_before():
    ring = VirtualObject('c', Shape.LINE, Control.ADMITTANCE)
    environment = VirtualEnvironment([ring])
    push = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    for _ in range(50):
        environment.update(np.eye(4), push, np.zeros(6), DT)
    rig = Rig()
    rig.law.replace_environment(environment)
    environment.update(np.eye(4), push, np.zeros(6), DT)
    assert environment.goal[2] == pytest.approx(DT / 5.0)


def test_speed_limit_keeps_the_direction():
    hold = VirtualObject('h', Shape.HOLD, pose=frame_at(np.array([0.02, 0.0, 0.0]), np.eye(3)[2]))
    rig = Rig([hold])
    rig.law._largest_step = np.full(6, 1e-3)
    rig.step(force=np.zeros(5))
    before = rig.law.command.copy()
    rig.step(force=np.zeros(5))
    step = rig.law.command - before
    wanted = rig.law.rendering.angle - before
    assert np.abs(step).max() == pytest.approx(1e-3)
    np.testing.assert_allclose(np.cross(step[:3], wanted[:3]), 0.0, atol=1e-12)


def test_energy_monitor_counts_work_exactly_on_a_spring():
    """A spring of the device pressed and released: the work is the elastic energy, then zero."""
    device = SpringDevice()
    monitor = EnergyMonitor(setup())
    k = natural_stiffness(device.held(np.zeros(6), np.zeros(5)))[:3, :3]
    way = np.array([0.003, 0.002, -0.001])
    for share in np.linspace(0.0, 1.0, 50):
        state = device.moved(np.zeros(6), np.append(share * way, [0.0, 0.0]))
        monitor.update(state.pose, np.append(state.force, 0.0))
    assert monitor.received == pytest.approx(0.5 * way @ k @ way, rel=1e-9)
    for share in np.linspace(1.0, 0.0, 50):
        state = device.moved(np.zeros(6), np.append(share * way, [0.0, 0.0]))
        monitor.update(state.pose, np.append(state.force, 0.0))
    assert monitor.received == pytest.approx(0.0, abs=1e-12)
    assert monitor.lowest == pytest.approx(0.0, abs=1e-12)


def provoke(**options):
    """Let a hold wander with the hand so that it pushes the hand on: an active environment."""
    hold = VirtualObject('h', Shape.HOLD, rotational_stiffness=np.inf)
    rig = Rig([hold], approach_speed=1e3, **options)  # at once as fast as it can
    for tick in range(4000):
        way = 2.0 * np.pi * tick / 500.0
        target = frame_at(np.array([0.012 * np.sin(way + 0.8), 0.0, 0.0]), np.eye(3)[2])
        rig.law.environment = VirtualEnvironment(
            [VirtualObject('h', Shape.HOLD, pose=target, rotational_stiffness=np.inf)]
        )
        rig.step(place=np.array([0.008 * np.sin(way), 0.0, 0.0, 0.0, 0.0]))
    return rig.law.monitor


def test_energy_monitor_limits_an_active_environment():
    unlimited = provoke(energy=1e3)
    assert unlimited.lowest < -0.12  # without limit it pumps energy into the hand
    assert unlimited.limited == 0
    limited = provoke(energy=0.02)
    assert limited.limited > 0
    # The hand got the allowance and not more, the motors' lag and delay notwithstanding.
    assert -0.02 * 1.001 < limited.lowest < -0.019


def test_what_later_contacts_get_anew_is_no_energy_beyond_the_allowance():
    """Hands that tap get some of the allowance each time; more than that is told all the same."""
    monitor, pull = EnergyMonitor(setup(energy=0.02)), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def gets(energy):
        pose = monitor.last_pose.copy()
        pose[0, 3] -= energy  # m, against 1 N of the hand
        monitor.update(pose, pull)

    gets(0.0)
    for _ in range(5):
        gets(0.015)
        monitor.renew()
    assert monitor.received == pytest.approx(-0.075) and monitor.lowest > -monitor.capacity
    gets(0.012)
    gets(0.012)
    assert monitor.lowest == pytest.approx(-0.024)
    monitor.renew()
    gets(0.001)
    assert monitor.lowest == pytest.approx(-0.024), 'what was beyond it is not forgotten'
    monitor.reset()
    assert monitor.lowest == 0.0


def test_every_contact_has_its_own_allowance():
    """What an earlier contact spent is given anew after free space, and not within a contact."""
    wall = VirtualObject('w', Shape.WALL, pose=frame_at(np.zeros(3), np.eye(3)[2]))
    rig = Rig([wall])
    inside, outside = ([0.0, 0.0, z, 0.0, 0.0] for z in (-0.001, 0.02))

    def stay(place, ticks):
        for _ in range(ticks):
            rig.step(place=np.array(place))

    stay(inside, 100)
    monitor = rig.law.monitor
    monitor.state.tank[:] = -1.0
    stay(inside, 100)
    assert monitor.state.tank[0] < -0.5
    stay(outside, 20)
    stay(inside, 2)
    assert monitor.state.tank[0] < -0.5, 'a contact that was broken for a moment is the same'
    stay(outside, 200)
    assert not rig.law.environment.touched
    stay(inside, 2)
    assert monitor.state.tank[0] > 0.9 * monitor.capacity


def test_environment_is_not_replaced_under_the_hand():
    wall = VirtualObject('w', Shape.WALL, pose=frame_at(np.array([0.001, 0, 0]), np.eye(3)[0]))
    rig = Rig([wall])
    rig.step(force=np.zeros(5))
    with pytest.raises(InvalidInput, match='lets go') as caught:
        rig.law.replace_environment(VirtualEnvironment())
    assert caught.value.code is Code.BUSY
    rig.law.restart()
    rig.law.replace_environment(VirtualEnvironment())
    assert rig.law.environment.objects == ()


def test_bad_measurement_leaves_the_command():
    rig = Rig()
    run(rig, 3, force=np.zeros(5))
    before = rig.law.command.copy()
    assert rig.law.tick(np.full(6, np.nan), rig.state.sensor) is Code.NOT_FINITE
    np.testing.assert_array_equal(rig.law.command, before)


def test_the_speed_of_the_hand_counts_slots_that_were_missed():
    rig, speed = Rig(), 0.05  # m/s along x
    slots = [1, 1, 3, 1, 2] * 20
    at = np.cumsum(slots) * DT * speed
    for k, (place, missed) in enumerate(zip(at, slots, strict=True)):
        state = rig.device.moved(rig.angle, np.array([place, 0.0, 0.0, 0.0, 0.0]))
        if k % 7 == 6:  # a sample that gives no estimate is one more
            assert rig.law.tick(np.full(6, np.nan), state.sensor, missed) is Code.NOT_FINITE
            continue
        assert rig.law.tick(state.angle, state.sensor, missed) is Code.NONE
        if k > 30:
            assert rig.law.speed[0] == pytest.approx(speed, rel=0.01)


def test_bad_setup():
    for name in ('length', 'energy', 'regularisation'):
        with pytest.raises(InvalidInput, match=name):
            setup(**{name: 0.0})
    with pytest.raises(InvalidInput, match='time_constant'):
        setup(time_constant=-1.0)
    with pytest.raises(InvalidInput, match='speed_limit'):
        rendering_setup(DT, WIDE, 0.0)
    assert setup().share(6e-3) == pytest.approx(0.25)  # the paper's alpha
