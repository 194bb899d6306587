# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Calibration of flex sensors: recovery from raw counts, refusal with reasons, the file."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_calibration import (
    calibrate,
    FlexRecording,
    read_calibration,
    save_calibration,
)
from soro_mechanics.haptics.flex_fit import (
    exact_nodes,
    fit_sensor,
    FitLimits,
    PoorFit,
    published_nodes,
)
from soro_mechanics.haptics.flex_signal import FlexFault, FlexSignal, FULL_SCALE

NODES = 12
LEVER = 0.003  # m
SIGNAL = FlexSignal(offset=1850.0, gain=1.4e6, drift=0.2, noise=6.0)


def bending(seed, samples=1500):
    """Return rotations of nodes along a leg: smooth, highly correlated (paper, Fig. 7)."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, 60.0, samples)
    place = np.linspace(0.1, 1.0, NODES)
    modes = np.stack([place, place**2, np.sin(np.pi * place)])
    waves = rng.uniform(0.05, 0.4, size=(3, 5)), rng.uniform(0.0, 6.0, size=(3, 5))
    drive = np.sin(2 * np.pi * waves[0][..., None] * time + waves[1][..., None]).sum(axis=1)
    return time, (np.array([0.10, 0.06, 0.03])[:, None] * drive).T @ modes


def record(seed, nodes=(3, 9), signal=SIGNAL, fault=FlexFault.NONE, samples=1500):
    """Return rotations and counts of a sensor whose strip lies between two nodes."""
    time, rotations = bending(seed, samples)
    elongation = LEVER * (rotations[:, nodes[1]] - rotations[:, nodes[0]])
    rng = np.random.default_rng(seed + 1000)
    return rotations, signal.counts(elongation, time, rng, fault, held=1900.0)


@pytest.mark.parametrize('method', ['exact', 'published'])
def test_recovers_offset_and_gain_within_the_published_error(method):
    for seed in range(3):
        rotations, counts = record(seed)
        fit = fit_sensor('flex', rotations, counts, method)
        assert fit.reasons == ()
        assert fit.error_share < 0.046
        assert len(fit.nodes) <= 2
        # Drift of 12 counts per minute moves the offset by half of that.
        assert fit.offset == pytest.approx(SIGNAL.offset + 6.0, abs=15.0)
        time, fresh = bending(seed + 50)
        truth = SIGNAL.offset + SIGNAL.gain * LEVER * (fresh[:, 9] - fresh[:, 3])
        error = np.abs(fit.predict(fresh) - truth)
        assert np.mean(error) < 0.046 * np.ptp(truth)


def test_exact_choice_is_the_best_of_all_pairs():
    rotations, counts = record(4)

    def residual(nodes):
        matrix = np.column_stack([np.ones(len(counts)), rotations[:, list(nodes)]])
        return np.linalg.lstsq(matrix, counts, rcond=None)[1][0]

    best = min(combinations(range(NODES), 2), key=residual)
    assert exact_nodes(rotations, counts) == best
    chosen = published_nodes(rotations, counts)
    assert 1 <= len(chosen) <= 2
    assert residual(best) <= residual(chosen) * (1.0 + 1e-9)


def test_published_problem_is_not_reduced_wrongly():
    """The factor of [A v] gives the same objective as A and v themselves."""
    rotations, counts = record(5, samples=300)
    matrix = np.column_stack([np.ones(300), rotations])
    factor = np.linalg.qr(np.column_stack([matrix, counts]), mode='r')
    c = np.random.default_rng(0).normal(size=NODES + 1) * 100.0
    full = np.linalg.norm(matrix @ c - counts)
    assert np.linalg.norm(factor[:, :-1] @ c - factor[:, -1]) == pytest.approx(full)


@pytest.mark.parametrize(
    ('fault', 'signal', 'word'),
    [
        (FlexFault.STUCK, SIGNAL, 'stuck'),
        (FlexFault.OPEN, SIGNAL, 'end of the converter'),
        (FlexFault.SHORTED, SIGNAL, 'end of the converter'),
        (FlexFault.DRIFTING, FlexSignal(500.0, 1.4e6, 0.0, 6.0), 'drifted'),
        (FlexFault.NONE, FlexSignal(1850.0, 1.4e6, 0.0, 900.0), 'mean error'),
        (FlexFault.NONE, FlexSignal(1850.0, 1.0e4, 0.0, 1.0), 'counts only'),
        (FlexFault.NONE, FlexSignal(3900.0, 1.4e6, 0.0, 6.0), 'end of the converter'),
    ],
)
@pytest.mark.parametrize('method', ['exact', 'published'])
def test_bad_sensors_are_refused_with_the_reason(fault, signal, word, method):
    rotations, counts = record(6, signal=signal, fault=fault)
    fit = fit_sensor('flex_2', rotations, counts, method)
    assert any(word in reason for reason in fit.reasons), fit.reasons
    assert all(reason.startswith('flex_2: ') for reason in fit.reasons)


@pytest.mark.parametrize('method', ['exact', 'published'])
@pytest.mark.parametrize('seed', range(4))
def test_one_node_is_never_enough_and_a_perfect_sensor_always_is(method, seed):
    rotations, perfect = record(30 + seed, signal=replace(SIGNAL, drift=0.0, noise=0.0))
    assert fit_sensor('a', rotations, perfect, method).reasons == ()
    # As near to the counts as one node comes, however little that is.
    alone = fit_sensor('a', rotations[:, [9]], perfect, method, FitLimits(error=1.0))
    assert len(alone.nodes) == 1 and any('one node' in reason for reason in alone.reasons)
    # What no pair explains is not said to drift.
    bent = 1850.0 + 3e4 * rotations[:, 9] ** 2 * np.sign(rotations[:, 3])
    assert not any('drifted' in reason for reason in fit_sensor('a', rotations, bent).reasons)


def test_overfit_and_uncertain_gain_are_refused():
    rotations, counts = record(7)
    block = np.arange(len(counts)) * 16 // len(counts)
    torn = np.where(block % 4 == 3, counts + 150.0, counts)  # the held-out parts behave otherwise
    reasons = fit_sensor('a', rotations, torn).reasons
    assert any('held-out data: the recording' in r for r in reasons), reasons
    rng = np.random.default_rng(0)
    faint = 1850.0 + 5.0 * rotations[:, 4] + 100.0 * rng.normal(size=len(counts))
    reasons = fit_sensor('a', rotations, faint, limits=FitLimits(error=1.0)).reasons
    assert any('coefficients are known' in r for r in reasons), reasons
    few = fit_sensor('a', rotations[:60], counts[:60]).reasons
    assert any('too few' in r for r in few)


def recording(faults=()):
    rotations, columns = [], []
    for i in range(6):
        fault = FlexFault.STUCK if i in faults else FlexFault.NONE
        r, c = record(20 + i, fault=fault)
        rotations.append(r)
        columns.append(c)
    names = tuple(f'flex_{i}' for i in range(6))
    return FlexRecording(names, tuple(rotations), np.array(columns).T)


def test_calibration_in_metres_and_through_the_file(tmp_path):
    report = calibrate('haptic_5dof', recording(), LEVER)
    assert report.reasons == ()
    calibration = report.calibration()
    rotations, counts = record(22)
    sensor = calibration.sensor('flex_2')
    elongation = LEVER * (rotations[:, 9] - rotations[:, 3])
    from_counts = sensor.elongation(counts)
    from_nodes = rotations[:, list(sensor.nodes)] @ sensor.weights
    # Counts and model agree; the scale is the true one where the fit chose the strip's two nodes.
    assert np.mean(np.abs(from_counts - from_nodes)) < 0.046 * np.ptp(from_nodes)
    assert np.corrcoef(from_counts, elongation)[0, 1] > 0.999
    if sensor.nodes == (3, 9):
        assert sensor.gain == pytest.approx(1.0 / SIGNAL.gain, rel=0.02)
    path = save_calibration(calibration, tmp_path / 'new' / 'flex.yaml')
    assert path.is_absolute()
    again = read_calibration(path, 'haptic_5dof')
    for a, b in zip(calibration.sensors, again.sensors, strict=True):
        assert (a.name, a.offset, a.gain, a.nodes, a.deviation, a.error_share) == (
            b.name,
            b.offset,
            b.gain,
            b.nodes,
            b.deviation,
            b.error_share,
        )
        np.testing.assert_array_equal(a.weights, b.weights)
    assert list(path.parent.iterdir()) == [path]  # no part file left
    with pytest.raises(UnknownName):
        calibration.sensor('flex_9')


def test_two_node_strip_gives_the_physical_gain():
    """Noise-free counts of a strip between nodes 3 and 9: offset and gain come back exactly."""
    signal = FlexSignal(2000.0, 1.2e6)
    rotations, _ = record(0)
    elongation = LEVER * (rotations[:, 9] - rotations[:, 3])
    counts = signal.offset + signal.gain * elongation
    names = ('a',)
    report = calibrate('r', FlexRecording(names, (rotations,), counts[:, None]), LEVER)
    sensor = report.calibration().sensors[0]
    assert sensor.nodes == (3, 9)
    assert sensor.gain == pytest.approx(1.0 / 1.2e6, rel=1e-9)
    np.testing.assert_allclose(sensor.weights, [-LEVER, LEVER], rtol=1e-9)
    np.testing.assert_allclose(sensor.elongation(counts), elongation, atol=1e-12)


def test_bad_calibration_is_neither_returned_nor_saved():
    report = calibrate('haptic_5dof', recording(faults=(1, 4)), LEVER)
    with pytest.raises(PoorFit) as caught:
        report.calibration()
    assert caught.value.code is Code.POOR_FIT
    assert {r.split(':')[0] for r in caught.value.reasons} == {'flex_1', 'flex_4'}
    text = report.text()
    assert text.count('refused: ') == 2
    assert text.count(' good') == 4


@pytest.mark.parametrize(
    ('old', 'new', 'where'),
    [
        ('schema: 1', 'schema: 2', 'schema'),
        ('robot: haptic_5dof', 'robot: other', 'robot'),
        ('offset:', 'ofset:', 'offset'),
        ('node: ', 'node: -', 'node'),
        ('deviation: ', 'deviation: -', 'deviation'),
        ('name: flex_1', 'name: flex_0', 'sensors'),
        ('created:', 'extra: 1\ncreated:', 'extra'),
    ],
)
def test_bad_files(tmp_path, old, new, where):
    calibration = calibrate('haptic_5dof', recording(), LEVER).calibration()
    path = save_calibration(calibration, tmp_path / 'flex.yaml')
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(RobotFileError, match=where):
        read_calibration(path, 'haptic_5dof')
    with pytest.raises(RobotFileError, match='cannot be read'):
        read_calibration(tmp_path / 'none.yaml')


def test_bad_input():
    rotations, counts = record(0)
    with pytest.raises(UnknownName):
        fit_sensor('a', rotations, counts, 'lasso')
    with pytest.raises(InvalidInput, match='counts'):
        fit_sensor('a', rotations, counts[:-1])
    with pytest.raises(InvalidInput, match='rotations'):
        fit_sensor('a', rotations[:, 0], counts)
    with pytest.raises(InvalidInput, match='finite'):
        fit_sensor('a', rotations, np.where(counts > 1900, np.nan, counts))
    with pytest.raises(InvalidInput, match='lever'):
        calibrate('r', recording(), 0.0)
    bad = FlexRecording(('a',), (rotations, rotations), counts[:, None])
    with pytest.raises(InvalidInput, match='recording'):
        calibrate('r', bad, LEVER)


def test_signal_quantises_clips_and_fails_as_asked():
    rng = np.random.default_rng(0)
    signal = FlexSignal(2000.0, 1e6, drift=2.0, noise=3.0)
    counts = signal.counts(np.full(20000, 1e-4), np.zeros(20000), rng)
    assert np.mean(counts) == pytest.approx(2100.0, abs=0.1)
    assert np.std(counts) == pytest.approx(3.0, abs=0.1)
    assert np.all(counts == np.round(counts))
    assert signal.counts(0.0, 50.0, np.random.default_rng(1)) == pytest.approx(2100.0, abs=12.0)
    assert signal.counts(1.0, 0.0, rng) == FULL_SCALE
    assert signal.counts(-1.0, 0.0, rng) == 0.0
    assert signal.counts(0.0, 0.0, rng, FlexFault.OPEN) == FULL_SCALE
    assert signal.counts(0.0, 0.0, rng, FlexFault.SHORTED) == 0.0
    assert signal.counts(0.0, 0.0, rng, FlexFault.STUCK, held=77.0) == 77.0
