# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Identification against truth that is known, and against data that cannot tell."""

from __future__ import annotations

from pathlib import Path
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from soro_mechanics.actuator_models.capstan import Capstan, tendon_wraps
from soro_mechanics.actuator_models.hysteresis import hysteresis
from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.identification.defaults import default_parameters
from soro_mechanics.identification.fit import (
    identify,
    last_ways,
    NotIdentifiable,
    Observations,
    split,
)
from soro_mechanics.identification.offsets import Offsets
from soro_mechanics.identification.parameters import (
    Change,
    FitParameter,
    parameter_from_text,
    ParameterSpace,
    places,
)
from soro_mechanics.identification.problem import Problem
from soro_mechanics.numerics.lie import so3_exp
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_studies.mechanics.identification_study import draw, measured, Study

ARM = Study('spatial_cc', 'constant_curvature', 0.8)


def description(name: str):
    return read_robot_file(find_robot_file(name))


def arm_data(seed: int = 0, count: int = 20) -> tuple[ParameterSpace, Observations]:
    robot = Robot(description('spatial_cc'), 'constant_curvature')
    space = ParameterSpace(robot.description, default_parameters(robot))
    return space, measured(robot, np.random.default_rng(seed), 0.8, count)


@pytest.mark.parametrize('seed', range(4))
def test_the_truth_lies_in_the_intervals_of_a_fast_robot(seed):
    found = draw(ARM, seed, postures=14)
    assert found.inside.all()
    assert found.found.better
    assert np.all(found.found.high - found.found.low < 0.4)


@pytest.mark.parametrize(
    ('study', 'postures'),
    [(Study('stiff_flop', 'ncm', 0.6), 10), (Study('soft_parallel', 'ancf', 0.8), 10)],
)
def test_the_truth_lies_in_the_intervals(study, postures):
    found = draw(study, 1, postures)
    assert found.inside.all()
    assert found.found.held_after.position < 0.5 * found.found.held_before.position


def test_intervals_are_as_wide_as_the_scatter_of_many_fits():
    draws = [draw(ARM, seed, postures=14).found for seed in range(12)]
    truth = [draw_truth(seed) for seed in range(12)]
    scatter = np.std([d.factors - t for d, t in zip(draws, truth, strict=True)], axis=0)
    # 99 % over three parameters, 57 degrees of freedom: 3.06 deviations on each side.
    promised = np.median([d.high - d.factors for d in draws], axis=0) / 3.06
    # A standard deviation from twelve draws is good to some 20 %; a factor of two is five such.
    assert np.all(scatter < 2.0 * promised)
    assert np.all(promised < 2.0 * scatter)


@pytest.mark.parametrize('oriented', [False, True])
def test_intervals_of_few_postures_cover_the_truth_as_often_as_they_say(monkeypatch, oriented):
    """Turns that say nothing of a number are no freedom of its variance either."""
    lever = np.array(
        [[0.1, 0.0, 0.2], [0.0, 0.1, 0.1], [0.1, 0.1, 0.0], [0.2, 0.0, 0.1], [0.1, 0.2, 0.2]]
    )

    def solve(self, x, near=()):
        """Return the tips of a robot that is linear in its only number, in closed form."""
        tips = np.tile(np.eye(4), (len(self._data), 1, 1))
        tips[:, :3, 3] = x[0] * self._data.actuation
        return tips

    monkeypatch.setattr(Problem, '_tips', solve)
    monkeypatch.setattr(
        Problem, '_solve', lambda self, x: [SimpleNamespace(tip=tip) for tip in solve(self, x)]
    )
    monkeypatch.setattr(Robot, 'jacobian', lambda self, q: np.eye(6, 3))
    offset = FitParameter('factor', ('body.segments.0.chambers.*.offset',))
    space = ParameterSpace(description('spatial_cc'), [offset])
    arm = space.robot([1.0], 'constant_curvature')  # whose limits alone are asked for
    monkeypatch.setattr(Problem, '_robot', lambda self, x: arm)
    missed, blamed, draws = 0, 0, 1000
    for seed in range(draws):
        poses = np.tile(np.eye(4), (5, 1, 1))
        random = np.random.default_rng(seed)
        poses[:, :3, 3] = lever + 1e-3 * random.standard_normal((5, 3))
        poses[:, :3, :3] = [so3_exp(w) for w in 1e-2 * random.standard_normal((5, 3))]
        data = Observations(lever, poses, np.zeros((5, 6)), oriented)
        found = identify(space, 'constant_curvature', data, seed=seed)
        missed += not found.low[0] < 1.0 < found.high[0]
        blamed += found.systematic
    # 1 % is ten, give or take three; the quantile of a known noise would miss some thirty.
    assert missed <= 20
    # noise alone, as often as it says; where its size in turns says nothing, less
    assert (0 if oriented else 2) <= blamed <= 20


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(
    ('friction', 'width', 'oriented'),
    [(0.3, 0.1, True), (0.3, 0.1, False), (0.15, 0.0, True), (0.0, 0.03, True)],
)
def test_what_the_actuators_lose_on_their_way_is_no_stiffness(friction, width, oriented, seed):
    """Tendons pulled and let go, two at a time, with what no parameter of the model stands for."""
    robot = Robot(description('config/robots/examples/tendon_arm.yaml'), 'network')
    low, high = robot.limits.T
    lost, wrap = Capstan(friction, low), 0.0
    past = hysteresis('play', high - low, low, width)
    random, q, here = np.random.default_rng(seed), None, low
    actuation, poses = [], []
    for _ in range(30):
        wanted = low.copy()
        pulled = random.choice(len(low), 2, replace=False)
        wanted[pulled] += 0.6 * (high - low)[pulled] * random.uniform(size=2)
        for share in np.linspace(0.0, 1.0, 6)[1:]:
            q = robot.forward(
                lost.apply(past.apply(here + share * (wanted - here)), wrap), None, q
            )
            wrap = tendon_wraps(robot.model_object.spec.drives, q)
        here = wanted
        actuation.append(wanted)
        poses.append(q.tip.copy())
        poses[-1][:3, 3] += 2e-4 * random.standard_normal(3)
        poses[-1][:3, :3] = poses[-1][:3, :3] @ so3_exp(3e-3 * random.standard_normal(3))
    data = Observations(np.array(actuation), np.array(poses), np.zeros((30, 6)), oriented)
    space = ParameterSpace(robot.description, default_parameters(robot))
    found = identify(space, 'network', data, seed=seed)
    assert found.systematic
    assert found.low[0] < 1.0 < found.high[0]
    equations = len(split(30, 0.3, seed)[0]) * (6 if oriented else 3)
    as_noise = (found.high[0] - found.factors[0]) / np.sqrt(equations)
    assert found.factors[0] - as_noise > 1.0  # would have been called certain


def draw_truth(seed: int) -> np.ndarray:
    return 1.0 + np.random.default_rng(seed).uniform(-0.08, 0.08, 3)


def test_dependent_parameters_are_named():
    robot = Robot(description('spatial_cc'), 'constant_curvature')
    _, data = arm_data()
    twins = [
        FitParameter(name, ('body.segments.0.chambers.*.offset',)) for name in ('left', 'right')
    ]
    linear = FitParameter('linear', ('body.segments.0.elongation.linear',))
    space = ParameterSpace(robot.description, [*twins, linear])
    with pytest.raises(NotIdentifiable) as error:
        identify(space, robot.model, data)
    assert error.value.groups == (('left', 'right'),)


def test_a_parameter_without_effect_is_named():
    # Without a load and with no mass the arm's stiffness moves nothing.
    space, data = arm_data()
    stiffness = FitParameter('stiffness', ('body.segments.0.axial_stiffness',))
    space = ParameterSpace(space.description, [*space.parameters, stiffness])
    with pytest.raises(NotIdentifiable) as error:
        identify(space, 'constant_curvature', data)
    assert error.value.groups == (('stiffness',),)


def test_postures_that_say_little_are_refused_with_the_deviation():
    # Small equal pressures only lengthen the arm a little: the quadratic part is not seen.
    space, data = arm_data()
    small = Observations(
        np.linspace(0.0, 2.0e3, len(data))[:, None] * np.ones(3), data.poses, data.wrenches
    )
    robot = space.robot([1.0] * 3, 'constant_curvature')
    random = np.random.default_rng(5)
    poses = np.array([robot.forward(a).tip for a in small.actuation])
    poses[:, :3, 3] += 2e-4 * random.standard_normal((len(poses), 3))
    pair = ParameterSpace(space.description, space.parameters[:2])
    with pytest.raises(NotIdentifiable, match='quadratic') as error:
        identify(pair, 'constant_curvature', Observations(small.actuation, poses, data.wrenches))
    assert max(error.value.deviations) > 0.15


def test_positions_alone_are_enough():
    space, data = arm_data()
    found = identify(
        space,
        'constant_curvature',
        Observations(data.actuation, data.poses, data.wrenches, oriented=False),
    )
    assert np.all((found.low < 1.0) & (found.high > 1.0))
    assert np.isnan(found.after.orientation)


ZEROS = (4e3, -3e3, 5e3)  # Pa
MARKER = (2e-3, -1e-3, 4e-3)  # m, in the tip's frame


def off(data: Observations, zeros=ZEROS, marker=MARKER) -> Observations:
    """Return what sensors that are off and a marker beside the tip would have said."""
    poses = data.poses.copy()
    poses[:, :3, 3] += np.einsum('nij,j->ni', poses[:, :3, :3], marker)
    return Observations(data.actuation + np.array(zeros), poses, data.wrenches, data.oriented)


def arm_offsets(sensors=True, marker=True) -> Offsets:
    robot = Robot(description('spatial_cc'), 'constant_curvature')
    return Offsets(robot, [a.name for a in robot.actuators] if sensors else (), marker)


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize(
    ('kept', 'sensors', 'marker'),
    [((), True, True), (('linear', 'quadratic', 'actuator_offset'), False, True)],
)
def test_known_offsets_lie_in_their_intervals(kept, sensors, marker, seed):
    space, data = arm_data(seed, 30)
    space = ParameterSpace(space.description, [p for p in space.parameters if p.name in kept])
    offsets = arm_offsets(sensors, marker)
    measured = off(data, zeros=ZEROS if sensors else (0.0, 0.0, 0.0))
    found = identify(space, 'constant_curvature', measured, offsets=offsets, seed=seed)
    zeros = [(f'sensor_actuator_{i}', 'Pa') for i in (1, 2, 3)] if sensors else []
    assert [(o.name, o.unit) for o in found.offsets] == [
        *zeros,
        *((f'marker_{axis}', 'm') for axis in 'xyz'),
    ]
    for offset, truth in zip(found.offsets, (*(ZEROS if sensors else ()), *MARKER), strict=True):
        assert offset.low < truth < offset.high, offset
        assert not offset.low < 0.0 < offset.high, 'told from none'
    assert np.all((found.low < 1.0) & (found.high > 1.0))
    assert found.correlation.shape == (len(kept) + len(offsets),) * 2
    assert found.held_after.position < 0.2 * found.held_before.position


def test_zeros_of_sensors_and_the_slope_of_the_pressure_map_are_not_told_apart():
    space, data = arm_data(0, 30)
    with pytest.raises(NotIdentifiable, match='sensor_actuator_3 apart.* Pa'):
        identify(space, 'constant_curvature', off(data), offsets=arm_offsets())


def test_offsets_left_out_go_into_the_numbers_of_the_file():
    space, data = arm_data(1, 30)
    found = identify(space, 'constant_curvature', off(data, zeros=(3e3, 3e3, 3e3)))
    assert not np.all((found.low < 1.0) & (found.high > 1.0))


def test_intervals_of_offsets_are_as_wide_as_their_scatter():
    rows, promised = [], []
    for seed in range(12):
        _, data = arm_data(seed, 16)
        space = ParameterSpace(description('spatial_cc'), [])
        found = identify(space, 'constant_curvature', off(data), offsets=arm_offsets(), seed=seed)
        rows.append([o.value for o in found.offsets])
        # 99 % over six parameters, 60 degrees of freedom: 3.29 deviations on each side.
        promised.append([(o.high - o.value) / 3.29 for o in found.offsets])
    scatter, width = np.std(rows, axis=0), np.median(promised, axis=0)
    assert np.all(scatter < 2.0 * width) and np.all(width < 2.0 * scatter)
    assert np.all(np.abs(np.mean(rows, axis=0) - [*ZEROS, *MARKER]) < 4.0 * width / 12**0.5)


def test_offsets_that_cannot_be_told_apart_are_named():
    # One straight posture: an arm bent or stretched a little, or a marker a little elsewhere.
    space, data = arm_data()
    low, high = (0.3e5, 0.301e5)
    straight = np.linspace(low, high, len(data))[:, None] * np.ones(3)
    robot = space.robot([1.0] * 3, 'constant_curvature')
    random = np.random.default_rng(5)
    poses = np.array([robot.forward(a).tip for a in straight])
    poses[:, :3, 3] += 1e-4 * random.standard_normal((len(poses), 3))
    flat = Observations(straight, poses, data.wrenches, oriented=False)
    nothing = ParameterSpace(space.description, [])
    with pytest.raises(NotIdentifiable, match='sensor_actuator_1.* and marker_y apart') as error:
        identify(nothing, 'constant_curvature', flat, offsets=arm_offsets())
    assert min(error.value.deviations) > 1.0  # farther off than a tenth of range and length
    # With the marker known the sensors can be told.
    identify(nothing, 'constant_curvature', flat, offsets=arm_offsets(marker=False))


def test_bad_offsets_are_refused():
    robot = Robot(description('spatial_cc'), 'constant_curvature')
    with pytest.raises(UnknownName, match='actuator_1'):
        Offsets(robot, ['actuator_9'])
    with pytest.raises(InvalidInput, match='each actuator once'):
        Offsets(robot, ['actuator_1', 'actuator_1'])
    space, data = arm_data()
    nothing = ParameterSpace(space.description, [])
    with pytest.raises(InvalidInput, match='at least one'):
        identify(nothing, 'constant_curvature', data)


def test_bad_observations_are_refused():
    space, data = arm_data()
    with pytest.raises(InvalidInput, match='at least 7 for 3'):
        identify(space, 'constant_curvature', data.part(np.arange(6)))
    poses = data.poses.copy()
    poses[0, 0, 3] = np.nan
    with pytest.raises(InvalidInput, match='finite'):
        identify(space, 'constant_curvature', Observations(data.actuation, poses, data.wrenches))


def test_a_factor_beyond_what_is_tried_is_refused():
    linear = FitParameter('linear', ('body.segments.0.elongation.linear',))
    space = ParameterSpace(description('spatial_cc'), [linear])
    truth = space.robot([0.03], 'constant_curvature')
    data = measured(truth, np.random.default_rng(0), 0.8, 20)
    with pytest.raises(InvalidInput, match='between 0.05 and 20, the ends') as error:
        identify(space, 'constant_curvature', data)
    assert error.value.field == 'linear'


def test_a_posture_is_counted_in_the_recording():
    space, data = arm_data()
    train, _ = split(len(data), 0.3, 0)
    data.actuation[train[-1]] = 1e9
    with pytest.raises(InvalidInput, match=f'posture {train[-1]} ') as error:
        identify(space, 'constant_curvature', data)
    assert error.value.field == f'posture {train[-1]}'


@pytest.mark.parametrize('share', [1.0, -0.1, float('nan')])
def test_a_share_that_leaves_nothing_to_fit_is_refused(share):
    with pytest.raises(InvalidInput, match='hold_out'):
        split(20, share, 0)


def test_the_split_is_a_split():
    train, held = split(20, 0.3, 4)
    assert sorted([*train, *held]) == list(range(20))
    assert len(held) == 6
    assert not np.array_equal(split(20, 0.3, 5)[1], held)


@pytest.mark.parametrize(
    ('robot', 'model', 'names'),
    [
        ('stiff_flop', 'ncm', ('area_pair_1', 'area_pair_2', 'area_pair_3', 'bending_stiffness')),
        ('soft_parallel', 'ancf', ('stretch_leg_1', 'stretch_leg_2', 'stretch_leg_3', 'EI')),
        ('haptic_5dof', 'network', ('leg_young', 'rest_curvature')),
    ],
)
def test_a_written_file_holds_the_changed_numbers_and_nothing_else(tmp_path, robot, model, names):
    space = ParameterSpace(
        description(robot), default_parameters(Robot(description(robot), model))
    )
    assert space.names == names
    factors = [1.1 + 0.01 * i for i in range(len(names))]
    written = space.write(factors, tmp_path / 'new.yaml')
    assert written.name == robot
    again = ParameterSpace(written, space.parameters)
    changed = space.robot(factors, model)
    back = again.robot([1.0] * len(names), model)
    rest = [a.rest for a in changed.actuators]
    np.testing.assert_allclose(
        back.forward(rest).tip[:3, 3], changed.forward(rest).tip[:3, 3], atol=1e-6
    )
    old = Path(space.description.file).read_text().splitlines()
    new = (tmp_path / 'new.yaml').read_text().splitlines()
    differing = [a for a, b in zip(old, new, strict=True) if a != b]
    assert 0 < len(differing) < 0.3 * len(old)


LENGTHS = 'body.segments.*.length'


def two_equal_segments(tmp_path) -> Path:
    """Write a robot of two segments that share their chambers and their length by aliases."""
    wrong = Path(__file__).parent / 'bad_robots' / 'bad_unknown_model.yaml'
    text = wrong.read_text(encoding='utf-8').replace('ncn: {}', 'ncm: {}')
    head, segment, rest = re.split(r'(?m)(?=^    - name: segment_1|^drives:)', text)
    second = segment.replace('segment_1', 'segment_2').partition('      chambers:')[0]
    first = segment.replace('length: ', 'length: &long ').replace('chambers:', 'chambers: &holes')
    second = re.sub('length: .*', 'length: *long', second) + '      chambers: *holes\n'
    file = tmp_path / 'robot.yaml'
    file.write_text(head + first + second + rest)
    return file


def areas(robot) -> list[list[float]]:
    return [[c.area for c in s.chambers] for s in robot.structure['segments'].segments]


def lengths(robot) -> list[float]:
    return [s.length for s in robot.structure['segments'].segments]


def test_numbers_shared_by_an_alias_are_changed_once(tmp_path):
    file = two_equal_segments(tmp_path)
    old = read_robot_file(file)
    chosen = [*default_parameters(Robot(old)), FitParameter('length', (LENGTHS,))]
    space = ParameterSpace(old, chosen)
    factors = [1.2345, 0.9, 1.0, 1.05]
    wanted = np.array(areas(old)) * factors[:2]
    np.testing.assert_allclose(areas(space.robot(factors, 'ncm').description), wanted)
    new = space.write(factors, tmp_path / 'new.yaml')
    np.testing.assert_allclose(areas(new), wanted, rtol=1e-6)
    np.testing.assert_allclose(lengths(new), 1.05 * np.array(lengths(old)), rtol=1e-6)
    text = (tmp_path / 'new.yaml').read_text()
    assert 'chambers: &holes' in text and 'chambers: *holes' in text
    assert 'length: &long' in text and 'length: *long' in text


@pytest.mark.parametrize('kept', [(), ('body.segments.1.length',)])
def test_an_alias_that_cannot_follow_is_refused_and_nothing_is_lost(tmp_path, kept):
    file = two_equal_segments(tmp_path)
    text = file.read_text()
    chosen = [FitParameter('first', ('body.segments.0.length',))]
    chosen += [FitParameter('second', kept)] if kept else []
    space = ParameterSpace(read_robot_file(file), chosen)
    factors = [1.1, 0.9][: len(chosen)]
    first, second = lengths(space.robot(factors, 'ncm').description)
    assert second / first == pytest.approx(0.9 / 1.1 if kept else 1.0 / 1.1)
    with pytest.raises(RobotFileError, match='length by an alias; write it out'):
        space.write(factors, file)
    assert file.read_text() == text


def test_a_result_that_cannot_be_read_leaves_the_target_as_it_was(tmp_path):
    file = tmp_path / 'robot.yaml'
    shutil.copy(find_robot_file('stiff_flop'), file)
    text = file.read_text()
    every = FitParameter('length', ('body.segments.*.length',))
    space = ParameterSpace(read_robot_file(file), [every])
    with pytest.raises(RobotFileError, match='greater than zero'):
        space.write([0.0], file)
    assert file.read_text() == text and list(tmp_path.iterdir()) == [file]
    old = np.array(lengths(space.description))
    np.testing.assert_allclose(lengths(space.write([1.1], file)), 1.1 * old)
    assert list(tmp_path.iterdir()) == [file]


def test_numbers_of_several_parameters_get_every_change(tmp_path):
    legs = description('soft_parallel')
    paths = ('drives.*.curve.stretch', 'drives.0.curve.stretch')
    space = ParameterSpace(
        legs,
        [
            FitParameter('all', paths, Change.GROWTH),
            FitParameter('first', paths[1:]),
            FitParameter('again', paths[1:], Change.GROWTH),
        ],
    )
    factors = [1.2, 1.1, 0.9]
    fitted = space.robot(factors, 'ancf').description.structure['ancf'].curves
    old = [c.values - 1.0 for c in legs.structure['ancf'].curves]
    first = 1.0 + 0.9 * (1.1 * (1.0 + 1.2 * old[0]) - 1.0)
    np.testing.assert_allclose(fitted[0].values, first)
    np.testing.assert_allclose(fitted[1].values, 1.0 + 1.2 * old[1])
    written = space.write(factors, tmp_path / 'new.yaml').structure['ancf'].curves
    for a, b in zip(written, fitted, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-6)


def test_rest_curvatures_of_both_forms_are_default_parameters(tmp_path):
    text = find_robot_file('haptic_5dof').read_text(encoding='utf-8')
    # The first rod's list becomes one vector for the whole rod.
    text = re.sub(
        r'rest_curvature:\n(?: +- \{at: .*\n)+', 'rest_curvature: 0 0.5 0 1/m\n', text, count=1
    )
    file = tmp_path / 'robot.yaml'
    file.write_text(text)
    robot = Robot(read_robot_file(file), 'network')
    space = ParameterSpace(robot.description, default_parameters(robot))
    new = space.write([1.0, 1.5], tmp_path / 'new.yaml').structure['network'].rods
    old = robot.description.structure['network'].rods
    np.testing.assert_allclose(new[0].curvature, [[0.0, 0.0, 0.75, 0.0]])
    for a, b in zip(new, old, strict=True):
        np.testing.assert_allclose(a.curvature[:, 1:], 1.5 * b.curvature[:, 1:], rtol=1e-6)


def test_growth_leaves_a_stretch_of_one():
    legs = description('soft_parallel')
    space = ParameterSpace(legs, [FitParameter('leg', ('drives.0.curve.stretch',), Change.GROWTH)])
    old = legs.structure['ancf'].curves[0].values
    new = space.robot([1.5], 'ancf').description.structure['ancf'].curves[0].values
    np.testing.assert_allclose(new - 1.0, 1.5 * (old - 1.0), rtol=1e-9)
    assert new[0] == 1.0


def test_growth_of_percents_leaves_a_stretch_of_one(tmp_path):
    text = find_robot_file('soft_parallel').read_text(encoding='utf-8')
    tree = yaml.safe_load(text)
    leg = tree['drives'][0]['curve']
    curve = leg['stretch']['value'] if isinstance(leg['stretch'], dict) else leg['stretch']
    leg['stretch'] = [f'{100.0 * x:.6g} %' for x in curve]
    file = tmp_path / 'percent.yaml'
    file.write_text(yaml.safe_dump(tree), encoding='utf-8')
    legs = read_robot_file(file)
    space = ParameterSpace(legs, [FitParameter('leg', ('drives.0.curve.stretch',), Change.GROWTH)])
    new = space.robot([1.5], 'ancf').description.structure['ancf'].curves[0].values
    np.testing.assert_allclose(new - 1.0, 1.5 * (np.array(curve) - 1.0), atol=1e-9)


def test_paths_reach_values_lists_and_units():
    tree = {'a': [{'b': {'value': '3 mm^2', 'source': 'x'}}, {'b': 4.0}], 'c': ['1 2 3 bar', 'x']}
    assert places(tree, 'a.*.b', 'f') == [('a', 0, 'b', 'value'), ('a', 1, 'b')]
    assert places(tree, 'c', 'f') == [('c', 0)]
    with pytest.raises(RobotFileError, match='leads to no number'):
        places(tree, 'a.0.d', 'f')


def test_parameters_are_read_from_text():
    assert parameter_from_text('EI=ancf.EI') == FitParameter('EI', ('ancf.EI',))
    both = parameter_from_text('leg=drives.0.curve.stretch+drives.1.curve.stretch:growth')
    assert both.change is Change.GROWTH
    assert len(both.paths) == 2
    with pytest.raises(InvalidInput, match='name=path'):
        parameter_from_text('ancf.EI')
    with pytest.raises(UnknownName, match='growth'):
        parameter_from_text('a=b:grow')


def test_a_model_without_a_list_says_so():
    with pytest.raises(InvalidInput, match='kirchhoff'):
        default_parameters(Robot(description('pam_continuum')))


@pytest.mark.parametrize(
    ('name', 'model', 'reach', 'masses'),
    [
        ('stiff_flop', 'network', 0.6, ['body.tip.mass']),
        ('stiff_flop', 'npcc', 0.6, ['body.tip.mass']),
        ('stiff_flop_two_segment', 'ncm', 0.5, ['body.tip.mass', 'body.segments.0.link_mass']),
        ('soft_parallel', 'ancf', 0.5, ['body.mass', 'body.platform.mass']),
        ('spatial_cc', 'constant_curvature', 0.8, []),
    ],
)
def test_slopes_are_those_of_robots_that_are_solved_anew(name, model, reach, masses):
    robot = Robot(description(name), model)
    weights = [FitParameter(mass, (mass,)) for mass in masses]
    space = ParameterSpace(robot.description, [*default_parameters(robot), *weights])
    data = measured(robot, np.random.default_rng(2), reach, 4)
    offsets = Offsets(robot, [robot.actuators[0].name], marker=True)
    problem = Problem(space, model, data, None, offsets)
    x = np.concatenate([np.full(len(space.names), 1.03), np.full(len(offsets), 0.2)])
    slope = problem.slope(x)
    for i in range(len(x)):
        unit = np.zeros(len(x))
        unit[i] = 2e-3
        anew = (problem.residuals(x + unit) - problem.residuals(x - unit)) / 4e-3
        assert np.linalg.norm(slope[:, i] - anew) < 1e-4 * np.linalg.norm(anew)


def test_data_without_any_error_are_not_systematic():
    robot = Robot(description('spatial_cc'), 'constant_curvature')
    low, high = robot.limits.T
    asked = low + (high - low) * np.random.default_rng(0).uniform(size=(12, len(low)))
    poses = np.array([robot.forward(a).tip for a in asked])
    space = ParameterSpace(robot.description, default_parameters(robot))
    for oriented in (True, False):
        data = Observations(asked, poses, np.zeros((12, 6)), oriented)
        found = identify(space, 'constant_curvature', data)
        assert found.factors == pytest.approx(1.0, abs=1e-6)


def test_an_actuator_that_is_held_goes_the_way_it_came():
    noise = 1e-3 * np.array([0.0, 1.0, -1.0, 1.0, -1.0, 0.0])
    given = np.array([[0, 0], [1, 0], [1, 2], [1, 1], [0.5, 1], [0.5, 1]])
    ways = [[0, 0], [1, 0], [1, 1], [1, -1], [-1, -1], [-1, -1]]
    assert last_ways(given + noise[:, None]).tolist() == ways
