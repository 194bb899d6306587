# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pulls of a table beside what the model makes of each: a solve under its whole force."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from soro_mechanics.analysis.measured_compliance import fit_compliance, MeasuredCompliance, Pulls
from soro_mechanics.analysis.pull_check import check_pulls, PullCheck
from soro_node.user_errors import UserError

if TYPE_CHECKING:
    from soro_cli.answers import ComplianceAnswer
    from soro_cli.mechanics_offline import OfflineMechanics
    from soro_cli.mechanics_online import OnlineMechanics


class MeasuredPulls(NamedTuple):
    """A table, its linear fit, and the model's solves beside it."""

    pulls: Pulls
    fit: MeasuredCompliance
    check: PullCheck


def compare_pulls(
    source: OnlineMechanics | OfflineMechanics,
    answer: ComplianceAnswer,
    wrench: list[float],
    model: str,
    pulls: Pulls,
) -> MeasuredPulls:
    """Solve the answer's actuation under every pull, on top of the wrench, and compare.

    UserError: the model finds no equilibrium under one of the pulls.
    InvalidInput: the table cannot be that of an elastic robot; see `check_pulls`.
    """
    actuation = answer.configuration.actuation

    def tip(force: np.ndarray, what: str) -> np.ndarray:
        loaded = [a + b for a, b in zip(wrench, [*force.tolist(), 0.0, 0.0, 0.0], strict=True)]
        found = source.forward(actuation, loaded, model, examine=False)
        place = np.array(found.configuration.tip.position)
        if not np.isfinite(place).all():
            raise UserError(f'{what}: {found.error_message or "no equilibrium"}; pull less there')
        return place

    fit = fit_compliance(pulls.forces, pulls.displacements)
    rest = tip(np.zeros(3), 'without a pull')
    predicted = np.array(
        [
            tip(force, f'line {line} of the table, {np.linalg.norm(force):.3g} N') - rest
            for force, line in zip(pulls.forces, pulls.lines, strict=True)
        ]
    )
    return MeasuredPulls(pulls, fit, check_pulls(pulls.forces, pulls.displacements, predicted))
