# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From what an actuator is set to, to what it drives and what holds it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.arrays import Structure, Work
from soro_mechanics.models.network.description.spec import DriveSpec, LENGTHS, STRAINS
from soro_mechanics.models.network.kernels.rod_kernels import length_force
from soro_mechanics.models.network.rod_sections import thin
from soro_mechanics.numerics.curve_kernels import curve_value, place_of
from soro_mechanics.numerics.monotone_curve import curve_at


def driven_range(drive: DriveSpec, at: float) -> tuple[float, float]:
    """Return what a drive makes of its actuator's value, before any offset, and the slope."""
    return (at, 1.0) if drive.curve is None else curve_value(*drive.cubic, at)


def driven_values(drives: Sequence[DriveSpec], actuation: Array) -> tuple[Array, Array]:
    """Return the value of every drive and its slope by the actuator."""
    at = actuation.tolist()
    pairs = [(d.offset, *driven_range(d, at[d.actuator])) for d in drives]
    return np.array([p[1] + p[0] for p in pairs]), np.array([p[2] for p in pairs])


def driven_ranges(drives: Sequence[DriveSpec], actuation: Array) -> Array:
    """Return what drives make of each actuator before any offset, and the slopes: (2, m)."""
    out = np.empty((2, len(actuation)))
    out[0], out[1] = actuation, 1.0
    for d in drives:
        if d.curve is not None:
            out[:, d.actuator] = driven_range(d, actuation[d.actuator])
    return out


def driven_many(drives: Sequence[DriveSpec], actuations: Array) -> tuple[Array, Array]:
    """Return `driven_ranges` (n, m) and the values of `driven_values` (n, drives) of many."""
    ranges = np.array(actuations, dtype=float)
    values = np.empty((len(actuations), len(drives)))
    for k, d in enumerate(drives):
        driven = actuations[:, d.actuator]
        if d.curve is not None:
            driven = curve_at(d.curve, driven)[0]
            ranges[:, d.actuator] = driven
        values[:, k] = driven + d.offset
    return ranges, values


def actuation_of(drives: Sequence[DriveSpec], driven: Array, limits: Array) -> Array:
    """Return the actuation whose driven values these are: the inverse of `driven_ranges`."""
    out = np.array(driven, dtype=float)
    for d in drives:
        if d.curve is not None:
            place = place_of(*d.cubic, driven[d.actuator])
            out[d.actuator] = min(max(place, limits[d.actuator, 0]), limits[d.actuator, 1])
    return out


def driven_sections(layout: Any, value: Array) -> Array | None:
    """Return sections (pieces, TABLE) with driven rest strains; None: none is driven."""
    if layout.kinds.isdisjoint(STRAINS):
        return None
    out, shift = layout.sections.copy(), layout.structure.shift
    for d, slot, x in zip(layout.spec.drives, layout.slots, value, strict=True):
        if d.kind in STRAINS:
            p = layout.rod_pieces[d.rod]
            out[p, 0:6] += x * shift[p, slot - 1]
    if layout.spec.incompressible:
        for r in {d.rod for d in layout.spec.drives if d.kind == 'pressure'}:
            thin(layout.sections[layout.rod_pieces[r]], out[layout.rod_pieces[r]])
    return out


def motor_torques(s: Structure, w: Work) -> Array:
    """Return the torques (rods, 2) [N m] of the motors at the rods' ends as last assembled."""
    ends = np.stack([w.raw[s.rod_piece[:-1], :6], w.raw[s.rod_piece[1:] - 1, 6:]], axis=1)
    return np.asarray(np.einsum('rei,rei->re', w.basis[:, :, :, 6], ends))


def drive_efforts(of: Any, actuation: Array) -> Array:
    """Return the forces and torques (m,) [N, N m] that lengths and angles need; others: zero.

    `of`: a stepper, or a linearisation just made: layout, state, and work as assembled there.
    """
    drives, tendons = of.layout.spec.drives, of.layout.tendons
    out, (_, slopes) = np.zeros(of.layout.actuators), driven_values(drives, actuation)
    tension = dict(zip(tendons.actuators.tolist(), tendons.held_tensions(of.state), strict=True))
    s = of.layout.structure
    torque = motor_torques(s, of.work)
    for d, slope in zip(drives, slopes, strict=True):
        if d.kind in LENGTHS:
            out[d.actuator] += slope * length_force(s, of.inputs, of.state, d.rod)
        elif d.kind == 'angle':
            out[d.actuator] += slope * torque[d.rod, d.end]
        elif d.kind == 'tendon':  # one tendon, however many rods it runs along
            out[d.actuator] = slope * tension[d.actuator]
    return out
