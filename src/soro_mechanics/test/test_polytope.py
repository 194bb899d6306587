# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Isotropic effort against brute-force linear programs and against cases done by hand."""

import numpy as np
import pytest
from scipy.optimize import linprog

from soro_mechanics.analysis.condensed_ports import condensed_ports
from soro_mechanics.analysis.polytope import FORCE, isotropic_effort, MotorLimits, TORQUE
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_rigs.motor_limits import symmetric_limits
from soro_studies.haptics.holding import disc_grid, holding_torque, within_limits
from soro_studies.mechanics.linear_device import random_ports, SpringDevice


def effort_program(ports, limits, directions, normal=None, ray=None, offset=None, sense='strong'):
    """Solve (9) itself as a linear program over (d_lambda_a, d_lambda_e): no elimination.

    With `normal`: the largest effort along it (support function). With `ray`: the largest multiple
    of it that is feasible. Both with zero effort in all other directions, in the strong sense.
    """
    na, ne, _ = ports.sizes
    offset = np.zeros(ne) if offset is None else offset
    directions = list(directions)
    others = [i for i in range(ne) if i not in directions and sense == 'strong']
    # unknowns: d_lambda_a (na), d_lambda_e (ne), t
    equal = [np.hstack([ports.ea, ports.ee, np.zeros((ne, 1))])]
    right = [-offset]
    pick = np.hstack([np.zeros((ne, na)), -np.eye(ne), np.zeros((ne, 1))])  # effort + lambda_e0
    equal.append(pick[others])
    right.append(ports.force[others])
    cost = np.zeros(na + ne + 1)
    if ray is not None:
        along = pick[directions]
        along[:, -1] = -ray
        equal.append(along)
        right.append(ports.force[directions])
        cost[-1] = -1.0
    else:
        cost[: na + ne] = -(normal @ pick[directions])[: na + ne]
        equal.append(np.eye(na + ne + 1)[-1:])
        right.append([0.0])
    motion = np.hstack([ports.aa, ports.ae, np.zeros((na, 1))])
    torque = np.hstack([np.eye(na), np.zeros((na, ne + 1))])
    rows = np.vstack([motion, -motion, torque, -torque])
    bounds = np.concatenate(
        [
            limits.angle_maximum - ports.angle,
            ports.angle - limits.angle_minimum,
            limits.torque_maximum - ports.torque,
            ports.torque - limits.torque_minimum,
        ]
    )
    keep = np.isfinite(bounds)
    answer = linprog(
        cost,
        A_ub=rows[keep],
        b_ub=bounds[keep],
        A_eq=np.vstack(equal),
        b_eq=np.concatenate(right),
        bounds=(None, None),
    )
    assert answer.status == 0, answer.message
    constant = 0.0 if ray is not None else float(-normal @ ports.force[directions])
    return -answer.fun + constant


LIMITS = {
    'angles': symmetric_limits(np.full(6, 1.0), None),
    'torques': MotorLimits(
        np.full(6, -0.04), np.full(6, 0.04), np.full(6, -np.inf), np.full(6, np.inf)
    ),
    'both': symmetric_limits(np.full(6, 0.6), 0.04),
    'uneven': MotorLimits(
        np.linspace(-0.05, -0.02, 6), np.full(6, 0.03), np.full(6, -0.4), np.linspace(0.3, 0.8, 6)
    ),
}


@pytest.mark.parametrize('limits', LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize('directions', [FORCE, TORQUE, (0, 1, 2, 3, 4), (2,)])
def test_against_linear_programs(limits, directions):
    rng = np.random.default_rng(11)
    for seed in (0, 1, 2):
        ports = random_ports(seed)
        result = isotropic_effort(ports, limits, directions)
        assert result.code is Code.NONE
        assert result.radius > 0.0
        # The support function is never below the radius, and equals it at the weakest direction.
        tightest = effort_program(ports, limits, directions, normal=result.direction)
        assert tightest == pytest.approx(result.radius, rel=1e-6)
        for _ in range(12):
            normal = rng.normal(size=len(directions))
            normal /= np.linalg.norm(normal)
            least = result.radius * (1.0 - 1e-6)
            assert effort_program(ports, limits, directions, normal=normal) >= least
            assert effort_program(ports, limits, directions, ray=normal) >= least
        # The weakest direction reached as a ray: the ball touches the facet there.
        ray = effort_program(ports, limits, directions, ray=result.direction)
        assert ray == pytest.approx(result.radius, rel=1e-6)


@pytest.mark.parametrize('limits', LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize('directions', [FORCE, TORQUE, (2,)])
def test_the_weak_sense_against_linear_programs(limits, directions):
    rng = np.random.default_rng(12)
    for seed in (0, 1):
        ports = random_ports(seed)
        strong = isotropic_effort(ports, limits, directions)
        weak = isotropic_effort(ports, limits, directions, sense='weak')
        assert weak.code is Code.NONE
        assert weak.radius >= strong.radius * (1.0 - 1e-9)
        for way in ('normal', 'ray'):
            worst = effort_program(
                ports, limits, directions, sense='weak', **{way: weak.direction}
            )
            assert worst == pytest.approx(weak.radius, rel=1e-6)
        for _ in range(6):
            ray = rng.normal(size=len(directions))
            ray /= np.linalg.norm(ray)
            reached = effort_program(ports, limits, directions, ray=ray, sense='weak')
            assert reached >= weak.radius * (1.0 - 1e-6)
            alone = effort_program(ports, limits, directions, ray=ray)
            assert reached >= alone * (1.0 - 1e-9)


def test_with_every_direction_chosen_both_senses_are_one():
    ports, limits = random_ports(3), LIMITS['both']
    strong = isotropic_effort(ports, limits, range(5))
    assert isotropic_effort(ports, limits, range(5), sense='weak').radius == strong.radius
    with pytest.raises(InvalidInput, match='strong or weak'):
        isotropic_effort(ports, limits, FORCE, sense='both')


def test_offset_and_initial_force_are_part_of_the_constants():
    ports = random_ports(5)
    force = np.array([0.05, -0.1, 0.08, 0.0, 0.001])
    loaded = condensed_ports(
        ports.compliance, ports.angle, ports.torque, ports.pose, ports.axes, force, ports.sensor
    )
    offset = np.array([1e-4, 0.0, -2e-4, 1e-3, 0.0])
    result = isotropic_effort(loaded, LIMITS['both'], FORCE, offset=offset)
    exact = effort_program(loaded, LIMITS['both'], FORCE, normal=result.direction, offset=offset)
    assert exact == pytest.approx(result.radius, rel=1e-6)


def test_two_motors_on_one_spring_by_hand():
    """One effector direction on a spring k, driven by one motor of lever d through it.

    Held effector: motor torque tau moves the motor by tau / (k d^2) and presses with tau / d.
    """
    k, d, ground = 200.0, 0.02, 50.0
    stiffness = np.array([[k * d * d, -k * d], [-k * d, k + ground]])
    w = np.linalg.inv(stiffness)
    ports = condensed_ports(w, [0.0], [0.0], np.eye(4), np.eye(6)[:, :1], [0.0], [])
    limit = MotorLimits(*(np.array([v]) for v in (-0.03, 0.05, -10.0, 10.0)))
    assert isotropic_effort(ports, limit, [0]).radius == pytest.approx(0.03 / d)
    limit = MotorLimits(*(np.array([v]) for v in (-np.inf, np.inf, -0.2, 0.3)))
    assert isotropic_effort(ports, limit, [0]).radius == pytest.approx(k * d * 0.2)


def test_stiffer_device_gives_more_force_unless_torque_is_short():
    """Scaling E scales W by 1/E: with angle limits only, force scales with E (paper, Fig. 4)."""
    ports = random_ports(7)
    rest = condensed_ports(
        ports.compliance, np.zeros(6), np.zeros(6), np.eye(4), ports.axes, np.zeros(5), np.zeros(6)
    )
    soft = condensed_ports(
        5.0 * ports.compliance,
        np.zeros(6),
        np.zeros(6),
        np.eye(4),
        ports.axes,
        np.zeros(5),
        np.zeros(6),
    )
    free = LIMITS['angles']
    stiff_force = isotropic_effort(rest, free, FORCE).radius
    assert stiff_force == pytest.approx(5.0 * isotropic_effort(soft, free, FORCE).radius, rel=1e-6)
    torque = LIMITS['torques']
    assert isotropic_effort(rest, torque, FORCE).radius == pytest.approx(
        isotropic_effort(soft, torque, FORCE).radius, rel=1e-6
    )


def test_no_margin_and_no_solution_are_told_apart():
    ports = random_ports(1)
    narrow = MotorLimits(
        ports.torque + 0.001, ports.torque + 0.002, np.full(6, -np.inf), np.full(6, np.inf)
    )
    assert isotropic_effort(ports, narrow, FORCE).radius == 0.0
    assert isotropic_effort(ports, narrow, FORCE).code in (Code.AT_LIMIT, Code.UNREACHABLE)
    crossed = MotorLimits(
        np.full(6, -0.01), np.full(6, 0.01), ports.angle + 5.0, ports.angle + 6.0
    )
    assert isotropic_effort(ports, crossed, FORCE).code is Code.UNREACHABLE
    point = MotorLimits(ports.torque, ports.torque, ports.angle - 1.0, ports.angle + 1.0)
    flat = isotropic_effort(ports, point, FORCE)
    assert flat.radius == 0.0
    assert flat.code is Code.AT_LIMIT


def test_bad_input_is_named():
    ports = random_ports(0)
    with pytest.raises(InvalidInput, match='directions'):
        isotropic_effort(ports, LIMITS['both'], (0, 5))
    with pytest.raises(InvalidInput, match='directions'):
        isotropic_effort(ports, LIMITS['both'], ())
    with pytest.raises(InvalidInput, match='bounds every motor'):
        isotropic_effort(ports, symmetric_limits(np.full(6, np.inf), None), FORCE)
    with pytest.raises(InvalidInput, match='torque_minimum'):
        isotropic_effort(ports, symmetric_limits(np.full(5, 1.0), None), FORCE)
    bad = symmetric_limits(np.full(6, np.nan), 0.1)
    with pytest.raises(InvalidInput, match='angle_minimum'):
        isotropic_effort(ports, bad, FORCE)


def test_a_state_on_a_limit_is_within_it():
    ports = random_ports(2)
    wide = np.full(len(ports.angle), np.inf)
    for beyond, held in ((0.0, True), (1e-15, True), (1e-6, False)):
        stop = ports.angle - beyond
        assert within_limits(ports, MotorLimits(-wide, wide, -wide, stop)) is held
        assert within_limits(ports, MotorLimits(-wide, ports.torque - beyond, -wide, wide)) is held


def test_a_pose_counts_as_held_where_another_pattern_of_the_motors_is_within_the_limits():
    """A pattern that moves the motors only is known, so how far it helps is known too."""
    device, none = SpringDevice(), np.zeros(5)
    torque = 1e-3 * np.array([1.0, -2.0, 0.5, 1.5, -1.0, 2.0])
    pattern = np.linalg.svd(device.state(torque, none).ea)[2][-1]
    shares = np.linspace(-0.05, 0.05, 200001)
    least = np.abs(torque + shares[:, None] * pattern).max(axis=1).min()
    ports = device.state(torque + 0.02 * pattern, none)
    np.testing.assert_allclose(ports.pose, device.state(torque, none).pose, atol=1e-12)
    far = np.full(6, np.inf)
    for share, held in ((1.01, True), (0.99, False)):
        limits = symmetric_limits(far, share * least)
        assert not within_limits(ports, limits)
        found = holding_torque(ports, limits)
        assert (found is not None) is held
        if found is not None:
            radius = isotropic_effort(ports, limits, FORCE).radius
            assert np.abs(found).max() <= share * least * (1.0 + 1e-6)
            np.testing.assert_allclose(ports.ea @ (found - ports.torque), 0.0, atol=1e-12)
            wanted = isotropic_effort(device.state(torque, none), limits, FORCE).radius
            assert radius == pytest.approx(wanted, rel=1e-6)
    # The nearest way, and none where the state is within the limits as it is.
    roomy = symmetric_limits(far, 0.1)
    np.testing.assert_array_equal(holding_torque(ports, roomy), ports.torque)
    # The pattern turns the motors: their range limits it too.
    turned = np.abs(ports.aa @ (0.01 * pattern)).max()
    assert holding_torque(ports, symmetric_limits(np.full(6, turned), None)) is not None


def test_as_many_motors_as_motions_hold_a_pose_in_one_way():
    ports = random_ports(4, na=5)
    limits = symmetric_limits(np.full(5, np.inf), 0.9 * np.abs(ports.torque).max())
    assert holding_torque(ports, limits) is None


def test_disc_grid():
    grid = disc_grid(0.04, 0.01)
    assert len(grid) == 49  # lattice points with x^2 + y^2 <= 16
    assert np.hypot(*grid.T).max() == pytest.approx(0.04)


def test_ports_refuse_what_is_not_a_stable_device():
    ports = random_ports(0)
    w = ports.compliance.copy()
    w[0, 7] += 5.0
    rest = (ports.angle, ports.torque, ports.pose, ports.axes, ports.force, ports.sensor)
    with pytest.raises(InvalidInput, match='symmetric'):
        condensed_ports(w, *rest)
    w = ports.compliance - 2.0 * np.diag(np.diag(ports.compliance))
    with pytest.raises(InvalidInput, match='positive definite'):
        condensed_ports(w, *rest)
    with pytest.raises(InvalidInput, match='axes'):
        condensed_ports(ports.compliance, *rest[:3], 2.0 * ports.axes, *rest[4:])
