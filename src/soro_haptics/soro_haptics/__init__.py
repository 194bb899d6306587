# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Haptic renderer: the loop of a haptic device, what the hand does, what it feels."""
