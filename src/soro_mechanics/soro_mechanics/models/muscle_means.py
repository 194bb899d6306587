# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What models of muscles side by side say of the mean of their lengths, which none holds."""

NOTABLE = 1e-3  # m: said from here on


def mean_remark(off: float) -> str:
    """Say how far [m] muscles are from their command in the mean; empty where they are not."""
    if off <= NOTABLE:
        return ''
    return f'the mean muscle length of a module is off by {off * 1e3:.1f} mm'
