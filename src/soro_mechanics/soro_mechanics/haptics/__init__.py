# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Haptic devices: calibration, sensing, rendering, stability (Koehler 2020)."""
