# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which flex sensors can be believed: flagged, stuck, or at odds with everything else."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.array_input import check_shape
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.haptics import watch_kernels as kernels
from soro_mechanics.haptics.sensing import Sensing


@dataclass(frozen=True)
class WatchLimits:
    """When a sensor is given up."""

    stuck_samples: int = 10  #: equal readings in a row ..
    #: ... while the model says that the sensor moved by this many of its deviations.
    stuck_motion: float = 5.0
    #: root mean square of the weighted residual above which the measurements contradict each
    #: other; 1 is expected
    misfit: float = 4.0
    misfit_time: float = 0.1  #: time constant over which that is averaged [s]
    loudest: float = math.inf  #: of one sample, as a multiple of `misfit`, in that average


class SensorWatch:
    """Judges the sensors of one `Sensing` after each of its updates.

    A sensor that is given up stays so until `reset`; sensing goes on with the rest, in the end
    with the encoders alone. A drifting sensor shows as a misfit of all measurements together:
    with one measurement more than unknowns it can be noticed, but not named.

    `good` (ns,): sensors in use; `misfit`: averaged root mean square of the weighted residuals;
    near 1 when all is well; `doubtful`: whether the last sample alone is beyond the limit of the
    average.
    """

    def __init__(self, sensing: Sensing, period: float, limits: WatchLimits | None = None) -> None:
        if not (period > 0.0 and math.isfinite(period)):
            raise InvalidInput('period', period, 'a finite number greater than zero')
        na, _, ns = sensing.sizes
        self._sensing = sensing
        self._limits = WatchLimits() if limits is None else limits
        self._share = period / (period + self._limits.misfit_time)
        self._encoders = np.ones(na, bool)
        self.good, setup = np.ones(ns, bool), sensing.setup
        far = self._limits.stuck_motion * setup.sensor_deviation
        far = far + 2.0 * setup.sensor_play  # a strip may rest that long
        seen = np.full(ns, math.nan), np.zeros(ns, np.int64), np.zeros(ns), np.zeros(ns, bool)
        self._watched = kernels.Watched(self.good, far, *seen)
        self._square, self.doubtful = 1.0, False

    @property
    def misfit(self) -> float:
        """Averaged root mean square of the weighted residuals."""
        return math.sqrt(self._square)

    @property
    def consistent(self) -> bool:
        """Whether the measurements agree with each other and with the model."""
        return self.misfit <= self._limits.misfit

    def unseen(self) -> tuple[Array, Array]:
        """Find the drift of each used sensor beside a hand below which nothing is contradicted.

        What no force explains of it is as large as the limit of `misfit`, in deviations of
        readings and of what resting strips conceal.

        Returns the drifts, and the wrenches they are taken for; infinite where any drift is.
        """
        sensing, used = self._sensing, self.good
        setup, _, change = sensing.setup, *sensing.without_hand()
        deviation = np.hypot(setup.sensor_deviation, kernels.UNSEEN * setup.sensor_play)[used]
        rows = change[used] / deviation[:, None]
        _, ne, _ = sensing.sizes
        if not len(rows) > ne:
            return np.full(len(rows), math.inf), np.full((6, len(rows)), math.inf)
        rest = np.linalg.norm(np.linalg.svd(rows)[0][:, ne:], axis=1)
        free = len(rows) + int(np.isfinite(setup.force_deviation).sum()) - ne
        drift = self._limits.misfit * math.sqrt(free) * deviation / np.maximum(rest, 1e-9)
        return drift, sensing.ports.axes @ np.linalg.pinv(rows) / deviation * drift

    def reset(self) -> None:
        """Believe every sensor again."""
        self.good[:] = True
        self._watched.same[:] = 0
        self._watched.last[:] = math.nan
        self._square, self.doubtful = 1.0, False
        self._sensing.use(self._encoders, self.good)

    def give_up(self, which: NDArray[np.bool_]) -> None:
        """Use some sensors no longer, shape (ns,); the rest is judged anew."""
        self.good &= ~which
        self._square, self.doubtful = 1.0, False
        self._sensing.use(self._encoders, self.good)

    def update(self, raw: Array, faulty: NDArray[np.bool_], sensor: Array) -> bool:
        """Judge one sample, after ``sensing.update(encoder, sensor)``.

        `raw` (ns,): counts of the converter; `faulty` (ns,): what the device itself says; `sensor`
        (ns,): what sensing got.

        Returns whether a sensor was given up just now.
        """
        sensing, limit = self._sensing, self._limits.misfit
        for name, given in (('raw', raw), ('faulty', faulty), ('sensor', sensor)):
            check_shape(name, given, self.good.shape)
        sample = raw, faulty, sensor, self._limits.stuck_samples
        known = sensing.port_arrays, sensing.arrays
        bad, square = kernels.watch_sensors(*known, self._watched, *sample)
        self.doubtful = square > limit**2
        if math.isfinite(square):
            square = min(square, (self._limits.loudest * limit) ** 2)
            self._square += self._share * (square - self._square)
        if bad:
            self.give_up(self._watched.bad)
        return bool(bad)
