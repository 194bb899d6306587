# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A sample of the study of identified hysteresis, creep and delay; what undoing them is worth."""

from dataclasses import replace

import numpy as np

from soro_mechanics import load_robot
from soro_studies.mechanics import history_study
from soro_studies.mechanics.history_study import covered, motion
from soro_studies.system import tip_feedback
from soro_studies.system.tip_feedback import COMPENSATED, learned, path, PLANTS

DELAY = 0.1  # s


def test_intervals_cover_the_truth_as_often_as_they_say_and_nothing_else(monkeypatch):
    robot = load_robot(history_study.ROBOT)
    hits = [hit for seed in (1, 12, 123) for hit in covered(robot, seed).values()]
    assert sum(hits) >= 19  # of 24; of 95 % intervals, fewer once in ten thousand
    real = motion

    def shifted(robot, seed):
        truth = real(robot, seed)
        moved = {name: 2.0 * value + 0.08 for name, value in truth.values.items()}
        return history_study.Truth(moved, truth.data)

    monkeypatch.setattr(history_study, 'motion', shifted)
    assert not any(covered(robot, 12).values())


def test_compensation_identified_before_takes_most_of_a_wide_loop_off(monkeypatch):
    monkeypatch.setattr(tip_feedback, 'LEARNED', 12)
    plant = PLANTS['hysteresis 10 %']
    plant = replace(plant, scene=replace(plant.scene, size=0.004))
    found = learned(plant)
    width = 2.0 * (found.weights * found.thresholds).sum(axis=1) / found.weights.sum(axis=1)
    limits = load_robot(plant.scene.robot).limits
    assert np.abs(width / np.ptp(limits, axis=1) - 0.1).max() < 0.02
    assert not found.creep.part.any()  # the plant has none
    feedforward, undone = (
        path(plant, control, 'circle', 0.01, DELAY)[0] for control in ('feedforward', COMPENSATED)
    )
    assert undone < 0.35 * feedforward
