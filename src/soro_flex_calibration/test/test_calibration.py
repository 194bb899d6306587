# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From raw data of the emulated device to a calibration, and what is refused."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from soro_can_driver.emulator.device import read_signals
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.haptic_plant import HapticPlant, RELEASED
from soro_flex_calibration.fitting import fit_recording, keep_fit, metres_per_count, write_report
from soro_flex_calibration.motor_path import extremes, MotorPath
from soro_flex_calibration.recording import RawRecording, Recorder
from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.flex_calibration import read_calibration
from soro_mechanics.haptics.flex_fit import PoorFit
from soro_mechanics.haptics.flex_signal import FlexFault
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

STEP = np.radians(0.1) / 6.42  # rad, of an encoder at the output
LEVER = 0.003  # m, robot file
READING = 0.05  # s, between two readings


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


@pytest.fixture(scope='module')
def signals():
    description = read_robot_file(find_robot_file('haptic_5dof'))
    settings = read_emulator_settings(description, 'can')
    return read_signals(settings.device, settings.seed, 6)


@cache
def moved():
    """Move the emulated plant along a path of the node; angles and elongations at readings."""
    random = np.random.default_rng(3)
    plant = HapticPlant(find_robot_file('haptic_5dof'), 'can')
    limits = np.radians([[-60.0, 60.0]] * 6)
    here, clock, rows = np.zeros(6), 0.0, []
    for stop in extremes(limits, 0.5, 16, random):
        path = MotorPath(here, stop, 0.9, 0.0)
        for i in range(int(path.duration / READING)):
            for moment in READING * (i + np.linspace(0.0, 1.0, 6)[1:]):
                angle, _ = path.at(moment)
                elongation = plant.update(angle, RELEASED, now=clock + moment).elongation
            rows.append((angle.copy(), elongation.copy()))
        here, clock = stop, clock + path.duration
    return rows


def record(signals, fault=FlexFault.NONE, broken=-1):
    """Read the sensors of the moved plant as the board does."""
    random, angles, counts = np.random.default_rng(4), [], []
    for angle, elongation in moved():
        row = [
            s.counts(e, 0.0, random, fault if k == broken else FlexFault.NONE)
            for k, (s, e) in enumerate(zip(signals, elongation, strict=True))
        ]
        angles.append(STEP * np.round(angle / STEP))
        counts.append(row)
    names = tuple(f'flex_{i + 1}' for i in range(6))
    return RawRecording(names, np.array(angles), np.array(counts, float))


@pytest.fixture(scope='module')
def raw(signals):
    return record(signals)


@pytest.fixture(scope='module')
def recording(raw, robot):
    return raw.with_model(HapticDevice(robot))


@pytest.mark.parametrize('method', ['exact', 'published'])
def test_sensors_are_recovered_from_raw_data(recording, signals, method):
    report = fit_recording('haptic_5dof', recording, LEVER, (), method, 0.0)
    shares = [fit.error_share for fit in report.fits]
    if method == 'exact':
        assert max(shares) < 0.046, report.text()  # published
        for fit, signal in zip(report.fits, signals, strict=True):
            assert metres_per_count(fit, LEVER) == pytest.approx(1.0 / signal.gain, rel=0.05)
    else:
        assert np.median(shares) < 0.046, report.text()
    assert all(len(fit.nodes) <= 2 for fit in report.fits)  # three coefficients at most


def test_a_good_fit_is_kept_and_merged_and_a_bad_one_leaves_the_file_alone(recording, tmp_path):
    path = tmp_path / 'flex_calibration.yaml'
    report = fit_recording('haptic_5dof', recording, LEVER, (), 'exact', 0.0)
    one = fit_recording('haptic_5dof', recording, LEVER, ('flex_3',), 'exact', 0.0)
    with pytest.raises(InvalidInput, match='flex_1'):
        keep_fit(one, path, recording.names)  # the others were never calibrated
    kept = keep_fit(report, path, recording.names)
    assert read_calibration(path, 'haptic_5dof').sensor('flex_5').gain == kept.sensors[4].gain
    keep_fit(one, path, recording.names)
    before = path.read_text()
    assert read_calibration(path).sensor('flex_3').places == kept.sensors[2].places
    assert len(kept.sensors[2].places) == len(kept.sensors[2].nodes)
    path.write_text(before.replace('haptic_5dof', 'another'))
    with pytest.raises(RobotFileError, match='calibrate it'):
        keep_fit(one, path, recording.names)  # the rest is another robot's
    keep_fit(report, path, recording.names)  # nothing of the old file is needed
    path.write_text(before)
    strict = fit_recording('haptic_5dof', recording, LEVER, (), 'exact', 1e-7)
    with pytest.raises(PoorFit, match='allowed'):
        keep_fit(strict, path, recording.names)
    assert path.read_text() == before
    write_report(strict, recording, tmp_path)
    assert 'refused' in (tmp_path / 'flex_calibration.txt').read_text()
    assert (tmp_path / 'flex_calibration.png').stat().st_size > 1000


@pytest.mark.parametrize(
    ('fault', 'word'), [(FlexFault.STUCK, 'stuck'), (FlexFault.OPEN, 'end of the converter')]
)
def test_broken_sensors_are_refused_with_the_reason(signals, robot, fault, word):
    recording = record(signals, fault, 2).with_model(HapticDevice(robot))
    report = fit_recording('haptic_5dof', recording, LEVER, (), 'exact', 0.0)
    assert len(report.reasons) >= 1
    assert all('flex_3' in reason for reason in report.reasons)
    assert any(word in reason for reason in report.reasons)


def test_far_jumps_between_readings_at_rest_are_solved_like_a_path(raw, recording, robot):
    some = slice(None, None, 23)
    sparse = RawRecording(raw.names, raw.angles[some], raw.counts[some])
    jumped = sparse.with_model(HapticDevice(robot))
    for a, b in zip(jumped.rotations, recording.rotations, strict=True):
        np.testing.assert_allclose(a, b[some], atol=2e-4)


def test_solving_ends_before_the_next_reading_when_nobody_wants_the_result(robot):
    calls = []

    def check():
        calls.append(True)
        if len(calls) == 3:
            raise InterruptedError

    still = RawRecording(('flex_1',), np.zeros((50, 6)), np.zeros((50, 1)))
    with pytest.raises(InterruptedError):
        still.with_model(HapticDevice(robot), check)
    assert len(calls) == 3


def test_unknown_sensors_and_missing_recordings_are_refused(recording, tmp_path):
    with pytest.raises(UnknownName, match='flex_9'):
        fit_recording('haptic_5dof', recording, LEVER, ('flex_9',), 'exact', 0.0)
    with pytest.raises(InvalidInput) as refused:
        RawRecording.load(tmp_path / 'nothing.npz')
    assert refused.value.code is Code.NO_STATE


def test_recordings_survive_the_file(raw, tmp_path):
    raw.save(tmp_path / 'r.npz')
    back = RawRecording.load(tmp_path / 'r.npz')
    assert back.names == raw.names
    np.testing.assert_array_equal(back.counts, raw.counts)
    assert (back.taken, back.warning) == ('', '')
    dataclasses.replace(raw, taken='2026-11-20', flagged=('b',)).save(tmp_path / 'r.npz')
    assert 'b' in RawRecording.load(tmp_path / 'r.npz').warning
    assert RawRecording.load(tmp_path / 'r.npz').taken == '2026-11-20'
    # One without either, as older versions wrote it.
    np.savez(tmp_path / 'r.npz', names=np.array(raw.names), angles=raw.angles, counts=raw.counts)
    assert RawRecording.load(tmp_path / 'r.npz').taken == ''


def test_samples_are_pairs_of_equal_stamps():
    recorder = Recorder(('a', 'b'))
    recorder.take_state(1, np.zeros(6))  # not recording yet
    recorder.record(True)
    recorder.take_counts(1, np.ones(2), set())
    recorder.take_state(2, np.full(6, 2.0))
    recorder.take_counts(3, np.full(2, 3.0), {'b'})
    recorder.take_counts(2, np.full(2, 2.0), set())
    recorder.take_state(4, np.full(6, np.nan))
    recorder.take_counts(4, np.ones(2), set())
    assert recorder.samples == 1
    recording = recorder.recording()
    np.testing.assert_array_equal(recording.angles, [[2.0] * 6])
    np.testing.assert_array_equal(recording.counts, [[2.0, 2.0]])
    assert recorder.faulty == {'b'}
    with pytest.raises(InvalidInput, match='does the device read flex sensors'):
        Recorder(('a',)).recording()


def test_paths_visit_all_extremes_before_any_comes_again_at_the_speed_asked():
    limits = np.array([[-1.0, 1.0], [0.0, 4.0]])
    stops = extremes(limits, 0.5, 8, np.random.default_rng(0))
    assert {tuple(s) for s in stops[:4]} == {(-0.5, 1.0), (-0.5, 3.0), (0.5, 1.0), (0.5, 3.0)}
    assert {tuple(s) for s in stops[4:]} == {tuple(s) for s in stops[:4]}
    path = MotorPath(np.zeros(2), np.array([0.5, 3.0]), 1.5, 0.25)
    assert path.travel == 2.0
    assert path.duration == 2.25
    np.testing.assert_allclose(path.at(1.0)[0], [0.25, 1.5])
    assert path.at(2.1)[1] and not path.at(1.9)[1]
    for poses, amplitude in ((3, 0.5), (8, 0.0), (8, 1.5)):
        with pytest.raises(InvalidInput):
            extremes(limits, amplitude, poses, np.random.default_rng(0))
