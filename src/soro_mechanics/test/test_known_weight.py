# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A known weight shows how stiff the material is; forces are right after it, and not before."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice, softened
from soro_mechanics.haptics.flex_calibration import (
    FlexCalibration,
    read_calibration,
    save_calibration,
    SensorCalibration,
    UNKNOWN_MATERIAL,
)
from soro_mechanics.haptics.known_weight import weighed
from soro_mechanics.haptics.sensing import Sensing, sensing_setup
from soro_studies.mechanics.sense_with_model import sense_with_model

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

WEIGHT = np.array([0.0, 0.0, -2.0])
NOISE, ENCODER = 2e-5, 2.7e-4
PUSHES = np.diag([3.0, 3.0, 3.0, 0.15, 0.15])


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


def calibration_of(robot):
    weights = np.array([-0.003, 0.003])
    names = [strip.name for strip in HapticDevice(robot).spec.strips]
    sensors = tuple(SensorCalibration(n, 0.0, 1.0, (0, 8), weights, NOISE, 0.01) for n in names)
    return FlexCalibration(robot.name, 'now', sensors)


class Rig:
    """A plant of another material, its motors at rest, and what a model senses of it."""

    def __init__(self, robot, material, seed=0):
        self.robot, self.calibration = robot, calibration_of(robot)
        self.plant = HapticDevice(softened(robot, material), self.calibration)
        self.random = np.random.default_rng(seed)

    def samples(self, force, count=50):
        ports = self.plant.held(np.zeros(6), np.asarray(force, float))
        noise = NOISE * self.random.normal(size=(count, ports.sensor.size))
        return np.zeros(6), ports.sensor + noise.mean(axis=0)

    def sensed(self, force, calibration=None):
        used = self.calibration if calibration is None else calibration
        model = HapticDevice(softened(self.robot, used.material), used)
        sensing = Sensing(model.snapshot(), sensing_setup(model.ports, ENCODER, NOISE, 10.0))
        estimate = sense_with_model(model, sensing, *self.samples(force), 20)
        assert estimate.code is Code.NONE
        return estimate

    def weighed(self, calibration=None):
        load = np.concatenate([WEIGHT, [0.0, 0.0]])
        before, after = (self.sensed(f, calibration) for f in (np.zeros(5), load))
        pairs = [(e.wrench, e.wrench_covariance) for e in (before, after)]
        used = self.calibration if calibration is None else calibration
        return weighed(used, *pairs, WEIGHT)


@pytest.mark.parametrize('material', [0.8, 1.0, 1.2])
def test_the_weight_shows_the_material_and_forces_are_right_after_it(robot, material):
    rig = Rig(robot, material)
    found = rig.weighed(rig.weighed())  # gravity bends the legs too: once more
    assert found.material == pytest.approx(material, abs=3.0 * found.material_deviation)
    assert found.material == pytest.approx(material, rel=0.03)
    assert found.material_deviation < UNKNOWN_MATERIAL
    axes = rig.plant.ports.axes
    for push in PUSHES:
        felt = axes.T @ rig.sensed(push, found).wrench
        worst = np.abs(felt - push)
        assert worst[:3].max() < max(0.05 * np.abs(push[:3]).max(), 0.15)
        assert worst[3:].max() < 0.01
    wrong = axes.T @ rig.sensed(PUSHES[0]).wrench
    assert wrong[0] == pytest.approx(PUSHES[0, 0] / material, rel=0.04)  # as it was before


def test_a_weight_that_shows_nothing_is_refused(robot):
    calibration = calibration_of(robot)
    exact, vague = 1e-4 * np.eye(6), 1e-1 * np.eye(6)
    zero, felt = np.zeros(6), np.array([0.0, 0.0, -2.0, 0.0, 0.0, 0.0])
    assert weighed(calibration, (zero, exact), (felt, exact), WEIGHT).material == 1.0
    for after, covariance in ((felt, vague), (-felt, exact), (0.1 * felt, exact), (zero, exact)):
        with pytest.raises(InvalidInput) as error:
            weighed(calibration, (zero, covariance), (after, covariance), WEIGHT)
        assert error.value.code is Code.POOR_FIT
    with pytest.raises(InvalidInput):
        weighed(calibration, (zero, exact), (felt, exact), np.zeros(3))


def test_the_file_keeps_what_the_weight_showed(robot, tmp_path):
    known = replace(calibration_of(robot), material=0.83, material_deviation=0.012)
    save_calibration(known, tmp_path / 'c.yaml')
    back = read_calibration(tmp_path / 'c.yaml')
    assert (back.material, back.material_deviation) == (0.83, 0.012)
    text = (tmp_path / 'c.yaml').read_text()
    old = '\n'.join(line for line in text.splitlines() if not line.startswith('material'))
    (tmp_path / 'old.yaml').write_text(old)
    assert read_calibration(tmp_path / 'old.yaml').material_deviation == UNKNOWN_MATERIAL
