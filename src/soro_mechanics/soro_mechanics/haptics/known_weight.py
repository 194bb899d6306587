# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How stiff a device's material is, from a known weight on its handle.

Encoders and flex sensors measure shape; the model turns shape into force by its modulus E, so a
sensed force is wrong by as much as E is. The motors take the same kind of path without and with a
known weight: one scale of E explains by how much more the legs bend under it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soro_mechanics.haptics.flex_calibration import (
    CalibrationReport,
    FlexRecording,
    UNKNOWN_MATERIAL,
)
from soro_mechanics.haptics.flex_fit import PoorFit

PLAUSIBLE = 0.3, 3.0  # of the modulus in the robot file; beyond it the weight is another
STEP = 0.02  # between two moduli whose readings are compared, relative
GEOMETRY = 0.01  # of the scale, by shapes that differ from the robot file. Assumed.
ROUNDS = 3  # of Newton's method


def weigh(
    free: Callable[[float], FlexRecording],
    loaded: Callable[[float], FlexRecording],
    fit: Callable[[FlexRecording], CalibrationReport],
) -> tuple[CalibrationReport, float, float]:
    """Find the scale of the material, and the fits of the sensors that belong to it.

    Parameters
    ----------
    free, loaded : callable
        What was recorded without and with the weight, solved for a scale of the material.
    fit : callable
        Fits all sensors of a recording.

    Returns
    -------
    report, scale, deviation
        The scale of the modulus in the robot file, and its relative standard deviation: by how
        much the sensors differ about it, and `GEOMETRY`.

    Raises
    ------
    PoorFit
        A sensor is refused, or the readings do not follow the weight, or too vaguely.
    """
    scale = 1.0
    for _ in range(ROUNDS):
        report = fit(free(scale))
        if report.reasons:
            raise PoorFit(report.reasons)
        here, near = loaded(scale), loaded(scale * (1.0 + STEP))
        counts = np.asarray(here.counts)
        moved, rest = [], []
        for i, f in enumerate(report.fits):
            expected = f.predict(here.rotations[i])
            moved.append((f.predict(near.rotations[i]) - expected) / STEP)
            rest.append(counts[:, i] - expected)
        sizes = np.array([m @ m for m in moved])
        shares = np.array([m @ r for m, r in zip(moved, rest, strict=True)]) / sizes
        change = float(np.average(shares, weights=sizes))
        scale *= 1.0 + change
        if not PLAUSIBLE[0] < scale < PLAUSIBLE[1]:
            raise PoorFit((f'{scale:.2g} times the modulus explains it: another weight?',))
    # Not less for more sensors: the shape of the legs lets them err together.
    spread = float(np.sqrt(np.average((shares - change) ** 2, weights=sizes)))
    deviation = float(np.hypot(spread, GEOMETRY))
    if not deviation < UNKNOWN_MATERIAL:
        raise PoorFit((f'it shows the modulus to {deviation:.0%} only: a heavier weight?',))
    return report, scale, deviation
