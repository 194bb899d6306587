# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a tour asks the nodes of a running robot: inverse kinematics, compliance, all models."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from soro_cli.demo.journal import Tour
from soro_cli.mechanics_online import OnlineMechanics
from soro_cli.motion import MotionWatch
from soro_mechanics.core.status import Code
from soro_node.display_units import shown, shown_position
from soro_node.user_errors import UserError

COMPILING = 240.0  # s a model is waited for whose kernels are compiled for the first time
AGAIN = 2.0  # s between two questions to somebody who is busy


class Patience:
    """Asks again who answers BUSY: on a fresh machine models are compiled when first needed.

    The tour gets a line for what was waited for; an answer at most for `wait` [s].
    """

    def __init__(self, tour: Tour, mechanics: OnlineMechanics, wait: float = COMPILING) -> None:
        self._tour, self._mechanics, self._wait = tour, mechanics, wait

    def ask(self, name: str, question: Callable[[], Any]) -> tuple[Any, float]:
        """Return an answer and how long it took [s], without the waiting for a busy node.

        UserError: the answer is an error, or the node was busy all the time.
        """
        first, said = time.monotonic(), False
        while True:
            begin = time.monotonic()
            answer = question()
            now = time.monotonic()
            busy = answer.error_code == Code.BUSY
            if not busy or now - first > self._wait:
                break
            if not said:
                self._tour.say(f'{name} is busy: {answer.error_message}; waiting')
                said = True
            self._mechanics.spin(AGAIN)
        if said:
            self._tour.add(
                f'waited for {name}',
                f'{begin - first:.0f} s: kernels are compiled once, the first time',
            )
        if answer.error_code != Code.NONE:
            raise UserError(f'{name}: {answer.error_message}', answer.error_code)
        return answer, now - begin


def ask_mechanics(tour: Tour, mechanics: OnlineMechanics, watch: MotionWatch) -> None:
    """Ask for inverse kinematics, compliance and all models where the robot is, and note it.

    UserError: no inverse or no compliance.
    """
    tip, there = list(watch.tip), list(watch.measured)
    patience = Patience(tour, mechanics)

    def inverse() -> Any:
        return mechanics.inverse(tip, None, 0, [0.0] * 6, '')

    def compliance() -> Any:
        return mechanics.compliance(None, [0.0] * 6, '', 'tangent', False)

    patience.ask('solve_inverse', inverse)  # finds the service; the next one is timed
    patience.ask('compute_compliance', compliance)
    _, seconds = patience.ask('solve_inverse', inverse)
    tour.add(
        'inverse kinematics',
        f'of {shown_position(tip)}: {1e3 * seconds:.1f} ms',
        inverse_seconds=seconds,
    )
    answer, seconds = patience.ask('compute_compliance', compliance)
    values = [float(c) for c in answer.points[0].principal_compliance]
    text = ' / '.join(f'{1e3 * c:.3g}' for c in values)
    tour.add(
        'compliance there',
        f'{text} mm/N, {1e3 * seconds:.1f} ms',
        compliance_seconds=seconds,
        principal_compliance=values,
    )
    if len(tour.robot.models) > 1:
        _compare(tour, patience, lambda: mechanics.compare(there, [0.0] * 6, []))


def _compare(tour: Tour, patience: Patience, question: Callable[[], Any]) -> None:
    """Ask all models of the robot for the posture it is in."""
    names = ', '.join(tour.robot.models)
    try:
        answer, _ = patience.ask('compare_models', question)
    except UserError as error:
        # Models differ in what they can compute; that is an answer, and no reason to stop.
        tour.add(f'models {names}', str(error))
        return
    solved = [c.model for c in answer.configurations]
    tour.add(
        f'models {", ".join(solved)}',
        f'tips apart by up to {shown(answer.position_spread, "m")}',
        model_spread=float(answer.position_spread),
    )
