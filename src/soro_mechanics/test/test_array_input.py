# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of arrays at the public edge."""

from array import array
import math
import warnings

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.analysis import stiffness
from soro_mechanics.analysis.conditioning import conditioning
from soro_mechanics.analysis.curves import named_curve
from soro_mechanics.analysis.pull_check import check_pulls
from soro_mechanics.analysis.tracker_calibration import calibrate_tracker
from soro_mechanics.analysis.trajectory import sample_curve, schedule, tracking_error
from soro_mechanics.analysis.workspace import sample_workspace
from soro_mechanics.core.array_input import all_finite, finite_array, rotation_array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.dynamics.simulation import as_signal
from soro_mechanics.haptics.flex_fit import fit_sensor


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('shape', [(), (1,), (6,), (4, 4), (300,)])
def test_one_number_that_is_not_finite_is_found_wherever_it_stands(shape, bad):
    for place in range(int(np.prod(shape))):
        array = np.ones(shape)
        assert all_finite(array)
        array.flat[place] = bad
        assert not all_finite(array)


@pytest.mark.parametrize('count', [2, 40, 41, 1000])
def test_nothing_is_warned_of_where_a_sum_of_large_numbers_overflows(count):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert all_finite(np.full(count, np.finfo(float).max))
        assert not all_finite(np.append(np.full(count, np.finfo(float).max), np.nan))
        assert not all_finite(np.append(np.full(count, -np.inf), np.inf))


def test_infinities_do_not_cancel_and_large_numbers_are_finite():
    assert not all_finite(np.array([np.inf, -np.inf]))
    assert all_finite(np.array([1e300, -1e300, np.finfo(float).max]))  # their squares are not
    assert all_finite(np.empty(0))
    assert all_finite(np.arange(16.0).reshape(4, 4)[:, 1::2])


@pytest.mark.parametrize('axis', range(3))
def test_a_rotation_is_what_keeps_lengths_angles_and_hand(axis):
    rng = np.random.default_rng(2)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    assert np.array_equal(rotation_array('turn', turn), turn)
    rotation_array('turn', turn.astype(np.float32))  # what a message leaves
    longer, sheared, mirrored = turn.copy(), turn.copy(), turn.copy()
    longer[:, axis] *= 1.0 + 1e-5
    sheared[:, axis] += 1e-5 * turn[:, axis - 1]
    mirrored[:, axis] *= -1.0
    for wrong in (longer, sheared, mirrored):
        with pytest.raises(InvalidInput, match='a rotation matrix'):
            rotation_array('turn', wrong)


def test_an_argument_is_refused_by_name():
    with pytest.raises(InvalidInput, match='wrench') as refused:
        finite_array('wrench', [0.0, np.nan], (2,))
    assert refused.value.code is Code.NOT_FINITE


def spoilt(*shape):
    """Return arrays that numpy would turn into real numbers by losing something."""
    masked = np.ma.masked_array(np.ones(shape), np.zeros(shape, bool))
    masked[(0,) * len(shape)] = np.ma.masked
    imaginary = np.ones(shape) + 0j
    imaginary[(0,) * len(shape)] += 1j
    singles = np.array([np.complex64(x) for x in imaginary.flat] + [None], object)[:-1]
    unmasked, rows = np.ma.masked_array(np.ones(shape)), list(masked)
    return imaginary, imaginary.tolist(), masked, unmasked, rows, singles.reshape(shape)


def entries():
    """Return every public way numbers come in: name, call, shape."""
    robot = load_robot('spatial_cc')
    at = robot.forward(robot.limits.mean(axis=1))
    c = np.eye(6)
    one, poses = np.ones((4, 3)), np.array([np.eye(4)] * 9)
    path = sample_curve(named_curve('circle', 0.01), 0.005)
    still = np.zeros((len(path.poses), 1))
    return [
        ('forward', robot.forward, (3,)),
        ('forward wrench', lambda v: robot.forward(at.actuation, v), (6,)),
        ('inverse', robot.inverse, (3,)),
        ('inverse pose', robot.inverse, (4, 4)),
        ('inverse wrench', lambda v: robot.inverse([0, 0, 0.18], v), (6,)),
        ('violations', robot.violations, (3,)),
        ('feasible', robot.feasible, (3,)),
        ('gravity', lambda v: setattr(robot, 'gravity', v), (3,)),
        ('compliance wrench', lambda v: robot.compliance(at, v), (6,)),
        ('workspace', robot.workspace, (5, 3)),
        ('sample_workspace wrench', lambda v: sample_workspace(robot, 2, wrench=v), (6,)),
        ('limit_distance', lambda v: robot.limit_distance(at, v), (3,)),
        ('limit_distance wrench', lambda v: robot.limit_distance(at, None, v), (6,)),
        ('simulate constant', lambda v: as_signal('actuation', v, 3, np.arange(4.0)), (3,)),
        ('simulate table', lambda v: as_signal('actuation', v, 3, np.arange(4.0)), (4, 3)),
        ('ellipsoids', stiffness.ellipsoids, (6, 6)),
        ('eigenscrews', stiffness.eigenscrews, (6, 6)),
        ('stiffness_along', lambda v: stiffness.stiffness_along(c, v), (6,)),
        ('transport', lambda v: stiffness.transport(c, v), (3,)),
        ('change_frame', lambda v: stiffness.change_frame(c, v), (4, 4)),
        ('deflection', lambda v: stiffness.deflection(c, np.eye(4), v), (6,)),
        ('check_pulls', lambda v: check_pulls(v, one, np.eye(3)), (4, 3)),
        ('check_pulls moved', lambda v: check_pulls(one, v, np.eye(3)), (4, 3)),
        ('check_pulls model', lambda v: check_pulls(one, one, v), (3, 3)),
        ('tracking_error', lambda v: tracking_error(v, one), (4, 3)),
        ('tracking_error actual', lambda v: tracking_error(one, v), (4, 3)),
        ('schedule', lambda v: schedule(path, v, 1.0, [1.0]), (len(path.poses), 1)),
        ('schedule rates', lambda v: schedule(path, still, 1.0, v), (1,)),
        ('calibrate_tracker', lambda v: calibrate_tracker(v, poses), (9, 4, 4)),
        ('calibrate_tracker seen', lambda v: calibrate_tracker(poses, v), (9, 4, 4)),
        ('conditioning', lambda v: conditioning(v, 1.0), (6, 3)),
        ('fit_sensor', lambda v: fit_sensor('flex', v, np.ones(40)), (40, 2)),
        ('fit_sensor counts', lambda v: fit_sensor('flex', np.ones((40, 2)), v), (40,)),
    ]


@pytest.mark.filterwarnings('error')
def test_nothing_that_is_not_real_comes_in_anywhere():
    for name, call, shape in entries():
        for value in spoilt(*shape):
            try:
                call(value)
            except InvalidInput:
                continue
            pytest.fail(f'{name} takes {value!r}')


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('speed', [1.0 + 0j, 1j, np.complex64(1), np.ma.masked])
def test_one_number_or_choice_that_is_not_real_does_not_come_in(speed):
    path = sample_curve(named_curve('circle', 0.01), 0.005)
    still = np.zeros((len(path.poses), 1))
    robot = load_robot('spatial_cc')
    for call in (
        lambda: schedule(path, still, speed, [1.0]),
        lambda: schedule(path, still, 1.0, [1.0], speed),
        lambda: conditioning(np.eye(6), speed),
        lambda: robot.inverse([0, 0, 0.18], task=speed),
        lambda: robot.inverse([0, 0, 0.18], task=0.0 * speed),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_numbers_that_are_refused_are_shown_as_numbers():
    for value in (array('d', [math.nan, 1.5]), np.array([math.nan, 1.5])):
        assert str(InvalidInput('x', value, 'numbers')) == 'x = [nan, 1.5]: expected numbers'


def test_pressures_that_crush_a_robot_end_in_a_status():
    for name, model in (('stiff_flop', 'npcc'), ('stiff_flop', 'ncm')):
        robot = load_robot(name, model)
        for pressure in (-1e12, -1e30, -1e308, 1e308):
            status = robot.forward([pressure] * 3).status
            assert status.warnings or not status.converged
