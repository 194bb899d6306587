# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `rest_distance` computes of each strip, written with NumPy."""

import numpy as np


def apart(strips, elongation):
    """Return by how much the strips contradict some elongations of the legs, (ns,) [m]."""
    ahead = strips.reading - elongation
    return ahead - np.where(strips.exact, strips.slack, np.clip(ahead, -strips.half, strips.half))
