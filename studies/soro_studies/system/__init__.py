# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole robots for hours: soaks, fault matrix, stops, tracking, recordings."""
