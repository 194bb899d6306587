# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot's motion over a span of time: inputs as functions of time, poses and energies out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import time
from typing import Any

import numpy as np

from soro_mechanics.core.array_input import finite_array, shape_of
from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.core.status import Code
from soro_mechanics.dynamics.energy import Energy, EnergyMeter
from soro_mechanics.dynamics.events import Event, Watch, Watched
from soro_mechanics.dynamics.stepper import Stepper, StepReport

SHORTEST = 1e-4  # part of the first step below which step-size control gives up
GROWTH = 2.0  # largest growth of a step
SAFE = 0.85
MAX_ERROR = 2.0  # of a step, in tolerances

Signal = Callable[[float], Array]


@dataclass(frozen=True, eq=False)
class Simulation:
    """A motion. Energies [J]: see `soro_mechanics.dynamics.energy`."""

    time: Array  # (n,) [s]
    tip: Array  # (n, 4, 4) in base_link
    tip_twist: Array  # (n, 6) axes of base_link, linear first
    bodies: dict[str, Array]  # (n, 4, 4) each
    actuation: Array  # (n, m)
    kinetic: Array  # (n,)
    strain: Array
    gravity: Array
    work: Array
    dissipated: Array
    contact: Array  # stored
    events: tuple[tuple[Event, ...], ...]  # that each function of `events` marked
    code: Code  # NOT_CONVERGED, OUT_OF_RANGE: the motion ends before its time
    message: str
    warnings: tuple[str, ...]
    iterations: int
    mesh_error: float  # m, of the tip at the beginning against the model's own mesh; NaN: unknown
    elapsed: float  # s of this computer, after the first step, which loads kernels

    @property
    def balance(self) -> Array:
        """Energy that the integration has taken out since the beginning (n,)."""
        stored = self.kinetic + self.strain + self.gravity + self.contact
        return stored[0] + self.work - self.dissipated - stored

    @property
    def real_time_factor(self) -> float:
        """Simulated time over time of this computer, energies included."""
        return float(self.time[-1] - self.time[min(1, len(self.time) - 1)]) / self.elapsed


def as_signal(field: str, value: Any, size: int, times: Array) -> Signal:
    """Return an input as a function of time.

    Parameters
    ----------
    field : str
        For errors.
    value : callable, or array_like of shape (size,) or (len(times), size)
        A function of time [s]; a constant; or values at `times`, linear in between.
    size : int
    times : ndarray, shape (k,)

    Raises
    ------
    InvalidInput
        Another shape, or not finite.
    """
    if callable(value):

        def asked(t: float) -> Array:
            return finite_array(f'{field}({t:g})', value(t), (size,))

        return asked
    if shape_of(value) == (size,):
        constant = finite_array(field, value, (size,))
        return lambda t: constant
    table = finite_array(field, value, (len(times), size))
    return lambda t: np.array([np.interp(t, times, column) for column in table.T])


def simulate_stepper(
    stepper: Stepper,
    duration: float,
    step: float,
    actuation: Signal,
    load: Callable[[float], LoadCase],
    tolerance: float | None = None,
    events: Sequence[Watched] = (),
) -> Simulation:
    """Run a stepper that was put at its start; see `simulate`."""
    begin = time.perf_counter()
    meter = EnergyMeter(stepper)
    first = stepper.time
    end = first + duration
    rows: list[tuple[float, Array, Array, Array, Array, Energy]] = []

    def keep() -> None:
        bodies = stepper.state.body[1:].copy()
        at = actuation(stepper.time - first)
        rows.append((stepper.time, stepper.tip, stepper.tip_twist, bodies, at, meter.present()))

    keep()
    length, iterations, code, message = step, 0, Code.NONE, ''
    watch = Watch(events, stepper)
    while stepper.time < end - 1e-9 * step:
        length = min(length, end - stepper.time)
        t = stepper.time - first + length
        most = math.inf if tolerance is None else MAX_ERROR * tolerance

        def advance(part: float, most: float = most) -> StepReport:
            to = stepper.time - first + part
            return stepper.step(part, actuation(to), load(to), most)

        report, ended = watch.step(advance, length)
        iterations += report.iterations
        if report.taken:
            meter.measure()
            keep()
            begin = time.perf_counter() if len(rows) == 2 else begin
        if ended:
            message = f'an event ended it at {stepper.time - first:g} s'
            break
        if tolerance is not None:
            ratio = tolerance / max(report.error, 1e-300)
            change = min(GROWTH, max(0.25, SAFE * ratio ** (1.0 / 3.0)))
            length = min(length * change, step)
        if not report.taken and (tolerance is None or length < SHORTEST * step):
            code = report.code or Code.NOT_CONVERGED
            why = 'no solution of'
            if code is Code.OUT_OF_RANGE:
                why = f'actuation = {actuation(t)} rad: a motor turns by more than 90 deg in'
            message = f'{why} the step to {t:g} s: take a shorter step'
            break
    columns = [np.array(c) for c in list(zip(*rows, strict=True))[:5]]
    energies = [r[5] for r in rows]
    layout = stepper.layout
    bodies = {name: columns[3][:, i] for i, name in enumerate(layout.bodies[1:])}
    bodies[layout.spec.tip_body] = columns[1] @ layout.off_tip
    found = {
        name: np.array([getattr(e, name) for e in energies])
        for name in ('kinetic', 'strain', 'gravity', 'work', 'dissipated', 'contact')
    }
    return Simulation(
        time=columns[0],
        tip=columns[1],
        tip_twist=columns[2],
        bodies=bodies,
        actuation=columns[4],
        events=tuple(map(tuple, watch.found)),
        code=code,
        message=message,
        warnings=() if stepper.inertia.moving else ('nothing has mass: every step is a rest',),
        iterations=iterations,
        mesh_error=stepper.mesh_error,
        elapsed=time.perf_counter() - begin,
        **found,
    )
