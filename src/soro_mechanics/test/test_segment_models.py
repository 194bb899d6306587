# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the four STIFF-FLOP models against finite differences, each other and invariants."""

from dataclasses import replace
import re

import numpy as np
import pytest

from soro_mechanics import Code, InvalidInput, Load, load_robot, LoadAxes, Stability
from soro_mechanics.core.status import Warnings
from soro_mechanics.models.segments.rod_kernels import without_conjugate_point
from soro_mechanics.models.segments.schema import Compensation
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import robot_files
from soro_rigs.compensation import with_compensation

MODELS = ('ncm', 'npcc', 'lcm', 'lpcc')
TIP_WRENCH = np.array([0.12, -0.2, 0.08, 1e-3, -2e-3, 1.5e-3])
SIZE = np.repeat([1.0, 0.04], 3)  # makes translations and rotations of this robot comparable


def test_a_stiff_part_leaves_the_soft_one_as_exact_as_alone():
    whole = load_robot('stiff_flop_two_segment', 'ncm').description
    chain = whole.structure['segments']
    first, second = chain.segments
    stiff = replace(first, bending_stiffness=1e4, axial_stiffness=1e9)
    tips = []
    for segments in ((stiff, second), (second,)):
        part = replace(chain, segments=segments)
        robot = Robot(replace(whole, structure={'segments': part}), 'ncm')
        robot.gravity = [3.0, 2.0, 9.81]
        q = robot.forward([0, 0, 0, 5e4, 1e4, 0], [0.02, 0.01, 0.03, 0, 0, 0])
        assert q.status.code is Code.NONE
        tips.append(q.tip)
    base = tips[0][:3, 3] - tips[1][:3, 3]
    np.testing.assert_allclose(base, [0, 0, first.length + first.link], atol=1e-6)


@pytest.mark.parametrize('elements', [2, 3])
def test_few_elements_still_give_rotations(elements):
    description = load_robot('stiff_flop', 'ncm').description
    chain = replace(description.structure['segments'], elements=elements)
    robot = Robot(replace(description, structure={'segments': chain}), 'ncm')
    if elements == 2:
        beyond = robot.forward([3e5, 0.0, 0.0])
        assert beyond.status.code is Code.NOT_CONVERGED and 'elements' in beyond.status.message
    q = robot.forward([1.5e5, 0.0, 0.0])
    turn = q.tip[:3, :3]
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)
    assert np.isfinite(robot.compliance(q, method='midpoint')).all()
    robot.inverse(q.tip, multistart=False)


def tip_twist(a, b):
    """Tip twist from b to a, base axes, linear first."""
    turn = lie.so3_log(polish(a.tip[:3, :3] @ b.tip[:3, :3].T))
    return np.concatenate([a.tip[:3, 3] - b.tip[:3, 3], turn])


def polish(rotation):
    u, _, v = np.linalg.svd(rotation)
    return u @ v


def central(solve, steps):
    columns = [tip_twist(solve(h), solve(-h)) / (2.0 * np.linalg.norm(h)) for h in steps]
    return np.array(columns).T


def relative(a, b, left=SIZE, right=1.0):
    a, b = a * left[:, None] * right, b * left[:, None] * right
    return np.abs(a - b).max() / np.abs(b).max()


def with_rule(name, **choice):
    description = load_robot(name).description
    return Robot(with_compensation(description, Compensation(**choice)), 'ncm')


def pressures(name, size=0.8e5):
    count = 6 if 'two' in name else 3
    return size * np.array([1.0, 0.35, 0.1, 0.2, 0.6, 0.15])[:count]


@pytest.mark.parametrize('model', MODELS)
@pytest.mark.parametrize('name', ['stiff_flop', 'stiff_flop_two_segment'])
@pytest.mark.parametrize('gravity', [[0, 0, -9.81], [0, -9.81, 0]])
def test_jacobian_and_tangent_are_the_central_differences(name, model, gravity):
    robot = load_robot(name, model)
    robot.gravity = gravity
    actuation = pressures(name)
    wrench = TIP_WRENCH * (0.2 if 'two' in name else 1.0)
    loads = (
        Load(np.array([0.05, 0.02, -0.03, 1e-4, 0.0, 2e-4]), 'segment_1', 0.0173, LoadAxes.LOCAL),
        Load(np.array([0.0, 0.01, -0.02, 1e-4, 0.0, 2e-4]), '', 0.0, LoadAxes.LOCAL),
    )
    q = robot.forward(actuation, wrench, loads=loads)
    assert q.status.code is Code.NONE
    jacobian = central(
        lambda h: robot.forward(actuation + h, wrench, loads=loads), 20.0 * np.eye(len(actuation))
    )
    assert relative(robot.jacobian(q), jacobian) < 1e-5
    steps = np.diag(np.repeat([1e-4, 4e-6], 3))
    compliance = central(lambda h: robot.forward(actuation, wrench + h, loads=loads), steps)
    assert relative(robot.compliance(q), compliance, right=SIZE) < 1e-5


@pytest.mark.parametrize(
    'rule',
    [
        {'rule': 'published', 'increments': 6},
        {'rule': 'published', 'increments': 0, 'threshold': 0.15e5},
        {'rule': 'exact', 'increments': 0, 'threshold': 0.4e5},
        {'rule': 'exact', 'increments': 3},
        {'rule': 'converged', 'increments': 2},
    ],
)
def test_jacobian_goes_through_every_increment(rule):
    robot = with_rule('stiff_flop', **rule)
    actuation = np.array([0.9e5, 0.2e5, 0.4e5])
    q = robot.forward(actuation, TIP_WRENCH)
    jacobian = central(lambda h: robot.forward(actuation + h, TIP_WRENCH), 20.0 * np.eye(3))
    assert relative(robot.jacobian(q), jacobian) < 1e-5


@pytest.mark.parametrize(('rule', 'increments'), [('exact', 1), ('published', 6)])
def test_sections_of_few_elements_under_weight_vary_as_their_differences(rule, increments):
    """The stretch changes within a step of the integration: each stage has its own."""
    description = load_robot('stiff_flop').description
    chain = description.structure['segments']
    choice = Compensation(rule, increments, weight='ramped')
    chain = replace(chain, elements=4, tip_mass=0.2, compensation=choice)
    model = Robot(replace(description, structure={'segments': chain}), 'ncm').model_object
    actuation, gravity = pressures('stiff_flop'), np.array([0.0, -9.81, 0.0])

    def ramp(change, parameters=0):
        return model._ramp(model._plain, actuation + change, gravity, parameters, None)

    found = ramp(0.0, 3).d_record
    for k, h in enumerate(20.0 * np.eye(3)):
        slope = (ramp(h).record - ramp(-h).record) / 40.0
        wrong = np.abs(found[..., k] - slope).max(axis=(0, 1))
        assert (wrong <= 1e-6 * np.abs(slope).max(axis=(0, 1)) + 1e-18).all()


@pytest.mark.parametrize('model', MODELS)
def test_compliance_along_is_the_answer_at_the_station(model):
    robot = load_robot('stiff_flop', model)
    actuation = pressures('stiff_flop')
    q = robot.forward(actuation, TIP_WRENCH)
    along = robot.compliance_along(q)[0]
    np.testing.assert_allclose(along[-1], robot.compliance(q), rtol=1e-7, atol=1e-12)
    assert np.abs(along[0]).max() < 1e-12
    for k in (11, 25, 40):
        place = q.arc_lengths[0][k]

        def push(h, place=place, k=k):
            loads = (Load(h, 'segment_1', place),)
            return robot.forward(actuation, TIP_WRENCH, loads=loads).backbones[0][k]

        steps = np.diag(np.repeat([1e-4, 4e-6], 3))
        answer = np.empty((6, 6))
        for c, h in enumerate(steps):
            a, b = push(h), push(-h)
            turn = lie.so3_log(polish(a[:3, :3] @ b[:3, :3].T))
            answer[:, c] = np.concatenate([a[:3, 3] - b[:3, 3], turn]) / (2 * h.max())
        assert relative(along[k], answer, right=SIZE) < 1e-5


@pytest.mark.parametrize('model', MODELS)
def test_integral_is_the_tangent_where_nothing_loads(model):
    robot = load_robot('stiff_flop', model)
    robot.gravity = [0, 0, 0]
    q = robot.forward([1.0e5, 0.4e5, 0.0])
    tangent, integral = robot.compliance(q), robot.compliance(q, method='integral')
    assert relative(tangent, integral, right=SIZE) < 1e-7
    robot.gravity = [0, 0, -9.81]
    q = robot.forward([1.0e5, 0.4e5, 0.0])
    assert relative(robot.compliance(q), robot.compliance(q, method='integral'), right=SIZE) > 0.01


@pytest.mark.parametrize('name', ['stiff_flop', 'stiff_flop_two_segment'])
@pytest.mark.parametrize('model', MODELS)
@pytest.mark.parametrize('rule', ['midpoint', 'trapezoid'])
def test_published_sums_approach_the_integral_at_second_order(name, rule, model):
    description = load_robot(name).description
    gaps = []
    for elements in (20, 40):
        chain = replace(description.structure['segments'], elements=elements)
        structure = {'segments': chain}
        robot = Robot(replace(description, structure=structure), model)
        q = robot.forward(pressures(name))
        integral = robot.compliance(q, method='integral')
        gaps.append(relative(robot.compliance(q, method=rule), integral, right=SIZE))
        for along, by_tip in zip(
            robot.compliance_along(q, method=rule),
            robot.compliance_along(q, method='integral'),
            strict=True,
        ):
            assert relative(along[-1], by_tip[-1], right=SIZE) < 4e-3
    assert gaps[1] < 1e-3
    assert gaps[0] / gaps[1] == pytest.approx(4.0, rel=0.05)


def test_tip_moment_makes_exactly_the_stated_asymmetry():
    robot = load_robot('stiff_flop')
    actuation = pressures('stiff_flop')
    force_only = robot.forward(actuation, [0.2, -0.1, 0.1, 0, 0, 0])
    stiffness = np.linalg.inv(robot.compliance(force_only))
    assert np.abs(stiffness - stiffness.T).max() < 1e-6 * np.abs(stiffness).max()
    q = robot.forward(actuation, TIP_WRENCH)
    stiffness = np.linalg.inv(robot.compliance(q))
    skew = np.zeros((6, 6))
    skew[3:, 3:] = -lie.hat3(TIP_WRENCH[3:])
    np.testing.assert_allclose(
        stiffness - stiffness.T, skew, atol=1e-6 * np.abs(stiffness).max() * 0.04
    )


def test_maxwell_betti_between_two_points():
    robot = load_robot('stiff_flop')
    actuation, place = pressures('stiff_flop'), 0.024
    a, b = np.array([1.0, 0.3, -0.2]), np.array([-0.4, 1.0, 0.5])

    def solve(at_place, at_tip):
        loads = (Load(np.r_[at_place, 0, 0, 0], 'segment_1', place),)
        return robot.forward(actuation, [*at_tip, 0, 0, 0], loads=loads)

    h, zero = 1e-4, np.zeros(3)
    node = int(np.abs(solve(zero, zero).arc_lengths[0] - place).argmin())
    there = (solve(h * a, zero).tip - solve(-h * a, zero).tip)[:3, 3] @ b
    moved = solve(zero, h * b).backbones[0][node] - solve(zero, -h * b).backbones[0][node]
    assert there == pytest.approx(moved[:3, 3] @ a, rel=1e-5)


def test_four_models_meet_at_small_pressure():
    bend = {}
    for size in (0.02e5, 0.04e5):
        tips = [load_robot('stiff_flop', m).forward([size, 0.0, 0.3 * size]).tip for m in MODELS]
        bend[size] = max(np.abs(t - tips[0])[:3, 3].max() for t in tips)
    assert bend[0.02e5] < 2e-5
    # The difference falls faster than the pressure: the models agree to first order.
    assert bend[0.02e5] < 0.6 * bend[0.04e5]


def test_published_increments_converge_to_the_exact_rule():
    actuation = [1.2e5, 0.0, 0.6e5]
    limit = with_rule('stiff_flop', increments=12).forward(actuation).tip[:3, 3]
    gaps = [
        np.linalg.norm(
            with_rule('stiff_flop', rule='published', increments=n).forward(actuation).tip[:3, 3]
            - limit
        )
        for n in (25, 50, 100)
    ]
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.1)
    assert gaps[1] / gaps[2] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize('name', ['stiff_flop', 'stiff_flop_two_segment'])
def test_default_increments_are_converged(name):
    chosen, fine = load_robot(name), with_rule(name, increments=24)
    for size in (0.6e5, 1.2e5):
        for pattern in ([1, 0, 0, 1, 0, 0], [0, 1, 1, 1, 0, 1], [1, 1, 1, 0, 1, 0]):
            actuation = size * np.array(pattern[: len(chosen.actuators)], dtype=float)
            for gravity in ([0, 0, -9.81], [9.81, 0, 0]):
                chosen.gravity = fine.gravity = gravity
                a, b = chosen.forward(actuation), fine.forward(actuation)
                length = np.linalg.norm(b.tip[:3, 3])
                assert a.status.converged and b.status.converged
                assert np.linalg.norm((a.tip - b.tip)[:3, 3]) < 1e-4 * length


@pytest.mark.parametrize('model', MODELS)
def test_turning_pressures_by_a_third_turns_the_robot(model):
    robot = load_robot('stiff_flop', model)
    turn = lie.so3_exp([0, 0, 2 * np.pi / 3])
    a = robot.forward([0.9e5, 0.2e5, 0.5e5], [0.1, 0.05, 0.0, 0, 0, 1e-3])
    wrench = np.concatenate([turn @ [0.1, 0.05, 0.0], [0, 0, 1e-3]])
    b = robot.forward([0.5e5, 0.9e5, 0.2e5], wrench)
    np.testing.assert_allclose(b.tip[:3, 3], turn @ a.tip[:3, 3], atol=1e-10)
    np.testing.assert_allclose(b.tip[:3, :3] @ turn, turn @ a.tip[:3, :3], atol=1e-9)


def test_pure_elongation_follows_the_closed_form():
    robot = load_robot('stiff_flop')
    robot.gravity = [0, 0, 0]
    segment = robot.description.structure['segments'].segments[0]
    force = sum(c.area for c in segment.chambers) * 1.0e5
    stretch = 1.0 / (1.0 - force / segment.axial_stiffness)
    assert robot.forward([1e5] * 3).tip[2, 3] == pytest.approx(segment.length * stretch, rel=1e-12)
    linear = robot.with_model('lcm').forward([1e5] * 3).tip[2, 3]
    assert linear == pytest.approx(segment.length * (1 + force / segment.axial_stiffness))


def test_pressing_one_pair_bends_away_from_it():
    q = load_robot('stiff_flop').forward([1e5, 0, 0])
    assert q.tip[0, 3] < -0.01 and abs(q.tip[1, 3]) < 1e-12


def test_upside_down_pulls_and_upright_pushes():
    robot = load_robot('stiff_flop')
    bends = []
    for g in (-9.81, 0.0, 9.81):
        robot.gravity = [0, 0, g]
        bends.append(np.arccos(robot.forward([1.2e5, 0, 0]).tip[2, 2]))
    assert bends[0] > bends[1] > bends[2]


def test_rotations_stay_orthonormal():
    q = load_robot('stiff_flop').forward([1.5e5, 1.0e5, 0.0])
    raw = q.state.nodes[:, 3:12].reshape(-1, 3, 3)
    assert np.abs(raw.transpose(0, 2, 1) @ raw - np.eye(3)).max() < 1e-7
    for pose in q.backbones[0]:
        assert np.abs(pose[:3, :3].T @ pose[:3, :3] - np.eye(3)).max() < 1e-13


def test_a_warm_start_changes_the_work_and_not_the_answer():
    robot = load_robot('stiff_flop_two_segment')
    cold = robot.forward(pressures('stiff_flop_two_segment'), 0.2 * TIP_WRENCH)
    near = robot.forward(0.97 * cold.actuation, 0.18 * TIP_WRENCH)
    warm = robot.forward(cold.actuation, 0.2 * TIP_WRENCH, guess=near)
    assert warm.status.iterations < cold.status.iterations
    np.testing.assert_allclose(warm.tip, cold.tip, atol=1e-9)


@pytest.mark.parametrize('model', MODELS)
def test_what_is_stretched_beyond_its_law_says_so(model):
    robot = load_robot('stiff_flop', model)
    assert robot.forward(robot.limits[:, 1]).status.message == ''  # its own range is inside
    far = robot.forward([8e5 if model[0] == 'l' else 2e5] * 3)
    drawn = far.backbones[0][-1, 2, 3] / far.arc_lengths[0][-1]
    assert far.status.warnings is Warnings.OUTSIDE_THEORY
    assert float(re.search('stretched to ([0-9.]+)', far.status.message)[1]) == pytest.approx(
        drawn, rel=0.02
    )
    pressed = robot.forward([0.0] * 3, [0.0, 0.0, -20.0, 0.0, 0.0, 0.0])
    assert 'outside the theory: segment_1 is stretched to 0.' in pressed.status.message


def test_a_branch_is_followed_down_to_no_load_at_all():
    # Upright under equal pressures, above what its own weight lets stand: it leans to a side.
    robot = load_robot('stiff_flop_two_segment')
    robot.gravity = [0.0, 0.0, -9.81]
    actuation = np.full(6, 0.8e5)
    q = None
    for push in (1e-2, 1e-3, 1e-5, 1e-8, 0.0):
        q = robot.forward(actuation, [push, 0.0, 0.0, 0.0, 0.0, 0.0], guess=q)
        assert q.status.stability is Stability.STABLE, push
    # An independent shooting with 1e-8 N gives (6.71, 0, 8.82) cm.
    np.testing.assert_allclose(q.tip[:3, 3], [0.0671, 0.0, 0.0882], atol=5e-5)
    cold = robot.forward(actuation)
    assert cold.status.stability is Stability.UNSTABLE
    assert np.linalg.norm(cold.tip[:2, 3]) < 1e-6
    # A guess is only a start: from a straight posture the straight one is found, loaded or not.
    assert robot.forward(actuation, guess=cold).status.stability is Stability.UNSTABLE


@pytest.mark.parametrize('model', ['ncm', 'npcc'])
def test_what_is_not_solved_holds_no_numbers(model):
    robot = load_robot('stiff_flop', model)
    for actuation, wrench, says in (
        ([9e5, 9e5, 9e5], None, 'pressure'),
        ([1e5, 0, 0], [0, 0, -300.0, 0, 0, 0], 'loads'),
    ):
        q = robot.forward(actuation, wrench)
        assert q.status.code is Code.NOT_CONVERGED and not q.status.converged
        assert says in q.status.message
        assert np.all(np.isnan(q.tip[:3, 3])) and np.all(np.isnan(robot.jacobian(q)))
        for method in ('tangent', 'integral'):
            assert np.all(np.isnan(robot.compliance(q, method=method)))
            assert np.all(np.isnan(robot.compliance_along(q, method=method)[0]))
        # and it does no harm as a guess
        after = robot.forward([0.9e5, 0, 0], guess=q)
        np.testing.assert_allclose(after.tip, robot.forward([0.9e5, 0, 0]).tip, atol=1e-9)


def test_a_column_under_its_critical_load_is_stable_and_over_it_is_not():
    robot = load_robot('stiff_flop')
    robot.gravity = [0, 0, 0]
    segment = robot.description.structure['segments'].segments[0]
    euler = np.pi**2 * segment.bending_stiffness / (4 * segment.length**2)
    # shear lowers Euler's load (Engesser), compression raises it a little
    below = robot.forward([0, 0, 0], [0, 0, -0.6 * euler, 0, 0, 0])
    beyond = robot.forward([0, 0, 0], [0, 0, -1.6 * euler, 0, 0, 0])
    assert below.status.stability is Stability.STABLE
    assert beyond.status.code is Code.UNSTABLE
    assert beyond.status.smallest_eigenvalue < 0.0 < below.status.smallest_eigenvalue


def test_loads_that_do_not_fit_are_refused():
    robot = load_robot('stiff_flop_two_segment')
    zero, unit = np.zeros(6), np.array([0.01, 0, 0, 0, 0, 0])
    with pytest.raises(InvalidInput, match='segment_1_link'):
        robot.forward(zero, loads=(Load(unit, 'segment_3'),))
    with pytest.raises(InvalidInput, match='between 0 and 0.04 m'):
        robot.forward(zero, loads=(Load(unit, 'segment_2', 0.05),))


def test_a_load_on_the_link_is_a_load_on_either_end_of_it():
    robot = load_robot('stiff_flop_two_segment')
    actuation = pressures('stiff_flop_two_segment')
    force = np.array([0.03, -0.02, 0.01])
    on_link = robot.forward(actuation, loads=(Load(np.r_[force, 0, 0, 0], 'segment_1_link'),))
    end = robot.forward(actuation, loads=(Load(np.r_[force, 0, 0, 0], 'segment_1', 0.04),))
    np.testing.assert_allclose(on_link.tip, end.tip, atol=1e-12)
    # at the far end the same force has the lever of the link
    arm = 0.006 * on_link.bodies['segment_1_link'][:3, 2]
    far = robot.forward(actuation, loads=(Load(np.r_[force, 0, 0, 0], 'segment_2', 0.0),))
    same = robot.forward(
        actuation,
        loads=(
            Load(
                np.r_[force, np.cross(0.006 * far.bodies['segment_1_link'][:3, 2], force)],
                'segment_1',
                0.04,
            ),
        ),
    )
    np.testing.assert_allclose(far.tip, same.tip, atol=1e-9)
    assert np.linalg.norm(arm) == pytest.approx(0.006, rel=1e-6)


def test_two_segments_join_through_the_link():
    q = load_robot('stiff_flop_two_segment').forward(pressures('stiff_flop_two_segment'))
    end, start = q.backbones[0][-1], q.backbones[1][0]
    np.testing.assert_allclose(start[:3, 3], end[:3, 3] + 0.006 * end[:3, 2], atol=1e-12)
    np.testing.assert_allclose(start[:3, :3], end[:3, :3], atol=1e-14)
    assert q.backbone_names == ('segment_1', 'segment_2')


@pytest.mark.parametrize('model', ['npcc', 'ncm'])
def test_guess_of_a_robot_of_other_stiffness_says_nothing_of_this_one(model, tmp_path):
    """Same actuation, same gravity: the sections of the guess must not be taken over."""
    text = robot_files()['stiff_flop'].read_text(encoding='utf-8')
    path = tmp_path / 'softer.yaml'
    path.write_text(text.replace('1.503e-3 N m^2', '1.2e-3 N m^2'), encoding='utf-8')
    pressure = [0.6e5, 0.2e5, 0.0]
    first = load_robot('stiff_flop', model).forward(pressure)
    softer = load_robot(path, model)
    cold = softer.forward(pressure)
    warm = softer.forward(pressure, guess=first)
    np.testing.assert_allclose(warm.tip, cold.tip, atol=1e-9)
    assert np.abs(cold.tip - first.tip).max() > 1e-4


@pytest.mark.parametrize('model', ['ncm', 'lcm'])
@pytest.mark.parametrize('push', [4.0, 14.0, 24.0, 34.0])
def test_a_rod_that_buckles_in_both_planes_at_once_is_called_unstable(model, push):
    # Conjugate points of an axisymmetric rod come in pairs. The network counts pivots instead.
    loads = (Load(np.array([0.0, 0.0, -push, 0.0, 0.0, 0.0]), 'segment_1', 0.02),)
    found = {}
    for name in (model, 'network'):
        robot = load_robot('stiff_flop', name)
        robot.gravity = np.zeros(3)
        q = robot.forward(np.zeros(3), loads=loads)
        assert q.status.converged
        found[name] = q.status.stability
        if name == model and found[name] is Stability.STABLE:
            for c in robot.compliance_along(q)[0][1:]:
                assert np.linalg.eigvalsh(0.5 * (c + c.T))[0] > 0.0
    assert found[model] is found['network']
    assert (found[model] is Stability.STABLE) == (push < 5.0)


def test_interior_stability_is_what_the_eigenvalues_of_the_elements_say():
    random = np.random.default_rng(3)
    robot = load_robot('stiff_flop_two_segment', 'lcm')
    counts = []
    for _ in range(25):
        robot.gravity = 9.81 * random.normal(size=3)
        push = np.array([*0.02 * random.normal(size=2), -random.uniform(0.0, 20.0), 0.0, 0.0, 0.0])
        load = Load(push, 'segment_1', random.uniform(0.01, 0.03))
        q = robot.forward(0.5 * robot.limits[:, 1] * random.random(6), loads=(load,))
        if not q.status.converged:
            continue
        twists = q.state.columns[1:, :6, :]
        steps = [b @ np.linalg.inv(a) for a, b in zip(twists, twists[1:], strict=False)]
        negative = sum(int(np.sum(np.linalg.eigvals(m).real < 0.0)) for m in steps)
        assert without_conjugate_point(q.state.columns, q.state.integral) == (negative == 0)
        counts.append(negative)
    assert counts.count(0) > 3 and len(counts) - counts.count(0) > 3


def test_a_failed_guess_is_no_start():
    robot = load_robot('stiff_flop_two_segment', 'ncm')
    failed = robot.forward([6e5, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert not failed.status.converged
    q = robot.forward(np.zeros(6), guess=failed)
    assert q.status.code is Code.NONE
    np.testing.assert_array_equal(q.tip, robot.forward(np.zeros(6)).tip)


def test_an_actuation_of_endless_increments_is_refused():
    robot = load_robot('stiff_flop')
    threshold = Compensation('converged', 0, 1e4)
    model = Robot(with_compensation(robot.description, threshold)).model_object
    for pressure in (1e12, 1e160):
        with pytest.raises(InvalidInput, match='threshold of the increments'):
            model.parts(np.array([pressure, 0.0, 0.0]))


def hung(name, tip_mass, weight, model='ncm'):
    chain = load_robot(name).description.structure['segments']
    choice = replace(chain.compensation, weight=weight)
    chain = replace(chain, tip_mass=chain.tip_mass + tip_mass, compensation=choice)
    description = load_robot(name).description
    return Robot(
        replace(description, structure={**description.structure, 'segments': chain}), model
    )


@pytest.mark.parametrize('model', MODELS)
@pytest.mark.parametrize('name', ['stiff_flop', 'stiff_flop_two_segment'])
def test_a_tip_mass_and_its_force_are_one_where_weight_is_final(name, model):
    plain, heavy = hung(name, 0.0, 'final', model), hung(name, 0.02, 'final', model)
    plain.gravity = heavy.gravity = [0.0, 3.0, 9.2]
    force = [*(0.02 * heavy.gravity), 0.0, 0.0, 0.0]
    for p in (pressures(name), pressures(name, 1.1e5)[::-1]):
        a, b = heavy.forward(p), plain.forward(p, force)
        np.testing.assert_allclose(a.tip, b.tip, atol=1e-9)
        np.testing.assert_allclose(heavy.jacobian(a), plain.jacobian(b), rtol=1e-6, atol=1e-12)


def test_where_weight_is_ramped_the_difference_is_known():
    """A tenth of what the load moves: docs/models/segments.md says how much, and why."""
    rng = np.random.default_rng(4)
    plain, heavy = hung('stiff_flop', 0.0, 'ramped'), hung('stiff_flop', 0.02, 'ramped')
    plain.gravity = heavy.gravity = [0.0, 0.0, 9.81]
    force = [*(0.02 * heavy.gravity), 0.0, 0.0, 0.0]
    apart, moved = [], []
    for p in rng.uniform(0.0, 1.2e5, (40, 3)):
        bare, hanging, pulled = plain.forward(p), heavy.forward(p), plain.forward(p, force)
        apart.append(np.linalg.norm(hanging.tip[:3, 3] - pulled.tip[:3, 3]))
        moved.append(np.linalg.norm(hanging.tip[:3, 3] - bare.tip[:3, 3]))
    assert np.median(apart) > 1e-4  # not one law
    assert np.median(np.array(apart) / moved) < 0.5


def test_jacobian_and_tangent_are_differences_where_weight_is_final():
    robot = hung('stiff_flop_two_segment', 0.01, 'final')
    robot.gravity = [0.0, -9.81, 0.0]
    p = pressures('stiff_flop_two_segment')
    q = robot.forward(p, TIP_WRENCH)
    slope = central(lambda h: robot.forward(p + h, TIP_WRENCH), 50.0 * np.eye(6))
    assert relative(robot.jacobian(q), slope, right=1.0) < 1e-5
    steps = np.diag([1e-4] * 3 + [1e-5] * 3)
    slope = central(lambda h: robot.forward(p, TIP_WRENCH + h), steps)
    assert relative(robot.compliance(q), slope, right=SIZE) < 1e-5


def test_a_chain_without_loads_is_not_stepped_towards_them(monkeypatch):
    """Of an unreachable target most trials far away fail: halved loads repeat the same failure."""
    robot = load_robot('stiff_flop_two_segment')
    forward, passes = robot.model_object.forward, []

    def counted(*args):
        q = forward(*args)
        passes.append((q.status.code, q.status.iterations))
        return q

    monkeypatch.setattr(robot.model_object, 'forward', counted)
    assert robot.inverse([-0.0355, 0.0036, 0.1336], multistart=False).status.code is not Code.NONE
    failed = [used for code, used in passes if code is Code.NOT_CONVERGED]
    assert failed and max(failed) < 120
