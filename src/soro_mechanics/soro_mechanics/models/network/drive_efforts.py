# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a network holds its drives back with: the slope of its energy by what they are set to."""

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.arrays import State, Structure, Work
from soro_mechanics.models.network.description.spec import LENGTHS
from soro_mechanics.models.network.drive_values import driven_values
from soro_mechanics.models.network.layout import Layout


def length_forces(layout: Layout, state: State) -> Array:
    """Return dU/dL = -(F.e0 + F.c F / 2) of the section at every rod's first end, (rods,) [N]."""
    first = layout.structure.rod_piece[:-1]
    section, force = layout.sections[first, 0], state.wrench[first]
    held: Array = np.einsum('ri,ri->r', force, section[:, :6] + 0.5 * section[:, 6:12] * force)
    return -held


def motor_torques(s: Structure, w: Work) -> Array:
    """Return the torques (rods, 2) [N m] of the motors at the rods' ends as last assembled."""
    ends = np.stack([w.raw[s.rod_piece[:-1], :6], w.raw[s.rod_piece[1:] - 1, 6:]], axis=1)
    return np.asarray(np.einsum('rei,rei->re', w.basis[:, :, :, 6], ends))


def drive_efforts(layout: Layout, w: Work, state: State, actuation: Array) -> Array:
    """Return the forces and torques (m,) [N, N m] that lengths and angles need; others: zero.

    `w`: as left by an assembly at the state.
    """
    drives, tendons = layout.spec.drives, layout.tendons
    out, slopes = np.zeros(layout.actuators), driven_values(drives, actuation)[1]
    tension = dict(zip(tendons.actuators.tolist(), tendons.held_tensions(state), strict=True))
    force, torque = length_forces(layout, state), motor_torques(layout.structure, w)
    for d, slope in zip(drives, slopes, strict=True):
        if d.kind in LENGTHS:
            out[d.actuator] += slope * force[d.rod]
        elif d.kind == 'angle':
            out[d.actuator] += slope * torque[d.rod, d.end]
        elif d.kind == 'tendon':  # one tendon, however many rods it runs along
            out[d.actuator] = slope * tension[d.actuator]
    return out
