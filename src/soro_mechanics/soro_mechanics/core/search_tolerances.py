# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What counts as reached unless the caller says otherwise."""

POSITION_TOLERANCE = 1e-6  # m
ORIENTATION_TOLERANCE = 1e-5  # rad
