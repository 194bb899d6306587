# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the actuators of a network in motion drive, in flat arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.dynamics.motion import Motion
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import Floats, Inputs, Integers, State, Structure, Work

DRIVEN = ('length', 'theta', 'tension', 'section')  # linear in the values of the drives


@by_reference
class Drives(NamedTuple):
    """flat[place] = base + slope (drives' values); `flat` is what the inputs show parts of."""

    actuation: Floats  # (actuators,) asked for
    present: Floats  # (drives,) values that the inputs have
    actuator: Integers  # (drives,)
    offset: Floats  # (drives,)
    curve: Floats  # (3, points) of all drives: at, value, slope
    first: Integers  # (drives + 1,) first point of each
    flat: Floats
    place: Integers  # (k,)
    base: Floats  # (k,)
    slope: Floats  # (k, drives)
    length: Floats  # (rods,) at rest


@by_reference
class Moving(NamedTuple):
    """A network in motion."""

    structure: Structure
    inputs: Inputs
    damped: Inputs  # with the laws of elements that resist strain rates: see `begin_step`
    state: State
    work: Work
    motion: Motion
    drives: Drives


def new_drives(layout: lay.Layout, x: Inputs) -> tuple[Drives, Inputs]:
    """Return the drives of a network, nothing written yet, and inputs of their own."""
    drives = layout.spec.drives
    plain = replace(layout, spec=replace(layout.spec, incompressible=False))
    curves = [np.zeros((3, 0)) if d.curve is None else np.array(d.cubic) for d in drives]

    def flat(values: Floats) -> Floats:
        found = lay.drive(plain, x, values, np.ones(len(drives)))
        return np.concatenate([getattr(found, name).ravel() for name in DRIVEN])

    ones = np.ones(len(drives))
    base, span = flat(ones), 2.0**20
    slope = np.zeros((base.size, len(drives)))
    for k, row in enumerate(np.eye(len(drives))):
        slope[:, k] = (flat(ones + span * row) - base) / span
    ends = np.cumsum([getattr(x, name).size for name in DRIVEN])[:-1]
    if layout.spec.incompressible:  # not linear: the stepper writes them
        np.split(slope, ends)[-1][:] = 0.0
    place = np.flatnonzero(slope.any(axis=1))
    made = Drives(
        actuation=np.zeros(layout.actuators),
        present=np.full(len(drives), np.nan),
        actuator=np.array([d.actuator for d in drives], dtype=np.int64),
        offset=np.array([d.offset for d in drives], dtype=float),
        curve=np.concatenate([np.zeros((3, 0)), *curves], axis=1),
        first=np.cumsum([0, *(c.shape[1] for c in curves)]).astype(np.int64),
        flat=base,
        place=place,
        base=base[place] - slope[place].sum(axis=1),
        slope=np.ascontiguousarray(slope[place]),
        length=layout.lengths.copy(),
    )
    own = copy_inputs(x)
    parts = np.split(made.flat, ends)
    shown: dict[str, Any] = {
        n: a.reshape(getattr(x, n).shape) for n, a in zip(DRIVEN, parts, strict=True)
    }
    return made, own._replace(**shown)


def copy_inputs(x: Inputs) -> Inputs:
    """Return inputs of their own."""
    own: list[Any] = [a.copy() if isinstance(a, np.ndarray) else a for a in x]
    return Inputs(*own)
