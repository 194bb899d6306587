# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Lie groups, small dense solvers, quadratic programmes."""
