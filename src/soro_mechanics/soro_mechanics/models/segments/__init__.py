# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Soft segments as Cosserat rods and as pieces of constant curvature (Shi 2023)."""
