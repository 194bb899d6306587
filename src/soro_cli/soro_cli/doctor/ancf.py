# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check of the model ancf: how much stiffer along its axis a leg is than its EA."""

from __future__ import annotations

from collections.abc import Iterator

from soro_cli.doctor.findings import Finding, ok, warn
from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot_file.reader import RobotDescription

STIFFER = 0.05  # share of EA from which it is a remark


def check_ancf(robot: RobotDescription) -> Iterator[Finding]:
    """Report the effective EA of the legs at both ends of their range."""
    if 'ancf' not in robot.models:
        return
    from soro_mechanics.models.ancf.model import Ancf  # loads the solvers

    try:
        model = Ancf(robot)
    except SoroError:  # said by the check of the models
        return
    ends = [[a.minimum for a in robot.actuators], [a.maximum for a in robot.actuators]]
    found = [leg for end in ends for leg in model.axial_stiffness(end)]
    written = model.legs.tension
    low, high = (pick(leg.effective for leg in found) for pick in (min, max))
    text = f'a leg of EA {written:.3g} N is as stiff along its axis as {low:.3g} to {high:.3g} N'
    energy = 'it follows from the published energy; for axial loads use model network'
    stiff = warn('ancf, effective EA', text, f'{energy}, docs/models/ancf.md')
    yield ok('ancf, effective EA', text) if high <= (1.0 + STIFFER) * written else stiff
