# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Jacobians of the exponential map by their series, which needs no formula of the library's."""

import numpy as np

from soro_mechanics.numerics import lie


def jacobian(name, vector):
    """Return the sum of (sign ad)^n / (n + 1)! of a rotation vector (3,) or twist (6,).

    name: of the group (so3, se3), then left or right; `_inverse` behind it.
    """
    group, side, *_ = name.split('_')
    ad = (lie.hat3 if group == 'so3' else lie.small_adjoint)(np.asarray(vector, dtype=float))
    out, term = np.eye(len(ad)), np.eye(len(ad))
    for n in range(1, 60):
        term = term @ (ad if side == 'left' else -ad) / (n + 1)
        out = out + term
    return np.linalg.inv(out) if name.endswith('_inverse') else out
