# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives Dynamixel X servos on a serial bus."""
