# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pressure in tapered rods: refused in integrated pieces, the integral in elements."""

import numpy as np
import pytest

from soro_mechanics import load_robot

AREA, ARM, YOUNG, LENGTH = 20e-6, 4e-3, 1e6, 0.1
RADII = (10e-3, 5e-3)
ROBOT = """
schema: 2
name: tapered
title: A tapered rod with one chamber
gravity: 0 0 0 m/s^2
body:
  kind: rods
  sections:
    thick: {shape: circle, radius: 10 mm, young: 1 MPa, poisson: 0.45}
    thin: {shape: circle, radius: 5 mm, young: 1 MPa, poisson: 0.45}
  bodies:
    tip: {}
  rods:
    - name: rod
      section: thick
      section_end: thin
      length: 100 mm
      from: {body: ground}
      to: {body: tip}
  chambers:
    air: {rods: [rod], parts: [{area: 20 mm^2, position: 4 0 mm}]}
  tip: {body: tip}
drives:
  - {name: p, quantity: pressure, minimum: 0 kPa, maximum: 100 kPa, rate: 1 kPa/s,
     acts: [{drives: pressure, chambers: [air]}]}
models:
  network: {mesh: 80}
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / 'tapered.yaml'


def test_elements_follow_the_section(file):
    """A planar rod under pressure p: stretch p A / E A(s) and curvature p A arm / E I(s)."""
    file.write_text(ROBOT)
    q = load_robot(file).forward([50e3])
    s = (np.arange(20000) + 0.5) / 20000 * LENGTH
    radius = RADII[0] + (RADII[1] - RADII[0]) * s / LENGTH
    force = 50e3 * AREA
    stretch = 1.0 + force / (YOUNG * np.pi * radius**2)
    curvature = force * ARM / (YOUNG * np.pi / 4.0 * radius**4)
    step = LENGTH / len(s)
    angle = np.cumsum(curvature) * step - 0.5 * curvature * step
    along, across = np.sum(stretch * np.cos(angle)) * step, np.sum(stretch * np.sin(angle)) * step
    assert q.tip[2, 3] == pytest.approx(along, rel=1e-3)
    assert abs(q.tip[0, 3]) == pytest.approx(across, rel=1e-3)
