# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The haptic device on the beam network: its ports, and the closed loop on the full model."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.analysis.polytope import FORCE, isotropic_effort
from soro_mechanics.core.errors import InvalidInput, RobotFileError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics import device as haptic_device
from soro_mechanics.haptics.device import HapticDevice, softened
from soro_mechanics.haptics.flex_calibration import FlexCalibration, SensorCalibration
from soro_mechanics.haptics.loop import HapticLoop
from soro_mechanics.haptics.rendering import natural_stiffness, rendering_setup
from soro_mechanics.haptics.sensing import observability, Sensing, sensing_setup
from soro_mechanics.haptics.sensor_watch import SensorWatch
from soro_mechanics.haptics.virtual_environment import (
    Control,
    frame_at,
    Shape,
    VirtualEnvironment,
    VirtualObject,
)
from soro_mechanics.numerics.lie import so3_log
from soro_studies.haptics.holding import within_limits
from soro_studies.haptics.reach import hold_within, reach

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

DT = 0.002
SETTLE = 1.0 - np.exp(-DT / (0.022 / 4.0))  # first-order motor that settles in 22 ms
ANGLE = np.array([0.1, -0.15, 0.2, -0.05, 0.12, 0.08])
HAND = np.array([0.5, -0.4, 0.6, 0.01, -0.02])


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


@pytest.fixture(scope='module')
def device(robot):
    return HapticDevice(robot)


def weightless(robot):
    other = robot.with_model(robot.model)
    other.gravity = np.zeros(3)
    return other


def test_unloaded_device_is_stress_free_and_its_strips_bend_by_a_quarter_turn(robot):
    ports = HapticDevice(weightless(robot)).ports
    np.testing.assert_allclose(ports.torque, 0.0, atol=1e-8)
    np.testing.assert_allclose(ports.pose, np.eye(4), atol=1e-6)
    # The active length covers the quarter circle: distance times pi / 2, compressed inside.
    np.testing.assert_allclose(ports.sensor, -0.003 * np.pi / 2.0, rtol=1e-4)


def test_ports_agree_with_the_robot_interface(robot, device):
    device.restart(ANGLE)
    ports = device.held(ANGLE, np.zeros(5))
    q = robot.forward(ANGLE)
    np.testing.assert_allclose(ports.pose, q.tip, atol=1e-8)
    jacobian = ports.ea @ np.linalg.inv(ports.aa)
    np.testing.assert_allclose(jacobian, ports.axes.T @ robot.jacobian(q), atol=1e-4)
    held = ports.ee - jacobian @ ports.ae
    # The robot's compliance leaves the turn about the handle free to move, and so do the ports.
    wanted = ports.axes.T @ robot.compliance(q) @ ports.axes
    np.testing.assert_allclose(held, wanted, atol=2e-3 * np.abs(wanted).max())


def test_compliance_against_finite_differences_of_the_nonlinear_solve(device):
    """W d_lambda = d_delta for every actuator, effector and sensor row.

    To half a percent: W is the symmetric part, and the hand's moment of 0.02 N m makes the exact
    tangent asymmetric by that against the handle's 1.3 N m/rad.
    """
    ports = device.held(ANGLE, HAND)
    assert ports is not None
    w = ports.compliance
    for k in range(11):
        angle, force = np.zeros(6), np.zeros(5)
        (angle if k < 6 else force)[k % 6 if k < 6 else k - 6] = 1e-4
        a = device.held(ANGLE + angle, HAND + force, ports)
        b = device.held(ANGLE - angle, HAND - force, ports)
        turn = so3_log(a.pose[:3, :3] @ b.pose[:3, :3].T)
        moved = ports.axes.T @ np.concatenate([a.pose[:3, 3] - b.pose[:3, 3], turn])
        change = np.concatenate([a.torque - b.torque, 2.0 * force])
        seen = np.concatenate([2.0 * angle, moved, a.sensor - b.sensor])
        predicted = w[:, :11] @ change
        # Least scales: what the ports move by when 0.1 mN pushes the handle.
        terms = np.abs(w[:, :11]) @ np.abs(change)  # what the sum is made of
        for part in (slice(0, 6), slice(6, 9), slice(9, 11), slice(11, 17)):
            size = terms[part].max()
            np.testing.assert_allclose(predicted[part], seen[part], atol=5e-3 * size)


def test_one_assembly_per_tick_follows_a_moving_hand(device):
    """The loop's update stays with the exact solution to micrometres and micronewton metres."""
    device.restart(np.zeros(6))
    worst, most = 0.0, 0
    for phase in np.linspace(0.0, np.pi, 300):
        assert device.update(ANGLE * np.sin(phase), HAND * np.sin(phase)) is Code.NONE
        most = max(most, device.iterations)
    assert most <= 2
    for phase in (0.3, 0.31, 0.32):
        device.update(ANGLE * np.sin(phase), HAND * np.sin(phase))
    quick = device.snapshot()
    exact = device.held(quick.angle, quick.force)
    worst = np.linalg.norm(quick.pose[:3, 3] - exact.pose[:3, 3])
    assert worst < 2e-6
    np.testing.assert_allclose(quick.sensor, exact.sensor, atol=2e-7)
    np.testing.assert_allclose(quick.torque, exact.torque, atol=2e-5)


def test_a_long_step_is_taken_in_parts_and_the_ports_say_where_it_is(robot, device, monkeypatch):
    far = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    device.restart(np.zeros(6))
    with monkeypatch.context() as patch:
        patch.setattr(haptic_device, 'LOOP_STEPS', 1)
        assert device.update(far, HAND) is Code.NOT_CONVERGED
    share = device.ports.angle[0]
    assert 0.1 < share < 0.9
    np.testing.assert_allclose(device.ports.angle, share * far)
    np.testing.assert_allclose(device.ports.force[:3], share * HAND[:3])
    there = HapticDevice(robot)
    there.restart(far)
    for _ in range(3):
        code = device.update(far, np.zeros(5))
    assert code is Code.NONE
    np.testing.assert_array_equal(device.ports.angle, far)
    np.testing.assert_allclose(device.ports.pose, there.ports.pose, atol=1e-6)
    np.testing.assert_allclose(device.ports.torque, there.ports.torque, atol=1e-4)


def test_what_is_no_number_changes_nothing(device):
    device.restart(ANGLE)
    before = device.snapshot()
    nothing = np.zeros(5)
    assert device.update(np.full(6, np.nan), nothing) is Code.NOT_FINITE
    assert device.update(ANGLE, np.array([0.0, np.inf, 0.0, 0.0, 0.0])) is Code.NOT_FINITE
    for name, value in vars(before).items():
        np.testing.assert_array_equal(getattr(device.ports, name), value)
    assert device.update(ANGLE, nothing) is Code.NONE


def loop_of(robot):
    device = HapticDevice(robot)
    forces = [10.0, 10.0, 10.0, 0.5, 0.5]
    sensing = sensing_setup(device.ports, 2.7e-4, 2e-5, forces)
    loop = HapticLoop(device, sensing, rendering_setup(DT, device.motor_limits(), 17.0))
    loop.start(np.zeros(6))
    return loop


@pytest.mark.parametrize('shape', [(0,), (4,), (7,), (1, 6), ()])
def test_a_sample_of_another_shape_is_refused_before_kernels_trust_in_it(robot, shape):
    """Longer ones would be written beyond what is known of the strips."""
    loop, good, odd = loop_of(robot), np.zeros(6), np.zeros(shape)
    law, watch = loop.law, SensorWatch(loop.law.sensing, DT)
    for ask, given in (
        (law.tick, (good, odd)),
        (law.tick, (odd, good)),
        (law.strips.follow, (odd, DT)),
        (loop.device.update, (good, odd)),
        (watch.update, (odd, good > 0.0, good)),
        (watch.update, (good, odd > 0.0, good)),
        (watch.update, (good, good > 0.0, odd)),
    ):
        with pytest.raises(InvalidInput, match=r'shape \((5|6),\), not'):
            ask(*given)
    assert loop.tick(good, loop.device.ports.sensor.copy()) is Code.NONE


def test_motors_that_jump_are_no_force_of_the_hand(robot, device):
    loop = loop_of(robot)
    far = 0.6 * np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    device.restart(far)
    sensing = loop.law.sensing
    for _ in range(60):
        assert loop.tick(far, device.ports.sensor) is Code.NONE
        code = loop.advance()
    assert code is Code.NONE
    np.testing.assert_allclose(sensing.wrench[:3], 0.0, atol=0.01)
    np.testing.assert_allclose(sensing.pose[:3, 3], device.ports.pose[:3, 3], atol=1e-5)


def test_without_an_estimate_the_model_stays_where_it_is(robot, device):
    loop = loop_of(robot)
    device.restart(np.zeros(6))
    for tick in range(30):
        device.update(0.002 * tick * np.ones(6), 0.02 * tick * np.eye(5)[0])
        loop.tick(device.ports.angle, device.ports.sensor)
        assert loop.advance() is Code.NONE
    before = loop.device.snapshot()
    for _ in range(20):
        assert loop.tick(np.full(6, np.nan), device.ports.sensor) is Code.NOT_FINITE
        assert loop.advance() is Code.NOT_FINITE
    for name, value in vars(before).items():
        np.testing.assert_array_equal(getattr(loop.device.ports, name), value)
    loop.tick(device.ports.angle, device.ports.sensor)
    np.testing.assert_allclose(loop.law.sensing.wrench[0], device.ports.force[0], atol=0.01)


def test_all_five_directions_are_observable_and_the_handle_turn_is_stiff(robot, device):
    ports = device.held(np.zeros(6), np.zeros(5))
    setup = sensing_setup(ports, 2.7e-4, device.spec.deviation)
    seen = observability(ports, setup, [1.0, 1.0, 1.0, 0.05, 0.05])
    assert seen.rank == 5
    compliance = robot.compliance(robot.forward(np.zeros(6)))
    assert compliance[5, 5] < 0.5 * compliance[3, 3]
    # Torques at rest hold the device's own weight only: far below the limit.
    assert np.abs(ports.torque).max() < 0.02 * device.spec.torque_limit


def test_stiffer_material_gives_more_force_and_sags_less(robot):
    """The paper's ordering of E and 0.2 E without torque limit, and the effect of gravity."""
    stiff, soft = HapticDevice(robot), HapticDevice(softened(robot, 0.2))
    assert soft.ports.pose[2, 3] == pytest.approx(5.0 * stiff.ports.pose[2, 3], rel=0.2)
    ratio = natural_stiffness(stiff.ports)[0, 0] / natural_stiffness(soft.ports)[0, 0]
    assert ratio == pytest.approx(5.0, rel=0.2)
    centre = np.eye(4)
    forces = []
    for machine in (stiff, soft):
        limits = machine.motor_limits(torque=np.inf)
        ports = reach(machine, centre, limits=limits)
        assert ports is not None
        np.testing.assert_allclose(ports.pose[:3, 3], 0.0, atol=2e-5)
        np.testing.assert_allclose(ports.force, 0.0, atol=1e-9)
        forces.append(isotropic_effort(ports, limits, FORCE).radius)
    assert forces[0] > 3.0 * forces[1]
    far = np.eye(4)
    far[0, 3] = 0.5
    assert reach(stiff, far) is None


def test_a_pose_is_held_within_torque_limits_in_another_way(robot):
    """Six motors, five motions: one pattern of the motors does nothing to the handle."""
    device, goal = HapticDevice(robot), np.eye(4)
    goal[:3, 3] = 0.01, 0.005, 0.0
    least = reach(device, goal, limits=device.motor_limits(np.inf))
    pattern = np.linalg.svd(least.ea)[2][-1]
    ports = device.held(least.angle + least.aa @ (0.02 * pattern), np.zeros(5), least)
    np.testing.assert_allclose(ports.pose[:3, 3], least.pose[:3, 3], atol=5e-4)
    largest = np.abs(least.torque).max()
    limits = device.motor_limits(1.02 * largest)
    assert not within_limits(ports, limits)
    other = hold_within(device, goal, ports, limits)
    assert within_limits(other, limits, 1e-6)
    np.testing.assert_allclose(other.pose[:3, 3], goal[:3, 3], atol=2e-5)
    np.testing.assert_allclose(other.force, 0.0, atol=1e-9)
    shares = np.linspace(-0.1, 0.1, 20001)
    bound = np.abs(least.torque + shares[:, None] * pattern).max(axis=1).min()
    for share in (0.85, 0.5):  # tried on the model, and not worth that
        assert hold_within(device, goal, ports, device.motor_limits(share * bound)) is None
    assert hold_within(device, goal, ports, device.motor_limits(np.inf)) is ports


def test_calibration_chooses_nodes_and_weights(robot):
    count = 6
    weights = np.array([-0.002, 0.0021])
    sensors = tuple(
        SensorCalibration(f'flex_{i + 1}', 2000.0, 1e-6, (1, 7), weights, 2e-5, 0.04)
        for i in range(count)
    )
    device = HapticDevice(robot, FlexCalibration('haptic_5dof', 'now', sensors))
    device.restart(ANGLE)
    for i in range(count):
        rotations = device.node_rotations(f'flex_{i + 1}')
        wanted = rotations[[1, 7]] @ weights
        assert device.ports.sensor[i] == pytest.approx(wanted, abs=1e-9)
    wrong = tuple(
        SensorCalibration(s.name, s.offset, s.gain, (0, 40), s.weights, s.deviation, 0.04)
        for s in sensors
    )
    with pytest.raises(InvalidInput, match='calibrate again'):
        HapticDevice(robot, FlexCalibration('haptic_5dof', 'now', wrong))
    places = device.places('flex_1')[[1, 7]]
    for moved, refused in ((0.0, False), (1e-3, True)):
        known = tuple(replace(s, places=tuple(places + moved)) for s in sensors)
        calibration = FlexCalibration('haptic_5dof', 'now', known)
        if refused:
            with pytest.raises(InvalidInput, match='as when it was calibrated'):
                HapticDevice(robot, calibration)
        else:
            HapticDevice(robot, calibration)


def test_other_robots_are_refused():
    with pytest.raises(RobotFileError, match='haptic'):
        HapticDevice(load_robot('stewart_gough'))


class Plant:
    """The device with other parameters, motors that lag, commands that come one tick late."""

    def __init__(self, robot, objects=(), noise=0.0, energy=0.3):
        self.device = HapticDevice(softened(robot, 0.97))
        self.loop = HapticLoop(
            HapticDevice(robot),
            sensing_setup(
                self.device.ports, 2.7e-4, 2e-5, force_deviation=[10.0, 10.0, 10.0, 0.5, 0.5]
            ),
            rendering_setup(DT, self.device.motor_limits(), 17.0, energy=energy),
            VirtualEnvironment(objects),
        )
        self.angle = np.zeros(6)
        self.loop.start(self.angle)
        self.command = self.angle.copy()
        self.random, self.noise = np.random.default_rng(0), noise

    def step(self, hand, stiffness):
        """Advance one tick with a hand that is a spring to `hand`, shape (5,)."""
        p = self.device.ports
        self.angle = self.angle + SETTLE * (self.command - self.angle)
        # The hand's spring and the device in balance, by one linearised step of the plant.
        jacobian = p.ea @ np.linalg.inv(p.aa)
        held = p.ee - jacobian @ p.ae
        x = self.place() + jacobian @ (self.angle - p.angle)
        pull = stiffness @ (hand - x)
        force = np.linalg.solve(np.eye(5) + stiffness @ held, pull + stiffness @ held @ p.force)
        assert self.device.update(self.angle, force) is not Code.UNSTABLE
        self.command = self.loop.law.command.copy()
        p = self.device.ports
        code = self.loop.tick(
            np.round(self.angle / 2.7e-4) * 2.7e-4,
            p.sensor + self.noise * self.random.normal(size=6),
        )
        assert code is Code.NONE
        assert self.loop.advance() is not Code.UNSTABLE
        if np.array_equal(self.command, np.zeros(6)):
            self.command = self.angle.copy()
        return p

    def place(self):
        p = self.device.ports
        return p.axes.T @ np.concatenate([p.pose[:3, 3], so3_log(p.pose[:3, :3])])


GRIP = np.diag([400.0, 400.0, 400.0, 1.5, 1.5])


def test_full_model_senses_what_the_hand_does(robot):
    """Force and pose estimates against the plant, whose material is 3 % softer than the model."""
    plant = Plant(robot)
    errors, forces = [], []
    for tick in range(1000):
        way = 2.0 * np.pi * tick / 500.0
        hand = np.array([0.015 * np.sin(way), 0.01 * np.cos(way) - 0.01, 0.0, 0.0, 0.0])
        hand[2] = 0.008 * np.sin(way)
        p = plant.step(hand, GRIP)
        sensing = plant.loop.law.sensing
        errors.append(sensing.pose[:3, 3] - p.pose[:3, 3])
        forces.append(sensing.wrench[:3] - p.force[:3])
    # The paper reports 2 to 5.5 % of the workspace, here 3 cm, with a calibration error of 4.6 %.
    assert np.abs(errors).mean() < 0.02 * 0.03
    assert np.abs(forces).mean() < 0.1


def test_a_model_that_goes_on_solving_needs_a_snapshot_for_the_law(robot):
    """What `linearise` says: it keeps what it gets, and `update` overwrites the device's own."""
    device = HapticDevice(robot)
    sensing = Sensing(device.ports, sensing_setup(device.ports, 2.7e-4, 2e-5, 10.0))
    kept = device.snapshot()
    encoder, sensor = device.ports.angle.copy(), device.ports.sensor + 2e-5
    estimates = []
    for ports in (device.ports, kept):
        sensing.linearise(ports)
        assert sensing.update(encoder, sensor) is Code.NONE
        before = sensing.wrench.copy()
        assert device.update(np.full(6, 0.1), np.zeros(5)) is not Code.UNSTABLE
        assert sensing.update(encoder, sensor) is Code.NONE
        estimates.append(np.abs(sensing.wrench - before).max())
        device.restart(np.zeros(6))
    assert estimates[0] > 1e-3, 'the linearisation changed under the law'
    assert estimates[1] == 0.0


def test_wall_and_hold_are_stiffer_than_the_device_and_free_space_softer(robot):
    slopes = {}
    wall_at = frame_at(np.zeros(3), np.array([1.0, 0.0, 0.0]))
    cases = {
        'free': (),
        'hold': (VirtualObject('h', Shape.HOLD, rotational_stiffness=np.inf),),
        'wall': (VirtualObject('w', Shape.WALL, pose=wall_at),),
    }
    for name, objects in cases.items():
        plant = Plant(robot, objects)
        for way in np.append(np.linspace(0.0, -0.01, 500), np.full(400, -0.01)):
            p = plant.step(np.array([way, 0.0, 0.0, 0.0, 0.0]), GRIP)
        slopes[name] = p.force[0] / min(p.pose[0, 3], -1e-9)
        assert plant.loop.law.monitor.lowest > -plant.loop.law.setup.energy
    natural = natural_stiffness(Plant(robot).device.ports)[0, 0]
    assert slopes['free'] < 0.1 * natural
    assert slopes['wall'] > 5.0 * natural
    assert slopes['hold'] > 5.0 * natural


@pytest.mark.parametrize('control', Control)
def test_circle_of_three_centimetres_on_the_full_model(robot, control):
    size = np.array([0.03, 0.0, 0.0])
    circle = VirtualObject('c', Shape.CIRCLE, control, size=size, damping=5.0)
    plant = Plant(robot, [circle], noise=5e-6)
    errors, angles = [], []
    for way in np.linspace(0.0, 0.03, 400):
        plant.step(np.array([way, 0.0, 0.0, 0.0, 0.0]), GRIP)
    for tick in range(2500):
        way = 2.0 * np.pi * tick / 2500.0
        hand = np.array([0.031 * np.cos(way), 0.031 * np.sin(way), 0.0, 0.0, 0.0])
        p = plant.step(hand, GRIP)
        errors.append(np.hypot(np.hypot(*p.pose[:2, 3]) - 0.03, p.pose[2, 3]))
        angles.append(np.arctan2(p.pose[1, 3], p.pose[0, 3]))
    assert np.mean(errors) < 1e-3
    assert np.ptp(np.unwrap(angles)) > 5.5
    assert plant.loop.law.monitor.lowest > -plant.loop.law.setup.energy
