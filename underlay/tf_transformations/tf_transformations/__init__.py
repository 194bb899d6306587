# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for the ROS package of this name: the part of its API that soro uses.

Same names, arguments and conventions as upstream, over the same transforms3d: quaternions are
(x, y, z, w), matrices are 4x4 homogeneous.
"""

import numpy as np
from transforms3d import affines, axangles, euler, quaternions

__all__ = [
    'euler_from_matrix',
    'euler_from_quaternion',
    'identity_matrix',
    'quaternion_about_axis',
    'quaternion_conjugate',
    'quaternion_from_euler',
    'quaternion_from_matrix',
    'quaternion_inverse',
    'quaternion_matrix',
    'quaternion_multiply',
    'quaternion_slerp',
    'rotation_matrix',
    'translation_from_matrix',
    'translation_matrix',
]


def _wxyz(quaternion):
    x, y, z, w = quaternion
    return np.array([w, x, y, z], dtype=float)


def _xyzw(quaternion):
    w, x, y, z = quaternion
    return np.array([x, y, z, w], dtype=float)


def identity_matrix():
    """Return the 4x4 identity."""
    return np.identity(4)


def translation_matrix(direction):
    """Return the 4x4 matrix of a translation, (3,)."""
    return affines.compose(direction, np.identity(3), np.ones(3))


def translation_from_matrix(matrix):
    """Return the translation, (3,), of a 4x4 matrix."""
    return np.array(matrix, dtype=float)[:3, 3]


def rotation_matrix(angle, direction, point=None):
    """Return the 4x4 matrix of a rotation by angle [rad] about a direction through a point."""
    rotation = axangles.axangle2mat(direction, angle)
    point = np.zeros(3) if point is None else np.array(point[:3], dtype=float)
    return affines.compose(point - rotation @ point, rotation, np.ones(3))


def quaternion_matrix(quaternion):
    """Return the 4x4 rotation matrix of a quaternion (x, y, z, w)."""
    matrix = np.identity(4)
    matrix[:3, :3] = quaternions.quat2mat(_wxyz(quaternion))
    return matrix


def quaternion_from_matrix(matrix):
    """Return the quaternion (x, y, z, w) of the rotation in a 4x4 or 3x3 matrix."""
    return _xyzw(quaternions.mat2quat(np.array(matrix, dtype=float)[:3, :3]))


def quaternion_about_axis(angle, axis):
    """Return the quaternion (x, y, z, w) of a rotation by angle [rad] about an axis."""
    return _xyzw(quaternions.axangle2quat(axis, angle))


def quaternion_multiply(quaternion1, quaternion0):
    """Return the product quaternion1 * quaternion0, both (x, y, z, w)."""
    return _xyzw(quaternions.qmult(_wxyz(quaternion1), _wxyz(quaternion0)))


def quaternion_slerp(quat0, quat1, fraction, spin=0, shortestpath=True):
    """Return the quaternion (x, y, z, w) a fraction of the way from one to another."""
    q0, q1 = (np.array(q, dtype=float) / np.linalg.norm(q) for q in (quat0, quat1))
    cosine = q0 @ q1
    if shortestpath and cosine < 0.0:
        q1, cosine = -q1, -cosine
    angle = np.arccos(np.clip(cosine, -1.0, 1.0)) + spin * np.pi
    if np.sin(angle) == 0.0:
        return q0 if fraction < 1.0 else q1
    return (np.sin((1.0 - fraction) * angle) * q0 + np.sin(fraction * angle) * q1) / np.sin(angle)


def quaternion_conjugate(quaternion):
    """Return the conjugate of a quaternion (x, y, z, w)."""
    return _xyzw(quaternions.qconjugate(_wxyz(quaternion)))


def quaternion_inverse(quaternion):
    """Return the inverse of a quaternion (x, y, z, w)."""
    return _xyzw(quaternions.qinverse(_wxyz(quaternion)))


def quaternion_from_euler(ai, aj, ak, axes='sxyz'):
    """Return the quaternion (x, y, z, w) of three Euler angles [rad]."""
    return _xyzw(euler.euler2quat(ai, aj, ak, axes=axes))


def euler_from_quaternion(quaternion, axes='sxyz'):
    """Return three Euler angles [rad] of a quaternion (x, y, z, w)."""
    return euler.quat2euler(_wxyz(quaternion), axes=axes)


def euler_from_matrix(matrix, axes='sxyz'):
    """Return three Euler angles [rad] of the rotation in a 4x4 or 3x3 matrix."""
    return euler.mat2euler(np.array(matrix, dtype=float)[:3, :3], axes=axes)
