# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A sample of the convergence study."""

import numpy as np
import pytest

from soro_studies.mechanics import convergence


def test_elements_of_stewart_gough_converge_at_fourth_order():
    tip, stiffness = convergence.tip_and_stiffness(convergence.meshed('stewart_gough', 256))
    errors = []
    for count in (16, 32):
        there, stiff = convergence.tip_and_stiffness(convergence.meshed('stewart_gough', count))
        errors.append([np.linalg.norm(there - tip), np.linalg.norm(stiff - stiffness, 2)])
    assert np.log2(np.divide(*errors)) == pytest.approx([4.0, 4.0], abs=0.15)


def test_no_element_crosses_a_jump_of_the_curvature():
    jumps = np.array([0.25, 0.250001, 0.5])
    assert convergence.split(jumps, 2) == pytest.approx([0, 0.125, 0.25, 0.625, 1], abs=1e-6)
