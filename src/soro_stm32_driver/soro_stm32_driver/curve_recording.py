# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Record runs on the robot itself, by its length sensors: one muscle of every module at a time.

The other two muscles of the module stay completely deflated, so two thirds of the change of the
free length show as its difference from the module's mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import time

import numpy as np

from soro_driver.device import DeviceError
from soro_stm32_driver.curve_identification import Run
from soro_stm32_driver.muscle_estimate import without_mean
from soro_stm32_driver.protocol import Action, SetTimed, Timed
from soro_stm32_driver.transport import Stm32Transport

STEP = 0.2  # s of valve time between two measurements
SAMPLES = 3  # measurements that are averaged
POLL = 0.02  # s
ALLOWANCE = 900  # ms until the deadline of a step
PATIENCE = 20.0  # s for venting
ANSWER = 6.0  # s for a step to be carried out and measured


class CurveRecorder:
    """Runs all muscles through their strokes.

    - `transport`: open; its robot must have length sensors.
    - `shortest`: free length of a completely deflated muscle [m].
    - `stroke_time`: how long to inflate in all [s].
    """

    def __init__(self, transport: Stm32Transport, shortest: float, stroke_time: float) -> None:
        if not transport.wiring.length_sensors:
            raise DeviceError('runs can only be recorded with length_sensors: true')
        self._transport, self._shortest = transport, shortest
        self._steps = int(np.ceil(stroke_time / STEP))

    def record(self, say: Callable[[str], None]) -> Iterator[tuple[int, Run]]:
        """Yield (muscle, run) for an inflation and a deflation of every muscle."""
        wiring = self._transport.wiring
        for place in range(wiring.per_module):
            chosen = np.arange(place, wiring.pairing.count, wiring.per_module)
            say(f'muscle {place + 1} of every module: venting')
            self._transport.disarm()
            self._until(lambda: self._transport.vented(self._transport.now()), PATIENCE, 'vented')
            self._transport.arm()
            say(f'muscle {place + 1} of every module: inflating, deflating')
            up, down = self._stroke(chosen, Action.INFLATE), self._stroke(chosen, Action.DEFLATE)
            for runs in (up, down):
                yield from zip(chosen.tolist(), runs, strict=True)
        self._transport.disarm()

    def _stroke(self, chosen: np.ndarray, action: Action) -> list[Run]:
        steps = self._steps if action is Action.INFLATE else 2 * self._steps
        times, lengths = [np.zeros(chosen.size)], [self._measure(chosen)]
        start = self._effective(chosen, action)
        for _ in range(steps):
            self._send(chosen, action)
            times.append(self._effective(chosen, action) - start)
            lengths.append(self._measure(chosen))
        table = np.array(times), np.array(lengths)
        name = action.name.lower()
        return [Run(name, table[0][:, k], table[1][:, k]) for k in range(chosen.size)]

    def _send(self, chosen: np.ndarray, action: Action) -> None:
        t = self._transport
        now = t.now()
        duration = round(1e3 * STEP)
        deadline = (t.clock.at(now) + ALLOWANCE) & 0xFFFF
        command = SetTimed(deadline, tuple(Timed(int(i), action, duration) for i in chosen))
        goal = t.estimate.worked[chosen, action - 1] + STEP
        t.send_timed(command, now)
        self._until(
            lambda: bool(np.all(t.estimate.worked[chosen, action - 1] >= goal - 1e-9)),
            ANSWER,
            'carried out',
        )

    def _effective(self, chosen: np.ndarray, action: Action) -> np.ndarray:
        """Return the relay-on time less the dead time of every step so far [s]."""
        worked = self._transport.estimate.worked[chosen, action - 1]
        dead = self._transport.wiring.dead_time[action - 1]
        return worked - dead * np.rint(worked / STEP)

    def _measure(self, chosen: np.ndarray) -> np.ndarray:
        """Return the mean free lengths of a few measurements after everything has come to rest."""
        t, found, last = self._transport, [], self._transport.time
        per = t.wiring.per_module
        self._until(lambda: t.time > last, ANSWER, 'measured')
        for _ in range(SAMPLES):
            last = t.time
            self._until(lambda: t.time > last, ANSWER, 'measured')  # noqa: B023
            found.append(without_mean(t.measured, per)[chosen])
        mean: np.ndarray = np.mean(found, axis=0)
        if per > 1:  # only differences show: of the one muscle that grows, all but its share
            mean = self._shortest + per / (per - 1.0) * mean
        return mean

    def _until(self, condition: Callable[[], bool], patience: float, what: str) -> None:
        end = self._transport.now() + patience
        while not condition():
            now = self._transport.now()
            if now > end:
                raise DeviceError(f'not {what} within {patience:g} s')
            self._transport.poll(now)
            time.sleep(POLL)
