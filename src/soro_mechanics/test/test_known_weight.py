# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A known weight shows how stiff the material is, also on devices as built."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.haptics.flex_calibration import (
    calibrate,
    FlexCalibration,
    FlexRecording,
    read_calibration,
    save_calibration,
    SensorCalibration,
    UNKNOWN_MATERIAL,
)
from soro_mechanics.haptics.flex_fit import PoorFit
from soro_mechanics.haptics.known_weight import weigh
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.force_study import weighed_calibration

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

NAMES = ('a', 'b', 'c')


@pytest.mark.parametrize(
    ('material', 'errors', 'within'),
    [(0.8, None, 0.003), (1.2, None, 0.003), (0.85, PlantErrors(seed=4), 0.04)],
)
def test_the_weight_shows_the_material(material, errors, within):
    random = np.random.default_rng(1)
    found = weighed_calibration(load_robot('haptic_5dof'), errors, material, random)
    assert found.material == pytest.approx(material, rel=within)
    assert abs(found.material / material - 1.0) < 3.0 * found.material_deviation
    assert found.material_deviation < 0.06


def bent(material, weight, counts_of=None, seed=0):
    """Return a recording of springs: nodes turn by a path, and by weight over stiffness."""
    random = np.random.default_rng(seed)
    path = np.cumsum(random.normal(size=(400, 5)), axis=0) * 0.01
    lean = weight * np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    rotations = path + lean / material
    counts = None
    if counts_of is not None:
        true = path + lean / counts_of
        counts = np.stack([2000.0 + g * (true[:, 4] - true[:, 1]) for g in (600.0, 800.0, 1e3)], 1)
    return FlexRecording(NAMES, (rotations,) * 3, counts)


def test_springs_give_their_stiffness_exactly():
    report, scale, deviation = weigh(
        lambda s: bent(s, 0.0, 0.83),
        lambda s: bent(s, 0.5, 0.83, 1),
        lambda r: calibrate('springs', r, 0.003),
    )
    assert scale == pytest.approx(0.83, rel=1e-3)
    assert deviation < UNKNOWN_MATERIAL and report.reasons == ()


@pytest.mark.parametrize(('under', 'material'), [(0.0, 1.0), (-0.5, 1.0), (0.5, 0.1), (0.5, 30.0)])
def test_a_weight_that_shows_nothing_is_refused(under, material):
    """None is on the handle, it pulls the other way, it is far lighter or heavier than said."""

    def loaded(scale):
        counts = bent(1.0, under, material, 1).counts
        return replace(bent(scale, 0.5, 1.0, 1), counts=counts)

    with pytest.raises(PoorFit):
        weigh(lambda s: bent(s, 0.0, 1.0), loaded, lambda r: calibrate('springs', r, 0.003))


def test_the_file_keeps_what_the_weight_and_the_strips_showed(tmp_path):
    strip = SensorCalibration('a', 0.0, 1.0, (0, 8), np.ones(2), 2e-5, 0.01, play=2.1e-4)
    known = FlexCalibration('springs', 'now', (strip,), 0.83, 0.012)
    save_calibration(known, tmp_path / 'c.yaml')
    back = read_calibration(tmp_path / 'c.yaml')
    assert (back.material, back.material_deviation) == (0.83, 0.012)
    assert back.sensors[0].play == 2.1e-4
    text = (tmp_path / 'c.yaml').read_text()
    old = '\n'.join(line for line in text.splitlines() if line.split()[0][:8] not in NEWER)
    (tmp_path / 'old.yaml').write_text(old)
    back = read_calibration(tmp_path / 'old.yaml')
    assert back.material_deviation == UNKNOWN_MATERIAL and back.sensors[0].play == 0.0


NEWER = ('material', 'play:')
