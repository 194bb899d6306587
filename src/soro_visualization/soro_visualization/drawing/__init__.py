# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Shapes that are drawn: rods, bodies, ellipsoids, markers."""
