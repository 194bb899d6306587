# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small dense convex quadratic programs: the kernel with its arrays prepared."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.numerics import qp_kernels as kernels


def solve_qp(h: Array, g: Array, c: Array, low: Array, high: Array) -> tuple[int, Array, Array]:
    """Minimise ``1/2 x.h.x + g.x`` subject to ``low <= c x <= high``: (m, n) rows, or none.

    Returns status (`qp_kernels.OPTIMAL` or why not), x (n,) and the multipliers (m,) that prove
    it: ``h x + g = c.T multiplier``, positive where the lower bound holds x, negative the upper.
    """
    found: tuple[int, Array, Array]
    found = kernels.solved(*map(np.ascontiguousarray, (h, g, c, low, high)))
    return found
