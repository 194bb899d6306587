# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the verdicts of the validation table, the registry, and that the fit is frozen."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from soro_mechanics import InvalidInput, load_robot, UnknownName
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot
from soro_studies.mechanics import stiff_flop_studies as studies
from soro_studies.mechanics.stiff_flop_identification import (
    fit,
    markdown,
    parameters_of,
    robot_with,
)
from soro_studies.validation import (
    boundary,
    Kind,
    model_checks,
    number,
    Row,
    statement,
    stiff_flop,
    stiff_flop_two_segment,
    Verdict,
)
from soro_studies.validation.model_checks import check_model
from soro_studies.validation.power import Power
from soro_studies.validation.registry import ROBOTS
from soro_studies.validation.registry import rows_of as computed_rows
from soro_studies.validation.report import robot_section
from soro_studies.validation.row import explained, NotExplained
from soro_studies.validation.tolerances import require_frozen


@cache
def rows_of(robot):
    return tuple(computed_rows(robot))


def test_a_number_is_met_near_or_not():
    verdicts = [number('x', 10.0, v, 'm', 0.05, note='why').verdict for v in (10.4, 9.1, 12.0)]
    assert verdicts == [Verdict.MET, Verdict.NEAR, Verdict.NOT_MET]
    row = number('x', 10.0, 9.0, 'm', 0.2, printed='about 10')
    assert (row.difference, row.within, row.paper) == ('-10.0 %', '20 %', 'about 10')
    assert number('x', 10.0, np.nan, 'm', 0.2, note='why').verdict is Verdict.NOT_MET


def test_a_boundary_is_met_near_or_not():
    values = (2.0, 3.2, 1.0, np.nan)
    verdicts = [boundary('x', '', v, '', 2.0, 3.0, note='why').verdict for v in values]
    assert verdicts == [Verdict.MET, Verdict.NEAR, Verdict.NOT_MET, Verdict.NOT_MET]
    assert boundary('x', '', 2.0, 'm', 2.0, 3.0).within == '2 to 3 m'
    assert boundary('x', '', 2.0, 'm', 1.0, np.inf).within == 'at least 1 m'


def test_a_row_that_is_not_met_must_be_explained():
    with pytest.raises(NotExplained, match='not explained'):
        explained([statement('x', 'up', 'down', False)])
    (row,) = explained([statement('x', 'up', 'down', False, 'because')])
    assert row.verdict is Verdict.NOT_MET
    with pytest.raises(NotExplained, match='near, but not explained'):
        explained([number('x', 10.0, 9.1, 'm', 0.05)])
    with pytest.raises(NotExplained, match='near, but not explained'):
        explained([boundary('x', '', 3.2, '', 2.0, 3.0)])


@pytest.mark.parametrize('robot', ROBOTS)
def test_every_registered_robot_gives_rows(robot):
    rows = rows_of(robot)
    assert rows and all(isinstance(r, Row) for r in rows)
    names = [r.quantity for r in rows]
    assert len(set(names)) == len(names)
    require_frozen(robot, rows)  # no tolerance has moved since it was frozen


def test_checks_of_a_model_find_nothing_and_would_find_something(monkeypatch):
    robot = load_robot('stiff_flop')
    found = check_model(robot, samples=1)
    assert max(found.asymmetry, found.compliance, found.loop) < 1e-7
    assert found.jacobian < 1e-5 < found.least
    # The published integral is not the tangent under load: the checks must say so.
    published = type(robot).compliance
    monkeypatch.setattr(
        type(robot), 'compliance', lambda self, q: published(self, q, method='integral')
    )
    assert check_model(robot, samples=1).compliance > 1e-3


def test_an_unknown_robot_is_refused():
    with pytest.raises(UnknownName, match='stiff_flop'):
        rows_of('stif_flop')


def test_the_section_of_a_robot_holds_every_row():
    rows = rows_of('stiff_flop_two_segment')
    text = '\n'.join(robot_section('stiff_flop_two_segment', rows, Power.of('', {})))
    assert all(r.quantity in text for r in rows) and 'nothing was scored' in text


def test_what_holds_by_itself_is_no_prediction():
    assert all(r.kind is Kind.CHECK for r in rows_of('one_rod'))
    assert all(r.kind is not Kind.PREDICTED for r in rows_of('spatial_cc'))


def test_errors_against_measurements_are_no_test_of_ours():
    rows = [r for r in rows_of('stiff_flop') if 'RMSE' in r.quantity]
    assert len(rows) == 5 and all(r.verdict is Verdict.NOT_COMPARABLE for r in rows)


def test_the_turning_point_is_judged_by_its_number():
    rows = {r.quantity: r for r in rows_of('stiff_flop')}
    assert rows['pressure of the least x stiffness, one pair'].verdict is Verdict.NOT_MET
    assert rows['x stiffness over one pair'].verdict is Verdict.MET


def test_every_printed_error_of_the_four_models_has_a_row():
    rows = {r.quantity: r for r in rows_of('stiff_flop')}
    for name, paper in (
        ('ncm', '1.21 - 0.28'),
        ('npcc', '1.21 - 0.47'),
        ('lcm', '1.21 - 0.05'),
        ('lpcc', '1.21 - 0.42'),
    ):
        row = rows[f'x stiffness of {name} at full bend, by its printed error']
        # Where the sign of the error is not printed, the nearer value was taken.
        chosen = Kind.CHOSEN if name in ('lcm', 'lpcc') else Kind.PREDICTED
        assert row.paper == f'{paper} N/cm' and row.kind is chosen
    for bar, error in (('one pair at 1.5 bar', '0.08'), ('two pairs at 1.2 bar', '0.16')):
        row = rows[f'y stiffness, largest error of a linear model, {bar}']
        assert row.paper == f'{error} N/cm' and row.verdict is Verdict.MET
    places = [r for name, r in rows.items() if name.startswith('largest error')]
    assert len(places) == 5 and all(r.kind is Kind.YARDSTICK for r in places)


def test_a_measured_stiffness_is_judged_by_what_a_short_pull_measures():
    rows = {r.quantity: r for r in rows_of('stiff_flop')}
    robot = load_robot('stiff_flop')
    for name, bar, axis in (
        ('y stiffness, one pair at 1.5 bar', 1.5 * studies.ONE_PAIR, 1),
        ('z stiffness, one pair at 1.5 bar', 1.5 * studies.ONE_PAIR, 2),
        ('x stiffness, one pair at 1.5 bar', 1.5 * studies.ONE_PAIR, 0),
        ('y stiffness, two pairs at 1.2 bar', 1.2 * studies.TWO_PAIRS, 1),
    ):
        pulled = studies.pull_stiffness(robot, bar, np.eye(3)[axis], 1e-3)
        assert rows[name].value == pytest.approx(pulled, rel=2e-3)
        integral = studies.axis_stiffness(robot, bar, axis)
        assert f'the integral {integral:.3g}' in rows[name].note
        assert abs(integral / pulled - 1.0) > 0.02  # they are told apart


def test_a_value_of_a_posture_that_fits_is_no_prediction():
    rows = {r.quantity: r for r in rows_of('stiff_flop')}
    for quantity, row in rows.items():
        if 'at 90 deg' in quantity and not quantity.startswith('x stiffness at 90 deg, one pair'):
            assert row.kind is Kind.CHOSEN, quantity
    assert rows['x stiffness, one pair at 1.5 bar'].kind is Kind.CHOSEN
    assert rows['x stiffness at 90 deg, one pair'].verdict is Verdict.NOT_MET
    assert rows['y stiffness, one pair at 1.5 bar'].kind is Kind.PREDICTED


def test_orthonormality_is_that_of_the_integration():
    (row,) = (r for r in rows_of('stiff_flop') if r.quantity.startswith('orthonormality'))
    # By an independent RK4 of the same rotations: 8.9e-9 with 50 elements, 5.6e-2 with 2.
    assert '8.9e-09' in row.ours and '2: 5.5e-02' in row.note and '50: 8.9e-09' in row.note


def test_the_deflection_is_shown_by_every_model():
    rows = [r for r in rows_of('stiff_flop') if r.quantity.startswith('tip by compliance')]
    assert [r.quantity[-3:] for r in rows] == ['ncm', 'lcm', 'ncm', 'lcm']
    assert rows[2].value == pytest.approx(1.82, abs=0.01)
    assert rows[3].value == pytest.approx(0.42, abs=0.01)
    for row in rows:
        assert all(f'{name} ' in row.note for name in ('ncm', 'npcc', 'lcm', 'lpcc'))


def test_mirror_images_are_one_configuration():
    levels = np.array([1.0, 0.2, 0.0, 0.0, 0.5, 0.0])
    turned = levels.reshape(2, 3)[:, [2, 0, 1]].ravel()
    mirrored = levels.reshape(2, 3)[:, [0, 2, 1]].ravel()
    other = np.array([1.0, 0.2, 0.0, 0.5, 0.0, 0.0])
    named = {'a': levels, 'b': turned, 'c': other, 'd': mirrored}
    assert list(stiff_flop_two_segment.distinct(named)) == ['a, b, d', 'c']
    robot = load_robot('stiff_flop_two_segment')
    norms = [studies.frobenius(robot, x) for x in (levels, turned, mirrored, other)]
    assert norms[:3] == pytest.approx(3 * norms[:1], rel=1e-6)
    assert abs(norms[3] / norms[0] - 1.0) > 0.01
    rows = [r.quantity for r in rows_of('stiff_flop_two_segment') if 'norm over one' in r.quantity]
    assert len(rows) == 5 and rows[2].endswith('configuration c, d')


def test_every_mounting_stands_beside_the_measured_arm():
    rows = {r.quantity: r for r in rows_of('spatial_cc')}
    (row,) = (r for name, r in rows.items() if name.startswith('elastic rod'))
    # The elastic rod over the measured y at 0.4, 0.6, 0.8 bar.
    for mounting, errors in (
        ('upright', '+14.7, +15.5, +18.4'),
        ('no weight', '+12.0, +12.6, +15.2'),
        ('hanging', '+9.4, +9.8, +12.2'),
    ):
        assert f'{mounting} y {errors}' in row.ours
    assert 'nearest in y: hanging' in row.note and row.kind is Kind.YARDSTICK


def test_what_rests_on_assumptions_says_so():
    for robot, names in (
        ('pam_continuum', ('circle', 'square', 'cardioid')),
        ('haptic_5dof', ('stiffness rendered', 'Fig. 14', 'Fig. 15')),
    ):
        rows = rows_of(robot)
        for name in names:
            found = [r for r in rows if name in r.quantity and r.kind is Kind.ASSUMPTION]
            assert len(found) == 1, name
    words = [r for r in rows_of('soft_parallel') if r.kind is Kind.PREDICTED]
    assert words and not any(r.printed for r in words)


def test_the_direction_of_bending_is_computed():
    robot = load_robot('stiff_flop')
    chain = robot.description.structure['segments']
    assert stiff_flop.direction(robot).verdict is Verdict.MET
    segments = tuple(
        replace(s, chambers=tuple(replace(c, angle=c.angle + 0.1) for c in s.chambers))
        for s in chain.segments
    )
    structure = {'segments': replace(chain, segments=segments)}
    row = stiff_flop.direction(Robot(replace(robot.description, structure=structure), 'ncm'))
    assert row.verdict is Verdict.NOT_MET and '5.73 deg from -x' in row.ours


def test_the_gap_of_a_deflection_is_that_of_the_two_solutions():
    robot = load_robot('stiff_flop')
    pattern = studies.BAR * studies.TWO_PAIRS
    greatest, along = studies.deflection_gap(robot, studies.TWO_PAIRS, np.array([0.1, 0.2]))
    assert np.all(along <= greatest) and np.any(along < 0.9 * greatest)
    here = robot.forward(pattern)
    moved = robot.forward(pattern, [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]).tip[:3, 3] - here.tip[:3, 3]
    twist = 0.2 * robot.compliance(here, method='integral')[:, 0]
    gap = 100.0 * np.abs(lie.se3_exp(twist)[:3, 3] - moved)
    assert along[0, 1] == pytest.approx(gap[0], abs=1e-9)
    assert greatest[0, 1] == pytest.approx(gap.max(), abs=1e-9)


def test_a_pull_is_solved_and_short_pulls_meet_the_tangent():
    robot, bar, way = load_robot('stiff_flop'), 1.3 * studies.ONE_PAIR, np.array([-2.0, 0.0, 0.0])
    rest = robot.forward(studies.BAR * bar)
    for distance in (0.25, 0.4):
        force = distance * studies.pull_stiffness(robot, bar, way, distance)
        moved = robot.forward(rest.actuation, [-force, 0.0, 0.0, 0.0, 0.0, 0.0], rest)
        assert 100.0 * (rest.tip - moved.tip)[0, 3] == pytest.approx(distance, rel=2e-4)
    tangent = 0.01 / robot.compliance(rest)[0, 0]
    assert studies.pull_stiffness(robot, bar, way, 1e-3) == pytest.approx(tangent, rel=1e-3)
    # Outward, a wire stretches the bent robot: what section 6.2 measured.
    longer = [studies.pull_stiffness(robot, bar, way, d) for d in (1e-3, 0.25, 0.4)]
    assert np.all(np.diff(longer) > 0.0)
    with pytest.raises(InvalidInput, match='distance'):
        studies.pull_stiffness(robot, bar, way, 1e3)


def test_increments_are_those_of_the_experiment():
    rows = {r.quantity: r for r in rows_of('stiff_flop')}
    one = rows['bending with the published increments of 0.15 bar']
    two = rows['bending of two pairs with the published increments, n = 6']
    for row, label in ((one, '0.15 bar'), (two, 'n = 6')):
        assert f'{label}: {row.ours.split()[0]}' in row.note


def test_what_section_4_says_in_words_has_rows():
    rows = {r.quantity: r for r in rows_of('stiff_flop')}
    assert rows['compliance along the segment and with pressure, Fig. 8'].verdict is Verdict.MET
    alike = rows['elongation ratio, six at 0.9 bar over one pair at 1.5 bar']
    assert alike.verdict is Verdict.NOT_MET and '0.30 to 0.46 beside 0.2' in alike.note
    turned = rows['compliance norm, P1..P4 over P1, P2, P5, P6 at 0.9 bar, difference from 1']
    assert turned.kind is Kind.CHECK and turned.verdict is Verdict.MET
    rows = {r.quantity: r for r in rows_of('stiff_flop_two_segment')}
    softest = 'compliance along z, of the lesser one along x and y, configuration f'
    assert rows[softest].verdict is Verdict.MET
    assert len([r for r in rows.values() if 'Fig. 9' in r.quantity]) == 2


def test_models_are_compared_over_all_that_the_limits_allow():
    robot = load_robot('stiff_flop')
    actuations, _ = model_checks._samples(robot, 20)
    assert actuations.max() > 0.8 * robot.limits[:, 1].max()
    for limit in robot.description.coupled_limits:
        assert np.all(actuations @ limit.coefficients <= limit.maximum)
    assert check_model(robot, samples=1).share == 1.0
    assert model_checks._share(load_robot('stewart_gough')) < 1.0


def test_what_symmetry_gives_is_no_prediction():
    rows = {r.quantity: r for r in rows_of('stewart_gough')}
    assert rows['x and y, elongated'].kind is Kind.CHECK
    assert rows['compliance, elongated (0.49 m), translated, bent'].verdict is Verdict.MET
    bent = rows['x over y, bent, as a share of its distance from 1 when translated']
    assert bent.verdict is Verdict.MET and bent.kind is Kind.ASSUMPTION  # of the pose


def test_no_fitted_row_is_missed():
    rows = [r for r in rows_of('stiff_flop') if r.kind is Kind.FITTED]
    assert len(rows) == 7 + 3 + 3
    assert all(r.verdict is Verdict.MET for r in rows[:7])


def test_what_follows_from_fitted_rows_is_not_predicted():
    rows = {r.quantity: r for r in rows_of('stiff_flop')}
    for name, why in (
        ('tip, growth of the greatest compliance, six 0 to 0.9 bar', 'ratio of two rows'),
        ('bending with the published increments of 0.15 bar', 'fitted to the same number'),
        ('elongation with the published increments, n = 6', 'fitted to the same number'),
        ('y stiffness at rest', 'one over the greatest compliance'),
        ('z stiffness at rest', 'one over the least compliance'),
        ('direction of bending', 'chosen for it'),
    ):
        assert rows[name].kind is Kind.FITTED and why in rows[name].note


def test_the_robot_files_hold_the_fit():
    robot = load_robot('stiff_flop')
    # from a start that is off, so that staying put is no success
    start = parameters_of(robot) * [1.1, 0.93, 1.05, 0.9, 1.1]
    result = fit(robot, start)
    np.testing.assert_allclose(parameters_of(robot), result.parameters, rtol=1e-3)
    other = load_robot('stiff_flop_two_segment')
    np.testing.assert_allclose(parameters_of(other), parameters_of(robot), rtol=1e-12)
    assert 'EA' in markdown(result, robot)


def test_the_fit_reports_what_its_rows_do():
    robot = load_robot('stiff_flop')
    result = fit(robot)
    assert result.sensitivity.shape == (7, 5)
    # least compliance at rest is L / EA and nothing else
    np.testing.assert_allclose(result.sensitivity[2], [-1, 0, 0, 0, 0], atol=0.02)
    np.testing.assert_allclose(np.diag(result.correlation), 1.0)
    assert np.all(result.deviations > 0.0) and np.all(result.deviations < 0.1)


def test_parameters_survive_the_way_there_and_back():
    robot = load_robot('stiff_flop_two_segment')
    wanted = np.array([40.0, 2e-3, 3e-6, 1.2e-4, 0.7])
    np.testing.assert_allclose(parameters_of(robot_with(robot, wanted)), wanted, rtol=1e-12)
