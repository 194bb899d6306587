# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A viewer without ROS, and who notes what its page asks for."""

from __future__ import annotations

import numpy as np

from soro_visualization.page.readout import ActuatorReadout

STATE = ActuatorReadout(
    np.array([0.0, np.nan, 0.0]),
    np.zeros(3),
    np.array([1.0e4, 0.0, np.nan]),
    (0, 4, 8),
    2,
    '/arm/trajectory_planner',
)


class Noted:
    """Controls that note what they are asked for."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *arguments))

        return call

    def of(self, name):
        return [c[1:] for c in self.calls if c[0] == name]
