# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a recording does not hold is not made up: tips, sensors, robots, clocks, models."""

from __future__ import annotations

import json
from pathlib import Path
import re
from types import SimpleNamespace

import numpy as np
import pytest

from soro_mechanics.identification.fit import Identification
from soro_msgs.msg import ActuatorState, Configuration
from soro_node.user_errors import UserError
from soro_recording.bag_reader import BagReader
from soro_recording.recorded_robot import describe
from soro_recording.run_data import RunData
from soro_recording.run_figures import _along_the_way, _path, _tip, SHAPES_DRAWN
from soro_recording.run_player import _lines

TRACKED = ('--tip', 'tracker/position')


def changed(message, name, value):
    """Put one value of `actuator_1` into an ActuatorState."""
    values = np.array(getattr(message, name), dtype=float)
    values[list(message.name).index('actuator_1')] = value
    setattr(message, name, values)


def page_data(folder: Path):
    return json.loads(
        re.search(r'const run = (\{.*\});\n', (folder / 'player.html').read_text())[1]
    )


def seconds(message):
    """Return when a message was stamped, from the start of the recording [s]."""
    stamp = message.header.stamp
    return stamp.sec - 1_700_000_000 + 1e-9 * stamp.nanosec


# ---- the tip -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'topic', ['tip_pose', 'tip_estimate', 'configuration', 'commanded_configuration']
)
def test_the_model_is_not_fitted_to_itself(recorded, soro, tmp_path, topic):
    done = soro('identify', str(recorded.folder), '--tip', topic, '--write', 'x.yaml')
    assert done.returncode == 1
    assert f'--tip {topic}: that is computed with the model itself' in done.stderr
    assert not (tmp_path / 'x.yaml').exists()


@pytest.mark.parametrize('origin', ['FROM_MEASUREMENT', 'FROM_COMMAND', 'FROM_REQUEST'])
def test_a_configuration_that_a_model_computed_is_no_measurement(recorded, soro, alter, origin):
    alter('Configuration', lambda m: setattr(m, 'origin', getattr(Configuration, origin)))
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 1
    assert '--tip emulator/configuration: that is computed with the model' in done.stderr


@pytest.mark.usefixtures('unpainted')
def test_ground_truth_is_a_measurement(recorded, soro, alter):
    alter('Configuration', lambda m: setattr(m, 'origin', Configuration.GROUND_TRUTH))
    assert soro('identify', str(recorded.folder)).returncode == 0


def test_a_tracker_is_drawn_beside_the_model(recorded, soro):
    done = soro('plot', str(recorded.folder), *TRACKED, '--json')
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)['numbers']['tip']
    assert numbers['rmse_model_to_measured'] == pytest.approx(numbers['rmse_model_to_plant'])
    assert numbers['rmse_model_to_measured'] > 1e-3
    done = soro('plot', str(recorded.folder), '--tip', 'tip_pose')
    assert (done.returncode, 'model itself' in done.stderr) == (1, True)


def fake_run(commanded_at):
    """A tip that is where it is commanded, where anything is."""
    time = np.arange(0.0, 20.0, 0.05)
    pose = np.zeros((len(time), 7))
    pose[:, 0] = 0.05 * np.sin(time)
    there = commanded_at(time)
    ghost = SimpleNamespace(time=time[there], tip=pose[there])
    return SimpleNamespace(
        description=SimpleNamespace(title='arm'),
        tip=lambda: (time, pose),
        actuation=SimpleNamespace(source='measured'),
        commanded_at=lambda time: np.isfinite(time),
        shapes=lambda topic: ghost if topic == 'commanded_configuration' else None,
    )


def test_time_without_a_command_is_no_error():
    drawn = _tip(fake_run(lambda t: (t < 5.0) | (t > 12.0)), None)
    assert drawn.numbers['rmse_model_to_commanded'] == pytest.approx(0.0, abs=1e-12)
    line = drawn.figure.axes[0].get_lines()[1]
    assert np.isnan(line.get_xdata()).sum() == 1  # and the curve is interrupted there
    labels = [text.get_text() for text in drawn.figure.axes[0].get_legend().get_texts()]
    assert labels[0] == 'model from measured actuation (tip_pose)'


def test_a_command_that_the_driver_did_not_follow_is_no_error():
    run = fake_run(lambda t: t >= 0.0)
    time, pose = run.tip()
    safe = (time > 5.0) & (time < 9.0)
    run.tip = lambda: (time, np.where(safe[:, None], 0.0, pose))
    assert _tip(run, None).numbers['rmse_model_to_commanded'] > 5e-3
    run.commanded_at = lambda time: ~safe
    assert _tip(run, None).numbers['rmse_model_to_commanded'] == 0.0


@pytest.mark.parametrize('state', ['SAFE', 'FAULT', 'ESTOP'])
def test_the_last_command_of_a_driver_in_a_safe_state_does_not_stand(recorded, alter, state):
    def safe(message):
        if seconds(message) < 10.0:
            message.device_state = getattr(ActuatorState, state)

    alter('ActuatorState', safe)
    with BagReader(recorded.folder) as bag:
        run = RunData(bag, '/arm')
        data = run.actuation
        followed = data.time > 9.85  # from the first message on, at 0.1 s
        np.testing.assert_array_equal(np.isfinite(data.commanded).all(axis=1), followed)
        assert np.isfinite(data.measured).all()
        assert run.commanded_at(np.array([5.0, 15.0])).tolist() == [False, True]


def test_a_tip_that_was_never_commanded_has_no_error():
    run = fake_run(lambda t: t > 12.0)
    run.tip = lambda: (np.arange(0.0, 5.0, 0.05), np.zeros((100, 7)))
    assert _tip(run, None).numbers == {'rmse_model_to_commanded': None}


def test_the_player_shows_no_ghost_while_there_is_none():
    frames = [[np.full((3, 3), float(n))] for n in range(3)]
    run = SimpleNamespace(backbones=lambda topic, keep: [frames[n] for n in keep])
    (line,) = _lines(run, 'commanded_configuration', np.arange(3), np.array([True, False, True]))
    assert line == [[0.0] * 9, None, [2000.0] * 9]


def test_the_path_is_told_by_its_samples(recorded):
    with BagReader(recorded.folder) as bag:
        axis = _path(RunData(bag, '/arm')).figure.axes[2]
    assert axis.get_xlabel() == 'share of the recorded samples [%]'
    assert 'RMSE of the distance' in axis.get_legend().get_texts()[0].get_text()


def test_slow_motion_is_no_rest():
    tip = np.zeros((4001, 7))
    tip[:, 0] = np.linspace(0.0, 0.1, 4001)  # 0.025 mm from one message to the next
    chosen = _along_the_way(SimpleNamespace(tip=tip))
    assert len(chosen) == SHAPES_DRAWN
    assert np.ptp(np.diff(chosen)) < 20


# ---- the actuators -------------------------------------------------------------------------


def test_an_applied_set_point_is_no_measurement(recorded, soro, alter, tmp_path, request):
    alter('ActuatorState', lambda m: changed(m, 'measured', np.nan))
    done = soro('plot', str(recorded.folder), '-o', 'figures', '--json')
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)['numbers']['actuation']
    assert numbers == {'actuator_1_rmse': None, 'actuator_2_rmse': 0.0, 'actuator_3_rmse': 0.0}
    data = page_data(tmp_path / 'figures')
    assert data['source'] == 'measured and applied'
    assert set(data['measured'][0]) == {None} and None not in data['measured'][1]
    assert set(data['applied'][1]) == {None} and None not in data['applied'][0]
    request.getfixturevalue('unpainted')
    done = soro('plot', str(recorded.folder))
    assert re.search(r'actuation: actuator 1 rmse +unknown', done.stdout)


def test_what_is_not_commanded_yet_is_not_zero(recorded, soro, alter, tmp_path):
    alter(
        'ActuatorState', lambda m: changed(m, 'commanded', np.nan) if seconds(m) < 10.0 else None
    )
    assert soro('plot', str(recorded.folder), '-o', 'figures').returncode == 0
    data = page_data(tmp_path / 'figures')
    before = np.array(data['time']) < 9.8
    assert set(np.array(data['asked'][0])[before]) == {None}
    assert None not in data['asked'][0][-100:] + data['asked'][1]


@pytest.mark.usefixtures('unpainted')
def test_identify_says_what_it_took_for_the_actuation(recorded, soro, alter):
    assert 'actuation measured\n' in soro('identify', str(recorded.folder)).stderr
    alter('ActuatorState', lambda m: changed(m, 'measured', np.nan))
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 0, done.stderr
    assert 'actuation applied for actuator_1 (never measured)' in done.stderr
    done = soro('identify', str(recorded.folder), '--json')
    assert json.loads(done.stdout)['actuation'] == {
        'actuator_1': {'source': 'applied', 'unmeasured': 1.0},
        'actuator_2': {'source': 'measured', 'unmeasured': 0.0},
        'actuator_3': {'source': 'measured', 'unmeasured': 0.0},
    }
    done = soro('identify', str(recorded.folder), '--sensor-offset', 'all', '--offsets-only')
    assert done.returncode == 1
    assert '--sensor-offset actuator_1: the recording holds no measurement' in done.stderr


@pytest.mark.usefixtures('unpainted')
def test_a_silent_sensor_is_said(recorded, soro, alter):
    alter('ActuatorState', lambda m: changed(m, 'measured', np.nan) if seconds(m) < 3.0 else None)
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 0, done.stderr
    assert re.search(r'measured; sensor silent, left out: actuator_1 7\.\d%', done.stderr)


# ---- the robot -----------------------------------------------------------------------------


def test_other_actuators_are_named(recorded, soro):
    for verb in ('plot', 'identify'):
        done = soro(verb, str(recorded.folder), '--robot', 'stiff_flop')
        assert done.returncode == 1
        assert re.search(r'/arm/\w+ has the actuators actuator_\d, actuator_\d, ', done.stderr)
        assert 'name the file of the recorded robot (--robot FILE' in done.stderr


@pytest.mark.usefixtures('unpainted')
def test_the_robot_that_is_named_wins(recorded, soro):
    for verb in ('plot', 'identify'):
        done = soro(verb, str(recorded.folder), '--robot', 'spatial_cc')
        assert done.returncode == 0, done.stderr
        assert re.search(r'--robot: .*spatial_cc\.yaml is used, not the robot file', done.stderr)


def test_a_robot_that_is_guessed_by_its_namespace_is_said(tmp_path):
    bag = SimpleNamespace(robots=[], path=Path('bags/run'))
    description, said = describe(bag, '/stiff_flop', None, tmp_path)
    assert description.name == 'stiff_flop'
    assert 'bags/run holds no robot file: ' in said and '--robot FILE names another' in said
    with pytest.raises(UserError, match='name its file with --robot FILE'):
        describe(bag, '/left', None, tmp_path)
    assert describe(bag, '/left', 'stiff_flop', tmp_path)[1] == ''


@pytest.mark.usefixtures('unpainted')
def test_a_bag_without_a_robot_file_takes_that_of_robot(recorded, soro, monkeypatch):
    monkeypatch.setattr(BagReader, 'robots', [])
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 1 and 'which robot /arm in' in done.stderr
    done = soro('identify', str(recorded.folder), '--robot', 'spatial_cc')
    assert done.returncode == 0, done.stderr


# ---- the clocks ----------------------------------------------------------------------------


def test_clocks_that_differ_are_refused(recorded, soro, alter):
    def ahead(message):
        message.header.stamp.sec += 3

    alter('PoseStamped', ahead)
    done = soro('identify', str(recorded.folder), *TRACKED)
    assert done.returncode == 1
    assert 'the clocks of tracker/position and actuator_state differ: received -3.00 s' in (
        done.stderr
    )


@pytest.mark.parametrize('kind', ['ActuatorState', 'PoseStamped'])
def test_a_clock_that_is_set_back_is_refused(recorded, soro, alter, kind):
    def back(message):
        if seconds(message) > 20.0:
            message.header.stamp.sec -= 3

    alter(kind, back)
    done = soro('identify', str(recorded.folder), *TRACKED)
    assert done.returncode == 1
    topic = 'actuator_state' if kind == 'ActuatorState' else 'tracker/position'
    assert re.search(rf'/arm/{topic}: its stamps go back by 2\.9 s at 19\.900 s', done.stderr)


@pytest.mark.usefixtures('unpainted')
def test_stamps_of_zero_are_refused_by_identify_and_replaced_by_plot(recorded, soro, alter):
    def zero(message):
        message.header.stamp.sec = message.header.stamp.nanosec = 0

    alter('ActuatorState', zero)
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 1
    assert '/arm/actuator_state: 100% of its stamps are zero' in done.stderr
    done = soro('plot', str(recorded.folder), '--json')
    assert done.returncode == 0, done.stderr
    assert 'stamps are zero; drawn by the times of its receipt' in done.stderr
    period = json.loads(done.stdout)['numbers']['timing']['actuator_state_period']
    assert period == pytest.approx(0.1, abs=1e-6)


# ---- the model -----------------------------------------------------------------------------


@pytest.mark.usefixtures('unpainted')
def test_a_model_that_was_changed_has_to_be_named(recorded, soro, alter):
    def other(message):
        if seconds(message) > 20.0:
            message.model = 'ncm'
            for backbone in message.backbones:  # with stations of its own
                backbone.poses = backbone.poses[::2]

    alter('Configuration', other)
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 1
    assert 'the model was changed during the recording (constant_curvature, ncm)' in done.stderr
    done = soro('identify', str(recorded.folder), '--model', 'constant_curvature')
    assert done.returncode == 0, done.stderr
    done = soro('plot', str(recorded.folder))
    assert done.returncode == 0, done.stderr
    with BagReader(recorded.folder) as bag:
        shapes = RunData(bag, '/arm').shapes()
    assert shapes.models == ('constant_curvature', 'ncm')
    np.testing.assert_array_equal(shapes.model, shapes.time > 19.95)


# ---- the result ----------------------------------------------------------------------------


@pytest.mark.usefixtures('unpainted')
def test_a_fit_that_is_no_better_is_one_line_of_json(recorded, soro, tmp_path, monkeypatch):
    monkeypatch.setattr(Identification, 'better', False)
    done = soro('identify', str(recorded.folder), '--write', 'x.yaml', '--json')
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer['better'] is False and answer['error_code'] == 402
    assert 'nothing is written' in answer['error_message']
    assert 'nothing is written' in done.stderr
    assert not (tmp_path / 'x.yaml').exists()


def test_a_file_that_is_not_written_is_not_printed(recorded, soro, tmp_path):
    fixed = [w for name in ('linear', 'quadratic', 'actuator_offset') for w in ('--fix', name)]
    done = soro('identify', str(recorded.folder), *fixed, '--marker-offset', '--write', 'x.yaml')
    assert done.returncode == 0, done.stderr
    assert 'x.yaml' not in done.stdout and not (tmp_path / 'x.yaml').exists()
