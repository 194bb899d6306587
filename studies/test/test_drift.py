# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A sensor that drifts is noticed before it moves a handle or feels like a hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.sensing import Sensing, sensing_setup
from soro_mechanics.haptics.watch_kernels import mean_square_residual
from soro_studies.haptics import drift
from soro_studies.haptics.virtual_bench import DEVIATION, FORCES

STORE = Path(__file__).parents[2] / 'docs' / 'evidence' / 'haptic_5dof_drift.json'
pytestmark = pytest.mark.timeout(900)  # the network in motion is compiled


def test_what_is_computed_to_be_seen_is_where_sensing_contradicts_itself(
    robot, report, monkeypatch
):
    """The residual of the least squares with motors, prior and weights knows nothing of n."""
    monkeypatch.setattr(drift, 'POSTURES', 1)
    calibration = report.calibration()
    found = drift.observability(robot, calibration)
    device = HapticDevice(robot, calibration)
    deviation = [fit.deviation for fit in calibration.sensors]
    sensing = Sensing(device.ports, sensing_setup(device.ports, DEVIATION, deviation, FORCES))
    for i in range(6):
        drifted = device.ports.sensor + found['seen'][i] * (np.arange(6) == i)
        sensing.update(device.ports.angle, drifted)
        misfit = np.sqrt(mean_square_residual(sensing.port_arrays, sensing.arrays))
        assert misfit == pytest.approx(2.0, rel=0.1)
        assert np.linalg.norm(sensing.wrench[:3]) == pytest.approx(found['force'][i], rel=0.1)


@pytest.mark.parametrize('case', ['let go of', 'pressed against a hold'])
@pytest.mark.usefixtures('few_samples')
def test_a_drift_is_noticed_in_time(robot, case):
    measured = drift.measure(robot, 'as its model', case, '1 mm/s', 'flex_5')
    assert measured.after is not None and measured.failures == 0
    assert measured.phantom < 1.0 and measured.moved < 5e-3
    if case == 'let go of':
        assert measured.reason.startswith('flex_5') and measured.ends < 1e-4


@pytest.mark.usefixtures('few_samples')
def test_what_strips_that_slide_conceal_does_little(robot):
    measured = drift.measure(robot, 'as built', 'led about', '1 mm/s', 'flex_5')
    assert measured.leashed and measured.failures == 0
    assert measured.phantom > 2.0, 'nothing shows it'
    assert measured.felt < 1.0 and measured.ends < 5e-3


def test_every_stored_drift_is_seen_in_time_or_does_little():
    rows = json.loads(STORE.read_text(encoding='utf-8'))['drifts']
    measured = [drift.Drift(**row) for row in rows]
    cells = {(d.device, d.case, d.drift) for d in measured}
    names = tuple(f'flex_{i + 1}' for i in range(6))
    assert cells == {cell[:3] for cell in drift.plan(names)}
    for d in measured:
        assert d.failures == 0 and d.moved < 5e-3, d
        assert (d.felt if d.leashed else d.phantom) < 1.0, d
