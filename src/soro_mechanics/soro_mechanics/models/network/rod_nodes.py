# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the nodes of the mesh stand along rods: pieces cut into parts, places added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.description.spec import NetworkSpec

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


def cut_pieces(spec: NetworkSpec, parts: int) -> NetworkSpec:
    """Return the network with its integrated pieces in equal parts, a divisor of their steps.

    Every part keeps its share of the steps, so that the discrete equations are the same.
    """
    rods = tuple(
        replace(r, fractions=cut_fractions(r.fractions, parts)) if r.macro else r
        for r in spec.rods
    )
    return replace(spec, rods=rods, steps=spec.steps // parts)
