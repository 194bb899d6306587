# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What counts as reached unless the caller says otherwise, and where a search ends."""

POSITION_TOLERANCE = 1e-6  # m
ORIENTATION_TOLERANCE = 1e-5  # rad


def aims_of(tolerances: tuple[float, float]) -> tuple[float, float]:
    """Return the errors [m], [rad] to search down to; what remains is judged by the tolerances.

    A search that ended at the tolerances of the caller would not move for a smaller change of
    its target: they would be a dead band.
    """
    return min(tolerances[0], POSITION_TOLERANCE), min(tolerances[1], ORIENTATION_TOLERANCE)
