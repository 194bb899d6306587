# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensing: exact on a linear device, optimal by KKT and cvxpy, honest about its errors."""

import cvxpy
import numpy as np
import pytest

from soro_mechanics.analysis.condensed_ports import condensed_ports
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.sensing import observability, Sensing, sensing_setup
from soro_mechanics.numerics.lie import so3_log
from soro_studies.mechanics.linear_device import random_ports, SpringDevice
from soro_studies.mechanics.sense_with_model import sense_with_model

ENCODER, SENSOR = 1.6e-4, 2e-6  # rad, m: one encoder step at the output, 1 % of the sensor range
ANGLE = np.array([0.1, -0.2, 0.05, 0.15, -0.1, 0.02])
HAND = np.array([0.8, -0.5, 0.3, 0.01, -0.02])


def rows_of(ports):
    return np.block([[ports.aa, ports.ae], [ports.sa, ports.se]])


def sensing_at_rest(device):
    """Return sensing around the device with motors and hand at rest."""
    start = device.held(np.zeros(6), np.zeros(5))
    return Sensing(start, sensing_setup(start, ENCODER, SENSOR))


def test_recovers_pose_and_force_exactly_from_perfect_measurements():
    device = SpringDevice()
    truth = device.held(ANGLE, HAND)
    sensing = sensing_at_rest(device)
    estimate = sensing.estimate(truth.angle, truth.sensor)
    assert estimate.code is Code.NONE
    np.testing.assert_allclose(estimate.wrench[:5], HAND, atol=1e-9)
    np.testing.assert_allclose(estimate.torque, truth.torque, atol=1e-9)
    np.testing.assert_allclose(estimate.angle, truth.angle, atol=1e-12)
    np.testing.assert_allclose(estimate.pose, truth.pose, atol=1e-12)
    assert not estimate.bounded


def test_published_problem_is_the_unweighted_one():
    """Equal deviations, no prior, no bounds: (20) as printed, solved by its normal equations."""
    ports = random_ports(3)
    rng = np.random.default_rng(0)
    encoder = ports.angle + rng.normal(size=6) * 0.01
    sensor = ports.sensor + rng.normal(size=6) * 0.01
    sensing = Sensing(ports, sensing_setup(ports, 1.0, 1.0))
    assert sensing.update(encoder, sensor) is Code.NONE
    rows = rows_of(ports)
    gap = np.concatenate([ports.angle - encoder, ports.sensor - sensor])
    gradient = rows.T @ (rows @ sensing.z + gap)
    assert np.abs(gradient).max() < 1e-10 * np.abs(rows.T @ gap).max()


def test_bounds_and_prior_against_cvxpy():
    ports = random_ports(4)
    rng = np.random.default_rng(1)
    setup = sensing_setup(
        ports,
        1e-3,
        1e-5,
        force_deviation=[2.0, 2.0, 2.0, 0.1, 0.1],
        torque_limit=0.004,
        force_limit=[1.0, 1.0, 1.0, 0.05, 0.05],
    )
    encoder = ports.angle + rng.normal(size=6) * 0.05
    sensor = ports.sensor + rng.normal(size=6) * 1e-4
    estimate = Sensing(ports, setup).estimate(encoder, sensor)
    assert estimate.bounded
    z = cvxpy.Variable(11)
    gap = np.concatenate([ports.angle - encoder, ports.sensor - sensor])
    weight = np.concatenate([np.full(6, 1e3), np.full(6, 1e5)])
    total = np.concatenate([ports.torque, ports.force]) + z
    objective = cvxpy.sum_squares(cvxpy.multiply(weight, rows_of(ports) @ z + gap))
    objective += cvxpy.sum_squares(total[6:] / setup.force_deviation)
    limit = np.concatenate([setup.torque_limit, setup.force_limit])
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [total <= limit, total >= -limit])
    problem.solve(solver=cvxpy.CLARABEL)
    found = np.concatenate([estimate.torque, estimate.wrench[:5]])
    np.testing.assert_allclose(found, total.value, atol=1e-5)
    assert np.all(np.abs(found) <= limit * (1.0 + 1e-9))


def test_covariances_are_those_of_the_sums():
    ports = random_ports(5)
    sensing = Sensing(ports, sensing_setup(ports, ENCODER, SENSOR, force_deviation=2.0))
    assert sensing.update(ports.angle, ports.sensor) is Code.NONE
    moves = ports.axes @ ports.compliance[6:11, :11]
    pushes = np.hstack([np.zeros((6, 6)), ports.axes])
    for rows, found in ((moves, sensing.pose_covariance), (pushes, sensing.wrench_covariance)):
        expected = rows @ sensing.covariance @ rows.T
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * expected.max())


def test_covariance_is_what_a_thousand_noisy_samples_show():
    device = SpringDevice()
    truth = device.held(ANGLE, HAND)
    setup = sensing_setup(truth, ENCODER, SENSOR)
    sensing = Sensing(device.held(np.zeros(6), np.zeros(5)), setup)
    rng = np.random.default_rng(2)
    forces, motions = [], []
    for _ in range(4000):
        estimate = sensing.estimate(
            truth.angle + ENCODER * rng.normal(size=6), truth.sensor + SENSOR * rng.normal(size=6)
        )
        forces.append(estimate.wrench - np.append(HAND, 0.0))
        turn = so3_log(estimate.pose[:3, :3] @ truth.pose[:3, :3].T)
        motions.append(np.concatenate([estimate.pose[:3, 3] - truth.pose[:3, 3], turn]))
    for samples, predicted in (
        (forces, sensing.wrench_covariance),
        (motions, sensing.pose_covariance),
    ):
        measured = np.cov(np.array(samples).T)[:5, :5]
        scale = np.sqrt(np.diag(predicted)[:5])
        np.testing.assert_allclose(
            measured / np.outer(scale, scale), predicted[:5, :5] / np.outer(scale, scale), atol=0.1
        )
    assert np.all(sensing.wrench_covariance[5] == 0.0)  # no torque about the handle, by assumption


def test_lost_sensors_widen_the_estimate_instead_of_breaking_it():
    device = SpringDevice()
    truth = device.held(ANGLE, HAND)
    prior = np.array([5.0, 5.0, 5.0, 0.3, 0.3])
    setup = sensing_setup(truth, ENCODER, SENSOR, force_deviation=prior)
    sensing = Sensing(device.held(np.zeros(6), np.zeros(5)), setup)
    broken = truth.sensor.copy()
    sensing.update(truth.angle, broken)
    everything = np.diag(sensing.wrench_covariance)[:5].copy()
    broken[[1, 4]] = np.nan
    sensing.use(np.ones(6, bool), np.isfinite(broken))
    assert sensing.update(truth.angle, broken) is Code.NONE
    assert np.all(np.diag(sensing.wrench_covariance)[:5] > everything)
    # Encoders only: no force information at all, so the estimate is the free device's pose.
    sensing.use(np.ones(6, bool), np.zeros(6, bool))
    estimate = sensing.estimate(truth.angle, np.full(6, np.nan))
    assert estimate.code is Code.NONE
    np.testing.assert_allclose(estimate.wrench, 0.0, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(estimate.wrench_covariance))[:5], prior, rtol=1e-3)
    np.testing.assert_allclose(estimate.pose, device.held(ANGLE, np.zeros(5)).pose, atol=1e-6)


def test_without_prior_too_few_sensors_are_reported():
    start = SpringDevice().held(np.zeros(6), np.zeros(5))
    sensing = Sensing(start, sensing_setup(start, ENCODER, SENSOR))
    sensing.use(np.ones(6, bool), np.array([True, True, True, True, False, False]))
    before = sensing.pose.copy()
    assert sensing.update(start.angle, start.sensor) is Code.NO_STATE
    np.testing.assert_array_equal(sensing.pose, before)


def test_observable_directions_count_the_working_sensors():
    device = SpringDevice()
    ports = device.held(np.zeros(6), np.zeros(5))
    setup = sensing_setup(ports, ENCODER, SENSOR)
    hand = np.array([1.0, 1.0, 1.0, 0.05, 0.05])
    assert observability(ports, setup, hand).rank == 5
    for lost, rank in ((1, 5), (2, 4), (3, 3), (6, 0)):
        sensors = np.arange(6) >= lost
        seen = observability(ports, setup, hand, sensors=sensors)
        assert seen.rank == rank
        assert seen.unseen.shape == (6, 5 - rank)
    # An unseen force changes no working sensor while the motors hold their encoders' angles.
    sensors = np.arange(6) >= 2
    unseen = observability(ports, setup, hand, sensors=sensors).unseen[:5, 0]
    pushed = device.held(np.zeros(6), unseen)
    assert np.abs(pushed.sensor[sensors]).max() < 1e-9 * np.abs(pushed.sensor).max()


def test_gain_is_the_ratio_of_deviations():
    device = SpringDevice()
    ports = device.held(np.zeros(6), np.zeros(5))
    hand = np.full(5, 0.1)
    setup = sensing_setup(ports, ENCODER, SENSOR, force_deviation=hand)
    sensing = Sensing(ports, setup)
    sensing.update(ports.angle, ports.sensor)
    after = np.linalg.eigvalsh(sensing.wrench_covariance[:5, :5])
    gain = observability(ports, setup, hand).gain
    np.testing.assert_allclose(np.sort(0.1 / np.sqrt(after)), np.sort(gain), rtol=1e-6)


class SofteningDevice:
    """A spring device whose ground stiffens: the force enters as sinh, so one step is not enough.

    Its W is symmetrised, hence not quite the tangent: the iteration has to correct that too.
    """

    def __init__(self):
        self.linear = SpringDevice()
        self.calls = 0

    def held(self, angle, force, guess=None):
        self.calls += 1
        base = self.linear.held(angle, np.sinh(force))
        slope = np.ones(17)
        slope[6:11] = np.cosh(force)
        na = 6
        # dx/dF and ds/dF gain cosh(F): compliance of the held device, then motors freed.
        stiffness = self.linear.k[:na, :na] - self.linear.k[:na, na:] @ np.linalg.solve(
            self.linear.k[na:, na:], self.linear.k[na:, :na]
        )
        free = self.linear.w
        jac = free[na:, :na] @ np.linalg.inv(free[:na, :na])
        heldw = (free[na:, na:] - jac @ free[:na, na:]) * slope[None, na:] * 0.5
        heldw = heldw + heldw.T
        waa = np.linalg.inv(stiffness)
        wra = jac @ waa
        w = np.block([[waa, wra.T], [wra, heldw + wra @ jac.T]])
        return condensed_ports(
            w, base.angle, base.torque, base.pose, base.axes, force, base.sensor
        )


def test_full_model_converges_where_one_linearisation_does_not():
    device = SofteningDevice()
    hand = np.array([0.9, -0.7, 0.6, 0.3, -0.4])
    truth = device.held(ANGLE, hand)
    sensing = sensing_at_rest(device)
    once = sensing.estimate(truth.angle, truth.sensor)
    assert np.abs(once.wrench[:5] - hand).max() > 0.02
    estimate = sense_with_model(device, sensing, truth.angle, truth.sensor, iterations=20)
    assert estimate.code is Code.NONE
    np.testing.assert_allclose(estimate.wrench[:5], hand, atol=1e-2 * 0.3)
    np.testing.assert_allclose(estimate.pose, truth.pose, atol=1e-5)
    # At loop rate: one iteration per sample follows a moving hand.
    for phase in np.linspace(0.0, 1.0, 200):
        force = hand * (1.0 - phase)
        sample = device.held(ANGLE, force)
        estimate = sense_with_model(device, sensing, sample.angle, sample.sensor, iterations=1)
        assert np.abs(estimate.wrench[:5] - force).max() < 5e-3


def test_model_failure_is_an_outcome():
    class Broken:
        def held(self, angle, force, guess):
            return None

    device = SpringDevice()
    sensing = sensing_at_rest(device)
    truth = device.held(ANGLE, HAND)
    estimate = sense_with_model(Broken(), sensing, truth.angle, truth.sensor)
    assert estimate.code is Code.NOT_CONVERGED


def test_a_new_linearisation_starts_without_a_change():
    device = SpringDevice()
    truth = device.held(ANGLE, HAND)
    sensing = sensing_at_rest(device)
    sensing.update(truth.angle, truth.sensor)
    sensing.linearise(truth)
    np.testing.assert_array_equal(sensing.force(), truth.force)  # not twice
    np.testing.assert_array_equal(sensing.angle(), truth.angle)


def test_bounds_that_contradict_leave_the_last_estimate():
    device = SpringDevice()
    truth = device.held(ANGLE, HAND)
    sensing = sensing_at_rest(device)
    sensing.update(truth.angle, truth.sensor)
    before = sensing.z.copy()
    sensing.arrays.low[:], sensing.arrays.high[:] = 1.0, -1.0
    assert sensing.update(0.5 * truth.angle, truth.sensor) is Code.UNREACHABLE
    np.testing.assert_array_equal(sensing.z, before)


def test_bad_input():
    ports = random_ports(0)
    with pytest.raises(InvalidInput, match='sensor_deviation'):
        sensing_setup(ports, 1e-4, [1.0, 2.0])
    with pytest.raises(InvalidInput, match='encoder_deviation'):
        sensing_setup(ports, 0.0, 1e-6)
    sensing = Sensing(ports, sensing_setup(ports, 1e-4, 1e-6))
    with pytest.raises(InvalidInput, match='encoder'):
        sensing.estimate(np.zeros(5), np.zeros(6))
    assert sensing.estimate(np.full(6, np.nan), np.zeros(6)).code is Code.NOT_FINITE
    with pytest.raises(InvalidInput, match='ports'):
        sensing.linearise(random_ports(0, ns=4))
    with pytest.raises(InvalidInput, match='use'):
        sensing.use(np.ones(6, bool), np.ones(5, bool))
