# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Stretching legs by absolute nodal coordinates (Huang 2022)."""
