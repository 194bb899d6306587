# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How stiff a device's material is, from a known weight on its handle.

Encoders and flex sensors measure shape; the model turns shape into force by its modulus E, so a
sensed force is wrong by as much as E is. A known weight gives the scale: what it should change
the sensed force by, against what it does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_calibration import FlexCalibration, UNKNOWN_MATERIAL

PLAUSIBLE = 0.3, 3.0  # of the modulus in the robot file; beyond it the weight is another


def weighed(
    calibration: FlexCalibration,
    before: tuple[Array, Array],
    after: tuple[Array, Array],
    force: Array,
) -> FlexCalibration:
    """Return the calibration with the scale of the material that a weight shows.

    Parameters
    ----------
    calibration : FlexCalibration
        That the forces were sensed with.
    before, after : tuple of ndarray, shapes (6,) and (6, 6)
        Mean of the sensed wrench without and with the weight, and its covariance, at the tip,
        axes of base_link; with the handle held (`HOLD`).
    force : ndarray, shape (3,) [N]
        Of the weight, axes of base_link.

    Raises
    ------
    InvalidInput
        POOR_FIT: the sensed force does not follow the weight, or too vaguely to learn from it.
    """
    size = float(np.linalg.norm(force))
    if not (size > 0.0 and np.isfinite(size)):
        raise InvalidInput('force', force, 'a force that is not zero')
    along = force / size
    change = float(along @ (after[0] - before[0])[:3])
    share = size / change if change > 0.0 else np.inf
    scale = calibration.material * share
    if not PLAUSIBLE[0] < scale < PLAUSIBLE[1]:
        expected = f'a sensed change near {size:.3g} N, not {change:.3g} N: another weight?'
        raise InvalidInput('force', size, expected, Code.POOR_FIT)
    # Hysteresis of the strips makes the errors of the two states independent.
    variance = along @ (before[1] + after[1])[:3, :3] @ along
    deviation = float(np.sqrt(variance)) / change
    if not deviation < UNKNOWN_MATERIAL:
        expected = f'a heavier weight: this one shows the stiffness to {deviation:.0%} only'
        raise InvalidInput('force', size, expected, Code.POOR_FIT)
    return replace(calibration, material=scale, material_deviation=deviation)
