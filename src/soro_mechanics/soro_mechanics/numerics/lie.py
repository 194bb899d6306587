# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""SO(3) and SE(3) for people: checked arguments, new arrays; the kernels have the same names.

Twists (v, w) are linear first, angular second. A pose `g_ab` maps coordinates of b to a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_mechanics.core.array_input import finite_array, pose_array, rotation_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.numerics import lie_kernels as kernels


def hat3(w: Any) -> Array:
    """Return the cross-product matrix (3, 3) of w, shape (3,)."""
    return _filled(kernels.hat3, (3, 3), finite_array('w', w, (3,)))


def so3_exp(w: Any) -> Array:
    """Return the rotation matrix (3, 3) of a rotation vector w, shape (3,) [rad]."""
    return _filled(kernels.so3_exp, (3, 3), finite_array('w', w, (3,)))


def so3_log(rotation: Any) -> Array:
    """Return the rotation vector (3,) [rad], angle in [0, pi], of a rotation matrix (3, 3)."""
    return _filled(kernels.so3_log, (3,), rotation_array('rotation', rotation))


def se3_exp(xi: Any) -> Array:
    """Return the pose (4, 4) of a twist xi, shape (6,) [m, rad]."""
    return _filled(kernels.se3_exp, (4, 4), finite_array('xi', xi, (6,)))


def se3_log(g: Any) -> Array:
    """Return the twist (6,) [m, rad] of a pose (4, 4), angle in [0, pi]."""
    return _filled(kernels.se3_log, (6,), pose_array('g', g))


def adjoint(g: Any) -> Array:
    """Return Ad_g (6, 6): takes a twist in the local frame of pose g to the parent frame."""
    return _filled(kernels.adjoint, (6, 6), pose_array('g', g))


def adjoint_inverse(g: Any) -> Array:
    """Return Ad_g^-1 (6, 6)."""
    return _filled(kernels.adjoint_inverse, (6, 6), pose_array('g', g))


def small_adjoint(xi: Any) -> Array:
    """Return ad_xi (6, 6): ad_xi y is the Lie bracket [xi, y]."""
    twist, out = finite_array('xi', xi, (6,)), np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = hat3(twist[3:])
    out[:3, 3:] = hat3(twist[:3])
    return out


def compose(a: Any, b: Any) -> Array:
    """Return the pose a b."""
    return _filled(kernels.compose, (4, 4), pose_array('a', a), pose_array('b', b))


def pose_error(now: Any, wanted: Any) -> Array:
    """Return the motion (6,) from a pose to another one, base axes: way [m], then turn [rad]."""
    return _filled(kernels.pose_error, (6,), pose_array('now', now), pose_array('wanted', wanted))


def inverse(g: Any) -> Array:
    """Return the inverse of a pose."""
    pose, out = pose_array('g', g), np.eye(4)
    out[:3, :3] = pose[:3, :3].T
    out[:3, 3] = -out[:3, :3] @ pose[:3, 3]
    return out


def _filled(kernel: Any, shape: tuple[int, ...], *given: Array) -> Array:
    out = np.empty(shape)
    kernel(*given, out)
    return out
