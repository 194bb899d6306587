# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the public face: loading, checking of arguments, limits, dispatch."""

from dataclasses import fields, is_dataclass, replace
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

from soro_mechanics import Code, InvalidInput, Load, load_robot, LoadAxes, UnknownName
from soro_mechanics.models.network.rod_loads import refined
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import robot_files
from soro_mechanics.robot_file.reader import read_robot_file


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop', 'lpcc')


def test_what_holds_arrays_is_itself_and_nothing_else(robot):
    """To compare two of them, numpy would ask for the truth of an array."""
    q, other = (robot.forward([5e4, 0.0, 0.0]) for _ in range(2))
    assert q == q and q != other and len({q, other, robot.inverse(q.tip[:3, 3], guess=q)}) == 3
    holding = re.compile(r'\b(Array|NDArray|Integers|Floats)\b')
    for name, module in sorted(sys.modules.items()):
        for kind in vars(module).values() if name.startswith('soro_mechanics.') else ():
            if isinstance(kind, type) and is_dataclass(kind):
                if any(holding.search(str(field.type)) for field in fields(kind)):
                    assert not kind.__dataclass_params__.eq, kind


@pytest.mark.parametrize('name', ['stiff_flop', 'pam_continuum'])
def test_a_model_allows_what_violates_no_limit(name):
    robot, rng = load_robot(name), np.random.default_rng(3)
    low, high = robot.limits.T
    for _ in range(200):
        share = rng.choice([0.0, 1.0, 0.3, 1.0 + 1e-12, -1e-12, -1e-6, 0.9], low.size)
        u = low + (high - low) * share
        assert robot.model_object.within_limits(u) == robot.feasible(u)
    assert not robot.model_object.within_limits(np.full(low.size, np.nan))


def test_robots_load_by_name_and_by_path():
    path = robot_files()['stiff_flop']
    assert load_robot(path).description.actuators == load_robot('stiff_flop').description.actuators
    with pytest.raises(UnknownName, match="did you mean 'stiff_flop'"):
        load_robot('stif_flop')
    with pytest.raises(UnknownName, match=r'no such file \(looked in /nowhere/robot.yaml\)') as no:
        load_robot('/nowhere/robot.yaml')
    assert no.value.valid == () and no.value.code is Code.UNKNOWN_NAME


def test_own_folder_comes_before_the_catalogue(tmp_path, monkeypatch):
    text = robot_files()['stiff_flop'].read_text(encoding='utf-8')
    (tmp_path / 'stiff_flop.yaml').write_text(text.replace('one segment\n', 'mine\n', 1))
    monkeypatch.setenv('SORO_ROBOT_PATH', str(tmp_path))
    assert load_robot('stiff_flop').description.title.endswith('mine')


@pytest.mark.parametrize('name', sorted(robot_files()))
def test_every_robot_of_the_catalogue_reads(name):
    description = read_robot_file(robot_files()[name])
    assert description.name == name and description.models
    assert all(o.source != 'unstated' for o in description.origins)


@pytest.mark.parametrize('name', sorted(robot_files()))
def test_what_is_not_solved_is_at_no_place_in_any_model(name):
    default = load_robot(name)
    for model in default.description.models:
        robot = default.with_model(model)
        q = robot.forward([a.rest for a in robot.actuators], [1e9, 0.0, 1e9, 0.0, 1e6, 0.0])
        assert q.status.code is Code.NOT_CONVERGED
        for pose in (q.tip, *q.bodies.values(), *(p for line in q.backbones for p in line)):
            assert np.isnan(pose[:3]).all(), model


def test_unknown_models_are_refused_with_the_valid_ones():
    with pytest.raises(UnknownName) as caught:
        load_robot('stiff_flop', 'ncn')
    assert caught.value.code is Code.UNKNOWN_MODEL and 'ncm' in caught.value.valid


@pytest.mark.parametrize(
    ('actuation', 'code'),
    [
        ([0, 0], Code.INVALID_SIZE),
        ([0, 0, 0, 0], Code.INVALID_SIZE),
        ('abc', Code.INVALID_SIZE),
        ([np.nan, 0, 0], Code.NOT_FINITE),
        ([np.inf, 0, 0], Code.NOT_FINITE),
    ],
)
def test_wrong_actuations_are_refused(robot, actuation, code):
    for call in (robot.forward, robot.feasible):
        with pytest.raises(InvalidInput) as caught:
            call(actuation)
        assert caught.value.code is code and caught.value.field == 'actuation'


def test_wrong_wrenches_loads_and_guesses_are_refused(robot):
    with pytest.raises(InvalidInput, match='wrench'):
        robot.forward([0, 0, 0], [1, 2, 3])
    with pytest.raises(InvalidInput, match=r'loads\[0\].wrench'):
        robot.forward([0, 0, 0], loads=[Load(np.zeros(3))])
    with pytest.raises(InvalidInput, match='guess'):
        robot.forward([0, 0, 0], guess=load_robot('stiff_flop', 'lcm').forward([0, 0, 0]))
    with pytest.raises(InvalidInput, match='Configuration'):
        robot.jacobian('q')


def test_wrong_targets_and_methods_are_refused(robot):
    q = robot.forward([0, 0, 0])
    with pytest.raises(InvalidInput, match='rigid'):
        robot.inverse(np.ones((4, 4)))
    with pytest.raises(InvalidInput, match='target'):
        robot.inverse([0.0, 0.0])
    for far in (-1e7, 1e200):
        with pytest.raises(InvalidInput, match='target'):
            robot.inverse([0.0, far, 0.0])
    with pytest.raises(InvalidInput, match='position_tolerance'):
        robot.inverse([0, 0, 0.04], position_tolerance=0.0)
    with pytest.raises(UnknownName, match='tangent'):
        robot.compliance(q, method='secant')


def test_limits_are_named(robot):
    assert robot.feasible([1.5e5, 0, 0]) and robot.feasible([1.2e5, 1.2e5, 0])
    assert robot.violations([1.6e5, 0, 0])[0] == 'pair_1 above 150000 Pa'
    assert any('0.25' in v for v in robot.violations([1.4e5, 1.2e5, 0]))
    assert robot.violations([-1.0, 0, 0]) == ('pair_1 below 0 Pa',)
    np.testing.assert_array_equal(robot.limits, [[0, 1.5e5]] * 3)


def test_compliance_can_be_asked_at_another_load(robot):
    q = robot.forward([0.8e5, 0, 0])
    wrench = [0.2, 0, 0.1, 0, 0, 0]
    there = robot.compliance(robot.forward([0.8e5, 0, 0], wrench))
    np.testing.assert_allclose(robot.compliance(q, wrench), there, rtol=1e-9, atol=1e-12)
    assert np.abs(robot.compliance(q) - there).max() > 1e-4


def test_mounting_is_carried_to_another_model(robot):
    other = load_robot('stiff_flop')
    other.gravity = [0, 9.81, 0]
    np.testing.assert_array_equal(other.with_model('lcm').gravity, [0, 9.81, 0])
    other.gravity[0] = 5.0  # a copy
    np.testing.assert_array_equal(other.gravity, [0, 9.81, 0])
    with pytest.raises(InvalidInput, match='gravity'):
        other.gravity = [0, np.nan, 0]


def test_a_follower_load_turns_with_the_tip(robot):
    force = np.array([0.1, 0, 0, 0, 0, 0])
    dead = robot.forward([1e5, 0, 0], loads=[Load(force)])
    follower = robot.forward([1e5, 0, 0], loads=[Load(force, axes=LoadAxes.LOCAL)])
    same = robot.forward([1e5, 0, 0], force)
    np.testing.assert_allclose(dead.tip, same.tip, atol=1e-12)
    assert np.abs(follower.tip - dead.tip).max() > 1e-4


def test_importing_the_package_loads_neither_scipy_nor_numba():
    code = (
        'import sys, soro_mechanics, soro_mechanics.robot_file.reader; '
        "print([m for m in ('scipy', 'numba', 'cvxpy', 'rclpy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == '[]'


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_numbers_beyond_computing_are_refused_instead_of_answered_with_nan():
    robot = load_robot('spatial_cc')
    with pytest.raises(InvalidInput) as caught:
        robot.forward([1e308, 0.0, 0.0])
    assert caught.value.field == 'actuation'


@pytest.mark.parametrize('name', sorted(robot_files()))
def test_what_is_returned_belongs_to_the_caller(name):
    # Scaled to millimetres, turned round: nothing of that reaches the robot.
    robot = load_robot(name)
    values = np.array([a.rest for a in robot.actuators])
    first, gravity = robot.forward(values), robot.gravity
    q = robot.forward(values)
    for array in (q.actuation, q.gravity, q.tip, *q.backbones, *q.arc_lengths, *q.radii):
        if array.flags.writeable:
            array *= -1000.0
    np.testing.assert_array_equal(robot.gravity, gravity)
    again = robot.forward(values)
    np.testing.assert_array_equal(again.tip, first.tip)
    for a, b in zip(again.arc_lengths + again.radii, first.arc_lengths + first.radii, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize('name', ['spatial_cc', 'soft_parallel', 'pam_continuum'])
def test_an_answer_and_its_configuration_share_no_numbers(name):
    robot = load_robot(name)
    middle = robot.limits.mean(axis=1) * np.linspace(0.98, 1.02, len(robot.actuators))
    found = robot.inverse(robot.forward(middle).tip[:3, 3])
    before = found.configuration.actuation.copy()
    found.actuation[:] *= 1e-5
    np.testing.assert_array_equal(found.configuration.actuation, before)


def test_calls_that_cannot_be_meant_are_refused(robot):
    q = robot.forward(np.zeros(3))
    load = Load(np.zeros(6))
    for call, field in (
        (lambda: robot.forward(np.zeros(3), loads=load), 'loads'),
        (lambda: robot.forward(np.zeros(3), loads=[load.wrench]), 'loads'),
        (lambda: robot.forward(np.zeros(3), loads=[Load(np.zeros(6), axes=7)]), 'axes'),
        (lambda: robot.forward([10**400, 0, 0]), 'actuation'),
        (lambda: robot.inverse(q.tip, task=7), 'task'),
        (lambda: robot.inverse([[1.0, 2.0], [3.0]]), 'target'),
        (lambda: robot.inverse(q.tip, position_tolerance='a'), 'position_tolerance'),
        (lambda: robot.inverse(q.tip, orientation_tolerance=-1.0), 'orientation_tolerance'),
        (lambda: robot.inverse(q.tip, multistart='no'), 'multistart'),
        (lambda: robot.solutions(q, seed=-1), 'seed'),
        (lambda: robot.solutions(q, seed=[[1], None]), 'seed'),
        (lambda: robot.workspace(5, executor='threads'), 'executor'),
        (lambda: load_robot(None), 'robot'),
        (lambda: load_robot(['stiff_flop']), 'robot'),
    ):
        with pytest.raises(InvalidInput, match=field):
            call()


@pytest.mark.parametrize('name', [np.array(['ncm', 'npcc']), np.zeros(0), ['ncm'], {}, 3, b'ncm'])
def test_what_is_no_name_is_refused_as_one(robot, name):
    q = robot.forward(np.zeros(3))
    network = load_robot('haptic_5dof')
    at_rest = network.forward(np.zeros(6))
    for call, field in (
        (lambda: robot.with_model(name), 'model'),
        (lambda: robot.compliance(q, method=name), 'method'),
        (lambda: robot.forward(q.actuation, loads=[Load(np.zeros(6), on=name)]), 'on'),
        (lambda: network.forward(np.zeros(6), loads=[Load(np.zeros(6), on=name)]), 'on'),
        (lambda: network.network.sensitivity(at_rest, name), 'parameters'),
        (lambda: network.simulate(0.01, options=name), 'options'),
        (lambda: network.simulate(0.01, events=[name]), 'events'),
        (lambda: network.simulate(0.01, events=3), 'events'),
    ):
        with pytest.raises(InvalidInput, match=field):
            call()


def test_counts_may_be_those_of_numpy(robot):
    q = robot.forward([1e4, 0.0, 0.0])
    assert len(robot.solutions(q, starts=np.int64(2), seed=np.int32(1))) >= 1
    with pytest.raises(InvalidInput, match='starts = 0'):
        robot.solutions(q, starts=np.int64(0))


def test_a_misspelt_attribute_is_no_new_one(robot):
    for name in ('gravty', 'wrench', 'Gravity'):
        with pytest.raises(AttributeError, match=f'no {name!r}; what can be set is gravity'):
            setattr(robot, name, (0.0, 0.0, 9.81))
    for name in ('model', 'name', 'limits', 'actuators'):
        with pytest.raises(AttributeError):
            setattr(robot, name, getattr(robot, name))
    assert robot.gravity.tolist() == [0.0, 0.0, -9.81]


def test_a_robot_says_what_it_is(robot):
    said = '<Robot stiff_flop, model lpcc: pair_1 [Pa], pair_2 [Pa], pair_3 [Pa]>'
    assert repr(robot) == repr(pickle.loads(pickle.dumps(robot))) == said


@pytest.mark.parametrize(
    'name',
    ['stiff_flop:ncm', 'soft_parallel:ancf', 'pam_continuum:kirchhoff', 'stiff_flop:network'],
)
def test_what_another_mesh_has_solved_is_a_guess_and_no_answer(name):
    """Kernels find their places in arrays by the mesh of their own robot."""
    robot = load_robot(*name.split(':'))
    section = robot.model_object.section or 'network'
    mesh = robot.description.structure[section]
    if section == 'network':
        meshes = [refined(mesh, 2)]
    else:
        meshes = [replace(mesh, elements=2 * mesh.elements)]
    if section == 'segments':
        meshes.append(replace(mesh, segments=2 * mesh.segments))
    actuation = robot.limits.mean(axis=1)
    for other in meshes:
        structure = {**robot.description.structure, section: other}
        q = Robot(replace(robot.description, structure=structure), robot.model).forward(actuation)
        tips = [robot.forward(actuation, guess=guess).tip for guess in (None, q)]
        np.testing.assert_allclose(*tips, atol=1e-7)
        for ask in (robot.jacobian, robot.compliance, robot.compliance_along, robot.examine):
            with pytest.raises(InvalidInput, match='a solution of this robot, on its mesh'):
                ask(q)
        with pytest.raises(InvalidInput, match='a solution of this robot, on its mesh'):
            robot.jacobian(replace(robot.forward(actuation), state=None))


def test_what_was_not_solved_has_no_derivatives():
    robot = load_robot('stiff_flop')
    q = robot.forward(np.zeros(3), wrench=[0.0, 0.0, -1e7, 0.0, 0.0, 0.0])
    assert not q.status.converged
    assert np.isnan(robot.jacobian(q)).all() and np.isnan(robot.compliance(q)).all()
    assert all(np.isnan(c).all() for c in robot.compliance_along(q))
    with pytest.raises(InvalidInput, match='converged'):
        robot.conditioning(q, 0.05)
    good = robot.forward(np.zeros(3))
    assert np.isnan(robot.compliance(good, wrench=q.wrench)).all()


@pytest.mark.parametrize(
    'ask',
    [
        lambda robot, q: robot.network.natural_frequencies(q),
        lambda robot, q: robot.network.validity(q),
        Robot.refinement,
        Robot.solutions,
        Robot.limit_distance,
        lambda robot, q: robot.model_object.ports(q),
    ],
)
def test_what_was_not_solved_is_not_studied(ask):
    robot = load_robot('haptic_5dof')
    q = robot.forward([a.rest for a in robot.actuators])
    lost = replace(q, status=replace(q.status, code=Code.NOT_CONVERGED, residual=np.nan))
    with pytest.raises(InvalidInput, match='NOT_CONVERGED.*a converged Configuration') as error:
        ask(robot, lost)
    assert error.value.field == 'q'


def test_what_was_probably_meant_is_said(robot):
    with pytest.raises(InvalidInput, match=r'a \(3,\) position or a \(4, 4\) pose'):
        robot.inverse([0.02, 0.01])
    with pytest.raises(InvalidInput, match='a sequence of Load'):
        robot.forward([0.0, 0.0, 0.0], loads=1)
    tip = robot.forward([3e4, 0.0, 0.0]).tip
    with pytest.raises(InvalidInput, match='write s.configuration'):
        robot.jacobian(robot.inverse(tip[:3, 3]))


@pytest.mark.parametrize(
    'value',
    [
        np.array([1e4 + 1j, 0.0, 0.0]),
        [1e4, 1j, 0.0],
        np.ma.masked_array([1e4, 0.0, 0.0], [False, True, False]),
        ['1e4', '0', '0'],
        [1e4, '0', 0],
        [None, 0.0, 0.0],
    ],
    ids=['complex', 'complex list', 'masked', 'texts', 'one text', 'none'],
)
def test_what_is_no_real_number_is_refused(value):
    robot = load_robot('stiff_flop')
    with pytest.raises(InvalidInput, match='actuation'):
        robot.forward(value)
    with pytest.raises(InvalidInput, match='target'):
        robot.inverse(value)


@pytest.mark.parametrize('value', [[1, 0, 0], np.float32([1, 0, 0]), (np.int64(1), 0.0, 0)])
def test_every_kind_of_real_number_will_do(value):
    q = load_robot('stiff_flop').forward(value)
    assert q.actuation.tolist() == [1.0, 0.0, 0.0]


def test_a_solution_is_short_where_it_is_printed():
    robot = load_robot('stiff_flop')
    q = robot.forward([1e5, 0.0, 0.0])
    assert len(repr(robot.inverse(q.tip[:3, 3]))) < 3000 and 'tip=' in repr(q)
