# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The linearised network in one call, because each call hands over arrays for microseconds."""

from soro_mechanics.models.network.kernels.system_kernels import condense, evaluate, motor_efforts
from soro_mechanics.numerics.kernels import kernel, YES


@kernel
def linearise(s, x, state, w, lanes):
    """Assemble with the exact tangent and parameter columns, eliminate, write the efforts.

    Returns
    -------
    error : float
        Scaled residual.
    negative : int
        Negative pivots met in the rods, or SINGULAR.
    """
    error = evaluate(s, x, state, w, YES, YES, lanes)
    negative = condense(s, x, state, w, YES, YES)
    motor_efforts(s, x, w)
    return error, negative
