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
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.numerics import lie_kernels as kernels


def hat3(w: Any) -> Array:
    """Return the cross-product matrix (3, 3) of w, shape (3,)."""
    out = np.empty((3, 3))
    kernels.hat3(finite_array('w', w, (3,)), out)
    return out


def so3_exp(w: Any) -> Array:
    """Return the rotation matrix (3, 3) of a rotation vector w, shape (3,) [rad]."""
    out = np.empty((3, 3))
    kernels.so3_exp(finite_array('w', w, (3,)), out)
    return out


def so3_log(rotation: Any) -> Array:
    """Return the rotation vector (3,) [rad], angle in [0, pi], of a rotation matrix (3, 3)."""
    out = np.empty(3)
    kernels.so3_log(rotation_array('rotation', rotation), out)
    return out


def so3_left_jacobian(w: Any) -> Array:
    """Return J_l (3, 3): exp(w + dw) = exp(J_l dw) exp(w) to first order."""
    out = np.empty((3, 3))
    kernels.so3_left_jacobian(finite_array('w', w, (3,)), out)
    return out


def so3_right_jacobian(w: Any) -> Array:
    """Return J_r (3, 3): exp(w + dw) = exp(w) exp(J_r dw) to first order."""
    out = np.empty((3, 3))
    kernels.so3_right_jacobian(finite_array('w', w, (3,)), out)
    return out


def so3_left_jacobian_inverse(w: Any) -> Array:
    """Return J_l^-1 (3, 3); the angle must be below 2 pi."""
    out = np.empty((3, 3))
    kernels.so3_left_jacobian_inverse(_below_full_turn('w', w, 3), out)
    return out


def so3_right_jacobian_inverse(w: Any) -> Array:
    """Return J_r^-1 (3, 3); the angle must be below 2 pi."""
    out = np.empty((3, 3))
    kernels.so3_right_jacobian_inverse(_below_full_turn('w', w, 3), out)
    return out


def se3_exp(xi: Any) -> Array:
    """Return the pose (4, 4) of a twist xi, shape (6,) [m, rad]."""
    out = np.empty((4, 4))
    kernels.se3_exp(finite_array('xi', xi, (6,)), out)
    return out


def se3_log(g: Any) -> Array:
    """Return the twist (6,) [m, rad] of a pose (4, 4), angle in [0, pi]."""
    out = np.empty(6)
    kernels.se3_log(pose_array('g', g), out)
    return out


def adjoint(g: Any) -> Array:
    """Return Ad_g (6, 6): takes a twist in the local frame of pose g to the parent frame."""
    out = np.empty((6, 6))
    kernels.adjoint(pose_array('g', g), out)
    return out


def adjoint_inverse(g: Any) -> Array:
    """Return Ad_g^-1 (6, 6)."""
    out = np.empty((6, 6))
    kernels.adjoint_inverse(pose_array('g', g), out)
    return out


def small_adjoint(xi: Any) -> Array:
    """Return ad_xi (6, 6): ad_xi y is the Lie bracket [xi, y]."""
    out = np.empty((6, 6))
    kernels.small_adjoint(finite_array('xi', xi, (6,)), out)
    return out


def se3_left_jacobian(xi: Any) -> Array:
    """Return J_l (6, 6): exp(xi + dxi) = exp(J_l dxi) exp(xi) to first order."""
    out = np.empty((6, 6))
    kernels.se3_left_jacobian(finite_array('xi', xi, (6,)), out)
    return out


def se3_right_jacobian(xi: Any) -> Array:
    """Return J_r (6, 6): exp(xi + dxi) = exp(xi) exp(J_r dxi) to first order."""
    out = np.empty((6, 6))
    kernels.se3_right_jacobian(finite_array('xi', xi, (6,)), out)
    return out


def se3_left_jacobian_inverse(xi: Any) -> Array:
    """Return J_l^-1 (6, 6); the angle must be below 2 pi."""
    out = np.empty((6, 6))
    kernels.se3_left_jacobian_inverse(_below_full_turn('xi', xi, 6), out)
    return out


def se3_right_jacobian_inverse(xi: Any) -> Array:
    """Return J_r^-1 (6, 6); the angle must be below 2 pi."""
    out = np.empty((6, 6))
    kernels.se3_right_jacobian_inverse(_below_full_turn('xi', xi, 6), out)
    return out


def compose(a: Any, b: Any) -> Array:
    """Return the pose a b."""
    out = np.empty((4, 4))
    kernels.compose(pose_array('a', a), pose_array('b', b), out)
    return out


def inverse(g: Any) -> Array:
    """Return the inverse of a pose."""
    out = np.empty((4, 4))
    kernels.inverse(pose_array('g', g), out)
    return out


def _below_full_turn(name: str, value: Any, size: int) -> Array:
    vector = finite_array(name, value, (size,))
    if not np.linalg.norm(vector[-3:]) < 2.0 * np.pi:
        raise InvalidInput(name, value, 'a rotation of less than 2 pi')
    return vector
