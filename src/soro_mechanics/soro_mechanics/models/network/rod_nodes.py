# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the nodes of the mesh stand along rods: elements cut into parts, places added."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array

NODE_MERGE = 1e-9  # fraction of a rod below which two nodes are one: round-off of arc lengths


def with_node(fractions: Array, at: float) -> Array:
    """Return the boundaries of a rod's pieces with one at a fraction of its length."""
    if np.min(np.abs(fractions - at)) > NODE_MERGE:
        return np.sort(np.append(fractions, at))
    return fractions


def cut_fractions(fractions: Array, parts: int) -> Array:
    """Return the boundaries of pieces that are each cut into equal parts."""
    inner = fractions[:-1, None] + np.diff(fractions)[:, None] * (np.arange(parts) / parts)
    return np.append(inner.ravel(), fractions[-1])
