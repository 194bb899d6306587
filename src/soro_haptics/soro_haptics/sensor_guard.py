# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which flex sensors sensing may use, and what happens when some cannot be believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.flex_calibration import FlexCalibration
from soro_mechanics.haptics.sensing import observability, Sensing
from soro_mechanics.haptics.sensor_watch import SensorWatch, WatchLimits

# Twelve measurements for eleven unknowns: a stuck sensor hides in a wrong estimate. So a reading
# that does not change at all while others do is given up too.
STUCK_SAMPLES = 250
STUCK_COUNTS = 10.0  # by which another sensor must have moved meanwhile
STUCK_OTHERS = 3  # that must have moved
# Where all stop together (a wire, a converter, a node) nothing contradicts them but the motors.
# Assumed: with 4e5 counts per metre of elongation, motors that turn by 100 deviations of their
# encoders (27 mrad) move some reading by a count, free or held, also without any noise.
FROZEN_SAMPLES = 25
FROZEN_MOTION = 100.0  # deviations of an encoder
# A contradiction must last: a computer that stops for 20 ms is no broken sensor, and 40 ms of
# any size are needed. Of one measurement more than unknowns, 2 is five deviations; a device as
# built stays below 1.
PATIENT = WatchLimits(misfit=2.0, misfit_time=0.2, loudest=2.2)
UNCALIBRATED = 'flex sensors are not calibrated'
UNREAD = 'the device reads no flex sensors'
# Forces of a hand worth seeing, for the count of directions that can be seen [N, N m].
WORTH_SEEING = np.array([1.0, 1.0, 1.0, 0.05, 0.05])


class SensorGuard:
    """Turns counts into elongations and gives up sensors that cannot be believed.

    What is given up stays so until `reset`; what has given nothing since then is used once it
    does: a converter may begin later than the motors. Without a calibration, or when the
    measurements contradict each other and no sensor can be named, the encoders alone are used:
    then the hand cannot be felt any more, and every object feels like the device itself.

    `names`: sensors, in the order of the readings; `period`: of the loop [s].

    `elongation` (ns,): of the last reading; NaN without a calibration [m]; `good` (ns,): sensors
    in use; `reason`: why some are not; empty while all are used; `rank`: directions of the hand's
    force that can be seen; none during a pause; `came`: whether sensors have begun with the last
    reading; `paused`: whether the encoders alone are used for a while; `unchecked`: whether a
    drift may feel like a force `WORTH_SEEING` and contradict nothing: strips slide by much, or so
    few are used that none does (then no larger force is believed).
    """

    def __init__(
        self,
        sensing: Sensing,
        names: tuple[str, ...],
        calibration: FlexCalibration | None,
        period: float,
        limits: WatchLimits | None = None,
    ) -> None:
        count = len(names)
        self.names, self.calibrated = names, calibration is not None
        self._sensing = sensing
        self._watch = SensorWatch(sensing, period, limits or PATIENT)
        self._offset, self._gain = np.zeros(count), np.full(count, np.nan)
        self._rests = np.full(count, STUCK_COUNTS)  # while the others move by so much
        if calibration is not None:
            fits = [calibration.sensor(name) for name in names]
            self._offset[:] = [f.offset for f in fits]
            self._gain[:] = [f.gain for f in fits]
            self._rests[:] += [2.0 * f.play / abs(f.gain) for f in fits]
        self.elongation = np.full(count, np.nan)
        self._raw, self._faulty = np.zeros(count), np.zeros(count, bool)
        self._same = [0] * count
        self._then = [[0.0] * count] * count  # all readings when sensor i last changed
        self._encoder_then = np.zeros(sensing.sizes[0])  # when any reading last changed
        self.paused = self.unchecked = self.came = False
        self._awaited = np.zeros(count, bool)  # gave nothing since the reset
        self.reason, self._rank = '', 0
        self.reset()

    @property
    def ignored(self) -> list[str]:
        """Names of the sensors that are not used because they failed."""
        return [n for n, good in zip(self.names, self.good, strict=True) if not good]

    @property
    def good(self) -> NDArray[np.bool_]:
        """Sensors in use."""
        return self._watch.good

    @property
    def misfit(self) -> float:
        """Root mean square of the weighted residuals, averaged; near 1 when all is well."""
        return self._watch.misfit

    @property
    def doubtful(self) -> bool:
        """Whether the last sample contradicts itself: a drift, or a moment only."""
        return not self.paused and self._watch.doubtful

    @property
    def rank(self) -> int:
        """Directions of the hand's force that can be seen."""
        return 0 if self.paused else self._rank

    def reset(self) -> None:
        """Believe every calibrated sensor again."""
        self._awaited[:], self._waits, self.paused = True, True, False
        self._believe()

    def _believe(self) -> None:
        self._watch.reset()
        self._same, self.reason = [0] * len(self.names), ''
        self._apply()
        if not self.calibrated:
            self._give_up(np.ones(len(self.names), bool), UNCALIBRATED)
        self._count_directions()

    def pause(self, paused: bool) -> None:
        """Use the encoders alone for a while: readings mean nothing while sensors are measured."""
        if paused == self.paused:
            return
        self.paused = paused
        self._apply()

    def before(self, raw: Array, faulty: NDArray[np.bool_]) -> bool:
        """Take a reading, before sensing; whether a sensor was given up because of it."""
        self._note_changes(raw)
        self._raw[:], self._faulty[:] = raw, faulty
        np.subtract(raw, self._offset, out=self.elongation)
        self.elongation *= self._gain
        if not self.calibrated:
            self.reason = UNCALIBRATED
            return False
        self.came = False
        if self._waits:
            begun = self._awaited & ~faulty & ~self._watch.good
            self._awaited &= faulty
            self.came, self._waits = bool(begun.any()), bool(self._awaited.any())
            if self.came:  # what else was given up stays so
                out, ended = ~(self._watch.good | begun | self._awaited), self.reason.split('; ')
                names = {n for n, new in zip(self.names, begun, strict=True) if new}
                self._believe()
                if out.any():
                    told = (p for p in ended if not set(p.partition(':')[0].split(', ')) <= names)
                    self._give_up(out, '; '.join(told))
        if max(self._same, default=0) < STUCK_SAMPLES and not any(faulty.tolist()):
            return False
        stuck = self._stuck(STUCK_SAMPLES)
        for bad, what in ((self._faulty, 'open or shorted'), (stuck, 'stuck')):
            lost = bad & self._watch.good
            if np.count_nonzero(lost):
                self._give_up(lost, f'{self._named(lost)}: {what}')
                return True
        return False

    def missing(self) -> bool:
        """Take note that there are no readings; whether a sensor was given up because of it."""
        self.elongation[:] = np.nan
        lost, self.came = self._watch.good.copy(), False
        if lost.any():
            self._give_up(lost, f'{self._named(lost)}: no readings')
        elif not self.calibrated:
            self.reason = UNREAD
        return bool(lost.any())

    def after(self, encoder: Array, elongation: Array, odd: int = -1) -> bool:
        """Judge what sensing got of the reading; whether a sensor was given up because of it.

        `odd`: without this one nothing would contradict that nobody holds the handle; -1: none.
        """
        frozen = self._frozen(encoder)
        if not self._used:
            return False
        was = self._watch.good.copy()
        if frozen:
            self._give_up(was, 'flex sensors do not change while the motors turn')
            return True
        if self._watch.update(self._raw, self._faulty, elongation):
            lost = was & ~self._watch.good
            self._apply()
            self._note(f'{self._named(lost)}: stuck')
            self._count_directions()
            return True
        if not self._watch.consistent:
            still, alone = self._stuck(FROZEN_SAMPLES), np.arange(len(was)) == odd
            if still.sum() == 1:
                self._give_up(still, f'{self._named(still)}: stuck')
            elif alone.any():
                self._give_up(alone, f'{self._named(alone)} drifts: calibrate again')
            else:
                reason = 'flex sensors contradict each other (drift?): calibrate again'
                self._give_up(was, reason)
            return True
        return False

    def _note_changes(self, raw: Array) -> None:
        values = raw.tolist()  # of a few sensors numbers take less time than arrays
        for i, (new, old) in enumerate(zip(values, self._raw.tolist(), strict=True)):
            self._same[i] += 1
            if new != old:
                self._same[i], self._then[i] = 0, values

    def _stuck(self, samples: int) -> NDArray[np.bool_]:
        still = np.array([same >= samples for same in self._same], bool)
        if max(self._same, default=0) >= samples:
            moved = np.abs(self._raw - np.array(self._then)) > self._rests[:, None]
            still &= moved.sum(axis=1) >= max(1, min(STUCK_OTHERS, len(moved) - 1))
        return still

    def _frozen(self, encoder: Array) -> bool:
        same = min(self._same, default=0)
        if same <= 1:  # one: the first reading after a reset may repeat the last one before it
            self._encoder_then[:] = encoder
        if same < FROZEN_SAMPLES:
            return False
        far = FROZEN_MOTION * self._sensing.setup.encoder_deviation
        moved = np.abs(encoder - self._encoder_then) > far
        return bool(moved.any())

    def _give_up(self, which: NDArray[np.bool_], reason: str) -> None:
        self._watch.give_up(which)
        self._apply()
        self._note(reason)
        self._count_directions()

    def _apply(self) -> None:
        used = np.zeros(len(self.names), bool) if self.paused else self._watch.good
        na, ne, _ = self._sensing.sizes
        self._sensing.use(np.ones(na, bool), used)
        self._used = int(used.sum())
        few = 0 < self._used <= ne
        self._sensing.limit_force(WORTH_SEEING if few else np.inf)
        self.unchecked = self._used > 0 and self._conceals()

    def _conceals(self) -> bool:
        _, wrench = self._watch.unseen()
        sizes = np.linalg.norm(wrench[:3], axis=0), np.linalg.norm(wrench[3:], axis=0)
        return any(s.max() > w for s, w in zip(sizes, WORTH_SEEING[[0, -1]], strict=True))

    def _note(self, reason: str) -> None:
        self.reason = f'{self.reason}; {reason}' if self.reason else reason

    def _named(self, which: NDArray[np.bool_]) -> str:
        return ', '.join(n for n, bad in zip(self.names, which, strict=True) if bad)

    def _count_directions(self) -> None:
        s = self._sensing
        self._rank = observability(s.ports, s.setup, WORTH_SEEING, None, self._watch.good).rank
