# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers that the study of rendering keeps are those that the validation reads."""

import json
from types import SimpleNamespace

import numpy as np

from soro_studies.haptics.rendering_values import rendering_values
from soro_studies.validation import haptic_5dof, stored

FIT = SimpleNamespace(name='flex_1', nodes=(0, 8), range=1294, error=3.4, error_share=0.043)


def sensed(name, share):
    five = np.full(5, share)
    return SimpleNamespace(
        name=name, moved=five, place=five, place_share=five, force=five, force_share=2.0 * five
    )


def case(name, direction, felt):
    return SimpleNamespace(
        name=name, direction=direction, felt=felt, natural=2.0, lowest_energy=-0.01
    )


def test_rows_are_made_of_what_the_study_keeps(tmp_path, monkeypatch):
    states = ('motors off', 'motors held', 'motors held aside', 'free space')
    spring = SimpleNamespace(name='50 N/m', asked=50.0, felt=1.0, natural=2.0, lowest_energy=0.0)
    held = SimpleNamespace(**{**vars(spring), 'asked': np.nan, 'felt': 4.0})
    report = SimpleNamespace(fits=[FIT])
    found = SimpleNamespace(
        report=report,
        curves=[held, spring],
        cases=[
            case(name, way, felt)
            for way in ('x', 'turn 1')
            for name, felt in (
                ('motors held', 2.0),
                ('free space', 0.1),
                ('position control', 9.0),
            )
        ],
        followed=[
            SimpleNamespace(name=name, mean=1.5e-4, largest=3e-4, lowest_energy=-0.029)
            for name in ('line, admittance', 'box of 3 cm')
        ],
        contacts=[],
        errors=[sensed(state, 0.001) for state in states],
        built=SimpleNamespace(report=report, sensed=[sensed(state, 0.03) for state in states]),
    )
    kept = json.loads(json.dumps(rendering_values(found)))
    assert kept['lowest_energy'] == -0.029 and kept['stiffness'][0]['asked'] is None
    monkeypatch.setattr(
        haptic_5dof, 'stored', lambda page: kept if page == stored.HAPTIC_STUDIES else {}
    )
    rows = {
        r.quantity: r
        for group in (haptic_5dof._studied, haptic_5dof._yardsticks)
        for r in group(None)
    }
    assert rows['stiffness rendered, over that of the device'].ours == '2.00, 0.50'
    fig = 'stiffness in free space, motors held, position control, x, Fig. 14'
    assert rows[fig].ours == '0.05, 1.00, 4.50 of the natural one'
    assert rows['line, mean error'].ours == '0.150 mm'
    assert rows['coefficients of a flex sensor'].ours == '3'
    assert rows['calibration of the flex sensors, mean error'].ours == '4.3 %'
    assert rows['sensed pose of the hand, mean error'].ours == '3.0 % motors off, 3.0 % held'
    assert '6.0 % of what is pressed' in rows['sensed force of the hand, Fig. 11'].ours
    assert rows['rate of the model'].ours == '20 to 500 Hz, not measured, median'
