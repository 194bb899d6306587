# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One checked estimate of a hand, as a result that keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.sensing import Sensing


@dataclass(frozen=True)
class TipEstimate:
    """Pose and wrench of the hand at the tip, axes of base_link, with covariances."""

    pose: Array  #: (4, 4)
    #: (6, 6) [m^2, m rad, rad^2]; of the twist from the estimate to the truth, linear first
    pose_covariance: Array
    wrench: Array  #: (6,) [N, N m]; of the hand on the device
    wrench_covariance: Array  #: (6, 6)
    angle: Array  #: (na,) [rad]; motor angles that fit the measurements
    torque: Array  #: (na,) [N m]; motor torques on the structure
    bounded: bool  #: a bound holds part of the solution; the covariances do not know of it
    #: NONE, NO_STATE (the measurements do not fix the state), UNREACHABLE (contradicting bounds),
    #: NOT_FINITE, NOT_CONVERGED (full model only). Fields are the last good ones unless NONE.
    code: Code


def estimate_of(sensing: Sensing, encoder: ArrayLike, sensor: ArrayLike) -> TipEstimate:
    """Estimate from one sample, checked.

    Raises
    ------
    InvalidInput
        A wrong size. Numbers that are not finite are an outcome, not an error.
    """
    na, _, ns = sensing.sizes
    samples = []
    for name, value, size in (('encoder', encoder, na), ('sensor', sensor, ns)):
        array = np.array(value, dtype=float)
        if array.shape != (size,):
            raise InvalidInput(name, value, f'shape ({size},)', Code.INVALID_SIZE)
        samples.append(array)
    sensing.update(*samples)
    return TipEstimate(
        sensing.pose.copy(),
        sensing.pose_covariance.copy(),
        sensing.wrench.copy(),
        sensing.wrench_covariance.copy(),
        sensing.angle(),
        sensing.ports.torque + sensing.z[:na],
        sensing.bounded,
        sensing.code,
    )
