# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Jacobians of the exponential map as new arrays, by the names of their kernels."""

import numpy as np

from soro_mechanics.numerics import lie_kernels


def jacobian(name, vector):
    """Return what the kernel of a name makes of a rotation vector (3,) or a twist (6,)."""
    out = np.empty((len(vector), len(vector)))
    getattr(lie_kernels, name)(np.ascontiguousarray(vector, dtype=float), out)
    return out
